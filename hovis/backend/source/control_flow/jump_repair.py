"""Other ways to write a jump to a place that neither falling through nor ``break`` nor ``continue`` reaches.

Code behind a ``try`` that its handler skips becomes its ``else``; code that ends the function may be moved into
the loop that is left for it; short code may be written twice.  Only where none of this helps, the jump becomes a loop with one
iteration, or a variable that selects the place to continue at.
"""

import ast
from collections import Counter
from typing import Final

from hovis.backend.source.control_flow.statement_tree import Labeled, Leave, Try, While
from hovis.backend.source.control_flow.written_tree import Plain, Test, Written, copied, ends, parts, size
from hovis.ir.model import Block

#: Maximal number of statements that are copied for each path to them.
SHORT: Final = 4
#: Maximal number of statements that are moved into the loop that is left for them.
LONG: Final = 12


class Mender:
    """Rewrites a tree, one place at a time."""

    def __init__(self, far: set[Block]) -> None:
        #: the blocks to which some jump can't be written directly
        self.far = far
        #: the blocks with which the else of a try begins: the body of the try is left for them only at its ends
        self._elses: set[Block] = set()
        #: the counts of each tree, by id; valid as long as nothing has been changed
        self._left: dict[int, Counter[Block]] = {}

    def tree(self, tree: list[Written]) -> bool:
        """Rewrite one place of tree that can be written in another way; return whether there was one."""
        self._left.clear()
        return self._tree(tree)

    def _count(self, tree: list[Written], block: Block) -> int:
        """Return how often tree is left for block, from a cache (``written_tree.count`` counts again)."""
        return self._leaves(tree)[block]

    def _leaves(self, tree: list[Written]) -> "Counter[Block]":
        found = self._left.get(id(tree))
        if found is None:
            found = self._left[id(tree)] = Counter(node.block for node in tree if isinstance(node, Leave) and not node.again)
            for node in tree:
                for part in parts(node):
                    found.update(self._leaves(part))
        return found

    def _tree(self, tree: list[Written]) -> bool:
        for k, node in enumerate(tree):
            if isinstance(node, Labeled) and k + 1 < len(tree) and not self.far.isdisjoint(self._leaves(node.body)):  # type: ignore[arg-type]
                body, rest = node.body, tree[k + 1 :]
                made = self._as_else(node, rest) or self._spread(node, rest) or self._inside(node, rest) or self._in_handler(node, rest)
                if made:
                    tree[k:] = made
                    return True
                assert body is node.body
            if isinstance(node, Try) and node.block is not None:
                self._elses.add(node.block)
            if any(self._tree(part) for part in parts(node)):
                return True
        return False

    def _as_else(self, node: Labeled, rest: list[Written]) -> "list[Written] | None":
        """Make rest, which only the body of a try leads to, the else of the try; None if that does not apply."""
        if len(node.body) != 1:
            return None
        (inner,) = node.body
        if not isinstance(inner, Try) or inner.block is not None or self._count(inner.handler, node.block):  # type: ignore[arg-type]
            return None
        if _at_end(inner.body, node.block) < self._count(inner.body, node.block):  # type: ignore[arg-type]
            return None
        return [Try(inner.landing, inner.body, inner.handler, node.block, rest)]  # type: ignore[arg-type]

    def _spread(self, node: Labeled, rest: list[Written]) -> "list[Written] | None":
        """Copy rest, if it is short, to each place that jumps to it; None if that does not apply."""
        if size(rest) > SHORT or any(isinstance(item, While | Try | Labeled) for item in _all(rest)):
            return None
        if any(isinstance(item, Leave) and item.block in self._elses for item in _all(rest)):
            return None
        if not self._reached(node.body, node.block, ends(rest), _returns_plainly(rest)):  # type: ignore[arg-type]
            return None
        _replace(node.body, node.block, rest)  # type: ignore[arg-type]
        return list(node.body)

    def _inside(self, node: Labeled, rest: list[Written]) -> "list[Written] | None":
        """Move rest, if it ends the function, into the loop that is left for it; None if that does not apply."""
        if self._count(node.body, node.block) != 1 or not ends(rest) or size(rest) > LONG:  # type: ignore[arg-type]
            return None
        if not self._reached(node.body, node.block, True, _returns_plainly(rest)):  # type: ignore[arg-type]
            return None
        _replace(node.body, node.block, rest)  # type: ignore[arg-type]
        return list(node.body)

    def _in_handler(self, node: Labeled, rest: list[Written]) -> "list[Written] | None":
        """Move rest into the handler, if only the handler leads to it, and nothing in it can observe where it stands; None if that does not
        apply.
        """
        if len(node.body) != 1 or self._count(node.body, node.block) != 1 or not all(_tells_nothing(item) for item in rest):  # type: ignore[arg-type]
            return None
        (inner,) = node.body
        if not isinstance(inner, Try) or _at_end(inner.handler, node.block) != 1:  # type: ignore[arg-type]
            return None
        _replace(inner.handler, node.block, rest)  # type: ignore[arg-type]
        return [inner]

    def _reached(self, tree: list[Written], block: Block, ended: bool, anywhere: bool) -> bool:
        """Could the code that follows stand wherever tree is left for block? In a loop, if it ends the function (ended); in a try, if nothing in
        it can raise (anywhere).
        """
        if not self._count(tree, block):
            return True
        for node in tree:
            if isinstance(node, Try) and not anywhere and any(self._count(part, block) for part in parts(node)):
                return False
            if isinstance(node, While) and not ended and self._count(node.body, block):  # type: ignore[arg-type]
                return False
            if not all(self._reached(part, block, ended, anywhere) for part in parts(node)):
                return False
        return True


def _all(tree: list[Written]) -> list[Written]:
    return [item for node in tree for item in [node, *(inner for part in parts(node) for inner in _all(part))]]


def _at_end(tree: list[Written], block: Block) -> int:
    """Return how often tree is left for block at its very end."""
    if not tree:
        return 0
    last = tree[-1]
    if isinstance(last, Leave):
        return int(last.block is block and not last.again)
    if isinstance(last, Test | Labeled):
        return sum(_at_end(part, block) for part in parts(last))
    return 0


def _replace(tree: list[Written], block: Block, rest: list[Written]) -> None:
    for k, node in enumerate(tree):
        if isinstance(node, Leave) and node.block is block and not node.again:
            tree[k:] = copied(rest) if not any(isinstance(item, While | Try | Labeled) for item in _all(rest)) else rest
            return
        for part in parts(node):
            _replace(part, block, rest)


def _returns_plainly(rest: list[Written]) -> bool:
    """Is rest a single return of a value that exists already?"""
    only = rest[0] if len(rest) == 1 else None
    return isinstance(only, Plain) and len(only.statements) == 1 and isinstance(only.statements[0], ast.Return) and _is_there(only.statements[0].value)


def _tells_nothing(node: Written) -> bool:
    if isinstance(node, Plain):
        return all(isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name) and _is_there(s.value) for s in node.statements)
    return isinstance(node, Leave)


def _is_there(shown: ast.expr | None) -> bool:
    """Is shown a variable, a constant, or a new container that is empty or holds only these?"""
    if isinstance(shown, ast.List | ast.Tuple):
        return all(map(_is_there, shown.elts))
    return shown is None or isinstance(shown, ast.Name | ast.Constant) or (isinstance(shown, ast.Dict) and not shown.keys)

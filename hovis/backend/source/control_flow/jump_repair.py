"""Other ways to write a jump to where neither falling through nor ``break`` nor ``continue`` leads.

What stands behind a ``try`` and is skipped by its handler is its ``else``; what ends the function may stand inside of
the loop that is left for it; what is short may be written twice.  Only what nothing of this helps becomes a loop of one
round, or a variable that says where to go.
"""

import ast
from collections import Counter
from typing import Final

from hovis.backend.source.control_flow.statement_tree import Labeled, Leave, Try, While
from hovis.backend.source.control_flow.written_tree import Plain, Test, Written, copied, ends, parts, size
from hovis.ir.model import Block

#: Statements that may be written once for each way to them.
SHORT: Final = 4
#: Statements that may stand inside of the loop that is left for them.
LONG: Final = 12


class Mender:
    """Changes one place of a tree at a time."""

    def __init__(self, far: set[Block]) -> None:
        #: the blocks that some jump does not reach
        self.far = far
        #: where the else of a try begins: its body is left for there at its ends alone
        self._elses: set[Block] = set()
        #: by id, as long as nothing has been changed
        self._left: dict[int, Counter[Block]] = {}

    def tree(self, tree: list[Written]) -> bool:
        """Has a place been found that can be written in another way?"""
        self._left.clear()
        return self._tree(tree)

    def _count(self, tree: list[Written], block: Block) -> int:
        """How often is tree left for block?  (See written_tree.count, which looks anew.)"""
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
        """What comes behind the body of a try alone is its else."""
        if len(node.body) != 1:
            return None
        (inner,) = node.body
        if not isinstance(inner, Try) or inner.block is not None or self._count(inner.handler, node.block):  # type: ignore[arg-type]
            return None
        if _at_end(inner.body, node.block) < self._count(inner.body, node.block):  # type: ignore[arg-type]
            return None
        return [Try(inner.landing, inner.body, inner.handler, node.block, rest)]  # type: ignore[arg-type]

    def _spread(self, node: Labeled, rest: list[Written]) -> "list[Written] | None":
        """What is short is written wherever it is gone to."""
        if size(rest) > SHORT or any(isinstance(item, While | Try | Labeled) for item in _all(rest)):
            return None
        if any(isinstance(item, Leave) and item.block in self._elses for item in _all(rest)):
            return None
        if not self._reached(node.body, node.block, ends(rest), _returns_plainly(rest)):  # type: ignore[arg-type]
            return None
        _replace(node.body, node.block, rest)  # type: ignore[arg-type]
        return list(node.body)

    def _inside(self, node: Labeled, rest: list[Written]) -> "list[Written] | None":
        """What ends the function stands in the loop that is left for it."""
        if self._count(node.body, node.block) != 1 or not ends(rest) or size(rest) > LONG:  # type: ignore[arg-type]
            return None
        if not self._reached(node.body, node.block, True, _returns_plainly(rest)):  # type: ignore[arg-type]
            return None
        _replace(node.body, node.block, rest)  # type: ignore[arg-type]
        return list(node.body)

    def _in_handler(self, node: Labeled, rest: list[Written]) -> "list[Written] | None":
        """What a handler alone leads to, and nothing in it can tell where it stands, stands in the handler."""
        if len(node.body) != 1 or self._count(node.body, node.block) != 1 or not all(_tells_nothing(item) for item in rest):  # type: ignore[arg-type]
            return None
        (inner,) = node.body
        if not isinstance(inner, Try) or _at_end(inner.handler, node.block) != 1:  # type: ignore[arg-type]
            return None
        _replace(inner.handler, node.block, rest)  # type: ignore[arg-type]
        return [inner]

    def _reached(self, tree: list[Written], block: Block, ended: bool, anywhere: bool) -> bool:
        """Could what follows stand wherever tree is left for block?  In a loop, if it ends the function; in a try, if nothing in it can raise."""
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
    """How often is tree left for block at its very end?"""
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
    """Is it a return of what is there already?"""
    only = rest[0] if len(rest) == 1 else None
    return isinstance(only, Plain) and len(only.statements) == 1 and isinstance(only.statements[0], ast.Return) and _is_there(only.statements[0].value)


def _tells_nothing(node: Written) -> bool:
    if isinstance(node, Plain):
        return all(isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name) and _is_there(s.value) for s in node.statements)
    return isinstance(node, Leave)


def _is_there(shown: ast.expr | None) -> bool:
    """A variable, a constant, or a new empty container."""
    if isinstance(shown, ast.List | ast.Tuple):
        return all(map(_is_there, shown.elts))
    return shown is None or isinstance(shown, ast.Name | ast.Constant) or (isinstance(shown, ast.Dict) and not shown.keys)

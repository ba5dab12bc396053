"""Lowering of the tree of statements to Python's: a jump becomes falling through, ``break`` or ``continue``.

Where none of these leads to the right place, a variable selects the place to continue at, and each loop on the way is left.
"""

import ast
from dataclasses import dataclass, field
from typing import Final, Protocol

from hovis.backend.source.control_flow.jump_repair import Mender
from hovis.backend.source.control_flow.statement_tree import Body, End, If, Labeled, Leave, Moves, Statement, Tree, Try, While
from hovis.backend.source.control_flow.written_tree import Plain, Test, Written, count, parts, put
from hovis.backend.source.syntax import both, marked, meaning, negated
from hovis.ir.model import Block, Branch, Edge, Operand

#: A place that control may continue at: (False, a block), or (True, the header of a loop around).
Place = tuple[bool, Block]
Places = frozenset[Place]
NOWHERE: Final[Places] = frozenset()


#: Maximal number of jumps that are rewritten by ``jump_repair`` in one function.
MAX_MENDED: Final = 200

#: The variable that selects the place to continue at, if reaching it takes more than one step.
WAY: Final = "way"


class Writer(Protocol):
    """Writes the parts of a tree that are no jumps."""

    handled: list[Block]

    def body(self, block: Block) -> list[ast.stmt]: ...
    def moves(self, edge: Edge) -> list[ast.stmt]: ...
    def condition(self, cond: Operand) -> ast.expr: ...
    def end(self, block: Block) -> list[ast.stmt]: ...
    def error_name(self, landing: Block) -> str | None: ...
    def own_name(self, wanted: str) -> str: ...


# ------------------------------------------------------------------------------------------------- simpler trees


class Simplifier:
    """Writes the leaves of a tree, joins tests that belong together, and moves code that a single jump leads to in place of the jump."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer

    def tree(self, tree: Tree) -> list[Written]:
        found: list[Written] = []
        for node in tree:
            found += self._one(node)
        return self._inlined(found)

    def _one(self, node: Statement) -> list[Written]:
        write = self.writer
        match node:
            case Body():
                made = write.body(node.block)
                return [Plain(made)] if made else []
            case Moves():
                made = write.moves(node.edge)
                return [Plain(made)] if made else []
            case End():
                return [Plain(write.end(node.block), True)]
            case If():
                assert isinstance(node.block.terminator, Branch)
                cond = write.condition(node.block.terminator.cond)
                return [_joined(Test(cond, self.tree(node.then), self.tree(node.other)))]
            case Labeled():
                return [Labeled(node.block, self.tree(node.body))]  # type: ignore[arg-type]
            case While():
                return [While(node.block, self.tree(node.body))]  # type: ignore[arg-type]
            case Try():
                body = self.tree(node.body)
                write.handled.append(node.landing)
                handler = self.tree(node.handler)
                write.handled.pop()
                return [Try(node.landing, body, handler)]  # type: ignore[arg-type]
        return [node]

    def _inlined(self, tree: list[Written]) -> list[Written]:
        """Move the code behind a Labeled to the jump that leads to it, if there is only one."""
        # backward: the code that is moved inside has been processed already
        for k in reversed(range(len(tree))):
            node = tree[k]
            if isinstance(node, Labeled) and count(node.body, node.block) == 1:  # type: ignore[arg-type]
                body = list(node.body)
                if put(body, node.block, tree[k + 1 :]):  # type: ignore[arg-type]
                    tree = [*tree[:k], *body]
        return tree


def _joined(test: Test) -> Test:
    """Rewrite ``if a: (if b: P else: Q) else: Q`` to ``if a and b: P else: Q``, and similar forms."""
    if marked(negated(test.cond) if isinstance(test.cond, ast.UnaryOp) else test.cond, "matches"):
        return test  # it becomes an except clause
    then, other = _only_test(test.then), _only_test(test.other)
    if then is not None and _alike(then.other, test.other):
        return Test(both(ast.And(), test.cond, then.cond), then.then, then.other)
    if then is not None and _alike(then.then, test.other):
        return Test(both(ast.Or(), negated(test.cond), then.cond), then.then, then.other)
    if other is not None and _alike(other.then, test.then):
        return Test(both(ast.Or(), test.cond, other.cond), other.then, other.other)
    if other is not None and _alike(other.other, test.then):
        return Test(both(ast.And(), negated(test.cond), other.cond), other.then, other.other)
    return test


def _only_test(tree: list[Written]) -> Test | None:
    return tree[0] if len(tree) == 1 and isinstance(tree[0], Test) else None


def _alike(a: list[Written], b: list[Written]) -> bool:
    """Do a and b consist of the same few moves and the same jump?"""
    if len(a) != len(b) or len(a) > 2:
        return False
    for x, y in zip(a, b, strict=True):
        if isinstance(x, Leave) and isinstance(y, Leave):
            if x.block is not y.block or x.again != y.again:
                return False
        elif not (isinstance(x, Plain) and isinstance(y, Plain) and _text(x.statements) == _text(y.statements) and len(x.statements) < 3):
            return False
    return True


def _text(statements: list[ast.stmt]) -> list[str]:
    return [ast.dump(s) for s in statements]


# ------------------------------------------------------------------------------------------------- jumps


@dataclass(slots=True)
class Around:
    """Where control goes: off the end of the code being written, by break, by continue; ``ways`` are other places that it has to reach from
    here.
    """

    falls: Places
    breaks: Places | None = None
    again: Places = NOWHERE
    ways: dict[Place, int] = field(default_factory=dict)

    def falling(self, falls: Places) -> "Around":
        return Around(falls, self.breaks, self.again, self.ways)


class Jumps:
    """Writes a simplified tree as Python statements."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self._looped: set[Block] = set()
        #: the blocks that loops are left for and that are neither right behind the loop nor the head of a surrounding one
        self._far: set[Block] = set()
        self._numbers: dict[Place, int] = {}

    def lower(self, tree: list[Written]) -> list[ast.stmt]:
        for _ in range(MAX_MENDED):
            self._find_loops(tree)
            if not self._looped | self._far or not Mender(self._looped | self._far).tree(tree):
                break
        else:
            self._find_loops(tree)  # for the tree as the last repair left it
        return self._sequence(tree, Around(NOWHERE))

    def _find_loops(self, tree: list[Written]) -> None:
        self._looped.clear()
        self._far.clear()
        self._unresolved(tree, NOWHERE)

    def _unresolved(self, tree: list[Written], falls: Places) -> set[Place]:
        """Return the places that tree jumps to other than by falling through; a Labeled that is left for its block in this way becomes a loop
        with one iteration.
        """
        found: set[Place] = set()
        for k, node in enumerate(tree):
            last = falls if k == len(tree) - 1 else NOWHERE
            if isinstance(node, Leave):
                found |= {_place(node)} - last
            elif isinstance(node, Labeled):
                here: Places = last | {(False, node.block)}
                inside = self._unresolved(node.body, here)  # type: ignore[arg-type]
                if (False, node.block) in inside:
                    self._looped.add(node.block)
                    inside -= here  # a break leads to all that it falls to
                found |= inside
            elif isinstance(node, While):
                again: Places = frozenset({(True, node.block)})
                inside = self._unresolved(node.body, again) - again - last  # type: ignore[arg-type]
                self._far |= {block for _, block in inside}
                found |= inside
            elif isinstance(node, Try):
                found |= self._unresolved(node.body, last if node.block is None else frozenset({(False, node.block)}))  # type: ignore[arg-type]
                for part in parts(node)[1:]:
                    found |= self._unresolved(part, last)
            else:
                for part in parts(node):
                    found |= self._unresolved(part, last)
        return found

    def _sequence(self, tree: list[Written], around: Around) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        for k, node in enumerate(tree):
            here = around if k == len(tree) - 1 else around.falling(NOWHERE)
            found += self._one(node, here)
        return found

    def _one(self, node: Written, around: Around) -> list[ast.stmt]:
        match node:
            case Plain():
                return node.statements
            case Leave():
                return self._leave(_place(node), around)
            case Test():
                then, other = self._sequence(node.then, around), self._sequence(node.other, around)
                return [ast.If(node.cond, then or [ast.Pass()], other)] if then or other else [ast.Expr(node.cond)]
            case Labeled():
                falls = around.falls | {(False, node.block)}
                if node.block not in self._looped:
                    return self._sequence(node.body, around.falling(falls))  # type: ignore[arg-type]
                inner = Around(falls, falls)
                return self._loop([*self._sequence(node.body, inner), ast.Break()], inner, around)  # type: ignore[arg-type]
            case While():
                again: Places = frozenset({(True, node.block)})
                inner = Around(again, around.falls, again)
                return self._loop(self._sequence(node.body, inner), inner, around)  # type: ignore[arg-type]
            case Try():
                return self._try(node, around)
        raise AssertionError(node)

    def _leave(self, place: Place, around: Around) -> list[ast.stmt]:
        if place in around.falls:
            return []
        if around.breaks is not None and place in around.breaks:
            return [ast.Break()]
        if place in around.again:
            return [ast.Continue()]
        assert around.breaks is not None, "nothing leads there"
        number = self._numbers.setdefault(place, len(self._numbers) + 1)
        around.ways[place] = number
        return [ast.Assign([ast.Name(self.writer.own_name(WAY), ast.Store())], ast.Constant(number)), ast.Break()]

    def _loop(self, body: list[ast.stmt], inner: Around, around: Around) -> list[ast.stmt]:
        loop: list[ast.stmt] = [ast.While(ast.Constant(True), body or [ast.Pass()], [])]
        if not inner.ways:
            return loop
        way = self.writer.own_name(WAY)
        ways: list[ast.stmt] = [ast.Assign([ast.Name(way, ast.Store())], ast.Constant(0)), *loop]
        for place, number in inner.ways.items():
            if place in around.falls:
                continue
            to = self._leave(place, around)
            # if the jump continues outward to the same place, the variable is already set
            to = [s for s in to if not isinstance(s, ast.Assign)] if place in around.ways else to
            ways.append(ast.If(ast.Compare(ast.Name(way, ast.Load()), [ast.Eq()], [ast.Constant(number)]), to or [ast.Pass()], []))
        return ways

    def _try(self, node: Try, around: Around) -> list[ast.stmt]:
        other = self._sequence(node.other, around) if node.other is not None else []  # type: ignore[arg-type]
        body = self._sequence(node.body, around if node.block is None else around.falling(frozenset({(False, node.block)})))  # type: ignore[arg-type]
        handler = self._sequence(node.handler, around)  # type: ignore[arg-type]
        name = self.writer.error_name(node.landing)
        caught = self.writer.own_name("_" + name) if name else None
        if name and caught:
            handler.insert(0, ast.Assign([ast.Name(name, ast.Store())], ast.Name(caught, ast.Load())))
        clause = ast.ExceptHandler(meaning(BaseException), caught, handler or [ast.Pass()])
        return [ast.Try(body or [ast.Pass()], [clause], other, [])]


def _place(node: Leave) -> Place:
    return node.again, node.block

"""The state of the abstract interpreter: frames and heap, cheap to fork, with a canonical order of its slots."""

from collections import deque
from collections.abc import Iterator
from typing import Any, Final

from hovis.bytecode.instructions import Code, Handler
from hovis.engine.state.heap import VObj
from hovis.engine.state.values import ENDS, ENDS_READ, ENDS_TAKEN, NONE, Dyn, Ref, V
from hovis.ir.model import Op
from hovis.lattice.membership import contains

#: What a handler of instructions returns when frames were pushed or popped, and when the chain has ended.
SWITCH: Final = -1
STOP: Final = -2


class Frame:
    """One activation: what CPython would hold in a frame.

    ctx       the call string, interned: which calls led here
    mode      what becomes of the result: "value" is pushed, "discard" is dropped, others see call.returned
    owner     the number of the generator object that this frame is the body of
    scope     the dict of locals(), where a frame has one of its own
    asked     whose attribute the call reads, with asked_name: an AttributeError that comes out of it is told
    decided   has an unknown decision been made since this activation began?
    given     the variables as the call left them, and the objects that they held
    polls     does it jump back here, and a handler of signals is called before it goes on?
    """

    __slots__ = (
        "asked", "asked_name", "code", "ctx", "decided", "extra", "fn", "given", "locals", "mode", "namespace", "owner", "pc", "polls", "scope", "stack",
    )  # fmt: skip

    def __init__(self, code: Code, ctx: int, locals: list[V | None], namespace: dict[str, Any], mode: str = "value", fn: object = None) -> None:
        self.code = code
        self.ctx = ctx
        self.pc = 0
        # behind the variables: what frames held that an exception has left which is being handled here
        self.locals = locals if len(locals) > len(code.names) else [*locals, None]
        self.stack: list[V] = []
        self.namespace = namespace
        self.mode = mode
        self.owner: int | None = None
        self.decided = False
        self.extra: Any = None
        self.scope: V = NONE
        self.asked: V | None = None
        self.asked_name = ""
        self.fn = fn
        self.given: Any = None
        self.polls = False

    @property
    def handler(self) -> Handler | None:
        """Where an exception goes that is raised where the frame stands, if it stays in it."""
        instruction = self.code.instructions[self.pc]
        return instruction.poll if self.polls else instruction.handler

    def fork(self) -> "Frame":
        copy = Frame.__new__(Frame)
        copy.code, copy.ctx, copy.pc, copy.namespace, copy.mode = self.code, self.ctx, self.pc, self.namespace, self.mode
        copy.owner, copy.decided, copy.extra, copy.fn = self.owner, self.decided, self.extra, self.fn
        copy.given, copy.polls = self.given, self.polls
        copy.scope = self.scope
        copy.asked, copy.asked_name = self.asked, self.asked_name
        copy.locals = self.locals[:]
        copy.stack = self.stack[:]
        return copy

    def put(self, kind: str, index: int, value: V) -> None:
        """Change what a place holds, which ``roots`` names."""
        if kind == "local":
            self.locals[index] = value
        elif kind == "stack":
            self.stack[index] = value
        elif kind == "scope":
            self.scope = value
        else:
            assert kind == "asked"
            self.asked = value

    def roots(self, depth: int) -> Iterator[tuple[Any, V]]:
        """All places in the frame that hold a value, with their names."""
        for k, value in enumerate(self.locals):
            if value is not None:
                yield (depth, "local", k), value
        for k, value in enumerate(self.stack):
            yield (depth, "stack", k), value
        if self.code.reads_locals:
            yield (depth, "scope", 0), self.scope
        if self.asked is not None:
            yield (depth, "asked", 0), self.asked
        if self.owner is not None:
            yield (depth, "owner", 0), Ref(self.owner)


class State:
    """Frames (outermost first), heap, the exception that is being handled, and the world.

    world     0: the environment is as it was on entry; 1: an opaque call has run since, what is read is tested;
              2: a test has failed, nothing of the environment is folded.  Worlds never join.
    classes   the numbers of the classes that the program has defined (see class_templates), in that order
    untold    an item was of another class than had been told: nothing that is told of items is relied on.  This never joins, either.
    """

    __slots__ = ("classes", "frames", "handled", "heap", "untold", "world")

    def __init__(
        self, frames: list[Frame], heap: dict[int, VObj], handled: V = NONE, world: int = 0, classes: tuple[int, ...] = (), untold: bool = False
    ) -> None:
        self.frames = frames
        self.heap = heap
        self.handled = handled
        self.world = world
        self.classes = classes
        self.untold = untold

    def fork(self) -> "State":
        return State([frame.fork() for frame in self.frames], dict(self.heap), self.handled, self.world, self.classes, self.untold)

    def site(self) -> tuple[int, ...]:
        """Where the innermost frame stands."""
        frame = self.frames[-1]
        if self.untold:
            return frame.ctx, frame.pc, self.world, 1
        return (frame.ctx, frame.pc, self.world) if self.world else (frame.ctx, frame.pc)

    def beliefs(self) -> int:
        """What is taken for granted, as part of a key: what holds of the environment, and of items."""
        return self.world + (4 if self.untold else 0)

    def goes_over(self) -> VObj | None:
        """The virtual iterator of the ``for`` at whose head the innermost frame stands, if it does."""
        frame = self.frames[-1]
        iterator = frame.stack[-1] if frame.code.instructions[frame.pc].op == "ForIter" and frame.stack else None
        return self.heap[iterator.aid] if isinstance(iterator, Ref) else None

    def roots(self) -> Iterator[tuple[Any, V]]:
        """All places outside the heap that hold a value, with their names."""
        yield "handled", self.handled
        for depth, frame in enumerate(self.frames):
            yield from frame.roots(depth)
        for number in self.classes:
            yield (number, "class", 0), Ref(number)

    def drop_dead(self, weakly: bool = False) -> bool:
        """Forget locals that nobody reads any more, unless the end of what they hold shows; may something have a finalizer that one held?

        weakly: there are weak references to who knows what.
        """
        last, ended = len(self.frames) - 1, False
        least = ENDS_READ if self.world == 2 else ENDS_TAKEN  # where something has changed it hardly matters what it costs
        clean: set[int] = set()
        for depth, frame in enumerate(self.frames):
            if depth == last or self.frames[depth + 1].mode == "closed":
                live = frame.code.live[frame.pc]
            else:
                live = live_after(frame.code, frame.pc)
            held = frame.locals
            for k, value in enumerate(held):
                if value is not None and not live >> k & 1 and not (weakly and type(value) is Ref):
                    if type(value) is Ref and any(type(x) is Ref and x.aid == value.aid for x in frame.stack):
                        continue  # something may be put into it by the instruction at hand
                    ends = self.ends_visibly(value, clean)
                    if ends < (ENDS if type(value) is Ref and self.world < 2 else least):
                        held[k] = None
                        ended |= ends > 0
        return ended

    def ends_visibly(self, value: V | None, clean: set[int]) -> int:
        """Is value, or does it hold, something whose end may show (see ENDS)?  clean: objects of which it is known that they do not."""
        if type(value) is not Ref:
            return (value.ends or 0) if type(value) is Dyn else 0
        todo, seen, found = [value.aid], {value.aid}, 0
        while todo:
            aid = todo.pop()
            obj = self.heap[aid]
            if obj.watched or (obj.kind == "generator" and (obj.extra[1].guarded or obj.extra[0] == "running")):
                return ENDS  # of one that runs nobody knows yet what it will hold
            for cell in () if aid in clean or obj.bulk else obj.cells:
                if type(cell) is Dyn:
                    if cell.ends:
                        if cell.ends == ENDS:
                            return ENDS
                        found = max(found, cell.ends)
                elif type(cell) is Ref and cell.aid not in seen:
                    seen.add(cell.aid)
                    todo.append(cell.aid)
        if not found:
            clean |= seen
        return found


def live_after(code: Code, pc: int) -> int:
    """The locals that are live behind the call at pc, wherever it leads: a loop may end, a test fail, an exception come out."""
    live = 0
    for after in code.successors[pc]:
        live |= code.live[after]
    handler = code.instructions[pc].handler
    return live | code.live[handler.target] if handler else live


class Paths:
    """Interned names of slots: a path is a number; its parts are the parent's number and a step.

    The step to a cell is its place, in a dict its place and its key: what stands in the same place of another dict under
    another key is another thing.
    """

    __slots__ = ("numbers", "parts", "rows")

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}
        self.parts: list[Any] = []
        self.rows: dict[Any, list[int]] = {}

    def __getitem__(self, part: Any) -> int:
        found = self.numbers.get(part)
        if found is None:
            found = self.numbers[part] = len(self.parts)
            self.parts.append(part)
        return found

    def row(self, parent: Any, count: int) -> list[int]:
        """The numbers of the first parts of parent (at least so many): of ``(parent, k)``, or of ``(*parent, k)``."""
        found = self.rows.get(parent)
        if found is None:
            found = self.rows[parent] = []
        for k in range(len(found), count):
            found.append(self[(*parent, k) if type(parent) is tuple else (parent, k)])
        return found

    def cells(self, parent: int, obj: VObj) -> list[int]:
        """The numbers of the cells of obj, which parent names."""
        if obj.kind != "dict":
            return self.row(parent, len(obj.cells))
        found = self.rows.get((parent, obj.keys))
        if found is None:
            found = self.rows[parent, obj.keys] = [self[parent, step] for step in enumerate(obj.keys)]
        return found


def slots(state: State, paths: Paths) -> Iterator[tuple[int, V, VObj | None]]:
    """Every slot once, in canonical order (breadth first: the shortest name wins), with the object it leads to first."""
    queue = deque((paths[name], value) for name, value in state.roots())
    seen: set[int] = set()
    while queue:
        path, value = queue.popleft()
        if isinstance(value, Ref) and value.aid not in seen:
            seen.add(value.aid)
            obj = state.heap[value.aid]
            yield path, value, obj
            queue.extend(zip(paths.cells(path, obj), obj.cells, strict=False))
        else:
            yield path, value, None


def substitute(state: State, old: Op | Any, new: V) -> None:
    """Everywhere in the state, the SSA value old is now known as new (narrowing on a branch)."""
    from_dyn = _replacer(old, new)
    for frame in state.frames:
        frame.locals = [from_dyn(v) for v in frame.locals]
        frame.stack = [from_dyn(v) for v in frame.stack]
    for aid, obj in state.heap.items():
        cells = tuple(map(from_dyn, obj.cells))
        if cells != obj.cells:
            state.heap[aid] = obj.replace(cells=cells)


def _replacer(old: object, new: V) -> Any:
    def replace(value: V | None) -> V | None:
        if not isinstance(value, Dyn) or value.value is not old:
            return value
        if isinstance(new, Dyn) and (value.ends or value.among or value.lost is not None):
            few = new.among or (value.among and tuple(x for x in value.among if contains(new.type, x)))
            lost = value.lost if new.lost is None else new.lost
            return Dyn(new.value, new.type, new.dims, lost, new.maybe_unbound, max(new.ends or 0, value.ends or 0), new.maybe_end, few)
        return new

    return replace

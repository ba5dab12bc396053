"""The state of the abstract interpreter: frames and heap, cheap to fork, with a canonical order of its slots."""

from collections import deque
from collections.abc import Iterator
from typing import Any, Final

from hovis.bytecode.instructions import Code, Handler
from hovis.engine.state.heap import VObj, reach
from hovis.engine.state.values import ENDS, ENDS_READ, ENDS_TAKEN, NONE, Dyn, Ref, V
from hovis.ir.analysis.live_ranges import may_end_visibly
from hovis.ir.model import Op
from hovis.lattice.membership import contains

#: What a handler of instructions returns when frames were pushed or popped, and when the chain has ended.
SWITCH: Final = -1
STOP: Final = -2


class Frame:
    """One activation: the contents of a frame of CPython.

    ctx       the call string, interned: the calls that led here
    mode      what is done with the result: "value" pushes it, "discard" drops it; for the others see call_results.AFTER
    fn        the function that is called: a function, the virtual one as it was then, or None
    owner     the number of the generator object whose body this frame executes, or None
    scope     the dict of locals(), if the frame has one of its own
    asked     the object whose attribute (asked_name) the call reads, or None: an AttributeError that leaves the frame gets both
    decided   whether a branch on an unknown condition has been taken since this activation began
    given     the arguments at the time of the call, and the objects that they referred to
    polls     whether the frame polls for signals at a backward jump, where a signal handler may raise
    """

    __slots__ = (
        "asked", "asked_name", "code", "ctx", "decided", "extra", "fn", "given", "locals", "mode", "namespace", "owner", "pc", "polls", "scope", "stack",
    )  # fmt: skip

    def __init__(self, code: Code, ctx: int, locals: list[V | None], namespace: dict[str, Any], mode: str = "value", fn: object = None) -> None:
        self.code = code
        self.ctx = ctx
        self.pc = 0
        # one slot after the variables: for what the frames held that were left by the exception that is being handled here
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
        """The handler of an exception raised at the current instruction, or None if the exception leaves the frame."""
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
        """Set the value of a place that ``roots`` names by kind and index."""
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
        """Yield the name and value of each place in the frame that holds a value."""
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
    """The state of the abstract interpreter: frames (outermost first), heap, the exception being handled, and the world.

    world     0: the environment is as it was on entry; 1: an opaque call has run since, so reads of the environment are tested;
              2: a test has failed, and no read of the environment is folded.  States of different worlds are never joined.
    classes   the numbers of the classes that the program has defined (see class_templates), in this order
    endings   whether unknown code may have run, or an object may have been given to other code, so that ends of lives may show
    untold    whether an item had another class than declared: declared classes of items are then not relied on any more.  States that differ
              in this are never joined, either.
    """

    __slots__ = ("classes", "endings", "frames", "handled", "heap", "untold", "world")

    def __init__(
        self, frames: list[Frame], heap: dict[int, VObj], handled: V = NONE, world: int = 0, classes: tuple[int, ...] = (), untold: bool = False,
        endings: bool = False,
    ) -> None:  # fmt: skip
        self.frames = frames
        self.heap = heap
        self.handled = handled
        self.world = world
        self.classes = classes
        self.untold = untold
        self.endings = endings

    def fork(self) -> "State":
        return State([frame.fork() for frame in self.frames], dict(self.heap), self.handled, self.world, self.classes, self.untold, self.endings)

    def site(self) -> tuple[int, ...]:
        """Return where the innermost frame stands: its call string and pc, and the assumptions of the state if they are not the initial ones."""
        frame = self.frames[-1]
        if self.untold:
            return frame.ctx, frame.pc, self.world, 1
        return (frame.ctx, frame.pc, self.world) if self.world else (frame.ctx, frame.pc)

    def beliefs(self) -> int:
        """Encode the assumptions about the environment and about items as a part of a key."""
        return self.world + (4 if self.untold else 0)

    def goes_over(self) -> VObj | None:
        """Return the virtual iterator of the ``for`` loop at whose head the innermost frame stands, or None."""
        frame = self.frames[-1]
        iterator = frame.stack[-1] if frame.code.instructions[frame.pc].op == "ForIter" and frame.stack else None
        return self.heap[iterator.aid] if isinstance(iterator, Ref) else None

    def roots(self) -> Iterator[tuple[Any, V]]:
        """Yield the name and value of each place outside the heap that holds a value."""
        yield "handled", self.handled
        for depth, frame in enumerate(self.frames):
            yield from frame.roots(depth)
        for number in self.classes:
            yield (number, "class", 0), Ref(number)

    def drop_dead(self, weakly: bool = False) -> list[V]:
        """Drop dead locals, except those whose end is visible; return the values of dropped locals that may have held something with a finalizer.

        weakly: weak references to unknown objects exist, so locals that hold objects of the trace are kept.
        """
        last, ended = len(self.frames) - 1, list[V]()
        least = ENDS_READ if self.world == 2 else ENDS_TAKEN  # where the environment has changed, the cost hardly matters
        clean: set[int] = set()
        reached, inner = set[int](), list[Frame]()
        for depth in range(last, -1, -1):
            frame = self.frames[depth]
            if depth == last or self.frames[depth + 1].mode == "closed":
                live = frame.code.live[frame.pc]
            else:
                live = live_after(frame.code, frame.pc)
            held = frame.locals
            for k, value in enumerate(held):
                if value is None or live >> k & 1 or (weakly and type(value) is Ref):
                    continue
                if type(value) is Ref and not self.heap[value.aid].immutable and self._may_be_filled(frame, value.aid, inner, reached):
                    continue
                ends = self.ends_visibly(value, clean)
                if ends < (ENDS if type(value) is Ref and self.world < 2 else least):
                    held[k] = None
                    if ends:
                        ended.append(value)
            inner.append(frame)
        return ended

    def _may_be_filled(self, frame: Frame, aid: int, inner: list[Frame], reached: set[int]) -> bool:
        """May the current instruction of a frame, or the call that it makes, store something into an object, which then ends with the variable that
        holds it?

        reached: the objects that the frames of the call reach, except those of the frames in ``inner``, which is emptied.
        """
        while inner:
            called = inner.pop()
            reach(self.heap, [one.aid for one in (*called.locals, *called.stack) if type(one) is Ref], reached)
        return aid in reached or any(type(one) is Ref and one.aid == aid for one in frame.stack)

    def outlives(self, value: V | None, depth: int) -> bool:
        """Does a frame below the one at this depth hold the object, on its stack or in a variable that it reads later, as long as this frame lives?"""
        if type(value) is not Ref or self.frames[depth].code.is_generator:  # a generator may be suspended, and live longer
            return False
        for frame in self.frames[:depth]:
            live = live_after(frame.code, frame.pc)
            places = (*frame.stack, *(one for k, one in enumerate(frame.locals) if live >> k & 1))
            if any(type(one) is Ref and one.aid == value.aid for one in places):
                return True
        return False

    def ends_visibly(self, value: V | None, clean: set[int]) -> int:
        """Return how visible the end of value, and of all that it holds, is: 0, or the highest constant (see ENDS). clean: objects known to hold
        nothing with a visible end.
        """
        if type(value) is not Ref:
            return (value.ends or 0) if type(value) is Dyn else 0
        todo, seen, found = [value.aid], {value.aid}, 0
        while todo:
            aid = todo.pop()
            obj = self.heap[aid]
            if obj.watched or (obj.kind == "generator" and (obj.extra[1].guarded or obj.extra[0] == "running")):
                return ENDS  # it is not known yet what a running generator will hold
            for cell in () if aid in clean or obj.bulk else obj.holding:
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
    """Return the locals that are live after the call at pc on any path: the exit of a loop, a failed test, an exception edge."""
    live = 0
    for after in code.successors[pc]:
        live |= code.live[after]
    handler = code.instructions[pc].handler
    return live | code.live[handler.target] if handler else live


class Paths:
    """Interned names of slots: a path is a number, and its parts are the number of the parent and a step.

    The step to a cell is its position; in a dict, its position and its key, because the value at the same position of another dict
    under another key is a different slot.
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

    def copy(self) -> "Paths":
        """Return another set of names with the same numbers."""
        made = Paths()
        made.numbers, made.parts = self.numbers.copy(), self.parts.copy()
        return made

    def row(self, parent: Any, count: int) -> list[int]:
        """Return the numbers of the first parts of parent (at least count of them): of ``(parent, k)``, or of ``(*parent, k)``."""
        found = self.rows.get(parent)
        if found is None:
            found = self.rows[parent] = []
        for k in range(len(found), count):
            found.append(self[(*parent, k) if type(parent) is tuple else (parent, k)])
        return found

    def cells(self, parent: int, obj: VObj) -> list[int]:
        """Return the numbers of the cells of obj, whose own path is parent."""
        if obj.kind != "dict":
            return self.row(parent, len(obj.cells))
        found = self.rows.get((parent, obj.keys))
        if found is None:
            found = self.rows[parent, obj.keys] = [self[parent, step] for step in enumerate(obj.keys)]
        return found


def slots(state: State, paths: Paths) -> Iterator[tuple[int, V, VObj | None]]:
    """Yield each slot once, in canonical order (breadth first: the shortest name wins); the first slot of an object comes with the object."""
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
    """Replace the SSA value old by new everywhere in the state (narrowing on a branch)."""
    from_dyn = _replacer(old, new)
    for frame in state.frames:
        frame.locals = [from_dyn(v) for v in frame.locals]
        frame.stack = [from_dyn(v) for v in frame.stack]
    for aid, obj in state.heap.items():
        cells = tuple(map(from_dyn, obj.cells))
        if cells != obj.cells:
            state.heap[aid] = obj.replace(cells=cells)


def _replacer(old: object, new: V) -> Any:
    visible = isinstance(new, Dyn) and may_end_visibly(new.type)

    def replace(value: V | None) -> V | None:
        if not isinstance(value, Dyn) or value.value is not old:
            return value
        if isinstance(new, Dyn) and (value.ends or value.among or value.lost is not None):
            few = new.among or (value.among and tuple(x for x in value.among if contains(new.type, x)))
            lost = value.lost if new.lost is None else new.lost
            ends = max(new.ends or 0, value.ends or 0) if visible else new.ends
            return Dyn(new.value, new.type, new.dims, lost, new.maybe_unbound, ends, new.maybe_end, few)
        return new

    return replace

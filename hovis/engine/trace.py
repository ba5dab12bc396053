"""Tracing of a Python function for partly known arguments: the entry point of the engine."""

import types
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from hovis.base import deadline
from hovis.base.once import alone
from hovis.bytecode.instructions import effect
from hovis.bytecode.normalize import normalize
from hovis.engine import call as calls
from hovis.engine import lost_precision, ssa_construction
from hovis.engine.calls import models
from hovis.engine.calls.argument_binding import Callee
from hovis.engine.control import environment_loops, identity_sets, iteration, iterators, raising, residual_generators, tested_items
from hovis.engine.entries.entry import Entry
from hovis.engine.environment import aliased_stores, escaping_objects, guards
from hovis.engine.environment.fixed_facts import FixedFacts
from hovis.engine.environment.guards import Guard
from hovis.engine.handlers import HANDLERS
from hovis.engine.machine.materialize import Leak
from hovis.engine.merge import generalization
from hovis.engine.objects.class_attributes import Thawed
from hovis.engine.speculation import side_exits
from hovis.engine.speculation.assumptions import Assumptions
from hovis.engine.state import budget, class_templates
from hovis.engine.state.frames_and_heap import Frame, State
from hovis.engine.state.heap import VObj
from hovis.engine.state.specialization_tables import FREELY, SPARINGLY, GiveUp, Tables
from hovis.engine.state.standins import NotMaterializable
from hovis.engine.state.type_lookup import BOUND
from hovis.engine.state.values import NO_LABELS, UNBOUND_VALUE, Dyn, Known, V
from hovis.engine.worklist import Engine
from hovis.ir.model import Block, Edge, Function, Jump, Location, Operand, Param
from hovis.ir.operations import unchanged
from hovis.lattice import ANY, Const, constants
from hovis.library.core import Library

if TYPE_CHECKING:
    from hovis.engine.learned import Kept, Learned

#: Instructions that a trace may interpret by default, including those of restarts.
FUEL = 250_000


class Leaf:
    """An unknown part of the arguments.

    promotable: if its value turns out to decide something, it should become known (see Promote).  choices: the constants of which it is one.
    """

    __slots__ = ("choices", "param", "promotable")

    def __init__(self, param: Param, promotable: bool = False, choices: tuple[object, ...] = ()) -> None:
        self.param = param
        self.promotable = promotable
        self.choices = choices


class Fixed:
    """A known part of the arguments."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value


class Structure:
    """A container passed by the caller whose structure is known: kind, class, keys and parts. ``param`` stands for the container itself."""

    __slots__ = ("cls", "keys", "kind", "param", "parts")

    def __init__(self, kind: str, cls: type, keys: tuple[Any, ...], parts: "tuple[Part, ...]", param: Param) -> None:
        self.kind = kind
        self.cls = cls
        self.keys = keys
        self.parts = parts
        self.param = param


class Fresh:
    """A tuple or dict that the call itself makes, for ``*args`` or ``**kwargs``; keys is None for a tuple."""

    __slots__ = ("keys", "parts")

    def __init__(self, keys: tuple[str, ...] | None, parts: "tuple[Part, ...]") -> None:
        self.keys = keys
        self.parts = parts


Part = Leaf | Fixed | Structure | Fresh


class Result:
    """The result of a trace: the functions, the traced one first, and the map from the leaves of the arguments to its params."""

    __slots__ = ("engine", "functions", "given", "kept", "params", "reasons", "stats")

    def __init__(self, functions: list[Function], given: Sequence[Operand], engine: Engine) -> None:
        self.functions = functions
        #: the leaves that the params of the traced function stand for, and the param of each leaf
        self.given = tuple(given)
        self.params = {id(arg): param for arg, param in zip(given, functions[0].params, strict=True)}
        self.engine = engine
        #: what the trace has learned, for later ones
        self.kept: Kept | None = None
        self.reasons = [*engine.tables.reasons.values(), *lost_precision.reasons(engine)]
        self.stats = {"instructions": engine.effort.steps, "restarts": engine.restarts}

    @property
    def guards(self) -> tuple[Guard, ...]:
        """The guards that the traced function relies on when it begins."""
        reads = self.engine.keys.start.reads
        return tuple(guard for at, guard in self.engine.environment.guards.items() if at in reads)

    @property
    def assumed(self) -> tuple[Guard, ...]:
        """What the traced function relies on in an environment that is taken as frozen."""
        return self.engine.environment.all_assumed()

    def fixed(self, roots: Iterable[object]) -> FixedFacts:
        """Return the same, for another trace of the function, with the objects whose contents are relied on, and what the function stores.
        roots: the function, and its known arguments.
        """
        environment, tables = self.engine.environment, self.engine.tables
        stored: dict[int, set[Any]] = {at: set(names) for at, (_, _, names) in tables.stored.items()}
        for at, name in [*tables.thawed_globals, *tables.thawed_attributes, *((at, None) for at in tables.thawed)]:
            stored.setdefault(at, set()).add(name)
        return FixedFacts(environment.all_assumed(), environment.static_objects.values(), {at: frozenset(names) for at, names in stored.items()}, roots)


class PythonEngine(Engine):
    """The engine with CPython's instructions."""

    def call(self, callee: V, args: list[V], kwargs: dict[str, V], mode: str = "value") -> int | None:
        return calls.call(self, callee, args, kwargs, mode)

    def residual(self, aid: int) -> Operand:
        if self.leaving and self.state.heap[aid].extra[0] != "finished":
            return side_exits.real_generator(self, aid)
        return residual_generators.build(self, aid)

    def get_iter(self, value: V, mode: str = "value") -> int | None:
        return iterators.get_iter(self, value, mode)

    def step(self, iterator: V, mode: str, exit: int = -1) -> int | None:
        return iteration.step(self, iterator, mode, exit)

    def program(self, code: Any) -> Any:
        found = _programs.get(id(code))
        if found is None:
            found = _programs[id(code)] = code, [
                (HANDLERS.get(i.op) or _unsupported(i.op), i.arg, effect(i.op, i.arg)[0]) for i in code.instructions
            ]
        return found[1]


_programs: dict[int, tuple[Any, list[Any]]] = {}


def _unsupported(op: str) -> Any:
    return lambda m, arg: raising.give_up(m, f"the instruction {op}")


@alone
def run(
    fn: types.FunctionType,
    parts: Sequence[Part],
    library: Library,
    package: str,
    fuel: int = FUEL,
    frozen: bool = True,
    known_sizes: bool = False,
    volatile: frozenset[Any] = frozenset(),
    wanted: types.CodeType | None = None,
    left: Iterable[types.CodeType] = (),
    learned: "Learned | None" = None,
    assumptions: "Assumptions | None" = None,
    fixed: FixedFacts | None = None,
) -> Result:
    """Trace fn for the given arguments, one part for each parameter (``*args`` and ``**kwargs`` last).

    wanted: the code of the function that is to be specialized, if fn only calls it; left: the codes of callees that stay calls;
    learned: what earlier traces of fn have learned, to which this trace adds; fixed: what needs no test although the environment is not frozen.
    Raises GiveUp with the reason if the call has to be left as a whole.
    """
    code = normalize(fn.__code__)
    if code.unsupported:
        raise GiveUp(code.unsupported)
    held = sum(map(_held, parts))
    fuel += budget.PER_PART * held + budget.PER_INSTRUCTION * len(code.instructions)
    engine = engine_for(library, package, frozen, known_sizes, volatile, held)
    engine.tables.wanted, engine.assumptions, engine.environment.fixed = wanted, assumptions, fixed
    named = list(fn.__globals__.items())
    data = [value for name, value in named if not (type(name) is str and name.startswith("__")) and not issubclass(type(value), str | bytes)]
    roots = engine.effort.roots = [*(part.value for part in parts if isinstance(part, Fixed)), *data, fn.__closure__]
    engine.environment.guard("function", fn, None, fn.__code__)
    engine.environment.guard("defaults", fn, None, (fn.__defaults__, fn.__kwdefaults__))
    engine.environment.granted = engine.environment.reads
    if learned is not None:
        learned.begin(engine.tables, roots)
    engine.tables.not_entered.update(dict.fromkeys(left, budget.WHY))
    choices = tuple((k, p.choices) for k, p in enumerate(parts) if isinstance(p, Leaf) and p.choices)
    try:
        result = follow(engine, lambda: _initial(engine, fn, code, parts), fuel, choices)
    finally:
        if learned is not None:
            learned.add_callees(engine.tables)
    if learned is not None and frozen:
        result.kept = learned.keep(engine.tables, roots, engine.effort.steps)
    return result


def engine_for(
    library: Library, package: str, frozen: bool, known_sizes: bool = False, volatile: frozenset[Any] = frozenset(), held: int = 0
) -> PythonEngine:
    """Make the engine for one trace. held: the number of parts in the structures of the arguments."""
    engine = PythonEngine(library, Tables((SPARINGLY if known_sizes else FREELY).for_parts(held), FREELY.for_parts(held)), package, frozen)
    engine.known_sizes, engine.environment.volatile = known_sizes, volatile
    return engine


def follow(engine: PythonEngine, initial: Callable[[], State], fuel: int, choices: tuple[Any, ...] = ()) -> Result:
    """Trace from a state with one frame. ``initial`` makes this state again for each attempt."""
    try:
        functions = _trace(engine, initial, fuel, choices)
        return Result(functions, _match(engine, initial), engine)
    finally:
        if engine.assumptions is not None:
            engine.assumptions.examples.clear()
        engine.effort.roots = []  # the engine is garbage soon, but in reference cycles: it must not keep the user's objects alive until then
        class_templates.retire(engine.tables.templates.values())
        constants.forget_large()


def _held(part: Part) -> int:
    """Count the parts in structures: a trace gets longer with them, as for a model with many parameters."""
    return sum(1 + _held(p) for p in part.parts) if isinstance(part, Structure) else 0


def _trace(engine: PythonEngine, initial: Callable[[], State], fuel: int, choices: tuple[Any, ...]) -> list[Function]:
    """Repeat the trace until an attempt completes without learning anything that it should have known from its beginning."""
    attempts = len(budget.SHARES)
    effort = engine.effort
    part = budget.BRIEF if engine.tables.expensive else 1
    effort.begin(fuel * budget.SHARES[0] * part, fuel / FUEL * part, first=True)
    while True:
        effort.renew()
        effort.until = deadline.clock() + deadline.left() * budget.TIMES[-attempts] * (budget.BRIEF if engine.tables.expensive else 1)
        try:
            engine.resolving = False
            engine.run(lambda: _start(engine, initial, choices))
            if environment_loops.learn(engine):
                continue
            engine.resolving = True
            functions = ssa_construction.finish(engine)
        except NotMaterializable as refused:
            engine.tables.not_virtual.add(refused.args[0])
            continue
        except Leak as leak:
            engine.leave_class(leak.args[0])
            continue
        except budget.OutOfFuel as out:
            if not budget.leave_expensive(engine.tables):
                attempts = _with_less(engine, attempts - 1, out)
            share = budget.SHARES[-attempts]
            effort.begin(fuel * share, fuel / FUEL * share / budget.SHARES[0])
            continue
        if engine.environment.frozen and _reads_less(engine, functions):
            continue
        leaked, escaped = class_templates.scrub(functions), identity_sets.escaped(functions)
        engine.tables.not_virtual.update(escaped)
        taken: list[Any] = [op.args[0] for one in functions for op in one.ops() if op.callee is unchanged]
        large = guards.too_large(look.value for look in taken)
        engine.environment.volatile |= large
        if not leaked and not escaped and not large:
            return functions
        for template in leaked:
            engine.leave_class(template)


def _reads_less(engine: PythonEngine, functions: Sequence[Function]) -> bool:
    """Record the known objects, classes and globals that the residual may store into, so that the next trace reads them at run time. Return
    False if nothing new was recorded.
    """
    environment = engine.environment
    stored = aliased_stores.find(functions, environment.static_parts, environment.asked, environment.descriptors_only())
    thawed: list[Any] = [one for held in stored.objects for one in environment.thaw_later(held)]
    thawed += [held for held in stored.objects if isinstance(held, types.FunctionType) and environment.leave_function(held)]
    if engine.tables.stored:
        escaped = escaping_objects.escaping(functions, engine.tables.stored)
        thawed += [one for at, (held, _, _) in engine.tables.stored.items() if escaped is None or at in escaped for one in environment.thaw_later(held)]
    places = {(id(held), name) for held, name in stored.globals} - engine.tables.thawed_globals
    engine.tables.thawed_globals |= places
    tables = engine.tables
    attributes = [(cls, name) for cls, name in stored.attributes if (held := tables.thawed_attributes.get((id(cls), name))) is None or held.kind is not ANY]
    for cls, name in attributes:
        tables.thawed_attributes[id(cls), name] = Thawed(ANY, False)
        tables.kept[id(cls)] = cls
    return bool(thawed or attributes or places)


def _with_less(engine: PythonEngine, attempts: int, out: budget.OutOfFuel) -> int:
    """Make the next attempt know less, and return the number of attempts that are left. Raise out if there are none."""
    if attempts > 1 and not _know_less(engine, str(out)):
        if engine.effort.undissolved():
            return attempts + 1     # no callee is to blame: repeat the first attempt, with its full share
        attempts = 1
    if attempts == 1:
        _know_least(engine, str(out))
    if not attempts:
        if engine.tables.generators != "virtual":
            raise out
        # a chain of generators that grows in a loop may be the cause
        engine.tables.generators, attempts = "real", 1
    return attempts


def _know_less(engine: PythonEngine, why: str) -> bool:
    """Make the trace cheaper: leave the most expensive callee as a call, or stop keeping its most numerous states apart. False if neither is
    possible.
    """
    return budget.leave_heaviest(engine.tables, engine.effort.spent, engine.package, why) or generalization.let_go(engine.tables, engine.keys.entries)


def _know_least(engine: PythonEngine, why: str) -> None:
    """Prepare the last attempt: no expensive callee is entered, and no states are kept apart."""
    budget.leave_heaviest(engine.tables, engine.effort.spent, engine.package, why, last=True)
    engine.tables.coarse = True
    engine.keys.wanted.clear()


def _start(engine: Engine, initial: Callable[[], State], choices: tuple[Any, ...]) -> Entry:
    state = initial()
    code = state.frames[0].code
    name = getattr(state.frames[0].fn, "__name__", code.code.co_name)
    function = Function(name, [], Location(code.filename, code.first_line, None, None, None, code.qualname, code.first_line))
    ctx = engine.tables.contexts["start", 0]
    state.frames[0].ctx = ctx
    entry = Entry(("start", 0), (), function)
    engine.homes = {ctx: entry}
    engine.keys.entries[entry.site] = {(): entry}
    engine.merger.enter(entry, state)
    entry.choices = choices
    engine.push_work(entry)
    return entry


def _initial(engine: Engine, fn: types.FunctionType, code: Any, parts: Sequence[Part]) -> State:
    """Make the state in which the function begins."""
    engine.state = State([], {})
    slots: list[V | None] = [value_of(engine, part, held=True) for part in parts]
    free = len(code.names) - code.n_free
    slots += [UNBOUND_VALUE] * (free - len(slots))
    slots += Callee.of(engine, Known(fn), fn).cells
    frame = Frame(code, -1, slots, fn.__globals__, "value", fn)
    return State([frame], engine.state.heap)


def value_of(engine: Engine, part: Part, held: bool = False) -> V:
    """Make the engine value of a part of the arguments. held: the caller keeps it alive as long as the function runs."""
    if isinstance(part, Fixed):
        return Known(part.value)
    if isinstance(part, Leaf):
        dims = part.param.dims
        engine.untested |= tested_items.is_told(part.param.type)
        known = tuple(Known(d.value) if isinstance(d, Const) and d.value is not None else None for d in dims) if dims else None
        return Dyn(part.param, part.param.type, known, NO_LABELS if part.promotable else None, ends=None if held else 0)
    cells = tuple(value_of(engine, p, held and (not isinstance(part, Structure) or part.kind == "tuple")) for p in part.parts)
    if isinstance(part, Structure):
        return models.bound(engine, part.cls, cells, part.param) if part.cls in BOUND else _container(engine, part, cells)
    if part.keys is None:
        return engine.new(VObj("tuple", tuple, cells))
    return engine.new(VObj("dict", dict, cells, part.keys))


def _container(engine: Engine, part: Structure, cells: tuple[V, ...]) -> V:
    return engine.new(VObj(part.kind, part.cls, cells, part.keys, node=part.param, argument=True))


def _match(engine: Engine, initial: Callable[[], State]) -> Sequence[Operand]:
    """Return the operand that each Param of the entry block stands for."""
    start = engine.keys.start
    state = initial()
    state.frames[0].ctx = start.state.frames[0].ctx
    return ssa_construction.arguments(engine, start, state, None)


def arranged(result: Result, leaves: Sequence[Param]) -> Function:
    """Return the traced Function with leaves as its parameters, including those that it does not use."""
    start = result.functions[0]
    if len(result.params) < len(result.given):
        _told_apart(result)
    wanted = tuple(result.params.get(id(p), p) for p in leaves)
    for op in (op for f in result.functions for op in f.ops() if op.callee is start):
        # the traced function calls itself
        given = dict(zip(map(id, start.params), op.args, strict=True))
        op.args = tuple(given.get(id(p), Const(None)) for p in wanted)
    start.blocks[0].params = wanted
    return start


def _told_apart(result: Result) -> None:
    """Insert an entry block with one parameter per leaf, where several params stand for the same leaf. Raise GiveUp if the function calls
    itself.
    """
    start = result.functions[0]
    if any(op.callee is start for f in result.functions for op in f.ops()):
        raise GiveUp("it calls itself, and one value is passed for two of its arguments")
    first = {id(arg): Param(param.type, param.dims, param.name) for arg, param in zip(result.given, start.params, strict=True)}
    entry = Block(tuple(first.values()), [], Jump(Edge(start.blocks[0], tuple(first[id(arg)] for arg in result.given))))
    start.blocks.insert(0, entry)
    result.params = first

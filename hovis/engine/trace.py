"""From a Python function and what is known of its arguments to IR: the engine's front door."""

import types
from collections.abc import Callable, Iterable, MutableSet, Sequence
from typing import Any

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
from hovis.engine.environment.guards import Guard
from hovis.engine.handlers import HANDLERS
from hovis.engine.machine.materialize import Leak
from hovis.engine.merge import generalization
from hovis.engine.objects.class_attributes import Thawed
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

#: Instructions that a trace may interpret to begin with, restarts included.
FUEL = 250_000


class Leaf:
    """An unknown part of the arguments.

    promotable: if it turns out to choose, it had better be known (see Promote).  choices: it is one of these constants.
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
    """A container of the caller whose structure is known: kind, class, keys and parts; ``param`` is the container."""

    __slots__ = ("cls", "keys", "kind", "param", "parts")

    def __init__(self, kind: str, cls: type, keys: tuple[Any, ...], parts: "tuple[Part, ...]", param: Param) -> None:
        self.kind = kind
        self.cls = cls
        self.keys = keys
        self.parts = parts
        self.param = param


class Fresh:
    """A tuple or dict that the call itself makes: ``*args`` and ``**kwargs``."""

    __slots__ = ("keys", "parts")

    def __init__(self, keys: tuple[str, ...] | None, parts: "tuple[Part, ...]") -> None:
        self.keys = keys
        self.parts = parts


Part = Leaf | Fixed | Structure | Fresh


class Result:
    """What the engine found: the functions, the traced one first, and which of its params is which leaf."""

    __slots__ = ("engine", "functions", "given", "params", "reasons", "stats")

    def __init__(self, functions: list[Function], given: Sequence[Operand], engine: Engine) -> None:
        self.functions = functions
        #: what the params of the traced function stand for, and the other way round
        self.given = tuple(given)
        self.params = {id(arg): param for arg, param in zip(given, functions[0].params, strict=True)}
        self.engine = engine
        self.reasons = [*engine.tables.reasons.values(), *lost_precision.reasons(engine)]
        self.stats = {"instructions": engine.effort.steps, "restarts": engine.restarts}

    @property
    def guards(self) -> tuple[Guard, ...]:
        """What the traced function relies on when it begins."""
        reads = self.engine.keys.start.reads
        return tuple(guard for at, guard in self.engine.environment.guards.items() if at in reads)


class PythonEngine(Engine):
    """The engine with CPython's instructions."""

    def call(self, callee: V, args: list[V], kwargs: dict[str, V], mode: str = "value") -> int | None:
        return calls.call(self, callee, args, kwargs, mode)

    def residual(self, aid: int) -> Operand:
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
    learned: MutableSet[types.CodeType] | None = None,
) -> Result:
    """Trace fn for these arguments, one part a parameter (``*args`` and ``**kwargs`` last).

    wanted: the code that all of this is about, which fn only calls; left: what stays a call;
    learned: callees that earlier traces of fn have found to cost too much, to which this one adds what it finds.
    Raises GiveUp with the reason if the call has to be left as a whole.
    """
    code = normalize(fn.__code__)
    if code.unsupported:
        raise GiveUp(code.unsupported)
    held = sum(map(_held, parts))
    fuel += budget.PER_PART * held + budget.PER_INSTRUCTION * len(code.instructions)
    engine = engine_for(library, package, frozen, known_sizes, volatile, held)
    engine.tables.wanted = wanted
    engine.tables.not_entered.update(dict.fromkeys(left, budget.WHY))
    data = [value for name, value in fn.__globals__.items() if not name.startswith("__") and not issubclass(type(value), str | bytes)]
    engine.effort.roots = [*(part.value for part in parts if isinstance(part, Fixed)), data, fn.__closure__]
    engine.environment.guard("function", fn, None, fn.__code__)
    engine.environment.guard("defaults", fn, None, (fn.__defaults__, fn.__kwdefaults__))
    engine.environment.granted = engine.environment.reads
    engine.tables.expensive = frozenset(learned or ())
    choices = tuple((k, p.choices) for k, p in enumerate(parts) if isinstance(p, Leaf) and p.choices)
    try:
        return follow(engine, lambda: _initial(engine, fn, code, parts), fuel, choices)
    finally:
        if learned is not None:
            learned |= budget.too_expensive(engine.tables)


def engine_for(
    library: Library, package: str, frozen: bool, known_sizes: bool = False, volatile: frozenset[Any] = frozenset(), held: int = 0
) -> PythonEngine:
    """An engine for one trace, of arguments with so many parts."""
    engine = PythonEngine(library, Tables((SPARINGLY if known_sizes else FREELY).for_parts(held), FREELY.for_parts(held)), package, frozen)
    engine.known_sizes, engine.environment.volatile = known_sizes, volatile
    return engine


def follow(engine: PythonEngine, initial: Callable[[], State], fuel: int, choices: tuple[Any, ...] = ()) -> Result:
    """Trace from a state with one frame, which ``initial`` makes afresh each time."""
    try:
        functions = _trace(engine, initial, fuel, choices)
        return Result(functions, _match(engine, initial), engine)
    finally:
        engine.effort.roots = []  # the engine is garbage soon, but in cycles: what is the user's is not to last as long
        class_templates.retire(engine.tables.templates.values())
        constants.forget_large()


def _held(part: Part) -> int:
    """How many parts are in structures: a model is as long as its parameters are many."""
    return sum(1 + _held(p) for p in part.parts) if isinstance(part, Structure) else 0


def _trace(engine: PythonEngine, initial: Callable[[], State], fuel: int, choices: tuple[Any, ...]) -> list[Function]:
    """Trace until what was learned while building the last objects is known from the beginning."""
    attempts = len(budget.SHARES)
    effort = engine.effort
    part = budget.BRIEF if engine.tables.expensive else 1
    effort.begin(fuel * budget.SHARES[0] * part, fuel / FUEL * part, first=True)
    while True:
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
    """The residual may store into known objects, or classes: the next trace reads them at run time; False: there is none that it does not read so already."""
    environment = engine.environment
    stored = aliased_stores.find(functions, environment.static_parts, environment.asked.values())
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
    """Let the next attempt know less; how many there are to be.  Raises out where there are no more."""
    if attempts > 1 and not _know_less(engine, str(out)):
        if engine.effort.undissolved():
            return attempts + 1     # there is nobody to blame: the first attempt again, with all of its share
        attempts = 1
    if attempts == 1:
        _know_least(engine, str(out))
    if not attempts:
        if engine.tables.generators != "virtual":
            raise out
        # generators that are stacked up in a loop may be what it takes so long for
        engine.tables.generators, attempts = "real", 1
    return attempts


def _know_less(engine: PythonEngine, why: str) -> bool:
    """It takes too long: what costs most is not entered, or not told apart; False: there is nothing of the kind."""
    return budget.leave_heaviest(engine.tables, engine.effort.spent, engine.package, why) or generalization.let_go(engine.tables, engine.keys.entries)


def _know_least(engine: PythonEngine, why: str) -> None:
    """The next attempt is the last: nothing that costs much is entered, and no states are told apart."""
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
    """The state in which the function begins."""
    engine.state = State([], {})
    slots: list[V | None] = [value_of(engine, part, held=True) for part in parts]
    free = len(code.names) - code.n_free
    slots += [UNBOUND_VALUE] * (free - len(slots))
    slots += Callee.of(engine, Known(fn), fn).cells
    frame = Frame(code, -1, slots, fn.__globals__, "value", fn)
    return State([frame], engine.state.heap)


def value_of(engine: Engine, part: Part, held: bool = False) -> V:
    """A part of the arguments as an engine value; held: the caller holds it as long as the function runs."""
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
    """What each Param of the entry block stands for."""
    start = engine.keys.start
    state = initial()
    state.frames[0].ctx = start.state.frames[0].ctx
    return ssa_construction.arguments(engine, start, state, None)


def arranged(result: Result, leaves: Sequence[Param]) -> Function:
    """The traced Function, with these leaves for its parameters; what it does not use it is given all the same."""
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
    """Several params stand for one leaf: there is one in front of them."""
    start = result.functions[0]
    if any(op.callee is start for f in result.functions for op in f.ops()):
        raise GiveUp("it calls itself, and is given one value twice")
    first = {id(arg): Param(param.type, param.dims, param.name) for arg, param in zip(result.given, start.params, strict=True)}
    entry = Block(tuple(first.values()), [], Jump(Edge(start.blocks[0], tuple(first[id(arg)] for arg in result.given))))
    start.blocks.insert(0, entry)
    result.params = first

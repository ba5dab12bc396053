"""Programs that are recorded as they run: a Function is run op by op, and the user functions that it calls are traced first.

``recorded(function, places, outputs, seeded)`` does what the Function would do that ``reverse`` returns for the same arguments, for
functions that ``reverse`` can't transform; ``recorded_push(function, places)`` does what the result of ``forward`` would do.
"""

import abc
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from hovis.base import deadline
from hovis.base.deadline import OutOfTime
from hovis.base.once import alone, once
from hovis.bytecode import normalize
from hovis.engine import trace as engine
from hovis.engine.environment.guards import compile_guards
from hovis.engine.state.budget import LEAVABLE, OutOfFuel
from hovis.engine.state.specialization_tables import GiveUp, Promote
from hovis.engine.trace import Fixed, Fresh, Leaf, Part
from hovis.errors import DerivativeError
from hovis.ir.analysis.control_flow import uses
from hovis.ir.analysis.live_ranges import lives
from hovis.ir.model import Branch, Effect, Function, Op, Param, Return
from hovis.ir.naming import is_name
from hovis.ir.operations import PACKAGE, current_exception, make_cell, make_function
from hovis.lattice import ANY, Const, Type
from hovis.library.numpy.adjoints import shadow_memory
from hovis.library.numpy.adjoints.tangents import gradient, ones_like
from hovis.library.standard import STANDARD
from hovis.passes import pipeline
from hovis.transforms.interpreter import Activation, Interpreter
from hovis.transforms.normal_form import items
from hovis.transforms.record.boxes import OPEN, Box, bare, has_boxes, record
from hovis.transforms.record.call_kinds import Following
from hovis.transforms.record.dual_numbers import Duals
from hovis.transforms.record.tape import Tape
from hovis.transforms.record.unbox import cleaned
from hovis.transforms.rule_tracing import leaves


class Recorder(Interpreter):
    """Runs Functions, and records the calls in which something changes."""

    def call(self, op: Op, callee: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Call callee, recorded by the tapes that the call concerns."""
        if callee is current_exception:
            return super().call(op, callee, args, kwargs)
        for tape in OPEN.tapes:
            tape.location = op.location
        return record(callee, tuple(args), kwargs)

    def branch(self, branch: Branch, condition: Any) -> bool:
        """Return the truth of condition, without its box: small changes do not affect the branch that is taken."""
        return bool(bare(condition))


_RECORDER: Final = Recorder()


# ------------------------------------------------------------------------------------------------- Python functions


class Known(NamedTuple):
    """A traced Python function: its Function (None if it can't be followed), the test whether its environment is unchanged, and the objects
    whose identities are in the key (held, so that their ids are not reused).
    """

    function: Function | None
    holds: Callable[[], bool]
    held: Any


#: (function, the known parts of its arguments) -> its trace
_traced: dict[Any, Known] = {}
#: Maximal number of traces that are kept: a program may create new functions in each run.
KEPT: Final = 512


def run(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function op by op, so that its calls are recorded; call it directly if it can't be traced."""
    if type(fn) is not types.FunctionType:
        return record(fn, args, kwargs)
    held = closed_over(fn)
    given = (*(held or ()), *args, *kwargs.values())
    found = None if held is None else _followed(fn, len(held), given, tuple(kwargs))
    if found is None:
        if any(tape.touched for tape in OPEN.tapes):
            raise DerivativeError(f"{getattr(fn, '__qualname__', fn)} can't be traced ({OPEN.tapes[-1].place()})")
        return fn(*args, **kwargs)
    function, values = found
    if function.is_generator:
        return _RECORDER.lazily(Activation(function, values, lives(function)))
    return _RECORDER.evaluate(function, *values)


def closed_over(fn: Any) -> tuple[Any, ...] | None:
    """Return the contents of fn's closure cells; None if these, or the default values of its parameters, can't be passed to it."""
    binds = _rebound(fn.__code__, fn.__code__.co_freevars)
    if binds or any(type(value) is Box for value in by_default(fn)):
        return None
    try:
        return tuple([cell.cell_contents for cell in fn.__closure__ or ()])
    except ValueError:
        return None


def by_default(fn: Any) -> tuple[Any, ...]:
    """Return the default values of fn's parameters, with those of keyword-only ones last."""
    return (*(fn.__defaults__ or ()), *(fn.__kwdefaults__ or {}).values())


@once
def _rebound(code: types.CodeType, names: tuple[str, ...]) -> bool:
    """Does code, or the code of a function in it, rebind or delete one of these variables of an enclosing function?"""
    if not names:
        return False
    of = normalize(code)
    if any(i.op in ("SetCell", "DelCell") and i.arg >= len(of.names) - of.n_free and of.names[i.arg] in names for i in of.instructions):
        return True
    return any(_rebound(inner, names) for inner in code.co_consts if isinstance(inner, types.CodeType))


def _followed(fn: Any, held: int, given: tuple[Any, ...], names: tuple[str, ...]) -> tuple[Function, list[Any]] | None:
    """Return the Function that fn is traced to, and the values to run it with; None if fn can't be traced."""
    for detail in RULES if _is_rule(fn) else (TYPES,):
        by_position = len(given) - len(names)
        details = [detail] * by_position + [EXACTLY if detail else TYPES] * len(names)
        function = _function_of(fn, held, list(map(_part, given, details)), names)
        if function is not None:
            return function, [one for value, known in zip(given, details, strict=True) for one in _values(value, known)]
    return None


@alone
def _function_of(fn: Any, held: int, parts: Sequence[Part], names: tuple[str, ...]) -> Function | None:
    key = id(fn.__code__), id(fn.__globals__), tuple(map(id, by_default(fn))), names, *map(_key, parts)
    known = _traced.get(key)
    if known is not None and known.holds():
        return known.function
    while len(_traced) >= KEPT:
        del _traced[next(iter(_traced))]
    _traced[key] = found = _trace(fn, held, parts, names)
    return found.function


def _is_name(value: Any) -> bool:
    """Is value known while a function is traced that is given it (None, a bool, a class, a function or a module)?"""
    return value is None or (type(value) is not Box and (isinstance(value, bool | type | types.FunctionType | types.BuiltinFunctionType | types.ModuleType)))


def _is_rule(fn: Any) -> bool:
    """Is fn one of hovis's own rules? These store nothing into the tuples and lists that they are given."""
    return str(fn.__module__).startswith(_LIBRARY)


_LIBRARY: Final = tuple(f"{__name__.partition('.')[0]}.{name}" for name in ("library", "front.custom_rules"))


#: How much is known of the arguments when a function is traced: their types (TYPES); also the items of short tuples and lists (ITEMS); also the
#: values of ints and strings, which often are options such as axes (EXACTLY).  A rule that can't be traced with ITEMS is traced with EXACTLY;
#: its keyword arguments are always traced with EXACTLY, because they are options.
TYPES, ITEMS, EXACTLY = range(3)
RULES: Final = (ITEMS, EXACTLY)

#: Maximal number of items of tuples and lists whose items are known to rules.
FEW: Final = 16


def _has_items(value: Any, detail: int) -> bool:
    return detail >= ITEMS and type(value) in (tuple, list) and len(value) <= FEW


def _is_fixed(value: Any, detail: int) -> bool:
    return _is_name(value) or (detail == EXACTLY and type(value) in (int, str))


def _values(value: Any, detail: int) -> list[Any]:
    """Return the run-time values that stand for an argument (see ``_part``)."""
    if _has_items(value, detail):
        return [one for item in value for one in _values(item, detail)]
    return [] if _is_fixed(value, detail) else [value]


def _part(value: Any, detail: int) -> Part:
    if _is_fixed(value, detail):
        return Fixed(value)
    if _has_items(value, detail):
        return Fresh(None, tuple([_part(item, detail) for item in value]))
    inner = bare(value)
    # without a shape, so that loops over an array are not unrolled
    return Leaf(Param(STANDARD.of_value(inner) if shadow_memory.is_array(inner) else Type(type(inner))))


def _key(part: Part) -> Any:
    if isinstance(part, Leaf):
        return part.param.type
    if isinstance(part, Fresh):
        return "tuple", *map(_key, part.parts)
    assert isinstance(part, Fixed)
    return ("is", id(part.value)) if _is_name(part.value) else (type(part.value), part.value)


def _trace(fn: Any, held: int, parts: Sequence[Part], names: tuple[str, ...]) -> Known:
    """Trace fn as a Function of the contents of its closure cells and of its arguments."""
    code, namespace, name, qualname, defaults = fn.__code__, fn.__globals__, fn.__name__, fn.__qualname__, fn.__defaults__
    by_name = tuple((fn.__kwdefaults__ or {}).items())

    def made(*contents: Any) -> Any:
        return make_function(code, namespace, name, qualname, defaults, dict(by_name) or None, (), *[make_cell(x) for x in contents])

    closed = [f"c{k}" for k in range(held)]
    plain = [f"a{k}" for k in range(len(parts) - held - len(names))]
    scope: dict[str, Any] = {"fn": fn, "made": made}
    called = f"made({', '.join(closed)})" if held else "fn"
    named = [f"n{k}" for k in range(len(names))]
    passed = [f"{name}={n}" if is_name(name) else f"**{{{name!r}: {n}}}" for name, n in zip(names, named, strict=True)]
    exec(f"def call({', '.join([*closed, *plain, *named])}): return {called}({', '.join([*plain, *passed])})", scope)
    try:
        with deadline.within(deadline.limit()):
            return _known_of(fn, scope["call"], parts, code)
    except OutOfTime:
        return _unfollowed(fn, parts)


def _known_of(fn: Any, call: Any, parts: Sequence[Part], code: types.CodeType) -> Known:
    result = _result(call, parts, code)
    if result is None:
        return _unfollowed(fn, parts)
    function = engine.arranged(result, [param for part in parts for param in leaves(part)])
    # is fn left as a call, instead of being entered? (a recursive call inside fn does not count)
    whole = code in result.engine.tables.not_entered or any(op.callee is fn and (op.location is None or op.location.caller is None) for op in function.ops())
    if whole or any(isinstance(value, Const) and type(value.value) in (Box, Tape) for op in function.ops() for value in op.operands()):
        # the call is left as a whole, or the trace has read recorded values as if they were constants
        return _unfollowed(fn, parts)
    return Known(pipeline.run(function, "default"), compile_guards(result.guards), (fn, parts))


def _result(call: Any, parts: Sequence[Part], code: types.CodeType) -> engine.Result | None:
    """Trace call; if that takes too long, trace it with the transforms that it applies left as calls, which record what they do themselves. None
    if it can't be traced.
    """
    for left in ((), LEAVABLE):
        try:
            return engine.run(call, parts, STANDARD, PACKAGE, engine.FUEL, frozen=False, wanted=code, left=left)
        except OutOfFuel:
            continue
        except (GiveUp, Promote):
            return None
    return None


def _unfollowed(*held: Any) -> Known:
    return Known(None, lambda: True, held)


def is_recorded(*values: Any) -> bool:
    """Does one of these values, or a container of them, hold a box, while a tape is active?"""
    return bool(OPEN.tapes) and has_boxes(values)


def follow(fn: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Call ``fn(*args, **kwargs)``, recorded if a tape is active."""
    return record(fn, tuple(args), dict(kwargs))


STANDARD.primitive(is_recorded, lambda *values: Type(bool), effect=Effect.READS, fold=False)
STANDARD.primitive(record, lambda *values: ANY, effect=Effect.OPAQUE, fold=False)


@STANDARD.model(follow, eager=True)
def _called(fn: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    return fn(*args, **kwargs)


# ------------------------------------------------------------------------------------------------- transforms


class Recorded(Following, abc.ABC):
    """The callable in place of the Function that a transform would have returned: a program that is recorded as it runs.

    places   positions of the wanted arguments
    count    number of parts of the result
    used     for each argument, does it matter?  If empty, all do
    """

    def __init__(self, program: Callable[..., Any], places: Sequence[int], count: int) -> None:
        self.program, self.places, self.count = program, places, count
        self.used: Sequence[bool] = ()
        self.__name__ = "recorded"

    def _run(self, tape: Tape, args: list[Any]) -> Any:
        """Run the program on args, in which the wanted ones are boxes, and return its result. The caller sees no boxes."""
        try:
            return self._ended(tape, self.program(*args))
        except BaseException as error:
            error.args = cleaned(error.args, tape, {})
            raise
        finally:
            tape.hand_back()
            done: dict[int, Any] = {}
            for holder in tape.holders.values():
                cleaned(holder, tape, done)

    @abc.abstractmethod
    def __call__(self, *given: Any) -> tuple[Any, ...]:
        """Return what the transformed Function would have returned."""

    def _ended(self, tape: Any, returned: Any) -> Any:
        """Return what is needed of the program's result, before the boxes are taken out of it."""
        return returned


class Pulled(Recorded):
    """A recorded program in reverse mode: the tape is run backwards."""

    def __init__(self, program: Callable[..., Any], places: Sequence[int], outputs: int, seeded: bool, count: int) -> None:
        super().__init__(program, places, count + len(places))
        self.outputs, self.seeded = outputs, seeded

    def __call__(self, *given: Any) -> tuple[Any, ...]:
        """Return ``(*returned, *cotangents)``."""
        seeds = given[len(given) - self.outputs :] if self.seeded else ()
        args = list(given[: len(given) - len(seeds)])
        originals = {k: args[k] for k in self.places}
        with Tape(run) as tape:
            for k, original in originals.items():
                args[k] = tape.begin(original)
            boxes = [args[k] for k in self.places]
            returned = self._run(tape, args)
            results = list(returned) if self.outputs or isinstance(returned, tuple) else [returned]
            seeds = seeds or tuple([record(ones_like, (tape.opened(result),), {}) for result in results[: self.outputs or 1]])
        for result, seed in zip(results, seeds, strict=False):
            if type(result) is Box:
                tape.share(result, seed)
        tape.sweep()
        found = [tape.run(gradient, tape.taken(box), original) for box, original in zip(boxes, originals.values(), strict=True)]
        results = cleaned(results, tape, {})
        return (*results, *found)


class Pushed(Recorded):
    """A recorded program in forward mode: each value is followed by its tangent."""

    def __call__(self, *given: Any) -> tuple[Any, Any]:
        """Return ``(returned, tangent)``."""
        count = len(given) - len(self.places)
        args = list(given[:count])
        with Duals(run) as tape:
            for k, t in zip(self.places, given[count:], strict=True):
                args[k] = tape.begin(args[k])
                tape.move(args[k], t)
            returned, change = self._run(tape, args)
        return cleaned(returned, tape, {}), change

    def _ended(self, tape: Duals, returned: Any) -> Any:
        return returned, tape.changes(returned, {})


def recorded(function: Function, places: Sequence[int], outputs: int = 0, seeded: bool = False) -> Recorded:
    """Return a callable that does what ``reverse(function, places, outputs, seeded)`` does."""
    return _of(function, Pulled(_running(function), places, outputs, seeded, _count(function, outputs)))


def recorded_push(function: Function, places: Sequence[int]) -> Recorded:
    """Return a callable that does what ``forward(function, places)`` does."""
    return _of(function, Pushed(_running(function), places, 2))


def _running(function: Function) -> Callable[..., Any]:
    return lambda *args: _RECORDER.evaluate(function, *args)


def _of(function: Function, made: Recorded) -> Recorded:
    used = uses(function)
    made.used = [k in made.places or param in used for k, param in enumerate(function.params)]
    return made


def _count(function: Function, outputs: int) -> int:
    """Return the number of results of a Function."""
    ends = [block.terminator.value for block in function.blocks if isinstance(block.terminator, Return)]
    parts = [items(value) for value in ends] if outputs else []
    return max([len(part) for part in parts if part is not None], default=outputs or 1)


def recorded_python(fn: Any, count: int, outputs: int, seeded: bool = False) -> Recorded:
    """Return a callable like that of ``recorded``, for a Python function of ``count`` numbers and arrays, all of them wanted."""
    return Pulled(fn, range(count), outputs, seeded, outputs)


def pushed_python(fn: Any, count: int) -> Recorded:
    """Return a callable like that of ``recorded_push``, for a Python function of ``count`` numbers and arrays, all of them wanted."""
    return Pushed(fn, range(count), 2)

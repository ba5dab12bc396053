"""Transforms inside a trace: a function is traced separately, its Function is transformed, and the trace continues with the new Function.

``through(name, choices, fn, leaves, more)`` is the result of ``fn(*leaves)`` under the transform of that name, which also takes ``more``.  At
such a call the engine traces fn with the known values there, and enters the transformed function like any other function.
"""

import functools
import operator
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from hovis.backend.assembler.assemble import assemble
from hovis.backend.tracebacks import Tracebacks
from hovis.engine import trace as engine
from hovis.engine.calls.inline_python import call_function
from hovis.engine.calls.subtrace import Mirror
from hovis.engine.machine.call_results import finish, opaque
from hovis.engine.machine.machine import Machine
from hovis.engine.state.budget import OutOfFuel
from hovis.engine.state.heap import VObj
from hovis.engine.state.specialization_tables import GiveUp, Promote, Restart
from hovis.engine.state.values import Dyn, Known, Ref
from hovis.errors import DerivativeError, TransformError
from hovis.front.outcome import is_number
from hovis.ir.analysis.control_flow import natural_loops, reverse_postorder, uses
from hovis.ir.model import Block, Effect, Function, Invoke, Jump, Op, Raise, Return, callees
from hovis.ir.operations import make_tuple
from hovis.lattice import ANY, Const, Type
from hovis.library.core import Library
from hovis.library.numpy.adjoints.tangents import is_leaf, is_whole
from hovis.library.standard import STANDARD
from hovis.passes import pipeline
from hovis.passes.cfg.signal_polls import without_polls
from hovis.passes.functions.inlining import Called, put_in
from hovis.passes.rewriting import drop_error_edge
from hovis.transforms.forward.jvp import forward
from hovis.transforms.record.recorder import Recorded, pushed_python, recorded, recorded_push, recorded_python
from hovis.transforms.reverse.sweep import reverse


class Transform(NamedTuple):
    """A kind of transform.

    make      (function, the positions of the leaves among its parameters, *choices) -> the Function of these and further parameters
    library   maps the library with which the call is traced to the library with which the function itself is traced
    optional  the caller has an alternative: the result is None if the function can't be transformed
    recorded  used if make raises DerivativeError: the same transform by a program that is recorded while it runs
    final     tracing through the transformed function would give no more known values
    """

    make: Callable[..., Function]
    library: Callable[[Library], Library] = lambda library: library
    optional: bool = False
    recorded: Callable[..., Recorded] | None = None
    final: bool = False


TRANSFORMS: Final[dict[str, Transform]] = {"reverse": Transform(reverse, recorded=recorded), "forward": Transform(forward, recorded=recorded_push)}


def through(name: str, choices: tuple[Any, ...], fn: Any, leaves: tuple[Any, ...], more: tuple[Any, ...]) -> Any:
    """Return the result of ``fn(*leaves)`` under the transform `name`. Outside of a trace it is recorded, if possible; DerivativeError if not."""
    if TRANSFORMS[name].optional:
        return None
    if name == "reverse":
        return recorded_python(fn, len(leaves), *choices)(*leaves, *more)
    if name == "forward":
        return pushed_python(fn, len(leaves))(*leaves, *more)
    raise DerivativeError(f"{getattr(fn, '__name__', fn)} could not be traced: {REASONS.pop() if REASONS else 'its arguments are not known'}")


#: The reason why the last function could not be traced.
REASONS: Final[list[str]] = []


def _through(m: Machine, args: list[Any], named: dict[str, Any]) -> Any:
    name, choices, fn, leaves, more = args
    if not isinstance(name, Known):
        return None
    if not all(isinstance(v, Ref | Known) for v in (choices, leaves, more)):
        return _left(m, "its arguments are not known", args if TRANSFORMS[str(name.value)].recorded is not None else None)
    transform = TRANSFORMS[str(name.value)]
    if transform.optional and not all(isinstance(v, Known) for v in items(m, choices)):
        return Known(None)
    wanted, further, chosen = items(m, leaves), items(m, more), tuple(v.value for v in items(m, choices))
    what: Any = "through", name.value, chosen
    try:
        mirror = Mirror(m, fn, wanted, len(wanted))
        found = remembered(m, mirror, what, transform.library(m.library), functools.partial(_residual, mirror, transform, chosen))
    except GiveUp as why:
        return Known(None) if transform.optional else _left(m, str(why), args if transform.recorded is not None else None)
    except (TransformError, TypeError) as wrong:
        return m.raise_new(type(wrong), str(wrong))
    if isinstance(found, Recorded):
        given = [value if used else Known(None) for value, used in zip(mirror.given, found.used, strict=True)]
        return finish(m, _parts(m, opaque(m, found, [*given, *further], kind=Type(tuple)), found.count), "value")
    if isinstance(found, tuple):
        called, places, form = found
        given = [*mirror.given, *further]
        return _called(m, called, [given[k] for k in places], form)
    return call_function(m, Known(found), found, [*mirror.given, *further], {})


def _parts(m: Machine, result: Dyn, count: int) -> Any:
    """Return a tuple of the first `count` items of `result`, of which nothing is known."""
    return m.new(VObj("tuple", tuple, tuple([m.emit(operator.getitem, [result, Known(k)], {}, ANY) for k in range(count)])))


def _called(m: Machine, function: Called, given: list[Any], form: Any) -> Any:
    effect = Effect.RAISES
    for op in (op for one in callees(function) for op in one.ops() if not isinstance(op.callee, Function)):
        effect |= op.effect
    call = m.emit(function, given, None, Type(tuple), effect)
    parts: list[Any] = []
    for k, part in enumerate(_results(function)):
        if isinstance(part, Const):
            parts.append(Known(part.value))
        else:
            dims = None if part.dims is None else tuple(Known(d.value) if isinstance(d, Const) and d.value is not None else None for d in part.dims)
            parts.append(m.emit(operator.getitem, [call, Known(k)], None, part.type, Effect.PURE, dims))
    return finish(m, _formed(m, form, parts), "value")


def _formed(m: Machine, form: Any, parts: list[Any]) -> Any:
    """Build nested tuples of the structure `form` from `parts`, which are removed from the front."""
    return m.new(VObj("tuple", tuple, tuple([parts.pop(0) if one is None else _formed(m, one, parts) for one in form])))


def _results(function: Function) -> tuple[Any, ...]:
    """Return the items of the tuple that a Function returns; empty if it does not return one known tuple."""
    ends = [block.terminator.value for block in function.blocks if isinstance(block.terminator, Return)]
    return ends[0].args if len(ends) == 1 and isinstance(ends[0], Op) and ends[0].callee is make_tuple else ()


def _in_one(results: tuple[Any, ...]) -> tuple[list[Any], Any]:
    """Flatten nested tuples. Return their items, and the structure of the nesting: None for an item that is no tuple."""
    found: list[Any] = []
    form = []
    for one in results:
        inner = _in_one(one.args) if isinstance(one, Op) and one.callee is make_tuple else ([one], None)
        found += inner[0]
        form.append(inner[1])
    return found, form


def _to_be_called(mirror: Mirror, function: Function, final: bool) -> tuple[Called, list[int], Any] | None:
    """Return the Function to be called, the positions of the parameters that it uses, and the structure of its result; None if it should be
    traced through instead. Tracing through branches in loops takes long, and nothing more becomes known.
    """
    results, form = _in_one(_results(function))
    if not results or len(function.blocks) < MANY or not (final or natural_loops(function).loops):
        return None
    used = uses(function)
    places = [k for k, param in enumerate(function.params) if used.get(param)]
    given = dict(enumerate(mirror.given))
    if any(isinstance(given.get(k), Ref) for k in places) or not all(isinstance(part, Const) or is_number(part) for part in results):
        return None
    function.blocks[0].params = tuple(function.params[k] for k in places)
    for block in function.blocks:
        if isinstance(block.terminator, Return) and any(one is not None for one in form):
            block.ops.append(Op(make_tuple, tuple(results), (), Type(tuple)))
            block.terminator = Return(block.ops[-1])
    return Called(function.name, function.blocks, function.location, function.type, function.is_generator, function.guards), places, form


#: A Function with at least this many blocks is called, and not traced through, if it has loops.
MANY: Final = 12


def function_of(fn: Any, *leaves: Any) -> tuple[Function, tuple[Any, ...]]:
    """Return the Function of `fn` for a call with these `leaves`, and its arguments. Outside of a trace there is none: TransformError."""
    raise TransformError(f"{getattr(fn, '__name__', fn)} could not be traced: {REASONS.pop() if REASONS else 'its arguments are not known'}")


def _function_of(m: Machine, args: list[Any], named: dict[str, Any]) -> Any:
    fn, *leaves = args
    mirror = Mirror(m, fn, leaves, len(leaves))
    try:
        function = remembered(m, mirror, ("function",), m.library, lambda function: function)
    except GiveUp as why:
        return _left(m, str(why))
    operands = m.new(VObj("tuple", tuple, tuple(mirror.given)))
    return finish(m, m.new(VObj("tuple", tuple, (Known(function), operands))), "value")


def items(m: Machine, value: Any) -> list[Any]:
    """Return the items of a tuple or list; GiveUp if they are not known."""
    if isinstance(value, Known):
        held: Any = value.value
        return list(map(Known, held))
    obj = m.obj(value, "tuple", "list")
    if obj is None:
        raise GiveUp("its arguments are not known")
    return list(obj.cells)


#: Name of the table of the keys of calls in which a number decides a branch.
_PINNED: Final = "pinned"


def remembered(m: Machine, mirror: Mirror, what: Any, library: Library, make: Callable[[Function], Any]) -> Any:
    """Return ``make(function)`` for the Function of a call, computed once for all calls with the same key. The assumptions of its trace become
    guards of this trace.
    """
    if (*what, *mirror.key) in m.tables.answers.get(_PINNED, ()):
        mirror.pin()
    found = m.tables.answers.get((*what, *mirror.key))
    if found is None:
        try:
            function, guards, held = _function(m, mirror, what, library)
            found = make(function), guards, held, mirror
        except OutOfFuel as why:  # a second try would take as long, and this trace may restart many times
            found = why, [], [], mirror
        # the mirror keeps the objects in the key alive
        m.tables.answers[(*what, *mirror.key)] = found
    made, guards, held, _ = found
    if isinstance(made, OutOfFuel):
        raise OutOfFuel
    for guard in guards:
        m.environment.guard(guard.kind, guard.holder, guard.name, guard.value)
    for value in held:
        m.environment.static(Known(value))
    return made


def _function(m: Machine, mirror: Mirror, what: Any, library: Library) -> tuple[Function, list[Any], list[Any]]:
    """Trace a call. Return its Function, the guards of its trace, and the known objects that it has read."""
    while True:
        inner = engine.engine_for(library, m.package, m.environment.frozen, m.known_sizes, m.environment.volatile, len(mirror.params))
        try:
            result = engine.follow(inner, functools.partial(mirror.initial, inner), engine.FUEL)
            break
        except Promote as promoted:
            m.tables.answers.setdefault(_PINNED, set()).add((*what, *mirror.key))
            if not mirror.pin():
                raise GiveUp("a number among its arguments decides a branch") from promoted
    function = engine.arranged(result, mirror.params)
    without_polls(function)
    without_mending(function)
    put_in(function)
    return pipeline.run(function, "default"), list(result.guards), list(inner.environment.static_objects.values())


def without_mending(function: Function) -> None:
    """Remove the handlers that only put frames back into tracebacks: code made from the function has frames of its own."""
    for one in callees(function):
        for block in one.blocks:
            end = block.terminator
            if isinstance(end, Invoke) and _mends(end.error.block):
                drop_error_edge(block)
        one.blocks = reverse_postorder(one.blocks[0])


def _mends(handler: Block) -> bool:
    while isinstance(handler.terminator, Jump) and not handler.ops:
        handler = handler.terminator.edge.block
    return isinstance(handler.terminator, Raise) and handler.terminator.again and [op.callee for op in handler.ops] == [Tracebacks.__call__]


def _residual(mirror: Mirror, transform: Transform, chosen: tuple[Any, ...], function: Function) -> Any:
    """Apply a transform to a Function. Return a Python function, a recorded program, or the parts of a call (see ``_to_be_called``)."""
    places = [k for k, param in enumerate(mirror.params) if param in mirror.leaves]
    try:
        made = pipeline.run(transform.make(function, places, *chosen), "default")
    except DerivativeError:
        if transform.recorded is None:
            raise
        return transform.recorded(function, places, *chosen)
    return _to_be_called(mirror, made, transform.final) or assemble(made, mirror.namespace, mends=False)


def _left(m: Machine, why: str, args: list[Any] | None = None) -> Any:
    """Handle a call that can't be traced: the transformed function is called as it is, if there is a traced function around it.

    args: the arguments of the call, which is recorded while it runs if there is no such function; None if it can't be recorded
    """
    for frame in m.state.frames[1 + (m.state.frames[0].code.code in EAGER) :]:
        if frame.code.code in APPLYING and frame.code.code not in m.tables.not_entered:
            m.tables.not_entered[frame.code.code] = why
            raise Restart("derived")
    if args is not None:
        return finish(m, opaque(m, through, args), "value")
    if m.state.frames[0].code.code in EAGER:
        # outside of a trace all values are known, and the run of the function is recorded
        raise GiveUp(why)
    REASONS[:] = [why]
    return m.raise_new(DerivativeError, f"it could not be traced: {why}")


def certain(value: Any) -> Any:
    """Return `value`, which is used as a leaf of a tree. In a trace it must be known to be a leaf."""
    return value


def whole(value: Any) -> Any:
    """Return `value`, which is used as a leaf of a tree, of one type or of several. In a trace it must be known that it is no tree."""
    return value


def _only_if(known: Callable[[Any], bool], where: str) -> Any:
    """Return an action that returns the value if its type says that it is no tree, and gives up otherwise."""

    def act(m: Machine, args: list[Any], named: dict[str, Any]) -> Any:
        value = m.resolve(args[0])
        if isinstance(value, Dyn) and not known(value.type):
            return _left(m, f"for a part of {where} it is only known that it is {value.type}")
        return value

    return act


def is_followed(holder: Any) -> bool:
    """In a trace: are the contents of `holder` known?"""
    return True


def _is_followed(m: Machine, args: list[Any], named: dict[str, Any]) -> Any:
    return Known(m.obj(args[0]) is not None)


def watch(holder: Any, number: int) -> None:
    """Watch `holder` under this number: from here on it matters whether anything is stored into it (see ``is_untouched``)."""


def _watch(m: Machine, args: list[Any], named: dict[str, Any]) -> Any:
    if isinstance(args[0], Ref):
        m.watched[args[0].aid] = args[1].value
    return Known(None)


def is_untouched(holder: Any, number: int) -> bool:
    """In a trace: is it known that nothing has been stored, on any path, into the object that is watched under this number?"""
    return False


def _is_untouched(m: Machine, args: list[Any], named: dict[str, Any]) -> Any:
    number = args[1].value
    known = m.obj(args[0]) is not None and m.watched.get(args[0].aid) == number and number not in m.tables.rewritten
    if known:
        m.trusted.add(number)
    return Known(known)


def is_still(new: Any, old: Any) -> bool:
    """Are both the same object? In a trace: is that known?"""
    return new is old


def _is_still(m: Machine, args: list[Any], named: dict[str, Any]) -> Any:
    new, old = map(m.resolve, args)
    if isinstance(new, Known) and isinstance(old, Known):
        return Known(new.value is old.value)
    if isinstance(new, Ref) and isinstance(old, Ref):
        return Known(new.aid == old.aid)
    return Known(isinstance(new, Dyn) and isinstance(old, Dyn) and new.value is old.value)


#: The code objects of functions that apply transforms, and of the outermost functions that ``Eager`` traces to call these.
APPLYING: Final[set[Any]] = set()
EAGER: Final[set[Any]] = set()

STANDARD.actions[through] = _through
STANDARD.actions[certain] = _only_if(is_leaf, "its arguments")
STANDARD.actions[whole] = _only_if(is_whole, "its result")
STANDARD.actions[is_followed] = _is_followed
STANDARD.actions[is_still] = _is_still
STANDARD.actions[watch] = _watch
STANDARD.actions[is_untouched] = _is_untouched
STANDARD.actions[function_of] = _function_of

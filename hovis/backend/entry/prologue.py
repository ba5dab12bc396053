"""The prologue of a residual: checks the arguments against the specs, and takes partial structures apart.

A call whose arguments do not fit the specs runs the original function.
"""

import inspect
import operator
import types
from collections.abc import Callable, Iterator
from typing import Any, Final

from hovis.arguments.signature import Signature, Unknown
from hovis.backend.assembler.assemble import assemble
from hovis.backend.assembler.make_function import make_function
from hovis.backend.entry.alias_checks import stands_apart
from hovis.backend.tracebacks import hide
from hovis.bytecode.instructions import localsplus
from hovis.bytecode.normalize import normalize
from hovis.engine.state.type_lookup import C_DATA, find, has_dict, in_slot, slots_of
from hovis.engine.trace import Fixed, Fresh, Leaf, Part, Structure
from hovis.errors import SpecError, said
from hovis.ir import operations as ops
from hovis.ir.model import LASTING, Block, Branch, Edge, Effect, Function, Jump, Location, Op, Operand, Param, Return, callees, edges
from hovis.ir.operations import PACKAGE, UNBOUND
from hovis.lattice import ANY, Array, Const, Items, Refined, Type, Union
from hovis.lattice import Any as AnyType
from hovis.lattice.constants import constant_key

BOOL: Final = Type(bool)
#: Maximal number of objects that an argument is compared to one by one.
MOST_COMPARED: Final = 6
#: The flags of a code object for ``*args`` and ``**kwargs`` (Include/cpython/code.h).
_FLAGS: Final = {inspect.Parameter.VAR_POSITIONAL: inspect.CO_VARARGS, inspect.Parameter.VAR_KEYWORD: inspect.CO_VARKEYWORDS}
_BY_PLACE: Final = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
#: The location of the call of the original: it is not in user code, therefore tracebacks omit it.
IN_FRONT: Final = Location(f"{PACKAGE}entry", 1, None, None, None, "entry", 1)


# ------------------------------------------------------------------------------------------------- one part


def leaf_check(part: Leaf) -> Callable[[Any], bool] | None:
    """Return a test that a value fits a leaf; None if every value does."""
    param, kind = part.param, part.param.type
    if part.choices:
        keys = {constant_key(choice) for choice in part.choices}
        return lambda v: constant_key(v) in keys
    if isinstance(kind, AnyType):
        return None
    if isinstance(kind, Array):
        cls: Any = kind.cls
        dtype, rank = kind.dtype, kind.rank
        dims = [(k, d.value) for k, d in enumerate(param.dims or ()) if isinstance(d, Const) and d.value is not None]
        layout = kind.layout

        def fits(v: Any) -> bool:
            if type(v) is not cls or v.dtype != dtype or v.ndim != rank:
                return False
            return all(v.shape[k] == d for k, d in dims) and (not layout or v.flags[f"{layout}_CONTIGUOUS"])

        return fits
    if isinstance(kind, Refined):
        return kind.fits
    if isinstance(kind, Type):
        exact = kind.cls
        return lambda v: type(v) is exact
    if isinstance(kind, Union):
        classes = exact_classes(kind)
        if len(classes) == len(kind.members):
            return lambda v: type(v) in classes
        checks = [leaf_check(Leaf(Param(member))) for member in kind.members]
        return lambda v: any(check is None or check(v) for check in checks)
    return None


def exact_classes(kind: Union) -> list[type]:
    """Return the classes in a Union of which every instance fits."""
    return [member.cls for member in kind.members if type(member) is Type or (isinstance(member, Items) and member.is_untested())]


def taker(part: Part) -> Callable[[Any], tuple[Any, ...] | None]:
    """Return a function from an argument to its unknown parts in order (a container before its items), or to None if the argument does not fit."""
    if isinstance(part, Fixed):
        wanted = constant_key(part.value)
        return lambda v: () if constant_key(v) == wanted else None
    if isinstance(part, Leaf):
        check = leaf_check(part)
        return (lambda v: (v,)) if check is None else (lambda v: (v,) if check(v) else None)
    assert isinstance(part, Structure)
    return _structure_taker(part)


def _structure_taker(part: Structure) -> Callable[[Any], tuple[Any, ...] | None]:
    inner = [taker(p) for p in part.parts]
    cls, keys, items = part.cls, part.keys, _items_of(part)

    def take(value: Any) -> tuple[Any, ...] | None:
        if type(value) is not cls:
            return None
        held = items(value, keys, len(inner))
        if held is None:
            return None
        found: tuple[Any, ...] = (value,)
        for one, x in zip(inner, held, strict=True):
            taken = one(x)
            if taken is None:
                return None
            found += taken
        return found

    return take


def _items_of(part: Structure) -> Callable[[Any, tuple[Any, ...], int], Any]:
    if part.kind == "dict":
        wanted = constant_key(part.keys)
        return lambda v, keys, n: list(v.values()) if constant_key(tuple(v)) == wanted else None
    if part.kind == "instance":
        return _attributes_of(part.cls, part.keys)
    return lambda v, keys, n: v if len(v) == n else None


def _attributes_of(cls: type, keys: tuple[Any, ...]) -> Callable[[Any, tuple[Any, ...], int], Any]:
    """Return a function that reads the attributes of an instance which has exactly these: in slots, and in its dictionary in this order; it
    returns None for others.
    """
    slots, attributes = slots_of(cls), find(cls, "__dict__")
    filled = tuple([k for k in keys if k in (slots or ())])
    named = tuple([k for k in keys if k not in filled])
    if slots is None or (named and not has_dict(cls)) or (has_dict(cls) and type(attributes) not in C_DATA):
        return lambda v, keys, n: None
    in_dict: Any = attributes.__get__ if has_dict(cls) else None
    if not slots:
        return lambda v, keys, n: list(held.values()) if tuple(held := in_dict(v)) == keys else None
    gets, empty = [slots[k].__get__ for k in filled], [held for k, held in slots.items() if k not in filled]
    in_turn = None if keys == filled + named else [(filled + named).index(k) for k in keys]

    def items(v: Any, keys: tuple[Any, ...], n: int) -> list[Any] | None:
        try:
            found = [get(v) for get in gets]
        except AttributeError:
            return None
        if empty and not all(in_slot(slot, v) is UNBOUND for slot in empty):
            return None
        if in_dict is not None:
            held = in_dict(v)
            if tuple(held) != named:
                return None
            found += held.values()
        return found if in_turn is None else [found[k] for k in in_turn]

    return items


def leaves(signature: Signature, arguments: tuple[Any, ...]) -> list[Any]:
    """Return the unknown parts of these arguments, in the order of the Function's params; raise SpecError if they do not fit."""
    missing = [absent(u) for u in signature.unknown[len(arguments) :]]
    if not any(d is inspect.Parameter.empty for d in missing):
        arguments += tuple(missing)
    if len(arguments) != len(signature.unknown):
        raise SpecError(f"the trace takes {len(signature.unknown)} unknown arguments ({', '.join(u.name for u in signature.unknown)}), not {len(arguments)}")
    wanted = {id(p) for p in signature.kept}
    found: list[Any] = []
    values: dict[int, Any] = {}
    for unknown, value in zip(signature.unknown, arguments, strict=True):
        if isinstance(value, dict) and (known := [name for name in unknown.taken if name in value]):
            raise SpecError(f"the parameter {known[0]!r} is known already, and can't be in {unknown.name!r} as well")
        taken = taker(unknown.part)(value)
        if taken is None:
            raise SpecError(f"the argument {unknown.name!r} does not fit its spec {_describe(unknown.part)}: {said(value)}")
        for param, part in zip(_params(unknown.part), taken, strict=True):
            values[id(param)] = part
    for param in signature.kept:
        found.append(values[id(param)])
    return found if wanted else []


def absent(u: Unknown) -> Any:
    """Return the value of an argument that is not passed: its default, or an empty container for ``*args`` and ``**kwargs``."""
    if u.kind is inspect.Parameter.VAR_POSITIONAL:
        return ()
    return {} if u.kind is inspect.Parameter.VAR_KEYWORD else u.default


def _params(part: Part) -> Iterator[Param]:
    if isinstance(part, Leaf | Structure):
        yield part.param
    if isinstance(part, Structure | Fresh):
        for inner in part.parts:
            yield from _params(inner)


def _describe(part: Part) -> str:
    if isinstance(part, Leaf):
        return str(part.param.type)
    return repr(part.cls.__name__) if isinstance(part, Structure) else "const"


# ------------------------------------------------------------------------------------------------- the prologue


def compile_residual(
    fn: Any, signature: Signature, function: Function, static: tuple[object, ...], fallback: bool
) -> types.FunctionType:
    """Assemble function behind a prologue that checks the arguments and takes them apart; all are passed by position, see :func:`with_kinds`.
    With fallback there is no prologue: function is one call of the original.
    """
    unknown = signature.unknown
    whole = function if fallback else _with_prologue(fn, signature, function, static)
    target = fn if isinstance(fn, types.FunctionType) else getattr(fn, "__func__", None) or getattr(type(fn), "__call__", None)  # noqa: B004
    namespace = getattr(target, "__globals__", {})
    names = tuple(u.name for u in unknown)
    made = assemble(whole, namespace, parameters=names, lasting=frozenset(names) - bound_again(target))
    made.__name__ = getattr(fn, "__name__", made.__name__)
    made.__qualname__ = getattr(fn, "__qualname__", made.__qualname__)
    made.__module__ = getattr(fn, "__module__", None) or made.__module__
    made.__doc__ = getattr(fn, "__doc__", None)
    return _awaited(made) if inspect.iscoroutinefunction(target) else made


def with_kinds(made: Any, unknown: list[Unknown]) -> Callable[..., Any]:
    """Turn a function that takes its arguments by position into one that takes them as the original does: by name, from ``*args``, with
    defaults.
    """
    kinds = [u.kind for u in unknown]
    places = sum(kind in _BY_PLACE for kind in kinds)
    names = [u for u in unknown if u.kind is inspect.Parameter.KEYWORD_ONLY]
    code, defaults = made.__code__, _defaults(unknown[:places])
    kwdefaults = {u.name: u.default for u in names if u.default is not inspect.Parameter.empty}
    if places == len(kinds) and defaults is None and inspect.Parameter.POSITIONAL_ONLY not in kinds:
        return made  # type: ignore[no-any-return]
    flags = sum(flag for kind, flag in _FLAGS.items() if kind in kinds)
    taking = code.replace(
        co_argcount=places, co_posonlyargcount=kinds.count(inspect.Parameter.POSITIONAL_ONLY), co_kwonlyargcount=len(names), co_flags=code.co_flags | flags
    )
    other = make_function(taking, made.__globals__, made.__closure__ or (), defaults, kwdefaults or None)
    for name in ("__name__", "__qualname__", "__module__", "__doc__"):
        setattr(other, name, getattr(made, name))
    return other


def bound_again(target: Any) -> set[str]:
    """Return the variables that a Python function itself binds, or shares with inner functions."""
    code = getattr(target, "__code__", None)
    if not isinstance(code, types.CodeType):
        return set()
    names, found = localsplus(code), normalize(code).instructions
    return {names[i.arg] for i in found if i.op in ("SetLocal", "DelLocal", "TakeLocal")} | set(code.co_cellvars if found else names)


def _defaults(unknown: list[Unknown]) -> tuple[Any, ...] | None:
    """Return the defaults of the trailing parameters that have one, or None."""
    found: list[Any] = []
    for u in reversed(unknown):
        if u.default is inspect.Parameter.empty:
            break
        found.insert(0, u.default)
    return tuple(found) or None


def _awaited(inner: types.FunctionType) -> types.FunctionType:
    """Return a coroutine function that awaits the result of inner, which takes its arguments by position."""
    # a parameter's name may be any text, therefore the compiled source uses numbered names
    names = {f"a{k}": name for k, name in enumerate(inner.__code__.co_varnames[: inner.__code__.co_argcount])}
    scope: dict[str, Any] = {"_hovis_inner": inner, "_hovis_hide": hide}
    given = ", ".join(names)
    text = f"async def outer({given}):\n try:\n  return await _hovis_inner({given})\n except BaseException:\n  _hovis_hide()\n  raise"
    exec(compile(text, f"{PACKAGE}entry", "exec"), scope)
    code = scope["outer"].__code__
    code = code.replace(co_name=inner.__name__, co_qualname=inner.__qualname__, co_varnames=tuple(names[name] for name in code.co_varnames))
    outer = make_function(code, scope)
    for name in ("__name__", "__qualname__", "__module__", "__doc__"):
        setattr(outer, name, getattr(inner, name))
    return outer


def _with_prologue(fn: Any, signature: Signature, function: Function, static: tuple[object, ...]) -> Function:
    """Build a Function of the unknown arguments that runs the prologue and continues in function, which takes the leaves."""
    begin = function.blocks[0]
    shared = _shared(function)
    incoming = {id(u): u.part.param if isinstance(u.part, Leaf) and id(u.part.param) in shared else Param(ANY, None, u.name) for u in signature.unknown}
    entry = Block(tuple(incoming.values()))
    misfit = Block()
    blocks, at = [entry], entry
    values: dict[int, Operand] = {}
    for u in signature.unknown:
        at = _admit(u, incoming[id(u)], values, at, misfit, blocks)
    for apart, param in stands_apart(parts_of(signature), function, static):
        at = _distinct(apart, values[id(param)], at, misfit, blocks)
    given = {id(p) for p in incoming.values()}
    rest = [p for p in begin.params if id(p) not in given]
    at.terminator = Jump(Edge(begin, tuple(values[id(p)] for p in rest)))
    begin.params = tuple(rest)
    if any(misfit is e.block for b in blocks for e in edges(b.terminator)):
        call = call_of_original(fn, signature, {id(u.part): incoming[id(u)] for u in signature.unknown})
        misfit.ops.append(call)
        misfit.terminator = Return(call)
        blocks.append(misfit)
    return Function(function.name, blocks + function.blocks, function.location, ANY, function.is_generator)


def _shared(function: Function) -> set[int]:
    """Return the ids of the params that the prologue can use as its own: none if something else enters the Function, too."""
    begin = function.blocks[0]
    if any(e.block is begin for b in function.blocks for e in edges(b.terminator)) or any(op.callee is function for f in callees(function) for op in f.ops()):
        return set()
    return {id(p) for p in begin.params}


def _admit(u: Unknown, arrived: Param, values: dict[int, Operand], at: Block, misfit: Block, blocks: list[Block]) -> Block:
    """Check one argument and take it apart; return the block to continue in."""
    part = u.part
    for name in u.taken:
        there = Op(operator.contains, (arrived, Const(name)), (), BOOL)
        at.ops.append(there)
        at = _go_on(at, there, misfit, blocks, False)
    if isinstance(part, Leaf):
        values[id(part.param)] = arrived
        kind = part.param.type
        check = leaf_check(part)
        if check is None or u.kind in _FLAGS:
            return at
        if (type(kind) is Type or (isinstance(kind, Items) and kind.is_untested())) and not part.choices:
            cls = Op(type, (arrived,))
            fits = Op(operator.is_, (cls, Const(kind.cls)), (), BOOL)
            at.ops += [cls, fits]
        else:
            fits = Op(check, (arrived,), (), BOOL)
            at.ops.append(fits)
        return _go_on(at, fits, misfit, blocks)
    taken = Op(taker(part), (arrived,))
    none = Op(operator.is_not, (taken, Const(None)), (), BOOL)
    at.ops += [taken, none]
    at = _go_on(at, none, misfit, blocks)
    for k, param in enumerate(_params(part)):
        item = Op(operator.getitem, (taken, Const(k)), (), param.type)
        at.ops.append(item)
        values[id(param)] = item
    return at


def _go_on(at: Block, fits: Op, misfit: Block, blocks: list[Block], wanted: bool = True) -> Block:
    rest = Block()
    at.terminator = Branch(fits, Edge(rest), Edge(misfit)) if wanted else Branch(fits, Edge(misfit), Edge(rest))
    blocks.append(rest)
    return rest


def _distinct(apart: Any, value: Operand, at: Block, misfit: Block, blocks: list[Block]) -> Block:
    """Continue only if value is none of the folded objects; a few are compared one by one. Return the block to continue in."""
    if apart.no_dictionary is not None:
        fits = Op(apart.no_dictionary, (value,), (), BOOL)
        at.ops.append(fits)
        at = _go_on(at, fits, misfit, blocks)
    if len(apart.held) > MOST_COMPARED:
        name = Op(id, (value,), (), Type(int))
        there = Op(operator.contains, (Const(apart.ids), name), (), BOOL)
        at.ops += [name, there]
        return _go_on(at, there, misfit, blocks, False)
    for held in apart.held:
        fits = Op(operator.is_not, (value, Const(held)), (), BOOL)
        at.ops.append(fits)
        at = _go_on(at, fits, misfit, blocks)
    return at


def parts_of(signature: Signature) -> list[Param]:
    """Return all unknown parts of all arguments."""
    return [param for u in signature.unknown for param in _params(u.part)]


def call_of_original(fn: Any, signature: Signature, by_part: dict[int, Param]) -> Op:
    """Build the call of the original with all its arguments, including the known ones; by_part: the unknown ones, by the ids of their parts."""

    def operand(part: Part) -> Operand:
        return Const(part.value) if isinstance(part, Fixed) else by_part[id(part)]

    target = getattr(fn, "__func__", fn) if signature.bound else fn
    if signature.bound and not isinstance(fn, types.MethodType):
        target = type(fn).__call__
    args: tuple[Operand, ...] = tuple(map(operand, signature.positional))
    kwargs = tuple((k, operand(p)) for k, p in signature.keywords.items())
    if signature.star or signature.double_star:
        args, kwargs, target = _starred(signature, by_part, args, kwargs, target), (), ops.apply_all
    return Op(target, args, kwargs, ANY, None, Effect.OPAQUE, IN_FRONT)


def _starred(signature: Signature, by_part: dict[int, Param], args: tuple[Operand, ...], kwargs: Any, target: Any) -> tuple[Operand, ...]:
    star: Operand = by_part[id(signature.star)] if signature.star else Const(())
    double: Operand = by_part[id(signature.double_star)] if signature.double_star else Const(None)
    names = Const(tuple(k for k, _ in kwargs))
    return (Const(target), star, double, names, *args, *(v for _, v in kwargs))


__all__ = ["LASTING", "absent", "call_of_original", "compile_residual", "edges", "leaves", "with_kinds"]

"""Calls with lists, dicts and objects that are mutated: the program returns the changes, and the host applies them.

XLA runs ``adopted_objects.program``, whose arguments are a graph of objects, in which one object may stand in several places.
The host extracts the leaves from the objects, and stores the changes after the call, unless the program has given up: so the objects
are still unchanged when a call is repeated in Python because of an exception, or of an int of more than 64 bits.
"""

import itertools
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from hovis.base.adopted_objects import program
from hovis.engine.environment.guards import Guard, compile_guards
from hovis.engine.state.specialization_tables import Promote
from hovis.engine.state.type_lookup import in_slot, slots_of
from hovis.engine.trace import Fixed, Leaf, Structure
from hovis.errors import TraceError
from hovis.front import tracing
from hovis.front.autotuner import Contest
from hovis.front.jit_cache.cache_keys import Path
from hovis.front.kernels.primitives import Kept
from hovis.ir.analysis.control_flow import terminator_operands, uses
from hovis.ir.model import Effect, Function, Op, Return, callees
from hovis.ir.operations import UNBOUND, make_object
from hovis.lattice import Const, Type
from hovis.lattice.inspection import is_a
from hovis.library.language.signatures.type_queries import is_atomic
from hovis.passes.rewriting import copy
from hovis_xla.abi.argument_plan import Writer, tested
from hovis_xla.abi.argument_specs import LeftWhole
from hovis_xla.abi.ordered_effects import Log
from hovis_xla.analysis.primitive_effects import sees
from hovis_xla.analysis.side_effects import acts
from hovis_xla.emit.values import Handle, Known, NotLowerable, num_of_type
from hovis_xla.front.argument_graph import Graph
from hovis_xla.front.object_changes import displaced, ends, trimmed
from hovis_xla.lowering.op_lowering import BUILDERS
from hovis_xla.runtime.executable import Executable

#: Maximal number of traces, each of which may turn arguments whose values the trace depends on into constants.
PROMOTIONS: Final = 64


class Seen(NotLowerable):
    """Raised if called code may observe an object that the program changes."""


class Adopting:
    """A program for arguments that are adopted: its executable, and the entry that takes the arguments apart and applies the changes."""

    def __init__(self, fn: Callable[..., Any], graph: Graph, traced: tracing.Trace, exact: bool) -> None:
        self.graph = graph
        self.holds = compile_guards(traced.guards)
        #: ids of objects that the trace knows otherwise (as constants, from guards): the entry refuses arguments that are one of them
        known = [*traced.static, *(held for guard in traced.guards for held in _known_by(guard))]
        self.static = frozenset(map(id, [*known, *(vars(held) for held in known if _has_dict(held))]))
        function = copy(traced.function)
        names = dict(zip(map(id, traced.function.params), function.params, strict=True))
        #: the operands that represent each object and each leaf: a Param or a constant
        self.objects, self.values = ([names.get(id(p), p) for p in parts] for parts in _given(traced))
        found = ends(function)
        #: numbers of the objects that are released
        self.displaced = displaced(graph, found, self.objects, self.values)
        self.changes = trimmed(function, graph, found, self.objects, self.values)
        graph.forget()
        function.name = getattr(fn, "__name__", function.name)
        used = uses(function)
        self.params = [p for p in function.params if p in used]
        function.blocks[0].params = tuple(self.params)
        #: parameters that the program only passes on to its result
        opaque = [p for p in self.values if not isinstance(p, Const) and num_of_type(p.type, p.dims) is None]
        handles = frozenset(map(id, [*self.objects, *opaque]))
        _check(function, handles)
        types = [Known(Handle(k)) if id(p) in handles else None for k, p in enumerate(self.params)]
        self.executable = Executable.of(function, types, exact, hurry=True)
        self.executable.log = Log(apart=True)
        looking = next((op for one in callees(function) for op in one.ops() if acts(op) and _may_look(op)), None)
        if looking is not None:
            raise Seen(f"{getattr(looking.callee, '__qualname__', 'the callee')} may read an object that the function changes", looking.location)

    @staticmethod
    def of(traced: tracing.Trace, args: tuple[Any, ...], kwargs: Mapping[str, Any], policy: Mapping[Path, str], exact: bool) -> "Adopting | Seen | None":
        """Return the program for a traced call, if objects among its arguments keep it from being compiled; a Seen if called code may observe
        them; None if there are no objects or they cannot be adopted.
        """
        try:
            graph = Graph(args, kwargs, policy)
            classes = set(map(type, graph.wholes))
            if not any(isinstance(p.type, Type) and p.type.cls in classes | {set} for p in traced.function.params) or not classes:
                return None
            program = _trace(traced.fn, graph, traced.options)
            return None if program is None else Adopting(traced.fn, graph, program, exact)
        except Seen as seen:
            return seen
        except (LeftWhole, NotLowerable, TraceError, RecursionError):
            return None

    def _may_be_one(self, leaf: Any) -> bool:
        """May a leaf be one of the objects, or the ``__dict__`` of one, as far as its tests can tell?"""
        if isinstance(leaf, Const) or num_of_type(leaf.type, leaf.dims) is not None:
            return False
        return type(leaf.type) is not Type or leaf.type.cls in {dict, *(cls for _, cls, _, _ in self.graph.objects)}

    # --------------------------------------------------------------------------------------------- the entry

    def entry(self, tests: list[str], scope: dict[str, Any], watch: tuple[Contest, Callable[..., Any]] | None, first: bool = False) -> Callable[..., Any]:
        """Make the function of all arguments; it returns BAILED if they do not fit, or if the program has given up. ``watch``: see
        ``argument_plan.quick_entry``; ``first``: for a first call, see ``Executable``.
        """
        enter = self.executable.first if first else self.executable.enter
        writer = Writer("BAILED", everything=True)
        writer.scope.update(scope, still=self.holds, enter=enter, static=self.static, replace=replace, getweakrefcount=weakref.getweakrefcount)
        seen: set[Any] = set()
        given = writer.take_all([self._plan(part, seen) for part in [*self.graph.positional, *(part for _, part in self.graph.named)]])
        for test in [*tests, "not still()"]:
            writer.refuse(test)
        places = dict(zip(map(id, [*self.objects, *self.values]), itertools.count()))
        objects = [writer.leaves[k] for k in range(len(self.objects))]
        # the attributes of an object are a dict, which may be an argument as well
        instances = [name for name, (kind, cls, _, _) in zip(objects, self.graph.objects, strict=True) if kind == "instance" and cls.__dictoffset__]
        held = [*objects, *(f"{name}.__dict__" for name in instances)]
        ids = f"{{{', '.join(f'id({name})' for name in held)}}}"
        writer.refuse(f"len({ids}) != {len(held)}")
        # leaves that the trace assumes to be none of the objects, as was the case when it was made
        others = [writer.leaves[places[id(value)]] for value in self.values if self._may_be_one(value)]
        if others:
            writer.refuse(f"not {ids}.isdisjoint(({''.join(f'id({name}), ' for name in others)}))")
        if self.static:
            writer.refuse(f"not static.isdisjoint({ids})")
        for k in self.displaced:
            writer.refuse(f"getweakrefcount({objects[k]})")
        called = [writer.leaves[places[id(p)]] for p in self.params]
        writer.lines += [f"found = enter({', '.join(called)})", "if found is BAILED: return BAILED"]
        self._change(writer, objects)
        writer.lines.append("return found[0]")
        made = writer.function(given)
        if watch is None:
            return made
        outer = Writer("BAILED")
        outer.scope["made"] = made
        return outer.calling(given, f"made({', '.join(given)})", watch)

    def _plan(self, part: Any, seen: set[Any]) -> list[Any]:
        what, *more = part
        if what == "known":
            return ["value", Const(more[0])]
        if what == "tuple":
            return ["container", more[0], [], [self._plan(p, seen) for p in more[1]]]
        k: int = more[0]
        param = self.values[k] if what == "leaf" else self.objects[k]
        if isinstance(param, Const):
            return ["value", param]
        place = k if what == "object" else len(self.objects) + k
        if (what, k) in seen:
            return ["again", place]
        seen.add((what, k))
        if what == "leaf":
            return ["leaf", place, tested(Leaf(param))]
        kind, cls, keys, parts = self.graph.objects[k]
        return ["whole", place, ["instance" if kind == "instance" else "container", cls, list(keys), [self._plan(p, seen) for p in parts]]]

    def _change(self, writer: Writer, objects: list[str]) -> None:
        """Write the lines that store the changes into the objects."""
        for result, (k, at) in enumerate(self.changes, 1):
            name, (_, cls, keys, _) = objects[k], self.graph.objects[k]
            if at is None:
                writer.lines.append(f"replace({name}, found[{result}])")
                continue
            slots = slots_of(cls) or {}
            key = keys[at] if cls is not list else at
            if key in slots:
                writer.lines.append(f"{writer.constant(slots[key].__set__)}({name}, found[{result}])")
            else:
                holder = name if cls in (list, dict) else f"{name}.__dict__"
                writer.lines.append(f"{holder}[{writer.constant(key)}] = found[{result}]")


def replace(held: Any, content: tuple[Any, ...]) -> None:
    """Replace the keys and parts of a list, a dict or an object."""
    keys, *parts = content
    if type(held) is list:
        held[:] = parts
        return
    slots = slots_of(type(held)) or {}
    for slot in slots.values():
        if in_slot(slot, held) is not UNBOUND:
            slot.__delete__(held)
    named = {}
    for name, value in zip(keys, parts, strict=True):
        if name in slots:
            slots[name].__set__(held, value)
        else:
            named[name] = value
    if type(held) is dict or type(held).__dictoffset__:
        holder = held if type(held) is dict else held.__dict__
        holder.clear()
        holder.update(named)


def _has_dict(held: Any) -> bool:
    return type(held).__dictoffset__ != 0 and type(getattr(held, "__dict__", None)) is dict


def _known_by(guard: Guard) -> Iterator[Any]:
    """Yield the objects that a guard holds: its holder, its value, and the elements of the value."""
    value = guard.value
    yield guard.holder
    yield value
    if isinstance(value, list | tuple | dict):
        yield from iter(value.values() if isinstance(value, dict) else value)


# ------------------------------------------------------------------------------------------------- tracing


def _trace(fn: Callable[..., Any], graph: Graph, options: tracing.Options) -> tracing.Trace | None:
    """Trace the program, or return None if that fails. Numbers whose values the trace depends on become constants."""
    wholes = tuple(Type(type(whole)) for whole in graph.wholes)
    for _ in range(PROMOTIONS):
        specs = Const(fn), Const(graph.adopted()), wholes, tuple(graph.specs)
        try:
            traced = tracing.trace_call(program, specs, {}, options)
        except Promote as promoted:
            places = [place for place in promoted.args if len(place) == 2]
            if not places:
                return None
            for _, k in places:
                graph.specs[k] = Const(graph.leaves[k])
        else:
            return None if traced.fallback else traced
    return None


def _given(traced: tracing.Trace) -> tuple[list[Any], list[Any]]:
    """Return what stands in the trace for the objects and for the leaves: Params and constants."""
    _, _, wholes, leaves = traced.signature.parts

    def parts(part: Any) -> list[Any]:
        if isinstance(part, Fixed):
            return [Const(v) for v in part.value] if is_a(part.value, tuple) else []
        assert isinstance(part, Structure)
        return [Const(p.value) if isinstance(p, Fixed) else p.param for p in part.parts if isinstance(p, Fixed | Leaf)]

    return parts(wholes), parts(leaves)


def _may_look(op: Op) -> bool:
    """May the callee of the op look at objects of the caller? Not if it prints numbers, strings, and lists of these.

    Nor if it is a primitive that is given only numbers and arrays, and whose effects are known.
    """
    if isinstance(op.callee, Kept) and all(isinstance(a, Const) or num_of_type(a.type, a.dims) is not None for a in op.operands()):  # type: ignore[union-attr]
        return sees(op) is not None
    return bool(op.effect & Effect.OPAQUE) and not (op.callee is print and all(map(_is_plain, op.operands())))


def _is_plain(operand: Any) -> bool:
    if isinstance(operand, Const):
        return is_atomic(operand.value)
    return not isinstance(operand, Op) or operand.callee not in BUILDERS or (operand.callee is not make_object and all(map(_is_plain, operand.args)))


def _check(function: Function, handles: frozenset[int]) -> None:
    """Check that handles are only put into the result; raise NotLowerable if one is used otherwise."""
    for block in function.blocks:
        looked_at: list[Any] = [value for op in block.all_ops() if op.callee not in BUILDERS for value in op.operands()]
        looked_at += [] if isinstance(block.terminator, Return) else terminator_operands(block.terminator)
        for value in looked_at:
            if id(value) in handles:
                raise NotLowerable(f"the argument {value.name or ''} :: {value.type} is neither a number nor an array of known shape", function.location)

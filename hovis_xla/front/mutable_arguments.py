"""Calls with lists, dicts and objects that are changed: the program gives what becomes of them, the host puts it there.

What XLA runs is ``adopted_objects.program``: the arguments as a graph of objects, in which one object may stand in several places.
The host takes the leaves out of them, and stores, where the program has not given up, what has changed: so an exception,
or an int of more than 64 bits, finds everything as it was.
"""

import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from hovis.arguments.specs import is_named_tuple
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
from hovis.ir.model import Effect, Function, Op, Return, callees
from hovis.ir.operations import UNBOUND, make_object
from hovis.lattice import Const, Type
from hovis.lattice.inspection import is_a
from hovis.library.language.signatures.type_queries import is_atomic
from hovis.passes.rewriting import copy
from hovis_xla.abi.argument_plan import Writer, tested
from hovis_xla.abi.call_entry import BAILED
from hovis_xla.abi.ordered_effects import Log
from hovis_xla.abi.signature import Keyed
from hovis_xla.analysis.primitive_effects import sees
from hovis_xla.analysis.side_effects import acts
from hovis_xla.emit.values import Handle, Known, NotLowerable, num_of_type
from hovis_xla.front.argument_graph import Graph, Unfit
from hovis_xla.front.object_changes import displaced, ends, trimmed, uses
from hovis_xla.lowering.op_lowering import BUILDERS
from hovis_xla.runtime.executable import Executable

#: Numbers of the arguments that may turn out to choose.
PROMOTIONS: Final = 64

class Seen(NotLowerable):
    """Somebody may look at an object that is changed."""


class Adopting:
    """A program for arguments that are adopted: its executable, and the entry that takes them apart and changes them."""

    def __init__(self, fn: Callable[..., Any], graph: Graph, traced: tracing.Trace, exact: bool) -> None:
        self.graph = graph
        self.holds = compile_guards(traced.guards)
        #: what the trace knows by another name: an argument that is one of these is told from it
        known = [*traced.static, *(held for guard in traced.guards for held in _known_by(guard))]
        self.static = frozenset(map(id, [*known, *(vars(held) for held in known if _has_dict(held))]))
        function = copy(traced.function)
        names = dict(zip(map(id, traced.function.params), function.params, strict=True))
        #: what stands for each object, and for each leaf (a Param or a constant)
        self.objects, self.values = ([names.get(id(p), p) for p in parts] for parts in _given(traced))
        found = ends(function)
        #: objects that are let go of
        self.displaced = displaced(graph, found, self.objects, self.values)
        self.changes = trimmed(function, graph, found, self.objects, self.values)
        graph.forget()
        function.name = getattr(fn, "__name__", function.name)
        self.params = _used(function)
        function.blocks[0].params = tuple(self.params)
        handles = self._handles()
        _check(function, handles)
        types = [Known(Handle(k)) if id(p) in handles else None for k, p in enumerate(self.params)]
        self.executable = Executable.of(function, types, exact, hurry=True)
        self.executable.log = Log(apart=True)
        looking = next((op for one in callees(function) for op in one.ops() if acts(op) and _may_look(op)), None)
        if looking is not None:
            raise Seen(f"{getattr(looking.callee, '__qualname__', 'what is called')} may look at an object that is changed", looking.location)

    @staticmethod
    def of(traced: tracing.Trace, args: tuple[Any, ...], kwargs: Mapping[str, Any], policy: Mapping[Path, str], exact: bool) -> "Adopting | Seen | None":
        """The program for a call that has a trace, if objects of the arguments keep that from being compiled; or what keeps them from being adopted."""
        try:
            graph = Graph(args, kwargs, policy)
            classes = set(map(type, graph.wholes))
            if not any(isinstance(p.type, Type) and p.type.cls in classes | {set} for p in traced.function.params) or not classes:
                return None
            program = _trace(traced.fn, graph, traced.options)
            return None if program is None else Adopting(traced.fn, graph, program, exact)
        except Seen as seen:
            return seen
        except (Unfit, NotLowerable, TraceError, RecursionError):
            return None

    def _handles(self) -> frozenset[int]:
        """Parameters that the program hands on, and does nothing with."""
        opaque = [p for p in self.values if not isinstance(p, Const) and num_of_type(p.type, p.dims) is None]
        return frozenset(map(id, [*self.objects, *opaque]))

    def _may_be_one(self, leaf: Any) -> bool:
        """May a leaf be one of the objects, or what one has its attributes in, for all that is tested of it?"""
        if isinstance(leaf, Const) or num_of_type(leaf.type, leaf.dims) is not None:
            return False
        return type(leaf.type) is not Type or leaf.type.cls in {dict, *(cls for _, cls, _, _ in self.graph.objects)}

    # --------------------------------------------------------------------------------------------- the entry

    def entry(
        self, tests: list[str], scope: dict[str, Any], count: int, watch: tuple[Contest, Callable[..., Any]] | None, first: bool = False,
    ) -> Callable[..., Any]:  # fmt: skip
        """The function of all arguments: BAILED if they are others, or the program has given up.  ``watch``: see ``argument_plan.quick_entry``;
        ``first``: for a first call, see ``Executable``."""
        enter = self.executable.first if first else self.executable.enter
        writer = Writer(True, "BAILED", everything=True)
        writer.scope.update(scope, BAILED=BAILED, still=self.holds, enter=enter, static=self.static, replace=replace, getweakrefcount=weakref.getweakrefcount)
        given = [f"a{k}" for k in range(count)]
        seen: set[Any] = set()
        for test in [*tests, "not still()"]:
            writer.refuse(test)
        order = {id(p): k for k, p in enumerate(self.params)}
        parts = [*self.graph.positional, *(part for _, part in self.graph.named)]
        for name, part in zip(given, parts, strict=True):
            writer.take(name, self._plan(part, order, seen))
        objects = [writer.leaves[order.get(id(p), -1 - k)] for k, p in enumerate(self.objects)]
        leaves = [writer.leaves.get(order.get(id(p), -1 - k - len(self.objects)), "") for k, p in enumerate(self.values)]
        # an object's attributes are a dict, which may be an argument as well
        kinds = [(kind, cls) for kind, cls, _, _ in self.graph.objects]
        held = [*objects, *(f"{name}.__dict__" for name, (kind, cls) in zip(objects, kinds, strict=True) if kind == "instance" and cls.__dictoffset__)]
        ids = f"{{{', '.join(f'id({name})' for name in held)}}}"
        writer.refuse(f"len({ids}) != {len(held)}")
        # what the trace took for something else, as it was when that was made
        others = [name for k, name in enumerate(leaves) if self._may_be_one(self.values[k])]
        if others:
            writer.refuse(f"not {ids}.isdisjoint(({''.join(f'id({name}), ' for name in others)}))")
        if self.static:
            writer.refuse(f"not static.isdisjoint({ids})")
        for k in self.displaced:
            writer.refuse(f"getweakrefcount({objects[k]})")
        called = [writer.leaves[k] for k in range(len(self.params))]
        writer.lines += [f"found = enter({', '.join(called)})", "if found is BAILED: return BAILED"]
        self._change(writer, objects)
        made = writer.function(given, "return found[0]")
        if watch is None:
            return made
        outer = Writer(True, "BAILED")
        outer.scope["made"] = made
        return outer.calling(given, f"made({', '.join(given)})", watch)

    def _plan(self, part: Any, order: dict[int, int], seen: set[Any]) -> list[Any]:
        what, *more = part
        if what == "known":
            return ["value", Keyed(more[0])]
        if what == "tuple":
            inner = [self._plan(p, order, seen) for p in more[1]]
            return ["named", more[0], inner] if is_named_tuple(more[0]) else ["tuple", inner]
        k: int = more[0]
        param = self.values[k] if what == "leaf" else self.objects[k]
        if isinstance(param, Const):
            return ["value", Keyed(param.value)]
        # what is no parameter of the program has a number of its own
        place = order.get(id(param), -1 - k - (len(self.objects) if what == "leaf" else 0))
        if (what, k) in seen:
            return ["again", place]
        seen.add((what, k))
        if what == "leaf":
            return ["leaf", place, tested(param)]
        kind_of, cls, keys, parts = self.graph.objects[k]
        if kind_of == "set":
            return ["whole", place, ["empty", cls]]
        inner = [self._plan(p, order, seen) for p in parts]
        found = ["list", inner] if cls is list else ["dict", list(keys), inner] if cls is dict else ["instance", cls, list(keys), inner]
        return ["whole", place, found]

    def _change(self, writer: Writer, objects: list[str]) -> None:
        """Lines that store what has changed."""
        for k, (name, change) in enumerate(zip(objects, self.changes, strict=True)):
            _, cls, keys, _ = self.graph.objects[k]
            if change.whole is not None:
                writer.lines.append(f"replace({name}, found[{change.whole}])")
            elif change.parts:
                slots = slots_of(cls) or {}
                holder = name if cls in (list, dict) else f"{name}.__dict__"
                for at, result in change.parts:
                    key = keys[at] if cls is not list else at
                    if key in slots:
                        writer.lines.append(f"{writer.constant(slots[key].__set__)}({name}, found[{result}])")
                    else:
                        writer.lines.append(f"{holder}[{writer.constant(key)}] = found[{result}]")


def replace(held: Any, content: tuple[Any, ...]) -> None:
    """Give a list, a dict or an object other keys and parts."""
    keys, *parts = content
    if type(held) is list:
        held[:] = parts
        return
    slots = slots_of(type(held)) or {} if type(held) is not dict else {}
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
    """What is known by a guard: whose content it is, and that."""
    value = guard.value
    yield from (guard.holder, value)
    if isinstance(value, list | tuple | dict):
        yield from value.values() if isinstance(value, dict) else value


# ------------------------------------------------------------------------------------------------- tracing


def _trace(fn: Callable[..., Any], graph: Graph, options: tracing.Options) -> tracing.Trace | None:
    """The trace of the program; numbers that choose are known."""
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
    """What stands for the objects and for the leaves: Params and constants."""
    _, _, wholes, leaves = traced.signature.parts

    def parts(part: Any) -> list[Any]:
        if isinstance(part, Fixed):
            return [Const(v) for v in part.value] if is_a(part.value, tuple) else []
        assert isinstance(part, Structure)
        return [Const(p.value) if isinstance(p, Fixed) else p.param for p in part.parts if isinstance(p, Fixed | Leaf)]

    return parts(wholes), parts(leaves)


def _may_look(op: Op) -> bool:
    """May what the op calls look at objects of the caller's?  Not, if it prints numbers, texts, and lists of these.

    A primitive that is given numbers and arrays, and of which it is known what it does, neither.
    """
    if isinstance(op.callee, Kept) and all(isinstance(a, Const) or num_of_type(a.type, a.dims) is not None for a in op.operands()):  # type: ignore[union-attr]
        return sees(op) is not None
    return bool(op.effect & Effect.OPAQUE) and not (op.callee is print and all(map(_is_plain, op.operands())))


def _is_plain(operand: Any) -> bool:
    if isinstance(operand, Const):
        return is_atomic(operand.value)
    return not isinstance(operand, Op) or operand.callee not in BUILDERS or (operand.callee is not make_object and all(map(_is_plain, operand.args)))


def _used(function: Function) -> list[Any]:
    """The parameters that are used."""
    used = {id(v) for v, _ in uses(function)}
    return [p for p in function.params if id(p) in used]


def _check(function: Function, handles: frozenset[int]) -> None:
    """What is handed on is put into the result, and into nothing else."""
    for value, user in uses(function):
        if id(value) in handles and not isinstance(user, Return) and not (isinstance(user, Op) and user.callee in BUILDERS):
            raise NotLowerable(f"the argument {value.name or ''} :: {value.type} is no number or array of known shape", function.location)

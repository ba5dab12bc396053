"""Calls with lists, dicts and objects that are changed: the program gives what becomes of them, the host puts it there.

What XLA runs is ``adopted_objects.program``: the arguments as a graph of objects, in which one object may stand in several places.
The host takes the leaves out of them, and stores, where the program has not given up, what has changed: so an exception,
or an int of more than 64 bits, finds everything as it was.
"""

import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from hovis.arguments.specs import is_named_tuple
from hovis.base.adopted_objects import Adopted, program
from hovis.engine.environment.guards import Guard, compile_guards
from hovis.engine.state.specialization_tables import Promote
from hovis.engine.state.type_lookup import in_slot, slots_of
from hovis.engine.trace import Fixed, Leaf, Structure
from hovis.errors import TraceError
from hovis.front import tracing
from hovis.front.autotuner import Contest
from hovis.front.jit_cache.cache_keys import KNOWN, Path
from hovis.front.kernels.primitives import Kept
from hovis.ir.model import Block, Effect, Function, Op, Return, callees, edges
from hovis.ir.operations import UNBOUND, make_object, make_tuple
from hovis.lattice import Const, Type
from hovis.lattice.constants import same_constant
from hovis.lattice.inspection import is_a
from hovis.library.language.signatures.type_queries import is_atomic
from hovis.passes.rewriting import copy
from hovis_xla.abi.argument_plan import Writer, tested
from hovis_xla.abi.argument_specs import MOST, NUMBERS, Walk, attributes, chosen, is_known, structure
from hovis_xla.abi.call_entry import BAILED
from hovis_xla.abi.ordered_effects import Log
from hovis_xla.abi.signature import Keyed
from hovis_xla.analysis.primitive_effects import sees
from hovis_xla.analysis.side_effects import acts
from hovis_xla.emit.values import Handle, Known, NotLowerable, num_of_type
from hovis_xla.lowering.op_lowering import BUILDERS
from hovis_xla.runtime.executable import Executable

#: Numbers of the arguments that may turn out to choose.
PROMOTIONS: Final = 64

_KINDS: Final[dict[Any, str]] = {list: "list", dict: "dict", set: "set"}


class Seen(NotLowerable):
    """Somebody may look at an object that is changed."""


class Unfit(Exception):
    """The arguments are nothing that could be adopted."""


class Graph:
    """The arguments of a call, looked through as a graph: its objects and its leaves, each once."""

    def __init__(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], policy: Mapping[Path, str]) -> None:
        self._walk = Walk(policy)
        self._known: dict[int, tuple[Any, ...]] = {}
        #: kind, class, keys and parts of each object
        self.objects: list[tuple[str, type, tuple[Any, ...], tuple[Any, ...]]] = []
        self.wholes: list[Any] = []
        self.leaves: list[Any] = []
        self.specs: list[Any] = []
        self.positional = tuple([self._part(value, (k,)) for k, value in enumerate(args)])
        self.named = tuple([(name, self._part(value, (name,))) for name, value in kwargs.items()])

    def adopted(self) -> Adopted:
        """What a trace has to know of it."""
        return Adopted(tuple(self.objects), self.positional, self.named)

    def forget(self) -> None:
        """Let go of the objects themselves: they are the caller's."""
        self.wholes.clear()
        self.leaves.clear()
        self._known.clear()

    def _part(self, value: Any, path: Path) -> tuple[Any, ...]:
        found = self._known.get(id(value))
        if found is not None:
            return found
        kind: Any = type(value)
        shape = None if kind in NUMBERS or is_known(value) or self._walk.policy.get(path) is KNOWN else structure(value)
        if issubclass(kind, tuple) and shape is not None:
            return "tuple", kind, tuple([self._part(v, (*path, k)) for k, v in enumerate(value)])
        if (kind is set and not value) or shape is not None:
            return self._object(value, path, shape[1] if shape is not None else [])
        _, spec = self._walk.part(value, path)
        if isinstance(spec, Const):
            return "known", spec.value
        made = "leaf", len(self.leaves)
        self.leaves.append(value)
        self.specs.append(spec)
        if is_a(value, np.ndarray):
            self._known[id(value)] = made
        return made

    def _object(self, value: Any, path: Path, parts: list[Any]) -> tuple[Any, ...]:
        kind = type(value)
        k = len(self.objects)
        self._known[id(value)] = made = "object", k
        keys: tuple[Any, ...] = tuple(value) if kind is dict else () if kind in _KINDS else tuple(attributes(value) or ())
        if hasattr(kind, "__del__"):
            raise Unfit
        self.wholes.append(value)
        self.objects.append(("", kind, (), ()))
        if len(self.wholes) + len(self.leaves) + len(parts) > MOST:
            raise Unfit
        fixed = chosen(value)
        inner = tuple([("known", v) if j == fixed else self._part(v, (*path, j)) for j, v in enumerate(parts)])
        self.objects[k] = _KINDS.get(kind, "instance"), kind, keys, inner
        return made


@dataclass(slots=True)
class Change:
    """What becomes of an object: its keys and all parts (``whole``), or these parts (numbers of the program's results)."""

    whole: int | None
    parts: list[tuple[int, int]]


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
        ends = _ends(function)
        #: objects that are let go of
        self.displaced = _displaced(graph, ends, self.objects, self.values)
        self.changes = _trimmed(function, graph, ends, self.objects, self.values)
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


# ------------------------------------------------------------------------------------------------- what has changed


#: The blocks in which a program ends, its result there, and what is in each object (None: a set).
Ends = list[tuple[Block, Any, list[Any]]]


def _ends(function: Function) -> Ends:
    ends: Ends = []
    for block in function.blocks:
        if isinstance(block.terminator, Return):
            pair = _items(block.terminator.value)
            contents = _items(pair[1]) if pair is not None else None
            if pair is None or contents is None:
                raise NotLowerable("its ways end together", function.location)
            ends.append((block, pair[0], [_items(c) for c in contents]))
    return ends


def _trimmed(function: Function, graph: Graph, ends: Ends, wholes: list[Any], leaves: list[Any]) -> list[Change]:
    """Have the function give, besides its result, only what has changed in its objects; where that is."""

    def same(operand: Any, part: Any) -> bool:
        what, *more = part
        if what == "leaf" or what == "object":
            given = (leaves if what == "leaf" else wholes)[more[0]]
            return operand is given or (isinstance(operand, Const) and isinstance(given, Const) and same_constant(operand.value, given.value))
        if what == "known":
            return isinstance(operand, Const) and same_constant(operand.value, more[0])
        found = _items(operand)
        return more[0] is tuple and found is not None and len(found) == len(more[1]) and all(map(same, found, more[1]))

    changes: list[Change] = []
    wanted: list[tuple[int, int | None]] = []
    for k, (kind, _, keys, parts) in enumerate(graph.objects):
        change = Change(None, [])
        found = [contents[k] for _, _, contents in ends]
        if kind != "set" and not all(f is not None and len(f) == len(parts) + 1 and same_constant(f[0].value, keys) for f in found):
            wanted.append((k, None))
            change.whole = len(wanted)
        elif kind != "set":
            for j, part in enumerate(parts):
                if not all(same(f[j + 1], part) for f in found):
                    wanted.append((k, j + 1))
                    change.parts.append((j, len(wanted)))
        changes.append(change)
    for block, result, contents in ends:
        end = block.terminator
        assert isinstance(end, Return)
        whole = {k: Op(make_tuple, tuple(contents[k]), (), Type(tuple), None, Effect.PURE, end.location) for k, j in wanted if j is None}
        more = [whole[k] if j is None else contents[k][j] for k, j in wanted]
        end.value = Op(make_tuple, (result, *more), (), Type(tuple), None, Effect.PURE, end.location)
        block.ops += [*whole.values(), end.value]
    _without_old_ends(function)
    return changes


def _displaced(graph: Graph, ends: "Ends", wholes: list[Any], leaves: list[Any]) -> list[int]:
    """The objects that are let go of on some way: their ends would show too late, if anybody looks.

    Of the other leaves that are no numbers it is not known whether anybody does.
    """
    roots = [*graph.positional, *(part for _, part in graph.named)]
    given = [wholes[k] for k in sorted(_inside(roots))] + [leaves[k] for k in sorted(_inside(roots, "leaf"))]
    places = {id(param): k for k, param in enumerate(wholes)}
    gone: set[int] = set()
    for _, result, contents in ends:
        todo, kept = [result, *given], set[int]()
        while todo:
            operand = todo.pop()
            if isinstance(operand, Const) or id(operand) in kept:
                continue
            kept.add(id(operand))
            todo += (contents[places[id(operand)]] or []) if id(operand) in places else operand.args if isinstance(operand, Op) else []
        if any(not isinstance(leaf, Const) and id(leaf) not in kept and num_of_type(leaf.type, leaf.dims) is None for leaf in leaves):
            raise NotLowerable("what an argument holds is let go of")
        gone.update(k for k, param in enumerate(wholes) if id(param) not in kept)
    return sorted(gone)


def _inside(parts: Iterable[Any], wanted: str = "object") -> set[int]:
    """The objects, or the leaves, that are arguments, or in tuples that are."""
    found: set[int] = set()
    for what, *more in parts:
        found |= {more[0]} if what == wanted else _inside(more[1], wanted) if what == "tuple" else set()
    return found


def _without_old_ends(function: Function) -> None:
    """Tuples that nobody takes any more, and what is in them alone."""
    while True:
        used = {id(v) for v, _ in _uses(function)}
        dead = [op for op in function.ops() if op.callee in BUILDERS and id(op) not in used]
        if not dead:
            return
        gone = frozenset(map(id, dead))
        for block in function.blocks:
            block.ops = [op for op in block.ops if id(op) not in gone]


def _items(operand: Any) -> list[Any] | None:
    """What is in a tuple."""
    if isinstance(operand, Const):
        return [Const(v) for v in operand.value] if type(operand.value) is tuple else None
    return list(operand.args) if isinstance(operand, Op) and operand.callee is make_tuple else None


def _uses(function: Function) -> Iterator[tuple[Any, Any]]:
    """Each operand, and the op that it is one of (None: an end of a block, an edge)."""
    for block in function.blocks:
        for op in block.all_ops():
            yield from ((v, op) for v in op.operands())
        end = block.terminator
        yield from ((getattr(end, name), end) for name in ("value", "cond") if hasattr(end, name))
        yield from ((v, edge) for edge in edges(end) for v in edge.args)


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
    used = {id(v) for v, _ in _uses(function)}
    return [p for p in function.params if id(p) in used]


def _check(function: Function, handles: frozenset[int]) -> None:
    """What is handed on is put into the result, and into nothing else."""
    for value, user in _uses(function):
        if id(value) in handles and not isinstance(user, Return) and not (isinstance(user, Op) and user.callee in BUILDERS):
            raise NotLowerable(f"the argument {value.name or ''} :: {value.type} is no number or array of known shape", function.location)

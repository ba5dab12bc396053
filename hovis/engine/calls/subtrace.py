"""Separate tracing of one call of a trace: its arguments are unknown there, and objects of this trace are objects there.

The resulting Function has as parameters the unknown values, and the objects that are passed as a whole.  Known numbers that
depend on the key of an entry are unknown in the other trace, until it turns out that the value of one decides something.
"""

from collections.abc import Sequence
from typing import Any, Final

from hovis.engine.calls import models
from hovis.engine.calls.argument_binding import Callee, bind
from hovis.engine.machine.machine import Machine
from hovis.engine.state import class_templates
from hovis.engine.state.frames_and_heap import Frame, State
from hovis.engine.state.heap import VObj, extra_key
from hovis.engine.state.specialization_tables import GiveUp
from hovis.engine.state.values import NO_LABELS, STRONG, Dyn, Known, Ref, V
from hovis.ir.model import Param
from hovis.lattice import Const, Type
from hovis.lattice.constants import constant_key

#: Kinds of objects that can be objects of another trace: those in the first set by their parts alone; the others are arguments with known parts.
_BY_PARTS: Final = frozenset({"tuple", "slice", "range", "function", "method", "cell", "partial", "property", "staticmethod", "classmethod"})
_WHOLE: Final = frozenset({"list", "dict", "set", "instance"})
_NUMBERS: Final = (int, float, complex)
#: Instructions that rebind a variable of an enclosing function.
_REBINDS: Final = frozenset({"SetCell", "DelCell"})


class Mirror:
    """A callee and its arguments, as another trace gets them. The first ``leaves`` arguments are unknown in any case, each as a parameter of its
    own.
    """

    def __init__(self, m: Machine, callee: V, args: Sequence[V], leaves: int = 0) -> None:
        self.m = m
        #: the parameters of the Function, and the values of this trace that they stand for
        self.params: list[Param] = []
        self.given: list[V] = []
        self.key: list[Any] = []
        self._unknown: dict[Any, Param] = {}
        self._objects: dict[int, tuple[VObj, Param | None]] = {}
        self.pinned = False
        self.namespace: dict[str, Any] = {}
        self.leaves: list[Param] = []
        for value in args[:leaves]:
            self.leaves.append(self._leaf(value))
        self._rest = [m.resolve(value) for value in args[leaves:]]
        self._callee = models.behind(m, m.resolve(callee))
        for value in (self._callee, *self._rest):
            self._look(value)

    def _leaf(self, value: V) -> Param:
        kind = Type(type(value.value)) if isinstance(value, Known) and type(value.value) in _NUMBERS else self.m.type_of(value)
        if isinstance(kind, Const):
            kind = self.m.library.of_value(kind.value)
        return self._param(Param(kind, self._dims(value)), value)

    def _param(self, param: Param, value: V) -> Param:
        self.params.append(param)
        self.given.append(value)
        self.key.append((param.type, None if param.dims is None else tuple(d.value for d in param.dims if isinstance(d, Const))))
        return param

    def _dims(self, value: V) -> tuple[Const, ...] | None:
        if isinstance(value, Known) and hasattr(value.value, "shape") and isinstance(value.value.shape, tuple):
            return tuple(map(Const, value.value.shape))
        if not isinstance(value, Dyn) or value.dims is None:
            return None
        return tuple(Const(d.value) if isinstance(d, Known) else Const(None) for d in value.dims)

    def _look(self, value: V) -> None:
        """Register all that can be reached from value."""
        if isinstance(value, Known):
            self._constant(value)
        elif isinstance(value, Dyn):
            if value.maybe_unbound or value.maybe_end:
                raise GiveUp("it is passed a variable that may be unbound")
            at = self._unknown.get(_name(value))
            if at is None:
                at = self._unknown[_name(value)] = self._leaf(value)
            self.key.append(("unknown", self.params.index(at)))
        elif value.aid in self._objects:
            self.key.append(("object", list(self._objects).index(value.aid)))
        else:
            self._object(value)

    def _constant(self, value: Known) -> None:
        if class_templates.ALL and class_templates.of(value.value) is not None:
            raise GiveUp("it is passed a class that the traced code defines")
        if value.labels and type(value.value) in _NUMBERS and not self.pinned:
            at = self._unknown.get(_name(value))
            if at is None:
                self._unknown[_name(value)] = self._leaf(value)
            return
        self.key.append(("is", constant_key(value.value)))

    def _object(self, ref: Ref) -> None:
        obj = self.m.state.heap[ref.aid]
        frozen = obj.kind == "model" and models.stand_of(obj).frozen
        if not (frozen or obj.kind in _BY_PARTS | _WHOLE) or obj.forgotten or obj.lent is not None:
            raise GiveUp(f"it is passed a {obj.kind} that is still being built")
        if obj.kind == "function" and any(i.op in _REBINDS and i.arg >= len(obj.extra[0].names) - obj.extra[0].n_free for i in obj.extra[0].instructions):
            raise GiveUp(f"{obj.extra[3]} rebinds a variable of an enclosing function")
        whole = Param(Type(obj.cls)) if obj.kind in _WHOLE else None
        self._objects[ref.aid] = obj, whole
        self.key.append((obj.kind, obj.cls, len(obj.cells), tuple(map(constant_key, obj.keys)), extra_key(obj.extra)))
        if whole is not None:
            self.params.append(whole)
            self.given.append(ref)
        for cell in obj.cells:
            self._look(self.m.resolve(cell))

    # --------------------------------------------------------------------------------------------- the other trace

    def initial(self, other: Machine) -> State:
        """Return the state in which the other trace begins."""
        numbers = {aid: other.number() for aid in self._objects}
        heap = {
            numbers[aid]: obj.replace(cells=tuple(self._value(cell, numbers) for cell in obj.cells), node=whole, argument=whole is not None)
            for aid, (obj, whole) in self._objects.items()
        }
        other.state = State([], heap)
        callee = self._value(self._callee, numbers)
        fn = callee.value if isinstance(callee, Known) else None
        known = Callee.of(other, callee, fn)
        if known.code.unsupported:
            raise GiveUp(known.code.unsupported)
        self.namespace = known.namespace
        args = [self._unknown_there(p) for p in self.leaves] + [self._value(v, numbers) for v in self._rest]
        bound = bind(other, known, args, {})
        if bound is None:
            raise GiveUp("its arguments do not fit")
        return State([Frame(known.code, -1, bound, known.namespace, "value", fn or callee)], other.state.heap)

    def _value(self, value: V, numbers: dict[int, int]) -> V:
        value = self.m.resolve(value)
        if isinstance(value, Ref):
            return Ref(numbers[value.aid])
        if isinstance(value, Dyn):
            return self._unknown_there(self._unknown[_name(value)])
        at = self._unknown.get(_name(value))
        return Known(value.value) if at is None else self._unknown_there(at, promotable=True)

    @staticmethod
    def _unknown_there(param: Param, promotable: bool = False) -> Dyn:
        dims = None if param.dims is None else tuple(Known(d.value) if isinstance(d, Const) and d.value is not None else None for d in param.dims)
        return Dyn(param, param.type, dims, NO_LABELS if promotable else None)

    def pin(self) -> bool:
        """Make all numbers known, because the value of one of them decides something; False if they are known already."""
        if self.pinned:
            return False
        fresh = Mirror.__new__(Mirror)
        for value, param in zip(self.given, self.params, strict=True):
            if isinstance(value, Known) and param not in self.leaves:
                self.m.use(value, STRONG)
        fresh.pinned = True
        fresh.m, fresh.params, fresh.given, fresh.key, fresh._unknown, fresh._objects = self.m, [], [], ["pinned"], {}, {}
        fresh.leaves = [fresh._leaf(self.given[k]) for k in range(len(self.leaves))]
        fresh._rest, fresh._callee = self._rest, self._callee
        for value in (fresh._callee, *fresh._rest):
            fresh._look(value)
        for name in ("params", "given", "key", "_unknown", "_objects", "pinned", "leaves"):
            setattr(self, name, getattr(fresh, name))
        return True


def _name(value: Known | Dyn) -> Any:
    """Return the identity of an unknown value: its op or parameter, or the constant that is treated as unknown."""
    if isinstance(value, Known):
        return "known", id(value)
    return id(value.value.value) if isinstance(value.value, Const) else value.value

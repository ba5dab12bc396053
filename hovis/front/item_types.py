"""Containers with declared item classes: an item that is read has such a class as long as nobody can change the container."""

from collections.abc import Iterable
from typing import Any, Final

from hovis.arguments.signature import Signature
from hovis.ir import operations
from hovis.ir.analysis.live_ranges import may_end_visibly
from hovis.ir.model import Effect, Function, Op
from hovis.lattice import AbstractValue, Array, Items, Union

_MAKERS: Final = frozenset({operations.make_list, operations.make_dict, operations.make_set})
_CHANGED: Final = (list, dict, set)
_ENDING: Final = (operations.drop, operations.keep)


def told_of(signature: Signature) -> list[type]:
    """Find the classes of the containers among the arguments whose item classes are declared."""
    kinds = [param.type for param in signature.leaf_params()]
    return [cls for one in kinds for kind in _members(one) for cls in _told(kind)]


def _told(kind: AbstractValue) -> list[type]:
    return [kind.cls, *_told(kind.items)] if isinstance(kind, Items) else []


def _members(kind: AbstractValue) -> Iterable[AbstractValue]:
    return kind.members if isinstance(kind, Union) else (kind,)


def lasts(told: Iterable[type], functions: Iterable[Function]) -> bool:
    """Do the declared item classes hold throughout: are the containers immutable, or does no operation change one?"""
    if all(cls in (tuple, frozenset) for cls in told):
        return True
    return not any(one.is_generator or any(map(_may_change, one.ops())) for one in functions)


def _may_change(op: Op) -> bool:
    """May op change a list, dict or set of the caller, or run code that does?"""
    if op.effect & Effect.OPAQUE:
        return True
    if not op.effect & Effect.WRITES or op.callee is next or not op.args:
        return False
    target: Any = op.args[0]
    kind = getattr(target, "type", None)
    if any(op.callee is ending for ending in _ENDING):
        return kind is None or may_end_visibly(kind)
    if isinstance(kind, Items) and kind.cls not in _CHANGED:
        return False  # advancing an iterator changes no container
    return not (isinstance(kind, Array) or (isinstance(target, Op) and any(target.callee is maker for maker in _MAKERS)))

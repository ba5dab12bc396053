"""Stores into arrays on a tape: how they are done and recorded, and how the sweep undoes them."""

import operator as o
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from hovis.errors import DerivativeError
from hovis.library.numpy.adjoints import shadow_memory
from hovis.library.numpy.adjoints.cotangents import overwritten, repeats, taken, taken_last, whole_to
from hovis.library.numpy.adjoints.tangents import fitted
from hovis.transforms.record.boxes import Box, bare, bared, has_box, record

if TYPE_CHECKING:
    from hovis.transforms.record.tape import Tape

REPEATED: Final = "an array is stored into, and a view of it repeats some of its elements"


class Store:
    """A recorded store into an array: the target, the index, the value (with boxes), its sign (0: an assignment, 1: ``+=``, -1: ``-=``) and what
    was there before.
    """

    __slots__ = ("before", "index", "sign", "target", "value")

    def __init__(self, target: Any, index: Any, value: Any, before: Any, sign: int) -> None:
        self.target, self.index, self.value, self.before, self.sign = target, index, value, before, sign

    def reverse(self, tape: "Tape") -> None:
        """Pass the cotangent of the stored elements to the stored value, and put back what was there before."""
        shadow = tape.shadow(self.target)
        if shadow is not None:
            if not self.sign and repeats(self.index):
                g = tape.run(taken_last, shadow, self.index, whole_to(shadow.dtype))
            else:
                g = tape.run(overwritten if self.sign else taken, shadow, self.index)
            if has_box(self.value, tape):
                tape.share(self.value, _parted(tape, -g if self.sign < 0 else g, self.value))
        tape.outer(o.setitem, (self.target, self.index, self.before), {})


def _parted(tape: "Tape", g: Any, value: Any) -> Any:
    """Return the cotangent of value, given the cotangent g of the array that was made of it; value may be a list of boxes, and may be smaller
    than the array.
    """
    if type(value) is Box:
        return tape.run(fitted, g, tape.opened(value))
    rows = tape.run(fitted, g, shadow_memory.array_of(bared(value)))
    return [_parted(tape, tape.run(o.getitem, rows, k), part) if has_box(part, tape) else None for k, part in enumerate(value)]


def store(tape: "Tape", target: Any, index: Any, value: Any, sign: int = 0, how: Callable[[], Any] | None = None) -> None:
    """Do and record ``target[index] = value``, by a call of ``how`` if it is given; sign 1 or -1: ``how`` adds or subtracts the value."""
    index = tape.opened(index)
    held = tape.opened(target)
    root = shadow_memory.root_of(bare(target))
    if id(root) in tape.repeated:
        raise DerivativeError(f"{REPEATED} ({tape.place()})")
    fits = shadow_memory.varies(bare(target))
    before = tape.outer(overwritten, (held, index), {})
    if how is None:
        tape.outer(o.setitem, (held, index, tape.opened(value)), {})
    else:
        how()
    if fits:
        tape.note(Store(held, index, value, before, sign))
        tape.stored[id(root)] = root
        tape.roots[id(root)] = root
        if type(target) is not Box or target.tape is not tape:
            tape.touched[id(root)] = root


def store_one_by_one(tape: "Tape", ufunc: Any, target: Any, index: Any, *values: Any) -> None:
    """Do ``ufunc.at`` element by element: an element that occurs several times in index is updated once for each occurrence, in order."""
    index = tape.opened(index)
    steps = shadow_memory.steps_of(bare(target).shape, index)
    shape = bare(target)[index].shape
    wide = [record(shadow_memory.flattened, (record(shadow_memory.broadcast, (value, shape), {}),), {}) for value in values]
    for k, at in enumerate(steps):
        old = record(o.getitem, (target, at), {})
        record(o.setitem, (target, at, record(ufunc, (old, *[record(o.getitem, (value, k), {}) for value in wide]), {})), {})


def store_where_told(tape: "Tape", callee: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Do and record a call that stores values where other arguments say, as ``np.put`` does."""
    which = shadow_memory.placing(callee, args, kwargs)
    values = kwargs[which] if isinstance(which, str) else args[which]
    values = record(shadow_memory.as_array, (values,), {})
    plain = [bare(arg) for arg in args], {name: bare(value) for name, value in kwargs.items()}
    at = shadow_memory.spots(callee, *plain, bare(values))
    write_all(tape, args[0], record(shadow_memory.placed, (args[0], at, values), {}))


def write_all(tape: "Tape", target: Any, value: Any) -> None:
    """Store value into all of target, cast as operators cast their results."""
    store(tape, target, Ellipsis, value, how=lambda: tape.outer(shadow_memory.cast_into, (tape.opened(target), tape.opened(value)), {}))

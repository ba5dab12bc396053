"""Variables that outlive a call: globals, attributes of classes and cells of closures into which compiled code stores numbers.

    Model.calls += 1      the program is given what the variable holds, and gives what it holds then;
                          the host stores it, where the program has not given up

If Python does a call again, the variables are therefore unchanged.
"""

import builtins
import itertools
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from hovis.base import interrupts
from hovis.front.kernels.primitives import Kept
from hovis.ir import operations
from hovis.ir.model import Effect, Function, Op, callees
from hovis.ir.quoting import place
from hovis.lattice import Const
from hovis.lattice.inspection import is_a
from hovis.library.numpy.rules.aliasing import is_in
from hovis_xla.analysis.primitive_effects import looked_at, sees
from hovis_xla.analysis.side_effects import acts
from hovis_xla.emit.values import ARRAY, NotLowerable, Num, num_of_value

#: For each call that stores into a variable: the call by which a program reads it, and the one by which the host does.
_STORES: Final[dict[Any, tuple[Any, Any]]] = {
    operations.store_global: (operations.load_global, operations.load_global),
    operations.cell_set: (operations.cell_get, operator.attrgetter("cell_contents")),
    setattr: (getattr, getattr),
}
_KINDS: Final = {call: store for store, (read, _) in _STORES.items() for call in (store, read)}
#: Calls that read a variable.
READS: Final = frozenset(read for read, _ in _STORES.values())
#: Calls that read or store.
CALLS: Final = frozenset(_KINDS)


@dataclass(frozen=True, eq=False)
class Variable:
    """A number that is read by ``read(*where)``, and stored by ``write(*where, value)``."""

    read: Callable[..., Any]
    write: Callable[..., Any]
    where: tuple[Any, ...]
    num: Num


def key_of(callee: Any, args: Iterable[Any]) -> Any:
    """Return a key for the variable that a call reads or stores, given its arguments (None for an argument that is not known). None for an
    attribute of anything but a known class.
    """
    holder, name, *_ = itertools.chain(args, (None,))
    kind = _KINDS[callee]
    if kind is setattr and not is_a(holder, type):
        return None
    return kind, id(holder), None if kind is operations.cell_set else name


def variables(function: Function) -> dict[Any, Variable]:
    """Find the variables that a function, or one of its callees, stores into. Raises ``NotLowerable`` if the program cannot hold them."""
    ops = [op for one in callees(function) for op in one.ops() if is_in(op.callee, CALLS) or acts(op)]
    found: dict[Any, Variable] = {}
    for op in ops:
        if is_in(op.callee, _STORES) and all(isinstance(a, Const) for a in op.args[:-1]):
            key = _key(op)
            if key is not None and key not in found:
                found[key] = _variable(op)
    for op in ops if found else ():
        if acts(op) and op.effect & Effect.OPAQUE and op.callee is not builtins.print:
            _check_looks(op, found)
        if op.callee is getattr and isinstance(getattr(op.args[0], "value", None), type) and _key(op) not in found:
            raise NotLowerable("a read of a class attribute in a function that stores into variables that outlive the call", op.location)
    _apart([one.where for one in found.values() if one.write is setattr])
    return found


def _check_looks(op: Op, variables: dict[Any, Variable]) -> None:
    """Refuse a call that may read a variable, or store into it: during the run, only the program knows its value."""
    called = getattr(op.callee, "__qualname__", "the callee")
    where = sees(op) if isinstance(op.callee, Kept) else op
    if where is not None:
        calls = f", because it calls an unknown function ({place(where.location)})" if where is not op and where.location is not None else ""
        raise NotLowerable(f"{called} may read a variable that the compiled code stores into{calls}", op.location)
    seen = looked_at(op)
    for kind, holder, name in variables:
        if not seen.isdisjoint({(0 if kind is setattr else holder, name), (holder, None)}):
            raise NotLowerable(f"{called} reads or stores into {name or 'a variable of a closure'}, which the compiled code also uses", op.location)


def _key(op: Op) -> Any:
    return key_of(op.callee, [a.value if isinstance(a, Const) else None for a in op.args])


def is_about(op: Op, variables: dict[Any, Variable]) -> bool:
    """Does a call read or store one of these variables?"""
    return is_in(op.callee, CALLS) and _key(op) in variables


def _variable(op: Op) -> Variable:
    write: Any = op.callee
    read, where = _STORES[write][1], tuple(a.value for a in op.args[:-1] if isinstance(a, Const))
    if write is setattr and type(where[0]) is not type:
        raise NotLowerable("a store into an attribute of a class that has a metaclass", op.location)
    try:
        num = num_of_value(read(*where))
    except Exception as error:
        interrupts.let_through(error)
        num = None
    if num is None or num.kind == ARRAY:
        raise NotLowerable("a variable that outlives the call and does not hold a number", op.location)
    return Variable(read, write, where, num)


def _apart(attributes: Iterable[tuple[Any, ...]]) -> None:
    """Refuse stores of one attribute into a class and into a subclass of it: the subclass reads the attribute through its base class."""
    for (cls, name), (other, another) in itertools.combinations(attributes, 2):
        if name == another and (issubclass(cls, other) or issubclass(other, cls)):
            raise NotLowerable(f"{name} is stored into a class and into a subclass of it")

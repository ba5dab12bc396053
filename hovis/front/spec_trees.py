"""Trees of specs for the arguments and the result of a Function, as a user would write them.

A tree is made of containers with specs as leaves, so the specs of one trace can be used for another trace:
``hovis.trace(loss, *hovis.trace(model, …).in_tree)``.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

from hovis.arguments.specs import Array, Instance, const
from hovis.base import own_code
from hovis.ir.model import Op, Operand
from hovis.ir.operations import make_dict, make_list, make_object, make_tuple
from hovis.ir.printer import Given
from hovis.lattice import ANY, AbstractValue, Const, Partial, Type, join
from hovis.lattice import Array as ArrayType

own_code.leave_as_calls(__file__)


def taken(parameters: Iterable[Any]) -> tuple[Any, ...]:
    """Return the specs of the parameters in ``Trace.params``, without the function itself."""
    return tuple(map(_of_parameter, list(parameters)[1:]))


def given(results: Iterable[Operand]) -> Any:
    """Return the spec of the result of a Function; if its returns differ, a spec that covers all of them."""
    trees = [of_value(result) for result in results]
    if not trees:
        return None
    found = trees[0]
    for tree in trees[1:]:
        found = _meet(found, tree)
    return found


def of_value(operand: Operand) -> Any:
    """Return the spec of a value; a container that the Function makes has specs for its contents."""
    if isinstance(operand, Const):
        return const(operand.value)
    if isinstance(operand, Op) and not operand.kwargs and operand.callee in _MAKERS:
        return _MAKERS[operand.callee](operand.args)
    return _leaf(operand)


def _leaf(value: Any) -> Any:
    kind = value.type
    if not isinstance(kind, ArrayType):
        return kind
    dims = value.dims or (None,) * kind.rank
    sizes = (dim.value if isinstance(dim, Const) else None for dim in dims)
    return Array(str(kind.dtype), tuple(size if isinstance(size, int) else None for size in sizes), kind.layout)


def _object(args: tuple[Operand, ...]) -> Any:
    cls, names, *values = args
    attributes: Any = zip(_known(names), map(of_value, values), strict=True)
    return Instance(_known(cls), **dict(attributes))


def _known(operand: Operand) -> Any:
    assert isinstance(operand, Const)
    return operand.value


def _dict(args: tuple[Operand, ...]) -> Any:
    keys, values = args[::2], args[1::2]
    if not all(isinstance(key, Const) for key in keys):
        return Type(dict)
    return dict(zip(map(_known, keys), map(of_value, values), strict=True))


_MAKERS: Final[dict[Any, Callable[[tuple[Operand, ...]], Any]]] = {
    make_tuple: lambda args: tuple(map(of_value, args)),
    make_list: lambda args: list(map(of_value, args)),
    make_dict: _dict,
    make_object: _object,
}


def _of_parameter(parameter: Any) -> Any:
    if isinstance(parameter, Given):
        parameter = parameter.structure
    if isinstance(parameter, Partial):
        return Instance(parameter.cls, **dict(zip(map(str, parameter.keys), map(_of_parameter, parameter.parts), strict=True)))
    if isinstance(parameter, dict):
        return {key: _of_parameter(part) for key, part in parameter.items()}
    if isinstance(parameter, list):
        return list(map(_of_parameter, parameter))
    if isinstance(parameter, tuple):
        return tuple(map(_of_parameter, parameter))
    return const(parameter.value) if isinstance(parameter, Const) else _leaf(parameter)


def _meet(a: Any, b: Any) -> Any:
    """Return a spec that covers all values of both specs."""
    if type(a) is type(b) and isinstance(a, list | tuple) and len(a) == len(b):
        return type(a)(map(_meet, a, b))
    if isinstance(a, dict) and isinstance(b, dict) and list(a) == list(b):
        return {key: _meet(part, b[key]) for key, part in a.items()}
    if isinstance(a, Instance) and isinstance(b, Instance) and a.cls is b.cls and list(a.fields) == list(b.fields):
        return Instance(a.cls, **{name: _meet(part, b.fields[name]) for name, part in a.fields.items()})
    if isinstance(a, Array) and isinstance(b, Array) and a.dtype == b.dtype and len(a.shape) == len(b.shape):
        shape = tuple(size if size == other else None for size, other in zip(a.shape, b.shape, strict=True))
        return Array(a.dtype, shape, a.layout if a.layout == b.layout else "")
    if isinstance(a, AbstractValue) and isinstance(b, AbstractValue):
        return join(a, b)
    return ANY

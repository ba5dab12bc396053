"""Find the known objects to which code may come that is not looked into: by what the residual gives it, and what can be reached from that.

Of known objects whose attributes the traced code stores by name, the others stay known (``Tables.stored``).  Whoever gets such an object,
or something that leads to it, may store any of them.
"""

import gc
import operator
import types
import weakref
from collections.abc import Iterable, Iterator
from typing import Any, Final

from hovis.engine.state.type_lookup import is_python_class
from hovis.ir.model import VALUES, Effect, Function, Op
from hovis.ir.operations import drop, is_method_of, keep, keeps, lacks, make_function
from hovis.lattice import Const

#: What reads or stores one attribute, which it names; what only asks which object it is, or of which class.  By id.
_BY_NAME: Final = frozenset(map(id, (getattr, setattr, delattr, object.__setattr__, object.__delattr__, lacks)))
_ASKING: Final = frozenset(map(id, (type, isinstance, operator.is_, operator.is_not, id, drop, keep, keeps, is_method_of)))
#: Classes of objects that hold nothing.
_LEAVES: Final = frozenset({int, float, complex, bool, str, bytes, type(None), type(...), type(NotImplemented), range, types.CodeType, types.ModuleType})
#: After so many objects everything is taken to be reached, as it is behind a proxy, which can't be asked for what it stands for.
_MOST: Final = 20_000


def reached(functions: Iterable[Function]) -> set[int] | None:
    """The ids of the known objects that code may come to which is not looked into; None: any."""
    todo: list[Any] = [value for function in functions for op in function.ops() for value in _given(op)]
    found: dict[int, object] = {}
    while todo:
        one = todo.pop()
        cls = type(one)
        if id(one) in found or cls in _LEAVES or (cls is dict and "__builtins__" in one) or (cls is type and not is_python_class(one)):
            continue
        found[id(one)] = one
        if len(found) > _MOST or cls in weakref.ProxyTypes:
            return None
        if cls is types.FunctionType:
            todo += _globals_of(one.__code__, one.__globals__)
        if issubclass(cls, weakref.ref):
            todo.append(weakref.ref.__call__(one))
        todo += gc.get_referents(one)
    return set(found)


def _given(op: Op) -> Iterator[object]:
    """The known objects that an operation gives to somebody, or puts somewhere."""
    operands, opaque = op.args, bool(op.effect & Effect.OPAQUE)
    if not opaque and id(op.callee) in _ASKING:
        return
    if opaque and type(op.callee) not in VALUES and not isinstance(op.callee, Function):
        yield op.callee
    if not opaque and id(op.callee) in _BY_NAME:
        operands = operands[1:]
    if op.callee is make_function and type(operands[0]) is type(operands[1]) is Const:
        yield from _globals_of(operands[0].value, operands[1].value)
    for operand in (*operands, *(value for _, value in op.kwargs)):
        if type(operand) is Const:
            yield operand.value


def _globals_of(code: Any, namespace: Any) -> Iterator[object]:
    """The globals that code, and the functions that are made in it, may take from a namespace."""
    for name in code.co_names:
        if name in namespace:
            yield namespace[name]
    for constant in code.co_consts:
        if type(constant) is types.CodeType:
            yield from _globals_of(constant, namespace)

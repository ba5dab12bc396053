"""Creation of a function from a code object, as a ``def`` statement does it.

CPython 3.13 specializes calls only of functions that MAKE_FUNCTION has created, and only as long as their defaults have not
been set (``func_version`` in Objects/funcobject.c); calls of functions created by ``types.FunctionType`` stay slow.
"""

from collections.abc import Mapping
from types import CellType, CodeType, FunctionType
from typing import Any

from hovis.backend.assembler.encode import LOAD_CONST, LOAD_FAST, NOWHERE, OP, Assembly, make_code


def make_function(
    code: CodeType,
    namespace: dict[str, Any],
    closure: tuple[CellType, ...] = (),
    defaults: tuple[object, ...] | None = None,
    kwdefaults: Mapping[str, object] | None = None,
) -> FunctionType:
    """Create the function; its names are those of the code."""
    if "SET_FUNCTION_ATTRIBUTE" not in OP:
        made = FunctionType(code, namespace, code.co_name, defaults, closure or None)
        made.__kwdefaults__ = dict(kwdefaults) if kwdefaults else None
        return made
    # the bits of MAKE_FUNCTION (Include/cpython/funcobject.h)
    attributes = {1: defaults, 2: dict(kwdefaults) if kwdefaults else None, 8: closure or None}
    given = {bit: value for bit, value in attributes.items() if value is not None}
    asm = Assembly()
    asm.do(OP["RESUME"])
    for k in range(len(given)):
        asm.do(LOAD_FAST, k, 1)
    asm.do(LOAD_CONST, 0, 1)
    asm.do(OP["MAKE_FUNCTION"])
    for bit in reversed(given):
        asm.do(OP["SET_FUNCTION_ATTRIBUTE"], bit, -1)
    asm.do(OP["RETURN_VALUE"], 0, -1)
    names = [f"p{bit}" for bit in given]
    maker, _ = make_code(asm, [code], (), names, (), (len(names), 0, 0), 3, code.co_filename, code.co_name, code.co_name, 1, lambda place: NOWHERE)
    return FunctionType(maker, namespace)(*given.values())  # type: ignore[no-any-return]

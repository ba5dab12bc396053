"""Calls that are opaque to XLA: calls of the host, with or without side effects, and calls of an identity function that is not inlined."""

from collections.abc import Sequence
from typing import Any

from hovis_xla.emit.builder import Dtype, T, tensor_type
from hovis_xla.jaxlib.adapter import CALLBACK_TARGET, context, func, ir
from hovis_xla.jaxlib.adapter import stablehlo as hlo


def opaque_identity(values: Sequence[Any], module: Any, made: dict[str, str]) -> list[Any]:
    """Return the values unchanged, by one call of an identity function that is not inlined; ``made`` maps operand types to the names of the
    functions made before.
    """
    kinds = [value.type for value in values]
    key = ", ".join(map(str, kinds))
    name = made.get(key)
    if name is None:
        name = made[key] = f"barrier{len(made)}"
        with ir.InsertionPoint(module), ir.Location.unknown(context()):
            identity = func.FuncOp(name, ir.FunctionType.get(kinds, kinds), visibility="private")
            with ir.InsertionPoint(identity.add_entry_block()):
                func.return_(list(identity.arguments))
    call = func.CallOp(kinds, ir.FlatSymbolRefAttr.get(name), values)
    call.operation.attributes["mhlo.frontend_attributes"] = ir.DictAttr.get({"inlineable": ir.StringAttr.get("false")})
    return list(call.results)


def callback(token: Any, operands: Sequence[T], index: int, results: Sequence[tuple[Dtype, tuple[int, ...]]]) -> tuple[Any, list[T]]:
    """Call the host with a side effect; return the new token, which orders later calls, and the results."""
    token, *found = _called([hlo.TokenType.get(), *(tensor_type(*r) for r in results)], [token, *(x.ir for x in operands)], index, True)
    return token, [T(r, dtype, tuple(shape)) for r, (dtype, shape) in zip(found, results, strict=True)]


def host_call(operands: Sequence[T], index: int, results: Sequence[tuple[Dtype, tuple[int, ...]]]) -> list[T]:
    """Call the host for results that depend only on the operands, without side effects."""
    found = _called([tensor_type(*r) for r in results], [x.ir for x in operands], index, False)
    return [T(r, dtype, tuple(shape)) for r, (dtype, shape) in zip(found, results, strict=True)]


def _called(types: Sequence[Any], operands: Sequence[Any], index: int, acts: bool) -> Any:
    config = ir.DictAttr.get({"index": ir.IntegerAttr.get(ir.IntegerType.get_unsigned(64), index)})
    api = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 4)
    return hlo.CustomCallOp(types, operands, CALLBACK_TARGET, has_side_effect=acts, backend_config=config, api_version=api).results

"""Packing of all scalars of a call into one array of words, for inputs and for outputs.

Each input and each output of a program costs about two microseconds; ``struct`` packs a dozen scalars in a fifth of one.
:func:`packed` adds a ``main`` to a module, which unpacks the words, calls the program, and packs its
results into words.  A scalar takes one word of 64 bits, a complex number two; arrays of one dimension or more are passed as they are.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from hovis_xla.emit import builder, slicing
from hovis_xla.emit.builder import T, tensor_type
from hovis_xla.emit.values import BOOL, INT64, Num
from hovis_xla.jaxlib.adapter import context, func, ir
from hovis_xla.jaxlib.adapter import stablehlo as hlo

#: The ``struct`` format that puts a scalar of this kind and size into one word, or into two.
FORMATS: Final = {
    "b1": "?7x", "i1": "b7x", "u1": "B7x", "i2": "h6x", "u2": "H6x", "i4": "i4x", "u4": "I4x", "i8": "q", "u8": "Q",
    "f2": "e6x", "f4": "f4x", "f8": "d", "c8": "f4xf4x", "c16": "dd",
}  # fmt: skip

#: The integer type of each size, whose bits are reinterpreted.
_SIGNED: Final = {size: np.dtype(f"i{size}") for size in (1, 2, 4, 8)}

Shape = tuple[tuple[int, ...], Any]


def is_scalar(num: Num) -> bool:
    """Is the value passed as a word (or two)?"""
    return not num.shape


def words(nums: Sequence[Num]) -> int:
    """Return the number of words that the scalars of ``nums`` take."""
    return sum(2 if n.dtype.kind == "c" else 1 for n in nums if is_scalar(n))


def layout(nums: Sequence[Num]) -> str:
    """Return the ``struct`` format of the scalars of ``nums``."""
    return "<" + "".join(FORMATS[f"{n.dtype.kind}{n.dtype.itemsize}"] for n in nums if is_scalar(n))


def interface(nums: Sequence[Num]) -> list[Shape]:
    """Return the shapes and dtypes of the inputs or outputs of a packed program: the words, if there are any, then the arrays."""
    count = words(nums)
    head: list[Shape] = [((count,), INT64)] if count else []
    return head + [(n.shape, n.dtype) for n in nums if not is_scalar(n)]


def packed(module: Any, inputs: Sequence[Num], outputs: Sequence[Num]) -> Any:
    """Build a module whose ``main`` takes and returns words and arrays, and calls what was ``main`` in ``module``."""
    with context(), ir.Location.unknown(context()):
        made = ir.Module.create()
        made.operation.attributes["sym_name"] = module.operation.attributes["sym_name"]
        for op in module.body.operations:
            made.body.append(op.operation.clone())
        inner = next(op for op in made.body.operations if ir.StringAttr(op.attributes["sym_name"]).value == "main")
        inner.attributes["sym_name"] = ir.StringAttr.get("program")
        inner.attributes["sym_visibility"] = ir.StringAttr.get("private")
        taken = [tensor_type(dtype, shape) for shape, dtype in interface(inputs)]
        given = [tensor_type(dtype, shape) for shape, dtype in interface(outputs)]
        with ir.InsertionPoint.at_block_begin(made.body):
            main = func.FuncOp("main", ir.FunctionType.get(taken, given))
        with ir.InsertionPoint(main.add_entry_block()):
            args = _apart(list(main.arguments), inputs)
            results = func.CallOp([tensor_type(n.dtype, n.shape) for n in outputs], "program", args).results
            func.return_(_together(list(results), outputs))
        made.operation.verify()
    return made


def _apart(arguments: list[Any], nums: Sequence[Num]) -> list[Any]:
    """Unpack the inputs of the program from the words and the arrays."""
    head = T(arguments.pop(0), INT64, (words(nums),)) if words(nums) else None
    arrays, place, found = iter(arguments), 0, []
    for num in nums:
        if head is None or not is_scalar(num):
            found.append(next(arrays))
            continue
        size = 2 if num.dtype.kind == "c" else 1
        taken = [builder.reshape(slicing.static_slice(head, [at], [at + 1], [1]), ()) for at in range(place, place + size)]
        found.append(_scalar(taken, num.dtype).ir)
        place += size
    return found


def _scalar(taken: list[T], dtype: Any) -> T:
    if dtype == BOOL:
        return builder.convert(taken[0], BOOL)
    if dtype.kind == "c":
        half = np.dtype(f"f{dtype.itemsize // 2}")
        return builder.make_complex(*(_scalar([word], half) for word in taken))
    whole = builder.convert(taken[0], _SIGNED[dtype.itemsize])
    return whole if dtype.kind == "i" else builder.bits_as(whole, dtype)


def _together(results: list[Any], nums: Sequence[Num]) -> list[Any]:
    """Pack the outputs of the program into the words and the arrays."""
    scalars: list[T] = []
    arrays = []
    for value, num in zip(results, nums, strict=True):
        if is_scalar(num):
            scalars += _word(T(value, num.dtype, ()))
        else:
            arrays.append(value)
    if not scalars:
        return arrays
    return [hlo.concatenate([builder.reshape(s, (1,)).ir for s in scalars], 0), *arrays]


def _word(x: T) -> list[T]:
    if x.dtype.kind == "c":
        return [*_word(builder.real(x)), *_word(builder.imag(x))]
    if x.dtype == BOOL:
        return [builder.convert(x, INT64)]
    whole = x if x.dtype.kind == "i" else builder.bits_as(x, _SIGNED[x.dtype.itemsize])
    return [builder.convert(whole, INT64)]

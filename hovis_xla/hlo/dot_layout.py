"""Layout of matrix products: operands are transposed into the order that is fast in XLA, and products in loops are compiled by XLA itself, so
that the loops become native code.

XLA leaves a product to a library of kernels, and interprets a loop that contains a call of a library.  If the matrices fit into a cache,
XLA's own products are as fast, provided that they are computed in tiles: rows of the first matrix by columns of the second, in the order of
memory.  A first matrix that would be read along its columns, as in ``x.T @ d``, is transposed before: otherwise the library does not accept
the product either, and the remaining code takes twice as long, and thirty times as long in a loop.

This pass runs on the finished module.
"""

import math
from typing import Any, Final, NamedTuple

from hovis_xla.emit import builder, reductions, slicing
from hovis_xla.emit.builder import shape_of, stablehlo_names, tensor_of
from hovis_xla.hlo.module import Module, element_of, operations_in, outermost_loop
from hovis_xla.jaxlib import compilation
from hovis_xla.jaxlib.adapter import ir
from hovis_xla.jaxlib.adapter import stablehlo as hlo

#: A product of more pairs of numbers is left to the library, whose kernels use all cores and are adapted to the caches.
MOST: Final = 1 << 19

#: A product of fewer pairs is expanded, for each element of the result.
LEAST: Final = 64

#: Outside of loops, matrices are transposed only for products of at least so many rows and columns.
MANY: Final = 48

#: Number of columns in a tile.  With at least so many rows, it is worth adding columns to fill the last tile: columns left over are computed
#: one by one.
WIDTH: Final = 4

#: Element types that the library accepts, and for which XLA makes tiles.
_TILED: Final = frozenset({"f32", "f64"})

#: Other operations that keep a loop from being native code.
_WALKED: Final = stablehlo_names("convolution custom_call fft infeed outfeed scatter sort")


#: Operations that use all cores, but only one if products are computed in tiles.
_SHARED: Final = ("stablehlo.convolution", "stablehlo.fft")


class _Product(NamedTuple):
    """A matrix product, or a batch of them; a vector is a matrix of one row or column.

    along     for each operand, which of its two dimensions is contracted
    batch     the number of batch dimensions
    sizes     the numbers of rows, pairs and columns
    back      whether the result has to be transposed: the product of y transposed and x transposed is that of x and y, transposed
    """

    op: Any
    along: tuple[int, int]
    batch: int
    sizes: tuple[int, int, int]
    back: bool = False

    @property
    def operands(self) -> list[Any]:
        """The two operands (in reverse order if ``back``), read from the op, since other products may have been rewritten."""
        return list(self.op.operands)[:: -1 if self.back else 1]

    @property
    def element(self) -> str:
        """The element type, as text."""
        return str(element_of(self.op.results[0]))

    @property
    def is_tiled(self) -> bool:
        """Is this a product that XLA could compute in tiles?"""
        return self.element in _TILED and min(self.sizes[0], self.sizes[2]) > 1 and math.prod(self.sizes) >= LEAST

    @property
    def is_worth_it(self) -> bool:
        """Is it worth transposing operands? Outside of loops, a product as it stands is done by another library, which is slower for large
        matrices.
        """
        return outermost_loop(self.op) is not None or (self.element == "f64" and min(self.sizes[0], self.sizes[2]) >= MANY)

    def turned(self, tiles: bool) -> tuple[bool, bool]:
        """Which of the two operands have to be transposed? The library takes the second one either way."""
        return self.along[0] == 0, tiles and self.along[1] == 1

    def moved(self, tiles: bool) -> int:
        """Return the number of elements that transposing moves."""
        rows, pairs, columns = self.sizes
        first, second = self.turned(tiles)
        return first * rows * pairs + second * pairs * columns + self.back * rows * columns

    def exchanged(self) -> "_Product":
        """Return the same product with its operands exchanged and its result transposed."""
        return self._replace(along=self.along[::-1], sizes=self.sizes[::-1], back=not self.back)


def assign_dot_layouts(module: Module, native: bool) -> bool:
    """Transpose operands of matrix products into the order that is fast.

    Operands are transposed only where that makes the product faster.  Return whether all products are to be compiled by XLA itself, for
    the sake of those in loops.

    native  loops move few bytes in an iteration, and may become native code
    """
    found = [_product(op) for op in operations_in(module.ir, "stablehlo.dot_general")]
    products = [p for p in found if p is not None and p.is_tiled]
    tiles = native and any(_is_in_native_loop(p.op) for p in products) and all(map(_may_be_own, found))
    tiles = tiles and not operations_in(module.ir, *_SHARED) and compilation.has_tiles()
    for product in products:
        if product.is_worth_it:
            _write(module, min(product, product.exchanged(), key=lambda way: way.moved(tiles)), tiles)
    return tiles


def _product(op: Any) -> _Product | None:
    """Return the matrix product that a contraction is; None if it is none (it contracts several dimensions, for example)."""
    numbers = hlo.DotDimensionNumbers(op.attributes["dot_dimension_numbers"])
    batch = len(numbers.lhs_batching_dimensions)
    inner = numbers.lhs_contracting_dimensions, numbers.rhs_contracting_dimensions
    shapes = [shape_of(x) for x in op.operands]
    in_front = all(list(dims) == list(range(batch)) for dims in (numbers.lhs_batching_dimensions, numbers.rhs_batching_dimensions))
    if not in_front or any(len(dims) != 1 for dims in inner) or any(not 1 <= len(shape) - batch <= 2 for shape in shapes):
        return None
    first, second = (dims[0] for dims in inner)
    rows, columns = (math.prod(d for k, d in enumerate(shape) if k >= batch and k != at) for shape, at in zip(shapes, (first, second), strict=True))
    return _Product(op, (first - batch, second - batch), batch, (rows, shapes[0][first], columns))


def _may_be_own(product: _Product | None) -> bool:
    """Is XLA itself as fast as the library at this product, or does the library not take it anyway?"""
    if product is None:
        return False
    is_number = product.element in _TILED or isinstance(element_of(product.op.results[0]), ir.IntegerType)
    return is_number and math.prod(product.sizes) <= MOST


def _is_in_native_loop(op: Any) -> bool:
    """Is an operation in a loop that could be native code, apart from its products?"""
    loop = outermost_loop(op)
    return loop is not None and not operations_in(loop, *_WALKED)


def _write(module: Module, product: _Product, tiles: bool) -> None:
    """Rewrite a product, unless it already has this form; barriers keep XLA from undoing that."""
    turned = product.turned(tiles)
    missing = -product.sizes[2] % WIDTH if tiles and product.sizes[0] >= WIDTH else 0
    if not (any(turned) or product.back or missing):
        return
    op, batch = product.op, range(product.batch)
    transposition, none = [*batch, len(batch) + 1, len(batch)], [0] * (len(batch) + 1)
    with op.location, ir.InsertionPoint(op):
        operands = map(tensor_of, product.operands)
        x, y = (module.held(builder.transpose(one, transposition))[0] if turn else one for one, turn in zip(operands, turned, strict=True))
        first, second = (len(batch) + (1 - at if turn else at) for at, turn in zip(product.along, turned, strict=True))
        if missing:  # columns of zeros are added
            y = module.held(slicing.pad(y, 0, [*none, 0], [*none, missing]))[0]
        found = reductions.dot_general(x, y, ([first], [second]), (batch, batch))
        if missing or product.back:
            found = module.held(found)[0]
        if missing:
            found = slicing.along(found, len(batch) + 1, 0, product.sizes[2])
        if product.back:
            found = builder.transpose(found, transposition)
    op.results[0].replace_all_uses_with(found.ir)
    op.erase()

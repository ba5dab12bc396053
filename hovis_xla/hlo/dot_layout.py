"""Products of matrices, in the order in which XLA is quick; and those in loops as XLA's own, so that the loops are native code.

XLA leaves a product to a library of kernels, and walks a loop with a call of a library in it.  Where matrices fit into a cache, its own
products are as quick, if they are made of tiles: rows of the first by columns of the second, as they lie in memory.  A first matrix that
would be read down its columns, as in ``x.T @ d``, is turned before: else the library does not take the product either, and what is left
takes twice as long, and thirty times in a loop.

It is done where the module is finished.
"""

import math
from typing import Any, Final, NamedTuple

from hovis_xla.emit.builder import shape_of
from hovis_xla.hlo.iteration_dependence import element_of
from hovis_xla.hlo.module import Module, operations_in
from hovis_xla.jaxlib import compilation
from hovis_xla.jaxlib.adapter import context, ir
from hovis_xla.jaxlib.adapter import stablehlo as hlo

#: A product of more pairs of numbers is left to the library, whose kernels use all cores and mind the caches.
MOST: Final = 1 << 19

#: One of fewer pairs is written out, for each element of the result.
LEAST: Final = 64

#: From so many rows and columns on a matrix is turned for a product that is done once.
MANY: Final = 48

#: So many columns at a time make tiles, and from so many rows on it is worth it to add some; those that are left over are done one by one.
WIDTH: Final = 4

#: What the library takes, and XLA makes tiles of.
_TILED: Final = frozenset({"f32", "f64"})

#: What else keeps a loop from being native code.
_WALKED: Final = frozenset(f"stablehlo.{name}" for name in ("convolution", "custom_call", "fft", "infeed", "outfeed", "scatter", "sort"))


#: What all cores take part in, which they don't where products are tiles.
_SHARED: Final = ("stablehlo.convolution", "stablehlo.fft")


class _Product(NamedTuple):
    """A product of two matrices, or of batches of them; a vector is a matrix of one row or column.

    along     which of its two dimensions each is multiplied along
    batch     how many dimensions there are besides
    sizes     rows, pairs and columns
    back      is the result to be turned?  The product of y turned and x turned is that of x and y, turned
    """

    op: Any
    along: tuple[int, int]
    batch: int
    sizes: tuple[int, int, int]
    back: bool = False

    @property
    def operands(self) -> list[Any]:
        """What is multiplied: as it is now, as other products may have been written in another way."""
        return list(self.op.operands)[:: -1 if self.back else 1]

    @property
    def element(self) -> str:
        """What it is made of."""
        return str(element_of(self.op.results[0]))

    @property
    def is_tiled(self) -> bool:
        """Is it one of matrices that XLA could make tiles of?"""
        return self.element in _TILED and min(self.sizes[0], self.sizes[2]) > 1 and math.prod(self.sizes) >= LEAST

    @property
    def is_worth_it(self) -> bool:
        """Is it worth turning matrices for?  Done once, what does without is another library, which is slower if it is much."""
        return _outermost(self.op) is not None or (self.element == "f64" and min(self.sizes[0], self.sizes[2]) >= MANY)

    def turned(self, tiles: bool) -> tuple[bool, bool]:
        """Which ones have to be turned?  The library takes the second one either way."""
        return self.along[0] == 0, tiles and self.along[1] == 1

    def moved(self, tiles: bool) -> int:
        """How many elements are moved by turning."""
        rows, pairs, columns = self.sizes
        first, second = self.turned(tiles)
        return first * rows * pairs + second * pairs * columns + self.back * rows * columns

    def exchanged(self) -> "_Product":
        """The other way to write it."""
        return self._replace(along=self.along[::-1], sizes=self.sizes[::-1], back=not self.back)


def assign_dot_layouts(module: Module, native: bool) -> bool:
    """Transpose operands of matrix products into the order that is fast.

    Turn the matrices of products where that makes them quicker.  Are all products to be XLA's own, for the sake of those in loops?

    native  loops move few bytes in a round, and may become native code
    """
    with context(), ir.Location.unknown(context()):
        found = [_product(op) for op in operations_in(module.ir, "stablehlo.dot_general")]
        products = [p for p in found if p is not None and p.is_tiled]
        tiles = native and any(_is_in_native_loop(p.op) for p in products) and all(map(_may_be_own, found))
        tiles = tiles and not operations_in(module.ir, *_SHARED) and compilation.has_tiles()
        writer = _Writer(module, tiles)
        for product in products:
            if product.is_worth_it:
                writer.write(min(product, product.exchanged(), key=lambda way: way.moved(tiles)))
        return tiles


def _product(op: Any) -> _Product | None:
    """What a contraction is a product of; None: of more than one dimension, say."""
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
    """Is XLA as quick at a product as the library, or does that one not take it anyway?"""
    if product is None:
        return False
    is_number = product.element in _TILED or isinstance(element_of(product.op.results[0]), ir.IntegerType)
    return is_number and math.prod(product.sizes) <= MOST


def _outermost(op: Any) -> Any:
    """The loop that an operation is in, if it is in one; of several the one around all."""
    found = None
    while op is not None:
        found = op if op.name == "stablehlo.while" else found
        op = op.parent
    return found


def _is_in_native_loop(op: Any) -> bool:
    """Is it in a loop that could be native code, were it not for products?"""
    loop = _outermost(op)
    return loop is not None and not operations_in(loop, *_WALKED)


class _Writer:
    """Writes products in another way; barriers keep XLA from making them again what they were."""

    def __init__(self, module: Module, tiles: bool) -> None:
        self.module = module
        self.tiles = tiles

    def write(self, product: _Product) -> None:
        """Write a product so, if it does not stand so already."""
        turned = product.turned(self.tiles)
        missing = -product.sizes[2] % WIDTH if self.tiles and product.sizes[0] >= WIDTH else 0
        if not (any(turned) or product.back or missing):
            return
        op, batch = product.op, product.batch
        with op.location, ir.InsertionPoint(op):
            x, y = (self.module.barrier(_transposed(one, batch))[0] if turn else one for one, turn in zip(product.operands, turned, strict=True))
            first, second = (1 - at if turn else at for at, turn in zip(product.along, turned, strict=True))
            found = self._product(x, first, self._widened(y, missing) if missing else y, second, batch)
            if missing or product.back:
                found = self.module.barrier(found)[0]
            if missing:
                shape = [*shape_of(found)[:-1], product.sizes[2]]
                found = hlo.slice(found, [0] * len(shape), shape, [1] * len(shape))
            if product.back:
                found = _transposed(found, batch)
        op.results[0].replace_all_uses_with(found)
        op.erase()

    def _product(self, x: Any, first: int, y: Any, second: int, batch: int) -> Any:
        front = list(range(batch))
        numbers = hlo.DotDimensionNumbers.get(
            lhs_batching_dimensions=front, rhs_batching_dimensions=front,
            lhs_contracting_dimensions=[batch + first], rhs_contracting_dimensions=[batch + second],
        )  # fmt: skip
        shape = [*shape_of(x)[:batch], shape_of(x)[batch + 1 - first], shape_of(y)[batch + 1 - second]]
        return hlo.dot_general(ir.RankedTensorType.get(shape, element_of(x)), x, y, numbers)

    def _widened(self, x: Any, missing: int) -> Any:
        """With columns of zeros besides."""
        element = element_of(x)
        zero = hlo.constant(ir.DenseElementsAttr.get_splat(ir.RankedTensorType.get([], element), ir.FloatAttr.get(element, 0.0)))
        none = [0] * len(shape_of(x))
        return self.module.barrier(hlo.pad(x, zero, none, [*none[1:], missing], none))[0]


def _transposed(x: Any, batch: int) -> Any:
    return hlo.transpose(x, [*range(batch), batch + 1, batch])

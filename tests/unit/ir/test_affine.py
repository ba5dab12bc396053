"""What ints of a Function differ by."""
import hovis
from hovis import Int
from hovis.ir.analysis.affine import difference, form, of_op


def ints_of(fn):
    """The parts of the tuple that fn gives, as the IR has them."""
    function = hovis.trace(fn, Int, Int).function
    return function.blocks[-1].terminator.value.args, function.params


def test_differences():
    def pairs(i, k):
        return i + 3, i, 2 * (i + 1), i + i, 5 - i, -i, i * k, i * k + 1, (i - k) * 3 + 3 * k, 3 * i - 4, i / 2 - i / 2

    (a, i, b, c, d, e, f, g, h, j, z), (_, k) = ints_of(pairs)
    told = [difference(x, y, of_op) for x, y in [(a, i), (b, c), (d, e), (g, f), (j, h), (i, i), (a, k), (f, i), (d, i)]]
    assert told == [3, 2, 5, None, -4, 0, None, None, None]
    assert form(z, of_op) == ({z: 1}, 0)  # floats are no sums: a NaN less itself is none

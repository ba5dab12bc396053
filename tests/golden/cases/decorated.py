"""Decorators and callables that are objects: jit inside of a function, partial functions that are known."""
import functools

import hovis


def layers(x, k):
    @hovis.jit
    def layer(y):
        return y * k + 1

    return layer(layer(x))

#: trace layers(Float, Int)
#: run (3.0, 2)
# 1: (%1 :: const(layers), %2 :: Float, %3 :: Int)
#   %4 = (*)(%2, %3) :: Float
#   %5 = (+)(%4, 1) :: Float
#   %6 = (*)(%5, %3) :: Float
#   %7 = (+)(%6, 1) :: Float
#   return %7


def by_mode(x, mode):
    @hovis.jit(static="mode")
    def step(y, mode):
        return y + 1 if mode == "up" else y - 1

    return step(x, mode), step(x, "down")

#: trace by_mode(Int, "up")
#: run (3)
# 1: (%1 :: const(by_mode), %2 :: Int, %3 :: const('up'))
#   %4 = (+)(%2, 1) :: Int
#   %5 = (-)(%2, 1) :: Int
#   %6 = make_tuple(%4, %5) :: tuple
#   return %6


def maker(k):
    @hovis.jit
    def scaled(y):
        return y * k

    return scaled(2), scaled.__name__

#: trace maker(Int)
#: run (7)
# 1: (%1 :: const(maker), %2 :: Int)
#   %3 = (*)(2, %2) :: Int
#   %4 = make_cell(%2) :: cell
#   %5 = make_function(#0, #1, 'scaled', 'maker.<locals>.scaled', None, None, None, %4) :: function
#   %6 = jit(%5) :: Jitted
#   %7 = getattr!(%6, '__name__') :: Any
#   %8 = make_tuple(%3, %7) :: tuple
#   return %8


def chosen(x, k):
    def plain(y):
        return y - k

    f = hovis.jit(plain) if x > 0 else plain
    return f(x)

#: trace chosen(Int, Int)
#: run (3, 2) (-3, 2)
# 1: (%1 :: const(chosen), %2 :: Int, %3 :: Int)
#   %4 = (>)(%2, 0) :: Bool
#   br 3 unless %4
#   br 2
# 2:
#   %5 = (-)(%2, %3) :: Int
#   return %5
# 3:
#   %6 = (-)(%2, %3) :: Int
#   return %6


def power(base, by, plus=0):
    return base ** by + plus


CUBE = functools.partial(power, by=3)


def cubes(x):
    return CUBE(x) + CUBE(x, plus=1)

#: trace cubes(Int)
#: run (2) (-1)
# 1: (%1 :: const(cubes), %2 :: Int)
#   %3 = (**)(%2, 3) :: Int
#   %4 = (+)(%3, 0) :: Int
#   %5 = (**)(%2, 3) :: Int
#   %6 = (+)(%5, 1) :: Int
#   %7 = (+)(%4, %6) :: Int
#   return %7

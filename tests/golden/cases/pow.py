"""The blog's example: one function, specialised to what is known of its arguments."""


def pow(x, n):
    r = 1
    while n > 0:
        n -= 1
        r *= x
    return r

#: trace pow(Int, const(3))
#: run (2) (-5) (x=10**30)
# 1: (%1 :: const(pow), %2 :: Int, %3 :: const(3))
#   %4 = (*)(1, %2) :: Int
#   %5 = (*)(%4, %2) :: Int
#   %6 = (*)(%5, %2) :: Int
#   return %6

#: trace pow(Int, Int)
#: run (2, 10) (-3, 3) (7, 0) (7, -1) (3, 200)
# 1: (%1 :: const(pow), %2 :: Int, %3 :: Int)
#   br 2 (%3, 1)
# 2: (%4 :: Int, %5 :: Int)
#   %6 = (>)(%4, 0) :: Bool
#   br 4 unless %6
#   br 3
# 3:
#   %7 = (-)(%4, 1) :: Int
#   %8 = (*)(%5, %2) :: Int
#   br 2 (%7, %8)
# 4:
#   return %5

#: trace pow(2, 3)
# 1: (%1 :: const(pow), %2 :: const(2), %3 :: const(3))
#   return 8


def pow_show(x, n):
    r = 1
    while n > 0:
        n -= 1
        r *= x
        print("r =", r)
    return r

#: trace pow_show(2, 3)
# 1: (%1 :: const(pow_show), %2 :: const(2), %3 :: const(3))
#   %4 = print!('r =', 2) :: None
#   %5 = print!('r =', 4) :: None
#   %6 = print!('r =', 8) :: None
#   return 8

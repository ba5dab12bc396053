"""What the default passes make of a trace: closed forms, reads that are forwarded, branches that the way there decides, loops without what does not change."""


def moved(t):
    while t[0] != 0:
        t[0] -= 1
        t[2] += 1
    return t

#: passes moved([Int, Int, Int])
#: run ([5, 1, 2]) ([0, 1, 2]) ([70, 0, -10**30])
# 1: (%1 :: const(moved), %2 :: [%3 :: Int, %4 :: Int, %5 :: Int])
#   %6 = (>=)(%3, 1) :: Bool
#   br 3 (%3, %5) unless %6
#   br 2
# 2:
#   %7 = (+)(%5, %3) :: Int
#   %8 = setitem!(%2, 0, 0) :: None
#   %9 = setitem!(%2, 2, %7) :: None
#   return %2
# 3: (%10 :: Int, %11 :: Int)
#   %12 = (!=)(%10, 0) :: Bool
#   br 5 unless %12
#   br 4
# 4:
#   %13 = (-)(%10, 1) :: Int
#   %14 = setitem!(%2, 0, %13) :: None
#   %15 = (+)(%11, 1) :: Int
#   %16 = setitem!(%2, 2, %15) :: None
#   br 3 (%13, %15)
# 5:
#   return %2

#: passes moved(list)
#: run ([5, 1, 2]) ([0, 1, 2]) ([70, 0, -10**30]) ([2, 0, True]) ([2, 0]) ([2, 0, 1.5]) ([True, 0, 1])
# 1: (%1 :: const(moved), %2 :: list)
#   %3 = len(%2) :: Int
#   %4 = (<)(2, %3) :: Bool
#   br 6 unless %4
#   br 2
# 2:
#   %5 = getitem(%2, 0) :: Any
#   %6 = getitem(%2, 2) :: Any
#   %7 = type(%5) :: type
#   %8 = (is)(%7, const(int)) :: Bool
#   br 6 unless %8
#   br 3
# 3:
#   %9 = type(%6) :: type
#   %10 = (is)(%9, const(int)) :: Bool
#   br 6 unless %10
#   br 4
# 4:
#   %11 = (>=)(%5, 1) :: Bool
#   br 6 unless %11
#   br 5
# 5:
#   %12 = (+)(%6, %5) :: Int
#   %13 = setitem!(%2, 0, 0) :: None
#   %14 = setitem!(%2, 2, %12) :: None
#   return %2
# 6:
#   %15 = getitem(%2, 0) :: Any
#   %16 = (!=)!(%15, 0) :: Any
#   %17 = bool!(%16) :: Bool
#   br 8 unless %17
#   br 7
# 7:
#   %18 = getitem(%2, 0) :: Any
#   %19 = (-=)!(%18, 1) :: Any
#   %20 = setitem!(%2, 0, %19) :: None
#   %21 = getitem(%2, 2) :: Any
#   %22 = (+=)!(%21, 1) :: Any
#   %23 = setitem!(%2, 2, %22) :: None
#   br 6
# 8:
#   return %2


def triangle(n):
    total = 0
    for i in range(n):
        total += i
    return total

#: passes triangle(Int)
#: run (10) (1) (0) (-3) (1000)
# 1: (%1 :: const(triangle), %2 :: Int)
#   %3 = (>=)(%2, 1) :: Bool
#   br 3 unless %3
#   br 2
# 2:
#   %4 = (-)(%2, 1) :: Int
#   %5 = (*)(%2, %4) :: Int
#   %6 = (//)(%5, 2) :: Int
#   return %6
# 3:
#   return 0


def multiplied(n, k):
    total = 0
    while n > 0:
        total += k
        n -= 1
    return total, n

#: passes multiplied(Int, Int)
#: run (4, 5) (0, 5) (-1, 5) (3, -10**20)
# 1: (%1 :: const(multiplied), %2 :: Int, %3 :: Int)
#   %4 = (>=)(%2, 1) :: Bool
#   br 3 (0, %2) unless %4
#   br 2
# 2:
#   %5 = (*)(%2, %3) :: Int
#   br 3 (%5, 0)
# 3: (%6 :: Int, %7 :: Int)
#   %8 = make_tuple(%6, %7) :: tuple
#   return %8


def up_to(a, b):
    count = 0
    while True:
        a += 1
        count += 2
        if a >= b:
            return a, count

#: passes up_to(Int, Int)
#: run (0, 5) (5, 0) (4, 5) (5, 5)
# 1: (%1 :: const(up_to), %2 :: Int, %3 :: Int)
#   %4 = (-)(%3, %2) :: Int
#   %5 = (>=)(%4, 1) :: Bool
#   br 3 (%2, 0) unless %5
#   br 2
# 2:
#   %6 = (+)(%2, %4) :: Int
#   %7 = (*)(%4, 2) :: Int
#   br 4 (%6, %7)
# 3: (%8 :: Int, %9 :: Int)
#   %10 = (+)(%8, 1) :: Int
#   %11 = (+)(%9, 2) :: Int
#   %12 = (>=)(%10, %3) :: Bool
#   br 3 (%10, %11) unless %12
#   br 4 (%10, %11)
# 4: (%13 :: Int, %14 :: Int)
#   %15 = make_tuple(%13, %14) :: tuple
#   return %15


def twice(t, x):
    t[0] = x
    t[0] += 1
    t[1] = t[0] * 2
    return t[0] + t[1]

#: passes twice([Int, Int], Int)
#: run ([1, 2], 5)
# 1: (%1 :: const(twice), %2 :: [%3 :: Int, %4 :: Int], %5 :: Int)
#   %6 = (+)(%5, 1) :: Int
#   %7 = setitem!(%2, 0, %6) :: None
#   %8 = (*)(%6, 2) :: Int
#   %9 = setitem!(%2, 1, %8) :: None
#   %10 = (+)(%6, %8) :: Int
#   return %10


def read_again(t, x):
    return t[0] is t[0], t["k" if x else 0]

#: passes read_again(dict, False)
#: run ({0: 1, "k": 2})
# 1: (%1 :: const(read_again), %2 :: dict, %3 :: const(False))
#   %4 = getitem(%2, 0) :: Any
#   %5 = make_tuple(True, %4) :: tuple
#   return %5


def decided(x, y):
    if x > 3:
        big = True
    else:
        y += 1
        big = False
    if big:
        return y
    return -y

#: passes decided(Int, Int)
#: run (5, 1) (3, 1)
# 1: (%1 :: const(decided), %2 :: Int, %3 :: Int)
#   %4 = (>)(%2, 3) :: Bool
#   br 3 unless %4
#   br 2
# 2:
#   return %3
# 3:
#   %5 = (+)(%3, 1) :: Int
#   %6 = neg(%5) :: Int
#   return %6


def asked_twice(flag, x):
    a = 1 if flag else x
    return a * 2 if flag else a - 1

#: passes asked_twice(Bool, Int)
#: run (True, 7) (False, 7)
# 1: (%1 :: const(asked_twice), %2 :: Bool, %3 :: Int)
#   br 3 unless %2
#   br 2
# 2:
#   return 2
# 3:
#   %4 = (-)(%3, 1) :: Int
#   return %4


def unchanging(n, k, cells):
    for i in range(n):
        cells[i] = k * k + i
    return cells

#: passes unchanging(Int, Int, list)
#: run (2, 3, [0, 0]) (0, 3, [])
# 1: (%1 :: const(unchanging), %2 :: Int, %3 :: Int, %4 :: list)
#   %5 = (*)(%3, %3) :: Int
#   br 2 (0)
# 2: (%6 :: Int)
#   %7 = (<)(%6, %2) :: Bool
#   br 4 unless %7
#   br 3
# 3:
#   %8 = (+)(%6, 1) :: Int
#   %9 = (+)(%5, %6) :: Int
#   %10 = setitem!(%4, %6, %9) :: None
#   br 2 (%8)
# 4:
#   return %4


def needed_once(x, flag):
    y = x * 3
    if flag:
        return y
    return x

#: passes needed_once(Int, Bool)
#: run (2, True) (2, False)
# 1: (%1 :: const(needed_once), %2 :: Int, %3 :: Bool)
#   br 3 unless %3
#   br 2
# 2:
#   %4 = (*)(%2, 3) :: Int
#   return %4
# 3:
#   return %2


def in_step(n, x):
    i = k = 0
    double, steps = x, []
    while i < n:
        if k < n:
            steps.append((i, double))
        i += 1
        double, k = double + 2 - k, k + 1
    return steps, k

#: passes in_step(Int, Int)
#: run (0, 3) (4, 2)
# 1: (%1 :: const(in_step), %2 :: Int, %3 :: Int)
#   %4 = make_list() :: list
#   br 2 (0, %3)
# 2: (%5 :: Int, %6 :: Int)
#   %7 = (<)(%5, %2) :: Bool
#   br 4 unless %7
#   br 3
# 3:
#   %8 = make_tuple(%5, %6) :: tuple
#   %9 = list.append!(%4, %8) :: None
#   %10 = (+)(%5, 1) :: Int
#   %11 = (+)(%6, 2) :: Int
#   %12 = (-)(%11, %5) :: Int
#   br 2 (%10, %12)
# 4:
#   %13 = make_tuple(%4, %5) :: tuple
#   return %13


def in_step_but_of_other_kinds(n):
    i, k = 0, 0.0
    while i < n:
        i, k = i + 1, k + 1
    return i, k

#: passes in_step_but_of_other_kinds(Int)
#: run (0,) (3,)
# 1: (%1 :: const(in_step_but_of_other_kinds), %2 :: Int)
#   br 2 (0, 0.0)
# 2: (%3 :: Int, %4 :: Float)
#   %5 = (<)(%3, %2) :: Bool
#   br 4 unless %5
#   br 3
# 3:
#   %6 = (+)(%3, 1) :: Int
#   %7 = (+)(%4, 1) :: Float
#   br 2 (%6, %7)
# 4:
#   %8 = make_tuple(%3, %4) :: tuple
#   return %8


def in_step_until_one_is_late(n, late):
    i = k = 0
    while i < n:
        i, k = i + 1, k if i == late else k + 1
    return i, k

#: passes in_step_until_one_is_late(Int, Int)
#: run (0, 0) (5, 2) (5, 7)
# 1: (%1 :: const(in_step_until_one_is_late), %2 :: Int, %3 :: Int)
#   br 2 (0, 0)
# 2: (%4 :: Int, %5 :: Int)
#   %6 = (<)(%4, %2) :: Bool
#   br 5 unless %6
#   br 3
# 3:
#   %7 = (+)(%4, 1) :: Int
#   %8 = (==)(%4, %3) :: Bool
#   br 4 unless %8
#   br 2 (%7, %5)
# 4:
#   %9 = (+)(%5, 1) :: Int
#   br 2 (%7, %9)
# 5:
#   %10 = make_tuple(%4, %5) :: tuple
#   return %10

"""What the default passes make of a trace: closed forms, reads that are forwarded, branches that the way there decides, loops without what does not change."""


def moved(t):
    while t[0] != 0:
        t[0] -= 1
        t[2] += 1
    return t

#: passes moved([Int, Int, Int])
#: run ([5, 1, 2]) ([0, 1, 2]) ([70, 0, -10**30])
# 1: (%1 :: const(moved), %2 :: [%3 :: Int, %4 :: Int, %5 :: Int])
#   %6 = (!=)(%3, 0) :: Bool
#   br 5 unless %6
#   br 2
# 2:
#   %7 = (>=)(%3, 1) :: Bool
#   br 4 (%3, %5) unless %7
#   br 3
# 3:
#   %8 = (+)(%5, %3) :: Int
#   %9 = setitem!(%2, 0, 0) :: None
#   %10 = setitem!(%2, 2, %8) :: None
#   return %2
# 4: (%11 :: Int, %12 :: Int)
#   %13 = (-)(%11, 1) :: Int
#   %14 = setitem!(%2, 0, %13) :: None
#   %15 = (+)(%12, 1) :: Int
#   %16 = setitem!(%2, 2, %15) :: None
#   %17 = (!=)(%13, 0) :: Bool
#   br 5 unless %17
#   br 4 (%13, %15)
# 5:
#   return %2

#: passes moved(list)
#: run ([5, 1, 2]) ([0, 1, 2]) ([70, 0, -10**30]) ([2, 0, True]) ([2, 0]) ([2, 0, 1.5]) ([True, 0, 1])
# 1: (%1 :: const(moved), %2 :: list)
#   %3 = getitem(%2, 0) :: Any
#   %4 = (!=)!(%3, 0) :: Any
#   %5 = bool!(%4) :: Bool
#   br 8 unless %5
#   br 2
# 2:
#   %6 = len(%2) :: Int
#   %7 = (<)(2, %6) :: Bool
#   br 7 unless %7
#   br 3
# 3:
#   %8 = getitem(%2, 0) :: Any
#   %9 = getitem(%2, 2) :: Any
#   %10 = type(%8) :: type
#   %11 = (is)(%10, const(int)) :: Bool
#   br 7 unless %11
#   br 4
# 4:
#   %12 = type(%9) :: type
#   %13 = (is)(%12, const(int)) :: Bool
#   br 7 unless %13
#   br 5
# 5:
#   %14 = (>=)(%8, 1) :: Bool
#   br 7 unless %14
#   br 6
# 6:
#   %15 = (+)(%9, %8) :: Int
#   %16 = setitem!(%2, 0, 0) :: None
#   %17 = setitem!(%2, 2, %15) :: None
#   return %2
# 7:
#   %18 = getitem(%2, 0) :: Any
#   %19 = (-=)!(%18, 1) :: Any
#   %20 = setitem!(%2, 0, %19) :: None
#   %21 = getitem(%2, 2) :: Any
#   %22 = (+=)!(%21, 1) :: Any
#   %23 = setitem!(%2, 2, %22) :: None
#   %24 = getitem(%2, 0) :: Any
#   %25 = (!=)!(%24, 0) :: Any
#   %26 = bool!(%25) :: Bool
#   br 8 unless %26
#   br 7
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
#   %4 = (>)(%2, 0) :: Bool
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
#   %4 = (+)(%2, 1) :: Int
#   %5 = (>=)(%4, %3) :: Bool
#   br 2 unless %5
#   br 3 (%4, 2)
# 2:
#   %6 = (-)(%3, %4) :: Int
#   %7 = (+)(%4, %6) :: Int
#   %8 = (*)(%6, 2) :: Int
#   %9 = (+)(2, %8) :: Int
#   br 3 (%7, %9)
# 3: (%10 :: Int, %11 :: Int)
#   %12 = make_tuple(%10, %11) :: tuple
#   return %12


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
#   %4 = (<)(0, %2) :: Bool
#   br 5 unless %4
#   br 2
# 2:
#   %5 = make_tuple(0, %3) :: tuple
#   %6 = make_list(%5) :: list
#   br 3 (0, %3)
# 3: (%7 :: Int, %8 :: Int)
#   %9 = (+)(%7, 1) :: Int
#   %10 = (+)(%8, 2) :: Int
#   %11 = (<)(%9, %2) :: Bool
#   br 6 (%6, %9) unless %11
#   br 4
# 4:
#   %12 = (-)(%10, %7) :: Int
#   %13 = make_tuple(%9, %12) :: tuple
#   %14 = list.append!(%6, %13) :: None
#   br 3 (%9, %12)
# 5:
#   %15 = make_list() :: list
#   br 6 (%15, 0)
# 6: (%16 :: list, %17 :: Int)
#   %18 = make_tuple(%16, %17) :: tuple
#   return %18


def in_step_but_of_other_kinds(n):
    i, k = 0, 0.0
    while i < n:
        i, k = i + 1, k + 1
    return i, k

#: passes in_step_but_of_other_kinds(Int)
#: run (0,) (3,)
# 1: (%1 :: const(in_step_but_of_other_kinds), %2 :: Int)
#   %3 = (<)(0, %2) :: Bool
#   br 3 (0, 0.0) unless %3
#   br 2 (0, 0.0)
# 2: (%4 :: Int, %5 :: Float)
#   %6 = (+)(%4, 1) :: Int
#   %7 = (+)(%5, 1) :: Float
#   %8 = (<)(%6, %2) :: Bool
#   br 3 (%6, %7) unless %8
#   br 2 (%6, %7)
# 3: (%9 :: Int, %10 :: Float)
#   %11 = make_tuple(%9, %10) :: tuple
#   return %11


def in_step_until_one_is_late(n, late):
    i = k = 0
    while i < n:
        i, k = i + 1, k if i == late else k + 1
    return i, k

#: passes in_step_until_one_is_late(Int, Int)
#: run (0, 0) (5, 2) (5, 7)
# 1: (%1 :: const(in_step_until_one_is_late), %2 :: Int, %3 :: Int)
#   %4 = (<)(0, %2) :: Bool
#   br 5 (0, 0) unless %4
#   br 2 (0, 0)
# 2: (%5 :: Int, %6 :: Int)
#   %7 = (==)(%5, %3) :: Bool
#   br 3 unless %7
#   br 4 (%6)
# 3:
#   %8 = (+)(%6, 1) :: Int
#   br 4 (%8)
# 4: (%9 :: Int)
#   %10 = (+)(%5, 1) :: Int
#   %11 = (<)(%10, %2) :: Bool
#   br 5 (%10, %9) unless %11
#   br 2 (%10, %9)
# 5: (%12 :: Int, %13 :: Int)
#   %14 = make_tuple(%12, %13) :: tuple
#   return %14

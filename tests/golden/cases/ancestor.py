"""What hovis's ancestor got wrong, each as a golden."""


def counted(n):
    total = 0
    for i in range(n):
        total += i
    return total

#: trace counted(Int)
#: run (0) (-3) (1) (10)
# 1: (%1 :: const(counted), %2 :: Int)
#   br 2 (0, 0)
# 2: (%3 :: Int, %4 :: Int)
#   %5 = (<)(%3, %2) :: Bool
#   br 4 unless %5
#   br 3
# 3:
#   %6 = (+)(%3, 1) :: Int
#   %7 = (+)(%4, %3) :: Int
#   br 2 (%6, %7)
# 4:
#   return %4


def both_arms(flag, x):
    if flag:
        for i in range(3):
            x = x + i
    else:
        for i in range(2):
            x = x * 2
    return x

#: trace both_arms(Bool, Int)
#: run (True, 5) (False, 5)
# 1: (%1 :: const(both_arms), %2 :: Bool, %3 :: Int)
#   br 3 unless %2
#   br 2
# 2:
#   %4 = (+)(%3, 0) :: Int
#   %5 = (+)(%4, 1) :: Int
#   %6 = (+)(%5, 2) :: Int
#   return %6
# 3:
#   %7 = (*)(%3, 2) :: Int
#   %8 = (*)(%7, 2) :: Int
#   return %8


def two_bases(n):
    if n == 0:
        return 0
    if n == 1:
        return 1
    return two_bases(n - 1) + two_bases(n - 2)

#: trace two_bases(Int)
#: run (0) (1) (10)
# 1: (%1 :: const(two_bases), %2 :: Int)
#   %3 = (==)(%2, 0) :: Bool
#   br 3 unless %3
#   br 2
# 2:
#   return 0
# 3:
#   %4 = (==)(%2, 1) :: Bool
#   br 5 unless %4
#   br 4
# 4:
#   return 1
# 5:
#   %5 = (-)(%2, 1) :: Int
#   %6 = two_bases(%5) :: Int
#   %7 = (-)(%2, 2) :: Int
#   %8 = two_bases(%7) :: Int
#   %9 = (+)(%6, %8) :: Int
#   return %9


class Box:
    def __init__(self, value):
        self.value = value


def write(box, x):
    box.value = x
    box.twice = x + x
    return box.value

#: trace write(Box, Int)
#: run (Box(1), 5)
# 1: (%1 :: const(write), %2 :: Box, %3 :: Int)
#   %4 = setattr!(%2, 'value', %3) :: None
#   %5 = (+)(%3, %3) :: Int
#   %6 = setattr!(%2, 'twice', %5) :: None
#   %7 = getattr(%2, 'value') :: Any
#   return %7

#: trace write(Any, Any)
#: run (Box(1), "a")
# 1: (%1 :: const(write), %2 :: Any, %3 :: Any)
#   %4 = setattr!(%2, 'value', %3) :: None
#   %5 = (+)!(%3, %3) :: Any
#   %6 = setattr!(%2, 'twice', %5) :: None
#   %7 = getattr!(%2, 'value') :: Any
#   return %7


def escapes(x):
    inner = [x]
    outer = {"inner": inner, "pair": (inner, x)}
    inner.append(x + 1)
    print(outer)
    return [outer, inner]

#: trace escapes(Int)
#: run (3)
# 1: (%1 :: const(escapes), %2 :: Int)
#   %3 = (+)(%2, 1) :: Int
#   %4 = make_list(%2, %3) :: list
#   %5 = make_tuple(%4, %2) :: tuple
#   %6 = make_dict('inner', %4, 'pair', %5) :: dict
#   %7 = print!(%6) :: None
#   %8 = make_list(%6, %4) :: list
#   return %8


def equal_looking(x):
    a = {"v": 1}
    b = {"v": 1}
    a["v"] = x
    return a["v"], b["v"], a is b, [a, b, a]

#: trace equal_looking(Int)
#: run (1) (7)
# 1: (%1 :: const(equal_looking), %2 :: Int)
#   %3 = make_dict('v', %2) :: dict
#   %4 = make_dict('v', 1) :: dict
#   %5 = make_list(%3, %4, %3) :: list
#   %6 = make_tuple(%2, 1, False, %5) :: tuple
#   return %6


def nested_tuple(n):
    t = ()
    while n > 0:
        n -= 1
        t = (t,)
    return t

#: trace nested_tuple(Int)
#: run (0) (1) (5)
# 1: (%1 :: const(nested_tuple), %2 :: Int)
#   br 2 (%2, ())
# 2: (%3 :: Int, %4 :: tuple)
#   %5 = (>)(%3, 0) :: Bool
#   br 4 unless %5
#   br 3
# 3:
#   %6 = (-)(%3, 1) :: Int
#   %7 = make_tuple(%4) :: tuple
#   br 2 (%6, %7)
# 4:
#   return %4

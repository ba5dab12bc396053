"""What hovis's ancestor got wrong, each as a golden."""


def counted(n):
    total = 0
    for i in range(n):
        total += i
    return total

#: trace counted(Int)
#: run (0) (-3) (1) (10)


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


def two_bases(n):
    if n == 0:
        return 0
    if n == 1:
        return 1
    return two_bases(n - 1) + two_bases(n - 2)

#: trace two_bases(Int)
#: run (0) (1) (10)


class Box:
    def __init__(self, value):
        self.value = value


def write(box, x):
    box.value = x
    box.twice = x + x
    return box.value

#: trace write(Box, Int)
#: run (Box(1), 5)

#: trace write(Any, Any)
#: run (Box(1), "a")


def escapes(x):
    inner = [x]
    outer = {"inner": inner, "pair": (inner, x)}
    inner.append(x + 1)
    print(outer)
    return [outer, inner]

#: trace escapes(Int)
#: run (3)


def equal_looking(x):
    a = {"v": 1}
    b = {"v": 1}
    a["v"] = x
    return a["v"], b["v"], a is b, [a, b, a]

#: trace equal_looking(Int)
#: run (1) (7)


def nested_tuple(n):
    t = ()
    while n > 0:
        n -= 1
        t = (t,)
    return t

#: trace nested_tuple(Int)
#: run (0) (1) (5)

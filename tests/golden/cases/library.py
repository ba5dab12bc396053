"""The standard library: patterns, templates, enumerations, data classes, and what gives known parts."""
import dataclasses
import enum
import re
import string


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


def setting(line):
    found = re.match(r"(?P<key>\w+)\s*=\s*(\d+)?", line)
    return (found["key"], found[2]) if found else None

#: trace setting(Str)
#: run ("a = 1",) ("",)
# 1: (%1 :: const(setting), %2 :: Str)
#   %3 = re.Pattern.match(#0, %2) :: Match | None
#   %4 = (is not)(%3, None) :: Bool
#   br 3 unless %4
#   br 2
# 2:
#   %5 = getitem(%3, 'key') :: Str
#   %6 = getitem(%3, 2) :: Str | None
#   %7 = make_tuple(%5, %6) :: tuple
#   return %7
# 3:
#   return None


string.Template("").substitute()  # since 3.14, the first one compiles the pattern of the class


def greeting(who, count):
    return string.Template("Dear $who, you have ${count}.").substitute(who=who, count=count)

#: passes greeting(Str, Int)
#: run ("you", 1)
# 1: (%1 :: const(greeting), %2 :: Str, %3 :: Int)
#   %4 = str(%3) :: Str
#   %5 = join_strings('Dear ', '', %2, '', ', you have ', '', %4, '', '.') :: Str
#   return %5


def above(x):
    return [level.name for level in Level if level > x], Level.HIGH + x

#: trace above(Int)
#: run (1,)
# 1: (%1 :: const(above), %2 :: Int)
#   %3 = (>)(1, %2) :: Bool
#   br 3 unless %3
#   br 2
# 2:
#   %4 = make_list('LOW') :: list
#   br 4 (%4)
# 3:
#   %5 = make_list() :: list
#   br 4 (%5)
# 4: (%6 :: list)
#   %7 = (>)(2, %2) :: Bool
#   br 6 unless %7
#   br 5
# 5:
#   %8 = list.append!(%6, 'HIGH') :: None
#   br 6
# 6:
#   %9 = (+)(2, %2) :: Int
#   %10 = make_tuple(%6, %9) :: tuple
#   return %10


def as_dict(x):
    return dataclasses.asdict(Point(x))

#: trace as_dict(Int)
#: run (1,)
# 1: (%1 :: const(as_dict), %2 :: Int)
#   %3 = make_dict('x', %2, 'y', 0) :: dict
#   return %3


def clock(seconds):
    minutes, rest = divmod(seconds, 60)
    return f"{minutes}:{rest:02}"

#: trace clock(Int)
#: run (61,)
# 1: (%1 :: const(clock), %2 :: Int)
#   %3 = divmod(%2, 60) :: (Int, Int)
#   %4 = getitem(%3, 0) :: Int
#   %5 = getitem(%3, 1) :: Int
#   %6 = format_value(%4, '') :: Str
#   %7 = format_value(%5, '02') :: Str
#   %8 = join_strings(%6, ':', %7) :: Str
#   return %8


def median(a, b, c):
    return sorted([a, b, c])[1]

#: trace median(Float, Float, Float)
#: run (1.5, 2.5, 0.5)
# 1: (%1 :: const(median), %2 :: Float, %3 :: Float, %4 :: Float)
#   %5 = make_list(%2, %3, %4) :: list
#   %6 = sorted(%5) :: list
#   %7 = getitem(%6, 1) :: Float
#   return %7

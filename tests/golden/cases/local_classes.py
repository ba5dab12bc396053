"""Classes that the traced function defines: gone where they do not escape, made where they do."""


def doubled(x):
    class Box:
        def __init__(self, value):
            self.value = value

        def double(self):
            return 2 * self.value

    return Box(x).double()

#: trace doubled(Int)
#: run (3) (-1)
# 1: (%1 :: const(doubled), %2 :: Int)
#   %3 = (*)(2, %2) :: Int
#   return %3


def counted(x):
    class Counter:
        made = 0

        def __init__(self, step):
            Counter.made += step

    Counter(1)
    Counter(x)
    return Counter.made

#: trace counted(Int)
#: run (3)
# 1: (%1 :: const(counted), %2 :: Int)
#   %3 = (+)(1, %2) :: Int
#   return %3


def shape(x):
    class Shape:
        def area(self):
            return 0

        def describe(self):
            return self.area() + x

    class Square(Shape):
        def __init__(self, side):
            self.side = side

        def area(self):
            return super().area() + self.side * self.side

    return Square(x).describe()

#: trace shape(Int)
#: run (3)
# 1: (%1 :: const(shape), %2 :: Int)
#   %3 = (*)(%2, %2) :: Int
#   %4 = (+)(0, %3) :: Int
#   %5 = (+)(%4, %2) :: Int
#   return %5


def failing(x):
    class Refused(Exception):
        def __init__(self, code):
            super().__init__(code)
            self.code = code

    try:
        if x > 3:
            raise Refused(x + 1)
        return 0
    except Refused as refused:
        return refused.code

#: trace failing(Int)
#: run (3) (4)
# 1: (%1 :: const(failing), %2 :: Int)
#   %3 = (>)(%2, 3) :: Bool
#   br 3 unless %3
#   br 2
# 2:
#   %4 = (+)(%2, 1) :: Int
#   return %4
# 3:
#   return 0

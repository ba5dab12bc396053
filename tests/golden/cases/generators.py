"""Generators: what dissolves, and what becomes of those that leave."""


def halves(xs):
    return sorted(x / 2 for x in xs)

#: trace halves(Any)
#: run ([3, 1, 2])
# 1: (%1 :: const(halves), %2 :: Any)
#   %3 = iter!(%2) :: Any
#   %4 = make_list() :: list
#   br 2
# 2:
#   %5 = next!(%3, END) :: Any, br 3, or 8 (%err)
# 3:
#   %6 = (is not)(%5, END) :: Bool
#   br 7 unless %6
#   br 4
# 4:
#   %7 = (/)!(%5, 2) :: Any, br 5, or 6 (%err)
# 5:
#   %8 = list.append!(%4, %7) :: None
#   br 2
# 6: (%9 :: Any)
#   %10 = stop_iteration_error!(%9, 1) :: Any
#   %11 = drop!(%3) :: None
#   %12 = drop!(%4) :: None
#   %13 = keep!(%4) :: None
#   %14 = keep!(%5) :: None
#   reraise %10
# 7:
#   %15 = drop!(%4) :: None
#   %16 = sorted!(%4) :: list
#   return %16
# 8: (%17 :: Any)
#   %18 = stop_iteration_error!(%17, 1) :: Any
#   %19 = drop!(%3) :: None
#   %20 = drop!(%4) :: None
#   %21 = keep!(%4) :: None
#   reraise %18


def averages():
    total = count = 0
    mean = None
    while True:
        item = yield mean
        total += item
        count += 1
        mean = total / count


def last_average(a, b):
    running = averages()
    next(running)
    running.send(a)
    mean = running.send(b)
    running.close()
    return mean

#: trace last_average(Float, Float)
#: run (1.0, 2.0)
# 1: (%1 :: const(last_average), %2 :: Float, %3 :: Float)
#   %4 = (+)(0, %2) :: Float
#   %5 = (+)(%4, %3) :: Float
#   %6 = (/)(%5, 2) :: Float
#   return %6


def counted(n):
    try:
        for i in range(n):
            yield i
    finally:
        print("closed")


def first_beyond(limit):
    for i in counted(3):
        if i > limit:
            break
    return i

#: trace first_beyond(Int)
#: run (0) (1) (7)
# 1: (%1 :: const(first_beyond), %2 :: Int)
#   %3 = (>)(0, %2) :: Bool
#   br 2 unless %3
#   br 4 (0)
# 2:
#   %4 = (>)(1, %2) :: Bool
#   br 3 unless %4
#   br 4 (1)
# 3:
#   %5 = (>)(2, %2) :: Bool
#   br 9 unless %5
#   br 4 (2)
# 4: (%6 :: Int)
#   %7 = GeneratorExit() :: GeneratorExit
#   %8 = raised(%7) :: GeneratorExit
#   %9 = in_context!(%8, None) :: GeneratorExit
#   %10 = caught_at(%9, 2) :: GeneratorExit
#   %11 = enter_handler!(%10) :: Any
#   %12 = print!('closed') :: None, br 5, or 6 (%err)
# 5:
#   %13 = leave_handler!() :: None
#   %14 = passed(%10, 1) :: GeneratorExit
#   %15 = enter_handler!(%14) :: Any
#   br 7
# 6: (%16 :: Any)
#   %17 = caught_at(%16, 2) :: Any
#   %18 = leave_handler!() :: None
#   %19 = passed(%17, 1) :: Any
#   %20 = stop_iteration_error!(%19, 1) :: Any
#   %21 = enter_handler!(%20) :: Any
#   %22 = make_tuple(const(StopIteration), const(GeneratorExit)) :: tuple
#   %23 = exception_matches(%20, %22) :: Bool
#   br 8 unless %23
#   br 7
# 7:
#   %24 = leave_handler!() :: None
#   return %6
# 8:
#   %25 = leave_handler!() :: None
#   %26 = enter_handler!(%20) :: Any
#   %27 = unraisable!(%20) :: None
#   %28 = leave_handler!() :: None
#   %29 = drop!(%20) :: None
#   return %6
# 9:
#   %30 = print!('closed') :: None, br 10, or 11 (%err)
# 10:
#   return 2
# 11: (%31 :: Any)
#   %32 = stop_iteration_error!(%31, 1) :: Any
#   reraise %32


def begun(n):
    items = counted(n)
    next(items)
    return items

#: trace begun(2)
# 1: (%1 :: const(begun), %2 :: const(2))
#   %3 = counted() :: generator
#   %4 = begun!(%3) :: generator
#   return %4
#
# fn counted() (generator)
# 1:
#   %1 = yield_!(None) :: Any, br 2, or 4 (%err)
# 2:
#   %2 = yield_!(1) :: Any, br 3, or 4 (%err)
# 3:
#   %3 = print!('closed') :: None
#   return None
# 4: (%4 :: Any)
#   %5 = enter_handler!(%4) :: Any
#   %6 = print!('closed') :: None, br 5, or 6 (%err)
# 5:
#   %7 = leave_handler!() :: None
#   reraise %4
# 6: (%8 :: Any)
#   %9 = leave_handler!() :: None
#   reraise %8


def rows_and_end(rows):
    yield from rows
    yield "end"


def listed(rows):
    return [row for row in rows_and_end(rows)]


#: trace listed(list)
#: run ([1, 2]) ([])
# 1: (%1 :: const(listed), %2 :: list)
#   %3 = iter(%2) :: list_iterator
#   %4 = make_list() :: list
#   br 2
# 2:
#   %5 = next!(%3, END) :: Any
#   %6 = (is not)(%5, END) :: Bool
#   br 4 unless %6
#   br 3
# 3:
#   %7 = list.append!(%4, %5) :: None
#   br 2
# 4:
#   %8 = list.append!(%4, 'end') :: None
#   return %4

"""What is known of containers stays known: in loops, behind builtins that only look at them, where paths meet."""


def table_in_a_loop(key, n):
    table = {"a": 1, "b": 2}
    total = 0
    for k in range(n):
        total += table.get(key, k) + table["a"]
    return total

#: trace table_in_a_loop(Str, Int)
#: run ('a', 3) ('z', 4) ('b', 0)
# 1: (%1 :: const(table_in_a_loop), %2 :: Str, %3 :: Int)
#   %4 = make_dict('a', 1, 'b', 2) :: dict
#   br 2 (0, 0)
# 2: (%5 :: Int, %6 :: Int)
#   %7 = (<)(%5, %3) :: Bool
#   br 4 unless %7
#   br 3
# 3:
#   %8 = (+)(%5, 1) :: Int
#   %9 = dict.get(%4, %2, %5) :: Int
#   %10 = (+)(%9, 1) :: Int
#   %11 = (+)(%6, %10) :: Int
#   br 2 (%8, %11)
# 4:
#   return %6


def looked_at(a, b):
    items = [a, b]
    found = a in items, sorted(items), f"{items}"
    items.append(3)
    return found, items[2]

#: trace looked_at(Int, Int)
#: run (1, 2) (5, 0)
# 1: (%1 :: const(looked_at), %2 :: Int, %3 :: Int)
#   %4 = make_list(%2, %3) :: list
#   %5 = sorted(%4) :: list
#   %6 = format_value(%4, '') :: Str
#   %7 = make_tuple(True, %5, %6) :: tuple
#   %8 = make_tuple(%7, 3) :: tuple
#   return %8


def algebra_of_sets(name):
    allowed = {"x", "y"} | {"z"}
    allowed.discard("y")
    return name in allowed, "z" in allowed, len(allowed)

#: trace algebra_of_sets(Str)
#: run ('x') ('y') ('z')
# 1: (%1 :: const(algebra_of_sets), %2 :: Str)
#   %3 = contains(#0, %2) :: Bool
#   %4 = make_tuple(%3, True, 2) :: tuple
#   return %4


class Ranked:
    def __init__(self, name, rank):
        self.name = name
        self.rank = rank

    def __eq__(self, other):
        return self.rank == other.rank


def sorted_by_known_keys(name, rank):
    ranked = [Ranked(name, 2), Ranked("first", 1)]
    ranked.sort(key=lambda one: one.rank)
    return ranked[1].name, ranked.index(Ranked("", 2)), Ranked("", rank) in ranked

#: trace sorted_by_known_keys(Str, Int)
#: run ('n', 1) ('n', 5)
# 1: (%1 :: const(sorted_by_known_keys), %2 :: Str, %3 :: Int)
#   %4 = (==)(1, %3) :: Bool
#   br 2 unless %4
#   br 3 (True)
# 2:
#   %5 = (==)(2, %3) :: Bool
#   br 3 (False) unless %5
#   br 3 (True)
# 3: (%6 :: Bool)
#   %7 = make_tuple(%2, 1, %6) :: tuple
#   return %7


def seen_on_one_path(shown, n):
    items = [n, 2]
    if shown:
        print(items)
    return len(items) + items[1]

#: trace seen_on_one_path(Int, Int)
#: run (1, 5) (0, 5)
# 1: (%1 :: const(seen_on_one_path), %2 :: Int, %3 :: Int)
#   %4 = bool(%2) :: Bool
#   br 3 unless %4
#   br 2
# 2:
#   %5 = make_list(%3, 2) :: list
#   %6 = print!(%5) :: None
#   return 4
# 3:
#   return 4

"""Messages of exceptions in which CPython names classes, or counts elements."""

import collections
import datetime
import functools
import operator
import re

from tests.differential.harness.splits import check


def told(calls):
    out = []
    for call in calls:
        try:
            out.append(call())
        except Exception as error:
            out.append((type(error).__name__, str(error), error.__context__))
    return out


class Pairs:
    def __init__(self, *pairs):
        self.pairs = pairs

    def __iter__(self):
        return iter(self.pairs)


def a_dict_of_what_steps(*pairs):
    return told([lambda: dict(Pairs(*pairs)), lambda: dict(collections.deque(pairs)), lambda: dict(pair for pair in pairs)])


def test_a_dict_of_what_is_no_pair():
    check(a_dict_of_what_steps, [((1, 2), (3, 4)), ((1, 2), (3,)), ("ab", "abc"), (1,)])


def left(manager):
    with manager:
        return 1


def names_of_classes(x):
    return told([
        lambda: left(x), lambda: (lambda **k: k)(**x), lambda: (lambda *k: k)(*x), lambda: [*x], lambda: format(x, "zz"),
        lambda: x.missing, lambda: ValueError().add_note(x),
    ])


def test_classes_of_c_code_are_named_with_their_modules():
    check(names_of_classes, [datetime.date(2020, 1, 2), collections.deque(), 1])


def made_here(n):
    day, pattern, call = datetime.date(2020, 1, n), re.compile("a"), operator.itemgetter(n)
    return told([lambda: left(day), lambda: pattern.missing.more, lambda: [*call, *call], lambda: format(collections.deque([n]), "zz")])


def test_objects_of_the_trace_are_named_so_too():
    check(made_here, [1])


def sorting_nothing(n):
    return told([lambda: sorted(functools.partial(int)), lambda: sorted(operator.itemgetter(n)), lambda: sorted(n)])


def test_sorted_complains_as_of_an_iterator():
    check(sorting_nothing, [1])

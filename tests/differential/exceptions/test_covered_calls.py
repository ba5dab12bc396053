"""Calls in the midst of expressions under a handler: what is on the stack goes where one raises, and variables are what they were."""

import pytest

import hovis
from tests.differential.harness import splits


class Ends:
    """Says when it ends."""

    def __init__(self, name):
        self.name = name

    def __del__(self):
        print("end of", self.name)

    def __add__(self, other):
        return Ends(self.name + other.name) if other is not None else fail("add")


class Raises:
    """Raises at the step that it is told."""

    def __init__(self, at):
        self.at = at

    def __deepcopy__(self, memo):
        return Raises(self.at)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if self.__dict__.get("at") == name:
            raise KeyError(name)
        return self

    def __call__(self, *args):
        return self.a2 if args else self

    def __getitem__(self, at):
        return fail("item") if self.at == at else self

    def __iter__(self):
        return iter([1, self, None]) if self.at != "iter" else fail("iter")

    def __bool__(self):
        return fail("bool") if self.at == "bool" else True

    def __lt__(self, other):
        return self if self.at != "lt" else fail("lt")


def fail(what):
    raise ValueError(what)


def chain(x):
    try:
        return x.a(x.b)[0].c(x["k"], *x.d)
    except (KeyError, TypeError) as error:
        return type(error), error.args
    except ValueError as error:
        return "value", error.args, type(error.__context__)


def before_and_after(x):
    n, seen = 1, []
    try:
        n = 2
        seen.append(x.a)
        n = 3
        seen += [x[0], x.b(1)]
        n = 4
        if x < 3:
            n = 5
    except Exception as error:
        return n, len(seen), repr(error)
    else:
        return n, len(seen)
    finally:
        print("left with", n)


def in_loops(x):
    out = []
    for k in range(3):
        try:
            for item in x:
                if item is None:
                    break
                out.append((k, x.c if item == 1 else item["k"] and k))
                if item != 1 and x < k:
                    continue
            else:
                out.append("else")
            out.append(x.d(k))
        except KeyError as error:
            out.append(error.args)
        except ValueError as error:
            out.append(error.args)
            if k:
                break
    return len(out), [item for item in out if type(item) is tuple and len(item) == 1]


def temporaries(x):
    try:
        return len([Ends("a") + Ends("b"), x.a, x < 1])
    except Exception as error:
        print("caught", error)
        return type(error)


def methods(x):
    try:
        x.append(1)
        x.c.append(x.d)
        return "ok"
    except AttributeError as error:
        return error.args, error.name
    except Exception as error:
        return repr(error)


def stepped(rows):
    def inner():
        for row in rows:
            yield row["a"] + len(row)

    total = 0
    try:
        for value in inner():
            total += value
    except KeyError as error:
        return total, error.args
    except RuntimeError as error:
        return total, repr(error.__cause__)
    return total


@pytest.mark.parametrize("fn", [chain, before_and_after, in_loops, temporaries, methods], ids=lambda fn: fn.__name__)
def test_raising_at_each_step(fn):
    splits.check(fn, [(Raises(at),) for at in (None, "a", "b", "c", "d", 0, "k", "iter", "bool", "lt", "a2", "append")], only=("a", "k"))
    splits.check(fn, [([],), (5,)], only=("a", "t"))


def test_steps_that_raise():
    splits.check(stepped, [([{"a": 1}, {"a": 2, "b": 3}],), ([{"a": 1}, {}],), ([],)])


def made_before(n, y):
    x = chr(n)                                  # it raises in front of the statement
    try:
        y.append(x)
    except Exception as error:
        return repr(error)
    return x


def used_behind(n, y):
    x = chr(n)
    z = str.upper(x)
    try:
        y.index(x)
    except Exception as error:
        return "caught", repr(error)
    return z


@pytest.mark.parametrize("way", ["specialize", "jit"])
@pytest.mark.parametrize("fn", [made_before, used_behind])
def test_what_stands_in_front_of_a_statement_is_not_covered(fn, way):
    residual = hovis.jit(fn) if way == "jit" else hovis.specialize(fn, int, list)
    for n in (-1, 97):
        found = []
        for one in (fn, residual):
            try:
                found.append(one(n, []))
            except ValueError as error:
                found.append(repr(error))
        assert found[0] == found[1]

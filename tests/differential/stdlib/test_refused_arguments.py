"""Builtins that look at their other arguments before they ask a class of the user's, and those that do not."""

import pytest

import hovis
from hovis import Any, const


class Own:
    """Answers all that builtins ask of a class, whatever else is passed."""

    def __init__(self):
        self.x = 1

    def __format__(self, spec):
        return f"<{spec!r}>"

    def __round__(self, *digits):
        return digits

    def __pow__(self, *others):
        return others

    def __divmod__(self, other):
        return other

    def __getattr__(self, name):
        return name

    def __iter__(self):
        return iter([1, 2])

    def __reversed__(self):
        return "reversed"

    def __index__(self):
        return 5

    def __int__(self):
        return 7

    def __len__(self):
        return 2

    def __bytes__(self):
        return b"own"


CALLS = {
    "format": lambda a, b: format(a, b),
    "unused format": lambda a, b: (format(a, b), 1)[1],
    "round": lambda a, b: round(a, b),
    "pow": lambda a, b: pow(a, b, 3),
    "divmod": lambda a, b: divmod(a, b),
    "getattr": lambda a, b: getattr(a, b),
    "getattr or else": lambda a, b: getattr(a, b, 3),
    "hasattr": lambda a, b: hasattr(a, b),
    "setattr": lambda a, b: (setattr(a, b, 3), sorted(map(str, vars(a))))[1],
    "delattr": lambda a, b: delattr(a, b),
    "int": lambda a, b: int(a, b),
    "bytes": lambda a, b: bytes(a, b),
    "str": lambda a, b: str(a, b),
    "sum": lambda a, b: sum(a, b),
    "iter": lambda a, b: iter(a, b),
    "enumerate": lambda a, b: [*enumerate(a, b)],
    "zip": lambda a, b: [*zip(a, a, strict=b)],
    "min": lambda a, b: min(a, default=b),
    "sorted": lambda a, b: sorted(a, reverse=b),
    "isinstance": lambda a, b: isinstance(a, b),
    "print": lambda a, b: print(1, 2, sep=b),
    "range": lambda a, b: range(a, b),
    "chr": lambda a, b: chr(a) + str(b),
    "hex": lambda a, b: hex(a),
    "vars": lambda a, b: sorted(vars(a)),
    "join": lambda a, b: ",".join(map(str, a)) + b,
    "type": lambda a, b: type(a, b),
}
VALUES = [None, "x", "", 2, -1, 2.5, b"x", (), [1], str, True, 10**30]


def outcome(fn, *args):
    try:
        return fn(*args)
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("name", CALLS)
def test_refused(name, capsys):
    call = CALLS[name]
    jitted, unknown = hovis.jit(lambda b: call(Own(), b)), hovis.specialize(lambda b: call(Own(), b), Any)
    for value in VALUES:
        wanted = outcome(call, Own(), value), capsys.readouterr().out
        known = hovis.specialize(lambda b: call(Own(), b), const(value))
        for way in (lambda: jitted(value), lambda: unknown(value), known):
            assert (outcome(way), capsys.readouterr().out) == wanted, value

"""What the traced code assigns to a class may be anything when it is read: somebody else assigns to it, too."""
import itertools
import warnings

import pytest

import hovis
from hovis.engine.environment import guards
from hovis.ir.operations import unchanged


class OwnList(list):
    def append(self, x):
        super().append(("own", x))

    def pop(self, *_):
        return "own pop"

    def __len__(self):
        return 99

    def __iter__(self):
        return iter("own")


class OwnDict(dict):
    def get(self, *_):
        return "own get"

    def __setitem__(self, key, value):
        super().__setitem__(key, ("own", value))

    def items(self):
        return [("own", 1)]


class Descriptor:
    def __get__(self, instance, owner):
        return [instance is None]


#: What is done with the attribute, what it is at first (and is assigned by the code itself), and what others assign.
CASES = [
    (("P.a.append(v), list.copy(P.a)", "P.a.append(v), P.a.pop()", "P.a.extend([v]), len(P.a)", "[x for x in P.a]", "P.a.count(1)", "P.a += [v]"), list, (OwnList, tuple, Descriptor)),
    (("P.a.get('k')", "P.a.update(k=v), dict.copy(P.a)", "P.a.setdefault('k', v), list(P.a.items())", "P.a['k'] = v"), dict, (OwnDict, list, lambda: None)),
    (("P.a.upper()", "P.a + 'x'", "len(P.a)"), lambda: "abc", (lambda: None, lambda: b"x", lambda: 5)),
    (("P.a.bit_length()", "P.a + v", "type(P.a).__name__", "isinstance(P.a, int)", "f'{P.a:>4}'", "P.a // 2", "P.a < v", "-P.a", "P.a += v"), lambda: 5, (lambda: 2.5, lambda: True, lambda: -0.0, lambda: 1 << 99)),
    (("P.a.is_integer()", "P.a * 2", "P.a / v"), lambda: 1.5, (lambda: 3, lambda: "x", lambda: 1j)),
]  # fmt: skip


def history(way, do, first, other, values, through):
    scope = {"FIRST": first}
    body = f"{do}\n    got = P.a" if " = " in do or " += " in do else f"got = {do}"
    text = f"class B: a = FIRST()\nclass P(B): pass\ndef f(v):\n    if v == 3: {'B' if through else 'P'}.a = FIRST()\n    {body}\n    return got, {'P.a' if through else 'B.a'}"
    exec(text, scope)
    scope["P"].a = first()
    fn, found = way(scope["f"]), []
    for v in values:
        if v is None:
            setattr(scope["B" if through else "P"], "a", other())
            if through:
                vars(scope["P"]).get("a", None) is None or delattr(scope["P"], "a")
            continue
        try:
            found.append(repr(fn(v)))
        except Exception as error:
            found.append((type(error), str(error)))
    return found


@pytest.mark.parametrize(("do", "first", "other"), [(do, first, other) for dos, first, others in CASES for do, other in itertools.product(dos, others)])
def test_an_attribute_is_of_another_kind(do, first, other):
    warnings.simplefilter("ignore")
    for through, values in ((False, (1, 1, None, 1)), (False, (1, 3, 1, None, 1, 3, 1)), (True, (1, 1, None, 1))):
        if not through or other in (OwnList, OwnDict):
            assert history(hovis.jit, do, first, other, values, through) == history(lambda fn: fn, do, first, other, values, through)


def test_large_tables_are_not_compared_in_each_round(monkeypatch):
    monkeypatch.setattr(guards, "MOST_COMPARED", 20)
    table = dict.fromkeys(range(30), "x")
    numbers = list(range(30))
    looked = []

    class Key(int):
        __hash__ = int.__hash__

        def __eq__(self, other):
            looked.append(1)
            return int(self) == int(other)

    def fn(keys):
        found = []
        for key in keys:
            found.append(table.get(key))
            found.append(len(numbers) if key in table else sum(numbers[:3]))
        return found

    compiled = hovis.jit(fn)
    assert compiled([Key(k) for k in range(5)]) == fn([Key(k) for k in range(5)])
    looks = [op.args[0].value for trace in compiled.traces for op in trace.ops if op.callee is unchanged]
    assert looks
    assert all(len(guard.holder) <= 20 for look in looks for guard in look.guards if guard.kind in ("dict", "items"))

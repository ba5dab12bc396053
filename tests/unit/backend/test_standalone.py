"""Residuals as modules of their own: written, run where hovis can't be imported, and loaded again."""
import subprocess
import sys
import textwrap

import pytest

import hovis
from hovis import Any, Int, Str, WriteError, const
from hovis.__main__ import main

PROGRAM = '''\
import enum
import re
import threading
from decimal import Decimal


class Color(enum.Enum):
    RED = 1

    def __repr__(self):
        return "red"


class Vec:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __repr__(self):
        return f"Vec({self.x}, {self.y})"


WORD = re.compile(r"[a-z]+")
LOCK = threading.Lock()
SEEN = []


def power(x, n):
    r = 1
    for _ in range(n):
        r *= x
    return r


def run(program, x, out):
    for op, arg in program:
        if op == "add":
            x += arg
        elif op == "emit":
            out.append((x, arg))
    return x


def many(x, text):
    first, *rest = x
    SEEN.append(first)
    made = lambda y: (y, first)
    return WORD.findall(text), Color.RED, Vec(first, 2) if rest else None, made(5), Decimal("1.5"), float("inf"), len(SEEN)


def maker(k, a, b):
    return (lambda x: x + k + a, lambda x: x * k + b)[k > 2]


def guarded(x):
    with LOCK:
        return x + 1


def unreachable(x, held):
    return (x, held)


def scaled(x, factors):
    total = 0
    for name, factor in factors.items():
        total += x * factor
    return total
'''

ALONE = '''\
import sys

class Nowhere:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "hovis":
            raise ModuleNotFoundError(f"{name} is not here", name=name)

sys.meta_path.insert(0, Nowhere())
'''


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "shipped.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    sys.modules.pop("shipped", None)
    sys.path[:] = [p for p in sys.path if p != str(tmp_path)]


def written(capsys, *arguments):
    """What the command line writes to out.py, and says."""
    assert main(["specialize", *arguments, "-o", "out.py"]) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def refused(capsys, *arguments):
    assert main(["specialize", *arguments]) == 2
    said = capsys.readouterr()
    assert not said.out
    return said.err


def alone(folder, text):
    """What a process prints that has out.py and the program, and no hovis."""
    done = subprocess.run([sys.executable, "-c", ALONE + textwrap.dedent(text)], cwd=folder, env={"PYTHONPATH": str(folder)}, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_module_runs_without_hovis(folder, capsys):
    said = written(capsys, "shipped.py:power", "Int", "3")
    assert said == "out.py: power, 3 operations in 1 function\n"
    assert "import hovis" not in (folder / "out.py").read_text()
    assert alone(folder, "import out; print(out.power(5), out.power(2.0), 'shipped' in sys.modules)") == "125 8.0 True\n"
    assert alone(folder, "import out; print(out.power(5), 'shipped' in sys.modules)") == "125 False\n"


def test_calls_that_do_not_fit_can_be_refused(folder, capsys):
    written(capsys, "shipped.py:power", "Int", "3", "--refuse")
    (folder / "shipped.py").unlink()
    assert "takes no other arguments" in alone(folder, """
        import out
        try:
            out.power("x")
        except TypeError as error:
            print(error)
    """)


def test_static_input_comes_from_files(folder, capsys):
    (folder / "program.json").write_text('[["add", 3], ["emit", "here"], ["add", 4]]')
    (folder / "rules.py").write_text('FACTORS = {"a": 2, "b": 0.5}\n')
    (folder / "words.txt").write_text("one two")
    written(capsys, "shipped.py:run", "@program.json", "Int", "list")
    assert alone(folder, "import out; seen = []; print(out.run(1, seen), seen)") == "8 [(4, 'here')]\n"
    written(capsys, "shipped.py:scaled", "Int", "@rules.py:FACTORS")
    assert alone(folder, "import out; print(out.scaled(4))") == "10.0\n"
    written(capsys, "shipped.py:unreachable", "Any", "@words.txt")
    assert alone(folder, "import out; print(out.unreachable(4))") == "(4, 'one two')\n"
    assert "no file 'gone.json'" in refused(capsys, "shipped.py:run", "@gone.json", "Int", "list")
    (folder / "bad.json").write_text("[1,")
    assert "not JSON" in refused(capsys, "shipped.py:run", "@bad.json", "Int", "list")


def test_what_is_known_is_imported_or_written(folder, capsys):
    written(capsys, "shipped.py:many", "Any", "Str")
    assert alone(folder, "import out; print(out.many([1, 2], 'a b'), out.many('x', ''))") == (
        "(['a', 'b'], red, Vec(1, 2), (5, 1), Decimal('1.5'), inf, 1) ([], red, None, (5, 'x'), Decimal('1.5'), inf, 2)\n")
    written(capsys, "shipped.py:maker", "Int", "10", "20")
    assert alone(folder, "import out; print(out.maker(2)(5), out.maker(3)(5))") == "17 35\n"    # two functions of one line
    written(capsys, "shipped.py:guarded", "Int")
    assert alone(folder, "import out; print(out.guarded(2))") == "3\n"


def test_values_of_all_kinds(folder, capsys):
    import numpy as np

    deep = [1, (2, [3])]
    values = [10**4000, float("nan"), -0.0, complex(1, -0.0), b"x", range(3), slice(1, None), frozenset({1}), {1}, set(), {"k": deep, "same": deep},
              bytearray(b"y"), NotImplemented, ..., type(None), int, np.arange(6.0).reshape(2, 3), np.array([]), np.dtype("int8"), ValueError("no"),
              [].append, len, str.join, (1,), np.float32(2.5), [deep]]
    sys.path.insert(0, str(folder))
    import shipped

    for value in values:
        trace = hovis.trace(shipped.unreachable, Any, const(value))
        trace.save(folder / "out.py")
        got = hovis.load(folder / "out.py")(1)[1]
        assert type(got) is type(value)
        if "built-in method append" not in repr(value) and not isinstance(value, BaseException):
            assert repr(got) == repr(value)
    same = hovis.load(folder / "out.py")(1)[1]
    assert same == [deep]


def test_what_cannot_be_written_is_told(folder, capsys):
    import threading

    sys.path.insert(0, str(folder))
    import shipped

    with pytest.raises(WriteError, match=r"shipped\.py:\d+: <unlocked _thread\.lock .*can't be written into the module: cannot pickle") as caught:
        hovis.trace(shipped.unreachable, Any, const(threading.Lock())).module()
    assert "Make it a global of its module, or leave it unknown" in str(caught.value)
    round_ = []
    round_.append(round_)
    with pytest.raises(WriteError, match="it contains itself"):
        hovis.trace(shipped.unreachable, Any, const(round_)).module()
    with pytest.raises(WriteError, match="left as one call of the original"):
        hovis.trace(len, Any).module()
    gradient = hovis.grad(lambda x: x * x)
    with pytest.raises(WriteError, match="hovis itself would have to be copied"):
        hovis.trace(lambda x: gradient(x), Any).module()


def test_other_names_of_the_same_thing_stay_apart(folder, capsys):
    """A call that passes what is known under another name does not fit."""
    sys.path.insert(0, str(folder))
    import shipped

    program = [["add", 3], ["emit", "x"]]
    hovis.trace(shipped.run, const(program), Int, list).save(folder / "out.py")
    kept = hovis.load(folder / "out.py")
    assert kept(1, []) == 4
    assert "held" in (folder / "out.py").read_text()


def test_load_says_what_is_none(folder):
    with pytest.raises(hovis.SpecError, match="was not written by hovis"):
        hovis.load(folder / "shipped.py")


def test_text_that_is_not_static_stays_a_parameter(folder, capsys):
    written(capsys, "shipped.py:many", "list", "text=Str")
    assert alone(folder, "import out; print(out.many([7], text='q')[3])") == "(5, 7)\n"
    assert Str is hovis.Str

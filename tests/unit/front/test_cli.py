"""python -m hovis: arguments are read and never evaluated, stages, and errors as sentences."""
import os
import random
import subprocess
import sys
import typing
from pathlib import Path
from typing import Literal, Optional

import pytest

import hovis
from hovis.__main__ import main
from hovis.command_line.arguments import parse_argument, parse_spec
from hovis.command_line.program_files import Refused

ROOT = Path(__file__).parents[3]
SOURCE = """\
import beside

def pow(x, n):
    r = 1
    while n > 0:
        n -= 1
        r *= x
    return r

def scaled(x, mode="plain"):
    return beside.twice(x) if mode == "twice" else x

class Box:
    def get(self, x):
        return x

limit = 3
"""


@pytest.fixture
def file(tmp_path):
    (tmp_path / "beside.py").write_text("def twice(x):\n    return x * 2\n")
    path = tmp_path / "program.py"
    path.write_text(SOURCE)
    yield path
    for name in ("program", "beside"):
        sys.modules.pop(name, None)
    sys.path[:] = [p for p in sys.path if p != str(tmp_path)]


def out(capsys, *arguments):
    assert main(list(map(str, arguments))) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def err(capsys, *arguments):
    assert main(list(map(str, arguments))) == 2
    said = capsys.readouterr()
    assert not said.out
    assert "Traceback" not in said.err or "can't be imported" in said.err
    return said.err


# ------------------------------------------------------------------------------------------- arguments


@pytest.mark.parametrize(("text", "spec"), [
    ("3", 3), ("-3", -3), ("-2.5", -2.5), ("2+3j", 2 + 3j), ("'a b'", "a b"), ("b'x'", b"x"), ("None", None), ("True", True),
    ("(1, 'a')", (1, "a")), ("{'w': [1, 2]}", {"w": [1, 2]}), ("{1, 2}", {1, 2}), ("list", list), ("int", int),
    ("Int", hovis.Int), ("const(int)", hovis.const(int)), ("const({'a': 1})", hovis.const({"a": 1})), ("Int | Float", hovis.Int | hovis.Float),
    ("Int | None", hovis.Int | None), ("None | int", int | None), ("list[int]", list[int]), ("Optional[dict[str, float]]", Optional[dict[str, float]]),
    ("tuple[int, ...]", tuple[int, ...]), ("Literal['a', 1]", Literal["a", 1]), ("Callable[[int], str]", typing.Callable[[int], str]),
])  # fmt: skip
def test_arguments(text, spec):
    got = parse_spec(text)
    assert type(got) is type(spec)
    assert got == spec if not isinstance(spec, hovis.const(0).__class__) else str(got) == str(spec)


@pytest.mark.parametrize("text", ["float64[3, :]", "int32[2]", "Array('float64', (3, None))"])
def test_arrays(text):
    assert repr(parse_spec(text)).startswith(("float64[3, :]", "int32[2]"))


def test_structures_of_specs():
    assert repr(parse_spec("[Int, const(3), {'w': float64[3]}]")) == "[Int, const(3), {'w': float64[3]}]"
    assert repr(parse_spec("OneOf(1, 2)")) == "OneOf(1, 2)"
    assert repr(parse_spec("[Int] | None")) == "[Int] | None"
    assert repr(parse_spec("float64[3] | list[int]")) == "float64[3] | list[int]"


def test_names():
    assert parse_argument("n=-4") == ("n", -4)
    assert parse_argument("'a=b'") == (None, "a=b")


@pytest.mark.parametrize("text", [
    "relu", "print('x')", "__import__('os')", "open('f')", "().__class__", "Int.cls", "[x for x in (1,)]", "lambda: 0", "2**10**9", "1 + 1",
    "f'{1}'", "'a' * 9", "const(print)", "const(x=1)", "Array()", "f(", "{**{}}", "(yield)", "int[3]", "list[print]", "x := 3", "Array('float64', (-1,))",
    "1 | 2", "{1} | {2}", "None | None", "Optional[1, 2]", "list[int][0]", "Literal[x]", "Literal", "Literal[print()]",
])  # fmt: skip
def test_nothing_else_is_evaluated(text):
    with pytest.raises((Refused, hovis.SpecError)):
        hovis.trace(lambda x: x, parse_spec(text))


# ------------------------------------------------------------------------------------------- stages


def test_annotations_are_asked_for(tmp_path, capsys):
    (tmp_path / "noted.py").write_text("def f(x: 'int | None', y: float = 2.5):\n    return y\ndef g(x: Missing):\n    return x\n".replace("Missing", "'Missing'"))
    assert "%2 :: Int | None, %3 :: Float" in out(capsys, "trace", f"{tmp_path}/noted.py:f", "--annotations")
    assert "%2 :: Str, %3 :: Float" in out(capsys, "trace", f"{tmp_path}/noted.py:f", "Str", "--annotations")
    assert "%2 :: Any, %3 :: Any" in out(capsys, "trace", f"{tmp_path}/noted.py:f")
    assert "'Missing' can't be resolved" in err(capsys, "trace", f"{tmp_path}/noted.py:g", "--annotations")


def test_the_trace(file, capsys):
    assert out(capsys, "trace", f"{file}:pow", "Int", "3") == """\
1: (%1 :: const(pow), %2 :: Int, %3 :: const(3))
  %4 = (*)(1, %2) :: Int
  %5 = (*)(%4, %2) :: Int
  %6 = (*)(%5, %2) :: Int
  return %6
"""


def test_named_and_negative_arguments_and_options_anywhere(file, capsys):
    first = out(capsys, "trace", "--stage=ir", f"{file}:pow", "-2", "n=2")
    assert first == out(capsys, "trace", f"{file}:pow", "n=2", "--stage", "ir", "-2")
    assert "return 4" in first


def test_imports_beside_the_file(file, capsys):
    assert "(*)(%2, 2)" in out(capsys, "trace", f"{file}:scaled", "Int", "mode='twice'")


def test_stages(file, capsys):
    assert "Inplace          '*'" in out(capsys, "trace", f"{file}:pow", "Int", "3", "--stage=bytecode")
    assert "br" not in out(capsys, "trace", f"{file}:pow", "1", "Int", "--stage=passes")
    assert "    return x * x * x\n" in out(capsys, "trace", f"{file}:pow", "Int", "3", "--stage=python")


def test_the_stage_of_hovis_xla(file, capsys):
    pytest.importorskip("jaxlib")
    assert "stablehlo.multiply" in out(capsys, "trace", f"{file}:pow", "Int", "3", "--stage=hlo")


def test_locations_and_guards(file, capsys):
    text = out(capsys, "trace", f"{file}:pow", "Int", "3", "--locations", "--guards")
    assert "# program.py:7" in text
    assert "# entry: x :: Int" in text


def test_a_method(file, capsys):
    assert "return %3" in out(capsys, "trace", f"{file}:Box.get", "Any", "Int")


def test_explain(file, capsys):
    text = out(capsys, "explain", f"{file}:pow", "Int")
    assert f"{file}:5, in pow\n    while n > 0:\n          ^^^^^\n" in text


# ------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(("arguments", "said"), [
    (("{}:nothing",), "has no 'nothing'"), (("{}",), "does not name a function"), (("{}.txt:f",), "no file"), (("{}:limit",), "is not a function"),
    (("{}:pow", "Int", "relu"), "\"'relu'\""), (("{}:pow", "1", "2", "3"), "no parameter for the spec 3"), (("{}:pow", "m=3"), "no parameter 'm'"),
    (("{}:pow", "--stage=hxlo"), "no stage 'hxlo'"), (("{}:pow", "--shape=3"), "no option"), (("{}:pow", "n=1", "n=2"), "twice"),
    (("{}:pow", "float64[3"), "not a Python expression"),
])  # fmt: skip
def test_errors(file, capsys, arguments, said):
    assert said in err(capsys, "trace", *(a.format(file) for a in arguments))


def test_a_file_that_does_not_run(tmp_path, capsys):
    path = tmp_path / "broken.py"
    path.write_text("x = 1\ny = x / 0\n")
    said = err(capsys, "trace", f"{path}:f")
    assert "line 2" in said
    assert "ZeroDivisionError" in said
    assert "importlib" not in said
    sys.path.remove(str(tmp_path))
    sys.modules.pop("broken", None)


def test_as_a_process(file):
    done = subprocess.run([sys.executable, "-m", "hovis", "trace", f"{file}:pow", "2", "3"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("return 8\n")
    done = subprocess.run([sys.executable, "-m", "hovis", "trace"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2


def test_a_file_with_the_name_of_a_module(tmp_path, capsys):
    path = tmp_path / "operator.py"
    path.write_text("def f(x):\n    return x + 1\n")
    before = sys.modules["operator"]
    assert "(+)(%2, 1)" in out(capsys, "trace", f"{path}:f", "Int")
    assert sys.modules["operator"] is before
    sys.path.remove(str(tmp_path))
    sys.modules.pop("hovis.__main__.operator")


# ------------------------------------------------------------------------------------------- whatever is asked for

#: What arguments are put together from, at random.
PIECES = [
    "Int", "Float", "Any", "list", "const(", "OneOf(", "Instance(", "Array(", "float64[", "]", ")", "(", "[", "{", "}", "{[1]}", "{1: {2}}", ",", ":", "=", "n=", "x=", "**", "*", "|", "+", "-", "--",
    "1", "-1", "3.5", "1e999", "0x", "1_0", "9" * 5000, "'a'", "'", '"', "b'\\xff'", "'\\ud800'", "None", "True", "...", "lambda: 0", "__import__('os')", "f'{x}'", "\0", "\n", "\udcff", "é", "\u2028", "#",
    "@", "@deep.json", "@wrong.json", "@text.txt", "@binary.txt", "@nowhere", "@.", "@\0", "@program.py:limit", "@program.py:nothing", "@quits.py:x", "@deep.py:x", ";", "\\", " ", "j", "2j", "nan", "x" * 300,
]  # fmt: skip
OPTIONS = ["--stage", "--stage=", "--stage=ir", "--stage=python", "--stage=bytecode", "--stage=passes", "--stage=nothing", "--full", "--guards", "--locations", "--refuse", "--nothing", "-o", "-h", "-x", "--"]
TARGETS = ["program.py:pow", "program.py:pow", "program.py:scaled", "program.py:Box", "program.py:limit", "program.py:", ":pow", "pow", "", "nowhere.py:f", "quits.py:f", "deep.py:f", "wrong.py:f",
           "raises.py:f", "binary.txt:f", ".:f", "\0:f", "program.py:pow.__code__", "program.py:pow\n", "text.txt:f", "lies.py:f"]  # fmt: skip
FILES = {
    "deep.json": "[" * 100_000 + "]" * 100_000, "wrong.json": "{", "text.txt": "text", "quits.py": "import sys\nsys.exit(0)\n", "deep.py": "x = " + "-" * 100_000 + "1\n", "wrong.py": "def f(:\n",
    "raises.py": "raise RuntimeError('two\\nlines \\u2028 \\0')\n", "lies.py": "class f:\n    def __getattr__(self, name):\n        raise RuntimeError(name)\n    def __call__(self, *args):\n        return 1\nf = f()\n",
}  # fmt: skip


@pytest.fixture
def folder(file, monkeypatch):
    monkeypatch.chdir(file.parent)
    for name, text in FILES.items():
        Path(name).write_text(text)
    Path("binary.txt").write_bytes(b"\xff\0\xfe")
    yield file.parent
    for name in FILES:
        sys.modules.pop(name.partition(".")[0], None)


def test_anything_gives_a_result_or_one_line(folder, capsys):
    drawn = random.Random(25)
    statuses = []
    for _ in range(6 * int(os.environ.get("HOVIS_EXAMPLES", "60"))):
        arguments = [drawn.choice(["trace", "trace", "explain", "specialize", "other"]), drawn.choice(TARGETS)]
        arguments += ["".join(drawn.choice(PIECES) for _ in range(drawn.choice([1, 1, 2, 3, 5]))) for _ in range(drawn.choice([1, 2, 2, 3]))]
        if drawn.random() < 0.3:
            arguments.insert(drawn.randrange(len(arguments) + 1), drawn.choice(OPTIONS))
        if drawn.random() < 0.1:
            del arguments[drawn.randrange(len(arguments)) :]
        before = Path("program.py").read_text()
        statuses.append(main(arguments))
        said = capsys.readouterr()
        if statuses[-1]:
            assert statuses[-1] == 2
            assert said.err.startswith("hovis: "), arguments
            assert said.err.endswith("\n")
            assert said.err[:-1].isprintable(), arguments
            assert not said.out, arguments
            assert "internal error of hovis" not in said.err, (arguments, said.err)
        else:
            assert said.out
            assert not said.err
        assert Path("program.py").read_text() == before
    assert {0, 2} == set(statuses)


@pytest.mark.parametrize(("arguments", "said"), [
    (["{[1]}"], "unhashable"), (["@deep.json"], "nested too deep"), (["-" * 30_000 + "1"], "no option"), (["n=" + "-" * 30_000 + "1"], "nested too deep"), (["(" * 30_000], ""), (["9" * 5000], "digits"),
])
def test_arguments_that_are_too_much(folder, capsys, arguments, said):
    found = err(capsys, "trace", "program.py:pow", "Int", *arguments)
    assert said in found
    assert len(found) < 700


def test_a_module_that_exits(folder, capsys):
    assert "exits" in err(capsys, "trace", "quits.py:f", "Int")


@pytest.mark.parametrize("name", ["my-file.py", "class.py", "two words.py", "1.py", "é.py"])
def test_modules_whose_name_is_no_identifier(folder, capsys, name):
    Path(name).write_text("LIST = [1]\ndef twice(x, n):\n    return x * n, LIST\n")
    assert main(["specialize", f"{name}:twice", "Int", "2", "-o", "made.py"]) == 0
    sys.path.insert(0, str(folder))
    made = hovis.load("made.py")
    found = sys.modules[name[:-3]]
    assert made(3) == (6, [1])
    assert made(3)[1] is found.LIST
    assert made(1.5) == (3.0, [1])      # runs the original


def test_modules_that_no_import_finds(folder, capsys):
    for name in ("operator.py", "a.b.py"):
        Path(name).write_text("def twice(x, n):\n    return x * n\n")
        assert main(["specialize", f"{name}:twice", "Int", "2", "-o", "made.py"]) == 0
        assert hovis.load("made.py")(3) == 6
        with pytest.raises(TypeError, match="no other arguments"):
            hovis.load("made.py")(1.5)

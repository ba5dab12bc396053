"""python -m hovis as a process: where its results go, and what stands in the way."""
import os
import shlex
import subprocess
import sys

import pytest

from tests.unit.front.test_cli import ROOT, SOURCE


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "beside.py").write_text("def twice(x):\n    return x * 2\n")
    (tmp_path / "program.py").write_text(SOURCE)
    return tmp_path


PROCESS = [sys.executable, "-m", "hovis"]


def process(folder, *arguments, shell="", **environment):
    """The status of a command in a process of its own, and what it says; shell: what stands behind it."""
    command = " ".join(map(shlex.quote, [*PROCESS, *arguments])) + " " + shell
    done = subprocess.run(["bash", "-c", command], cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT), **environment}, capture_output=True, timeout=120)
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode()


def test_where_the_result_goes(folder):
    (folder / "unicode.py").write_text("def f(x):\n    return x, 'é\u2028'\ndef g(é):\n    return é\n", encoding="utf-8")
    trace = "trace", "program.py:pow", "Int", "3"
    assert process(folder, *trace, shell="> /dev/full") == (2, "", "hovis: the result can't be printed: No space left on device\n")
    assert process(folder, *trace, shell=">&-") == (2, "", "hovis: there is no standard output to print to\n")
    assert process(folder, *trace, shell="2>&- >&-") == (2, "", "")
    assert process(folder, *trace, shell="| true; exit ${PIPESTATUS[0]}") == (0, "", "")
    ascii = {"PYTHONIOENCODING": "ascii"}
    status, said, wrong = process(folder, "specialize", "unicode.py:f", "Int", **ascii)
    assert (status, wrong) == (0, "")
    scope = {}
    exec(said, scope)
    assert scope["f"](1) == (1, "é\u2028")
    assert process(folder, "specialize", "unicode.py:g", "Int", **ascii) == (2, "", "hovis: the module can't be printed in ascii: with -o FILE it is written in UTF-8\n")
    assert process(folder, "trace", "unicode.py:f", "'é'", **ascii)[0] == 0
    assert process(folder, "trace", "unicode.py:é", "Int", PYTHONIOENCODING="ascii")[1:] == ("", "hovis: unicode.py has no 'é'\n".encode("ascii", "backslashreplace").decode())


def test_where_a_module_goes(folder):
    module = process(folder, "specialize", "program.py:pow", "Int", "3")[1]
    write = "specialize", "program.py:pow", "Int", "3", "-o"
    assert process(folder, *write, "/dev/full") == (2, "", "hovis: '/dev/full' can't be written: No space left on device\n")
    assert process(folder, *write, "/dev/null")[0] == 0
    for shell in ("", "| cat", "> made.py; cat made.py"):
        assert process(folder, *write, "/dev/stdout", shell=shell) == (0, module, "")
    assert process(folder, *write, "/dev/stderr")[2].startswith(module.rstrip())
    status, said, wrong = process(folder, *write, "program.py")
    assert (status, said, wrong.count("\n")) == (2, "", 1)
    assert (folder / "program.py").read_text() == SOURCE

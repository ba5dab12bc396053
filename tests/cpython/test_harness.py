"""Tests of the harness for CPython's tests: its reports for tests with all kinds of outcomes, and a few of CPython's tests."""
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

TESTS = '''
"""A module of a test package.

>>> 1 + 1
3
"""
import doctest
import os
import signal
import types
import unittest


class Case(unittest.TestCase):
    def setUp(self):
        # is hovis around the test?
        self.around = not isinstance(vars(type(self))[self._testMethodName], types.FunctionType)

    def test_passes(self):
        self.assertEqual(1 + 1, 2)

    def test_fails_alike(self):
        self.fail(f"at {object()}")

    def test_subtests(self):
        for k in range(3):
            with self.subTest(k=k):
                self.assertNotEqual(k, 1)

    @unittest.expectedFailure
    def test_expected(self):
        self.fail("as expected")

    @unittest.skip("for a reason")
    def test_skipped(self):
        raise SystemExit

    def test_prints_alike(self):
        print("alike", object())

    def test_differs(self):
        self.assertFalse(self.around, "something else")

    def test_differs_in_a_subtest(self):
        for k in range(2):
            with self.subTest(k=k):
                self.assertFalse(self.around and k)

    def test_prints(self):
        print("around" if self.around else "plain")

    def test_dies(self):
        if self.around:
            os.kill(os.getpid(), signal.SIGSEGV)

    def test_hangs(self):
        while self.around:
            pass

    def test_unstable(self):
        print(os.urandom(8))


def load_tests(loader, tests, pattern):
    tests.addTest(doctest.DocTestSuite())
    return tests
'''

EXPECTED = {
    "passes": "same", "fails_alike": "same", "subtests": "same", "expected": "same", "skipped": "same", "prints_alike": "same",
    "differs": "different", "differs_in_a_subtest": "different", "prints": "different", "dies": "crashed", "hangs": "slow", "unstable": "unstable",
}  # fmt: skip


def run(*arguments, path=()):
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([*map(str, path), str(ROOT)])}
    return subprocess.run([sys.executable, str(HERE / "run.py"), *arguments], capture_output=True, text=True, env=environ, check=False, timeout=300)


def test_what_the_harness_says(tmp_path):
    for name, text in (("__init__", ""), ("support/__init__", ""), ("test_fake", TESTS)):
        file = tmp_path / "test" / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    said = run("test_fake", "--seconds", "3", "--fuel", "20000", "--json", str(tmp_path / "found.json"), path=[tmp_path])
    if "has no test package" in said.stdout:
        pytest.skip(said.stdout)
    assert said.returncode == 1, said.stderr
    rows = json.loads((tmp_path / "found.json").read_text())
    assert {row["id"].rpartition("test_")[2]: row["state"] for row in rows if row["state"] != "doctest"} == EXPECTED
    assert [row["id"] for row in rows if row["state"] == "doctest"] == ["test.test_fake"]
    differing = next(row for row in rows if row["id"].endswith("test_differs"))
    assert differing["got"][0][2].endswith("something else")


@pytest.mark.parametrize("choice", [["--around", "tests"], ["--around", "inner"], ["--around", "helpers"], ["--way", "specialize"]], ids=" ".join)
def test_a_handful_of_the_tests_of_cpython(choice):
    said = run("test_scope", "-k", "SimpleNesting|FreeVarInMethod|testRecursion", "--fuel", "20000", *choice)
    if "has no test package" in said.stdout or importlib.util.find_spec("test.test_scope") is None:
        pytest.skip(said.stdout)
    assert said.returncode == 0, said.stdout + said.stderr
    assert "test_scope" in said.stdout

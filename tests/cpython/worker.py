"""Run the tests of one module for run.py: each in a process forked from this one; prints one line of JSON for each."""
import ast
import builtins
import contextlib
import faulthandler
import importlib
import importlib.machinery
import importlib.util
import inspect
import io
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import types
import unittest
import warnings
import weakref
from doctest import DocTestCase
from typing import Any

import hovis

#: The texts in which two runs may differ: addresses.
ADDRESS = re.compile(r"0x[0-9a-fA-F]{4,}")
#: The builtin name of the decorator that is applied to functions defined in functions.
AROUND = "__hovis_around__"
#: Methods that a class statement converts to class methods or static methods if they are plain functions.
PLAIN = ("__init_subclass__", "__class_getitem__", "__new__")


class Recorder(unittest.TestResult):
    """A test result that records the outcomes of a test and its subtests as text, which two processes can compare."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[list[str]] = []

    def _note(self, what: str, test: Any, error: Any = None, text: str = "") -> None:
        if error is not None:
            text = f"{error[0].__module__}.{error[0].__qualname__}: {said(error[1])}"
        self.seen.append([what, subtest(test), ADDRESS.sub("0x", text)])

    def addSuccess(self, test: Any) -> None:
        self._note("passed", test)

    def addError(self, test: Any, err: Any) -> None:
        self._note("raised", test, err)

    def addFailure(self, test: Any, err: Any) -> None:
        self._note("failed", test, err)

    def addSkip(self, test: Any, reason: str) -> None:
        self._note("skipped", test, text=str(reason))

    def addExpectedFailure(self, test: Any, err: Any) -> None:
        self._note("failed as expected", test, err)

    def addUnexpectedSuccess(self, test: Any) -> None:
        self._note("passed unexpectedly", test)

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        self._note("passed" if err is None else "failed" if issubclass(err[0], test.failureException) else "raised", subtest, err)


def said(error: BaseException) -> str:
    """Return the message of an exception."""
    try:
        return str(error)
    except Exception as another:
        return f"<its message raises {type(another).__name__}>"


def subtest(test: Any) -> str:
    """Return the parameters of a subtest as its name."""
    describe, deepest = getattr(test, "_subDescription", None), sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(max(deepest, 10_000))     # the test may have set a limit that suffices only for itself
        return ADDRESS.sub("0x", describe()) if describe else ""
    except Exception as error:
        return f"<its parameters raise {type(error).__name__}>"
    finally:
        sys.setrecursionlimit(deepest)


class Around:
    """Applies hovis to functions, as the options say; does nothing while a test is run plain."""

    def __init__(self, choices: dict[str, Any]) -> None:
        self.where, self.way = choices["around"], choices["way"]
        self.options = {name: value for name, value in (("fuel", choices["fuel"]), ("seconds", choices["trace_seconds"])) if value is not None}
        self.active = False
        self.traces: list[Any] = []
        #: weak references, since tests check whether functions are freed
        self.jitted: list[weakref.ref[Any]] = []

    def function(self, fn: Any) -> Any:
        """Apply hovis to a function."""
        if not self.active or not isinstance(fn, types.FunctionType):
            return fn
        if self.way == "specialize":
            return self.specialized(fn)
        self.jitted.append(weakref.ref(made := hovis.jit(fn, **self.options)))
        return made

    def specialized(self, fn: Any) -> Any:
        made = hovis.Options(**self.options).specialize(fn)
        self.traces.append(made.trace)
        return made

    def test(self, case: unittest.TestCase) -> None:
        """Apply hovis to the test method of a test case, or to the helpers of its module."""
        owner, name = type(case), case._testMethodName
        plain = inspect.getattr_static(owner, name)
        if self.where == "helpers":
            self.helpers(sys.modules[owner.__module__])
        elif self.where == "tests" and isinstance(plain, types.FunctionType):
            if self.way == "jit":
                setattr(owner, name, self.function(plain))
            elif not inspect.iscoroutinefunction(plain):
                setattr(owner, name, self.late(plain))

    def late(self, plain: types.FunctionType) -> types.FunctionType:
        """Specialize the bound method when it is called: the effects of setUp are known then."""

        def run(case: unittest.TestCase) -> Any:
            return self.specialized(types.MethodType(plain, case))()

        run.__dict__.update(plain.__dict__)
        return run

    def helpers(self, module: types.ModuleType) -> None:
        for name, value in list(vars(module).items()):
            if isinstance(value, types.FunctionType) and value.__module__ == module.__name__ and name != "load_tests":
                setattr(module, name, self.function(value))

    def left(self) -> tuple[int, int]:
        """Count the traces that are one call of the original, and all traces (of functions that are still alive)."""
        found = self.traces + [trace for held in self.jitted if (made := held()) is not None for trace in made.traces]
        return sum(trace.fallback for trace in found), len(found)


class Inner(ast.NodeTransformer):
    """Adds the decorator to each function that is defined inside another one."""

    def __init__(self) -> None:
        self.depth = 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1
        if self.depth and node.name not in PLAIN:
            node.decorator_list.append(ast.copy_location(ast.Name(AROUND, ast.Load()), node))
        return node

    visit_AsyncFunctionDef = visit_FunctionDef


class Decorating(importlib.machinery.SourceFileLoader):
    """Loads a module with the decorators inserted into its source."""

    def get_code(self, fullname: str) -> types.CodeType:
        path = self.get_filename(fullname)
        tree = ast.fix_missing_locations(Inner().visit(ast.parse(self.get_data(path), path)))
        return compile(tree, path, "exec", dont_inherit=True)


class Finder:
    """A finder whose modules, those of a package or a single one, are loaded by Decorating."""

    def __init__(self, name: str) -> None:
        self.name = name

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        if fullname != self.name and not fullname.startswith(self.name + "."):
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        if spec is not None and type(spec.loader) is importlib.machinery.SourceFileLoader:
            spec.loader = Decorating(spec.loader.name, spec.loader.path)
        return spec


def cases(suite: Any) -> list[Any]:
    """List the tests of a suite."""
    return [suite] if not hasattr(suite, "__iter__") else [case for part in suite for case in cases(part)]


def limit(choices: dict[str, Any]) -> None:
    """Limit the memory, CPU time and recursion depth of this process."""
    size = int(choices["memory"] * 2**30)
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    seconds = max(1, round(choices["seconds"]))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if choices["recursion"]:
        sys.setrecursionlimit(choices["recursion"])


def child(case: Any, around: Around, choices: dict[str, Any], folder: pathlib.Path) -> None:
    """Run one test in this process, and write its outcome to `folder`."""
    os.setsid()
    out = os.open(folder / "output", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    null = os.open(os.devnull, os.O_RDONLY)
    for source, to in ((null, 0), (out, 1), (out, 2)):
        os.dup2(source, to)
    sys.stdout, sys.stderr = (io.TextIOWrapper(os.fdopen(to, "wb", buffering=0), encoding="utf-8", errors="backslashreplace", write_through=True) for to in (1, 2))
    (folder / "cwd").mkdir()
    os.chdir(folder / "cwd")
    random.seed(0)
    faulthandler.enable(open(folder / "fault", "w"))   # noqa: SIM115
    limit(choices)
    recorder = Recorder()
    if around.active:
        around.test(case)
    with warnings.catch_warnings():
        unittest.TestSuite([case]).run(recorder)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    found = {"seen": recorder.seen, "left": around.left()}
    (folder / "done").write_text(json.dumps(found), encoding="utf-8")


def forked(case: Any, around: Around, choices: dict[str, Any], active: bool) -> dict[str, Any]:
    """Run one test in a process of its own; return its outcome."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="cpython-"))
    pid = os.fork()
    if not pid:
        status = 70
        try:
            around.active = active
            child(case, around, choices, folder)
            status = 0
        except BaseException:
            (folder / "fault").write_text(traceback.format_exc())
        finally:
            os._exit(status)
    try:
        return outcome(folder, *ended(pid, choices["seconds"] * 5 + 10))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def ended(pid: int, seconds: float) -> tuple[int, float, bool]:
    """Wait for a process; return its status, its CPU seconds, and whether it had to be killed."""
    until, pause, late = time.monotonic() + seconds, 0.001, False
    while True:
        found, status, usage = os.wait4(pid, os.WNOHANG)
        if found:
            break
        if time.monotonic() > until and not late:
            late = True
            os.kill(pid, signal.SIGKILL)
        time.sleep(pause)
        pause = min(pause * 1.5, 0.05)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)      # child processes that the test has left behind
    return status, usage.ru_utime + usage.ru_stime, late


def outcome(folder: pathlib.Path, status: int, seconds: float, late: bool) -> dict[str, Any]:
    """Read the outcome of a process from its folder."""
    text = (folder / "output").read_text(encoding="utf-8", errors="backslashreplace") if (folder / "output").exists() else ""
    made = {"output": ADDRESS.sub("0x", text).replace(str(folder), "FOLDER"), "seconds": round(seconds, 3), "left": 0, "traced": 0}
    if late or (os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL)):
        return {**made, "state": "slow", "seen": []}
    try:
        found = json.loads((folder / "done").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        fault = (folder / "fault").read_text(errors="replace") if (folder / "fault").exists() else ""
        what = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exit status {os.WEXITSTATUS(status)}"
        return {**made, "state": "crashed", "seen": [], "what": what, "fault": fault + text[-1000:]}
    left, traced = found["left"]
    return {**made, "state": "done", "seen": found["seen"], "left": left, "traced": traced}


def compared(case: Any, around: Around, choices: dict[str, Any]) -> dict[str, Any]:
    """Run a test twice plain and once with hovis; return the row with the differences."""
    row = {"id": case.id(), "module": choices["module"]}
    if isinstance(case, DocTestCase):
        return {**row, "state": "doctest"}
    first, second = forked(case, around, choices, False), forked(case, around, choices, False)
    row["plain_seconds"] = first["seconds"]
    if seen(first) != seen(second) or first["state"] == "slow":
        return {**row, "state": "unstable", "why": differing(first, second) or "too slow without hovis"}
    got = forked(case, around, choices, True)
    row |= {"seconds": got["seconds"], "left": got["left"], "traced": got["traced"]}
    if seen(first) == seen(got):
        return {**row, "state": "same", "outcome": first["seen"][-1][0] if first["seen"] else first["state"]}
    if got["state"] != "done":
        return {**row, "state": got["state"], "why": f"{got.get('what', '')}\n{got.get('fault', '')}"}
    return {**row, "state": "different", "why": differing(first, got), "plain": first["seen"][:20], "got": got["seen"][:20]}


def seen(run: dict[str, Any]) -> tuple[Any, ...]:
    return run["state"], run["seen"], run["output"]


def differing(a: dict[str, Any], b: dict[str, Any]) -> str:
    """Describe the first differences between two runs."""
    if a["state"] != b["state"]:
        return f"{a['state']} {a.get('what', '')}; {b['state']} {b.get('what', '')}"
    lines = []
    if a["seen"] != b["seen"]:
        k = next((k for k, (x, y) in enumerate(zip(a["seen"], b["seen"])) if x != y), min(len(a["seen"]), len(b["seen"])))
        lines += [f"{which} {' '.join(run['seen'][k])[:900] if k < len(run['seen']) else 'nothing more'}" for which, run in (("expected", a), ("came    ", b))]
    if a["output"] != b["output"]:
        lines += [f"printed: {a['output'][-300:]!r}", f"instead: {b['output'][-600:]!r}"]
    return "\n".join(lines)


def main(choices: dict[str, Any]) -> None:
    """Import the module, and run its tests one by one."""
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    around = Around(choices)
    setattr(builtins, AROUND, around.function)
    name = f"test.{choices['module']}"
    if choices["around"] == "inner":
        sys.meta_path.insert(0, Finder(name))
    support: Any = importlib.import_module("test.support")
    support.use_resources = []
    try:
        module = importlib.import_module(name)
    except unittest.SkipTest as skipped:
        print(json.dumps({"id": name, "module": choices["module"], "state": "same", "outcome": f"skipped: {skipped}"}), file=channel, flush=True)
        return
    for k, case in enumerate(cases(unittest.defaultTestLoader.loadTestsFromModule(module))):
        if re.search(choices["k"], case.id()) and k % choices["each"] == 0:
            print(json.dumps(compared(case, around, choices)), file=channel, flush=True)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))

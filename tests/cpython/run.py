"""Run CPython's own regression tests with `hovis.jit` around each of them, and compare with the plain run, test by test.

    python tests/cpython/run.py                                  # all modules of MODULES, of the Python that runs this
    python tests/cpython/run.py test_grammar test_dict -k copy   # tests whose id matches a pattern
    python tests/cpython/run.py --around inner --seconds 20 -j 2 --json out.json

What `hovis.jit` is applied to:

    --around tests      each test method (setUp, tearDown and fixtures stay plain)
    --around helpers    the functions of the test modules themselves
    --around inner      each function that is defined inside another one, methods of local classes included
    --way jit           hovis.jit
    --way specialize    hovis.specialize: of the bound test method, or of functions with unknown arguments

Each test is run in a process of its own, forked from one that has imported the module: twice plain, and once with hovis.  Compared
are the outcome (passed, failed, raised, skipped; of each subtest as well), the class and the message of exceptions, and the
output, up to addresses.  A test whose two plain runs differ is left out and reported.  Doctests (of test_generators,
test_unpack_ex, test_descr and others) are text that is compiled line by line: there is no function to which hovis could be
applied, so they are left out and counted.

Differences that the contract allows (docs/semantics.md) are listed in explained.txt beside this file, each with its reason.
Exit status 1 where a test differs, crashes or takes too long and is not listed there.
"""
import argparse
import collections
import concurrent.futures
import fnmatch
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
from collections.abc import Iterator

HERE = pathlib.Path(__file__).resolve().parent
MODULES = [f"test_{name}" for name in (
    "grammar scope patma generators unpack_ex exceptions raise with descr super property dataclasses enum functools itertools collections dict list set "
    "int float complex string fstring format builtin sort iter richcmp weakref coroutines asyncgen contextlib statistics fractions json copy pickle re "
    "typing").split()]
#: The possible states of a test, in the order of the summary.
STATES = ("same", "explained", "different", "slow", "crashed", "unstable", "doctest")
BAD = ("different", "slow", "crashed")


def explained(around: str, path: pathlib.Path = HERE / "explained.txt") -> list[tuple[str, str]]:
    """Read the patterns of test ids whose difference is within the contract, with the reasons; a line may be for a single choice of --around."""
    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    reason, found = "", []
    for line in lines:
        if line.startswith("#"):
            reason = line.lstrip("# ")
        elif line:
            where, _, pattern = line.rpartition(": ")
            if where in ("", around):
                found.append((pattern, reason))
    return found


def rows(module: str, choices: argparse.Namespace) -> Iterator[dict]:
    """Run the tests of one module in a worker; yield the row of each test as soon as it is known."""
    environ = {**os.environ, "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1", "PYTHONFAULTHANDLER": ""}
    environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(HERE.parents[1]), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, str(HERE / "worker.py"), json.dumps({**vars(choices), "module": module})]
    worker = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ)
    said: list[str] = []
    reader = threading.Thread(target=lambda: said.extend(worker.stderr))
    reader.start()
    for line in worker.stdout:
        yield json.loads(line)
    worker.wait()
    reader.join()
    if worker.returncode:
        yield {"id": f"test.{module}", "module": module, "state": "crashed", "why": "".join(said)[-2000:] or f"exit status {worker.returncode}"}


def judged(row: dict, known: list[tuple[str, str]]) -> dict:
    """Mark a row that differs as explained if its test id matches a known pattern."""
    if row["state"] in BAD:
        for pattern, reason in known:
            if fnmatch.fnmatchcase(row["id"], pattern):
                return {**row, "state": "explained", "was": row["state"], "reason": reason}
    return row


def told(row: dict) -> str:
    """Format one row: the test, and its differences."""
    text = f"{row['state']:10} {row['id']}"
    if row["state"] in (*BAD, "unstable"):
        text += "".join(f"\n    {line}" for line in row.get("why", "").splitlines()[:12])
    return text


def summary(found: list[dict]) -> str:
    """Make the table of a run: the number of tests in each state, by module and in total, and their CPU time."""
    counts: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    times: dict[str, list[float]] = collections.defaultdict(lambda: [0.0, 0.0])
    for row in found:
        for name in (row["module"], "in all"):
            counts[name][row["state"]] += 1
            counts[name]["left"] += row.get("left", 0)
            counts[name]["traced"] += row.get("traced", 0)
            times[name] = [a + b for a, b in zip(times[name], (row.get("plain_seconds", 0.0), row.get("seconds", 0.0)))]
    head = f"{'':18}" + "".join(f"{state:>11}" for state in STATES) + f"{'left/traced':>15}{'CPU plain':>11}{'CPU':>9}"
    names = [*dict.fromkeys(row["module"] for row in found), "in all"]
    lines = [f"{name:18}" + "".join(f"{counts[name][state] or '':>11}" for state in STATES)
             + f"{counts[name]['left']:>7}/{counts[name]['traced']:<7}{times[name][0]:>10.1f}s{times[name][1]:>8.1f}s" for name in names]
    return "\n".join([head, *lines])


def arguments() -> argparse.ArgumentParser:
    """Make the parser of the command line."""
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("modules", nargs="*", metavar="MODULE", help="modules of the test package (default: the forty of MODULES)")
    ask.add_argument("-k", default="", metavar="PATTERN", help="only tests whose id the regular expression is found in")
    ask.add_argument("-j", type=int, default=1, metavar="N", help="modules at a time")
    ask.add_argument("--around", choices=("tests", "helpers", "inner"), default="tests", help="what hovis is put around")
    ask.add_argument("--way", choices=("jit", "specialize"), default="jit", help="what is put around it")
    ask.add_argument("--fuel", type=int, help="the option of hovis.Options")
    ask.add_argument("--trace-seconds", type=float, help="seconds that one trace may take (the option of hovis.Options)")
    ask.add_argument("--seconds", type=float, default=60, help="CPU seconds that a test may take (and five times that in all)")
    ask.add_argument("--memory", type=float, default=4, help="GiB of address space that a test may have")
    ask.add_argument("--recursion", type=int, help="the recursion limit (default: the interpreter's own)")
    ask.add_argument("--each", type=int, default=1, metavar="N", help="every Nth test only")
    ask.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write all rows there")
    ask.add_argument("-v", "--verbose", action="store_true", help="print a line for tests that are the same, too")
    return ask


def main() -> int:
    """Run the tests that the command line selects; return the exit status."""
    choices = arguments().parse_args()
    missing = subprocess.run([sys.executable, "-c", "import test.support"], capture_output=True, check=False).returncode
    if missing:
        print(f"{sys.executable} has no test package: nothing is run")
        return 0
    known, found, lock = explained(choices.around), [], threading.Lock()
    modules, file = choices.modules or MODULES, choices.json
    choices.json = None

    def run(module: str) -> None:
        for row in rows(module, choices):
            row = judged(row, known)
            with lock:
                found.append(row)
                if choices.verbose or row["state"] in (*BAD, "unstable"):
                    print(told(row), flush=True)
        with lock:
            if file:
                file.write_text(json.dumps(found, indent=1), encoding="utf-8")

    with concurrent.futures.ThreadPoolExecutor(choices.j) as pool:
        list(pool.map(run, modules))
    found.sort(key=lambda row: modules.index(row["module"]))
    print(f"\nPython {sys.version.split()[0]}, {choices.way} around {choices.around}")
    print(summary(found))
    if not found:
        print("no test was run" + (f": none matches {re.compile(choices.k).pattern!r}" if choices.k else ""))
    return 1 if any(row["state"] in BAD for row in found) or not found else 0


if __name__ == "__main__":
    sys.exit(main())

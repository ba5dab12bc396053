"""What somebody sees who installs hovis: versions, types, a license, and a Python that it does not know."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import hovis
from hovis.__main__ import run

ROOT = Path(__file__).parents[3]

#: sys.version_info is that of a Python to come by the time hovis is imported.
ELSEWHERE = """\
import sys, warnings, collections, numpy, opcode
Version = collections.namedtuple("Version", "major minor micro releaselevel serial")
sys.version_info = Version(3, 99, 0, "final", 0)
import hovis

def power(x, n=2, *rest, k=1, **more):
    r = k
    for _ in range(n):
        r *= x
    return r, rest, more

def items(n):
    yield from range(n)

with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    jitted = hovis.jit(power)
    assert jitted(2, 3) == (8, (), {}), jitted(2, 3)
    assert jitted(2, 3, "a", k=5, z=1) == (40, ("a",), {"z": 1})
    assert jitted("ab", 0) == (1, (), {})
    residual = hovis.specialize(power, hovis.Int, k=3)
    assert residual(2, 3, 4, z=5) == (24, (4,), {"z": 5}) and residual(2) == (12, (), {})
    assert hovis.evaluate(hovis.trace(power, hovis.Int, 2), 3) == (9, (), {})
    assert list(hovis.jit(items)(3)) == [0, 1, 2]
    assert hovis.grad(lambda x: x * x)(3.0) == 6.0
    try:
        jitted([], 1, 2, n=3)
    except TypeError as error:
        assert "multiple values" in str(error)
    else:
        raise AssertionError
assert [warning.category for warning in told] == [RuntimeWarning], told
print(told[0].message)
print(hovis.explain(residual))
"""


def test_a_python_that_is_not_known_runs_everything_as_it_is():
    done = subprocess.run([sys.executable, "-c", ELSEWHERE], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    why = r"hovis reads the bytecode of CPython 3\.11 to 3\.15, not of cpython \S+"
    assert re.match(rf"{why}: functions run as they are\n", done.stdout), done.stdout
    assert re.search(rf"power was left as one call of the original: {why}", done.stdout), done.stdout


def test_the_version_is_told_in_one_place():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["dynamic"] == ["version"]
    assert (ROOT / project["tool"]["hatch"]["version"]["path"]).samefile(hovis.__file__)
    assert re.fullmatch(r"\d+\.\d+\.\d+", hovis.__version__)
    assert run(["--version"]) == (f"hovis {hovis.__version__}", False)


def test_license_and_types():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["license"] == "Apache-2.0"
    assert "Apache License" in (ROOT / "LICENSE").read_text()
    assert all((ROOT / package / "py.typed").exists() for package in ("hovis", "hovis_xla"))

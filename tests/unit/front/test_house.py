"""The rules of the house that no linter knows."""
from __future__ import annotations

import ast
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
FILES = sorted(path.relative_to(ROOT) for package in ("hovis", "hovis_xla") for path in (ROOT / package).rglob("*.py"))

TESTS = sorted(path.relative_to(ROOT) for path in (ROOT / "tests").rglob("*.py"))


def tree(path: Path) -> ast.Module:
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))


def imported(path: Path) -> set[str]:
    names = set()
    for item in ast.walk(tree(path)):
        if isinstance(item, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in item.names}
        elif isinstance(item, ast.ImportFrom) and item.module and not item.level:
            names.add(item.module.partition(".")[0])
    return names


@pytest.mark.parametrize("path", FILES, ids=str)
def test_numpy_is_imported_by_its_library_and_the_xla_back_end_alone(path):
    if path.parts[:3] != ("hovis", "library", "numpy") and path.parts[0] != "hovis_xla":
        assert "numpy" not in imported(path)


@pytest.mark.parametrize("path", FILES, ids=str)
def test_versions_of_python_are_told_apart_in_two_places(path):
    if path.parts[:2] == ("hovis", "bytecode") or path == Path("hovis/backend/assembler/assemble.py"):
        return
    asked = [item for item in ast.walk(tree(path)) if isinstance(item, ast.Attribute) and item.attr in ("version_info", "hexversion")]
    assert not asked, f"{path}:{asked[0].lineno}" if asked else ""


@pytest.mark.parametrize("path", FILES, ids=str)
def test_yield_from_is_given_iterators(path):
    """The JIT compiler of CPython 3.15.0 compiles ``yield from`` of a list or tuple wrongly: ``yield from iter(…)`` is right."""
    given = [item.value for item in ast.walk(tree(path)) if isinstance(item, ast.YieldFrom)]
    wrong = [value.lineno for value in given if isinstance(value, ast.Attribute | ast.Subscript | ast.Tuple | ast.List | ast.ListComp)]
    assert not wrong, f"{path}:{wrong[0]}" if wrong else ""


@pytest.mark.parametrize("path", FILES, ids=str)
def test_jax_is_never_imported(path):
    assert "jax" not in imported(path)


@pytest.mark.parametrize("name", ["@functools.cache\n", "threading.Lock()", "threading.RLock()"])
def test_what_is_made_once_is_made_under_a_lock_that_a_fork_leaves_free(name):
    """``functools.cache`` has no lock (see hovis.base.once); what ``lru_cache`` keeps a few of may be made twice."""
    allowed = {Path("hovis/base/once.py"), Path("hovis_xla/abi/ordered_effects.py")}     # whoever finds the lock of an act taken does not wait
    assert {path for path in FILES if name in (ROOT / path).read_text(encoding="utf-8")} <= allowed


def test_every_module_has_its_floor():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    listed = {name.strip(" ()") for layer in contracts[0]["layers"] for name in layer.split(":")}
    homeless = [path for path in FILES if path.parts[0] == "hovis" and not any(
        ".".join(path.with_suffix("").parts[:n]) in listed for n in range(2, len(path.parts) + 1)) and path.name != "__init__.py"]
    assert not homeless


@pytest.mark.parametrize("folder", sorted({path.parent for path in (*FILES, *TESTS)}), ids=str)
def test_no_folder_has_more_than_twelve_modules(folder):
    modules = [path for path in (ROOT / folder).glob("*.py") if path.name not in ("__init__.py", "conftest.py")]
    assert len(modules) <= 12 or folder.name == "themes"    # a theme of the random programs is found by being there

"""What the documentation shows is what happens: doctests, examples, notebooks."""
from __future__ import annotations

import contextlib
import doctest
import importlib
import inspect
import itertools
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hovis.bytecode.normalize import LAST_FIRST

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
EXAMPLES = [path for path in sorted((ROOT / "examples").glob("*.py")) if path.stem != "demo"]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def example_lines(page: Path) -> str:
    """The page with its fences blanked, so that they end an example as an empty line does."""
    return re.sub(r"^```.*$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_doctests(page):
    if ">>> import hovis_xla" in page.read_text(encoding="utf-8"):
        pytest.importorskip("jaxlib")
    test = doctest.DocTestParser().get_doctest(example_lines(page), {"__name__": "__main__"}, page.name, str(page), 0)
    out: list[str] = []
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    runner.run(test, out=out.append)
    assert not runner.failures, "".join(out)


#: Modules whose docstrings show examples.
SHOWING = [path for package in ("hovis", "hovis_xla") for path in sorted((ROOT / package).rglob("*.py")) if ">>> " in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("path", SHOWING, ids=lambda p: p.stem)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")      # of NumPy, in what is there for programs that do so
def test_docstrings(path):
    if path.is_relative_to(ROOT / "hovis_xla"):
        pytest.importorskip("jaxlib")
    module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    runner, out = doctest.DocTestRunner(optionflags=FLAGS), list[str]()
    for test in doctest.DocTestFinder().find(module):
        runner.run(test, out=out.append)
    assert not runner.failures, "".join(out)


#: Classes whose instances users are given, by functions that say what they take and raise.
SAID_BY_OTHERS = {"Trace", "Report", "Options", "Primitive", "Library", "Interpreter", "Refined", "Jitted", "Lowered", "Compiled", "Loaded"}


@pytest.mark.parametrize("package", ["hovis", "hovis_xla"])
def test_public_functions_have_an_example_and_say_what_they_raise(package):
    module = pytest.importorskip(package)
    public = {name: getattr(module, name) for name in module.__all__}
    told = {name: held for name, held in public.items() if (inspect.isfunction(held) or inspect.isclass(held)) and name not in SAID_BY_OTHERS}
    texts = {name: inspect.getdoc(held) or "" for name, held in told.items()}
    assert len(texts) > 3
    assert not [name for name, text in texts.items() if ">>> " not in text]
    assert not [name for name, text in texts.items() if not re.search("[Rr]aise|Error", text)]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page):
    prose = re.sub(r"^```.*?^```|^    .*?$|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", prose)
    assert not [target for target in targets if not (page.parent / target).exists()]


@pytest.mark.parametrize("name", ["modules.md", "passes.md", "tuning.md", "../ARCHITECTURE.md"])
def test_pages_that_are_made(name, bless):
    pytest.importorskip("jaxlib")
    sys.path.insert(0, str(ROOT / "docs"))
    import pages
    text = pages.PAGES[name]()
    if bless:
        (ROOT / "docs" / name).write_text(text, encoding="utf-8")
    assert (ROOT / "docs" / name).read_text(encoding="utf-8") == text, "python docs/pages.py writes it"


def test_every_number_has_a_reason():
    pytest.importorskip("jaxlib")
    sys.path.insert(0, str(ROOT / "docs"))
    import pages
    found = [(path.name, *number) for package in ("hovis", "hovis_xla") for path in (ROOT / package).rglob("*.py") for number in pages.numbers(path)]
    assert len(found) > 300 and not [number for number in found if not number[3]]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.name)
def test_examples(path):
    if "hovis_xla" in path.read_text(encoding="utf-8"):
        pytest.importorskip("jaxlib")
    done = subprocess.run([sys.executable, str(path)], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_the_demo(tmp_path):
    done = subprocess.run([sys.executable, str(ROOT / "examples" / "demo.py")], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "demo.png").exists()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.name)
@pytest.mark.filterwarnings("default")      # the notebook stack's own
def test_notebooks(path, bless):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    kept = nbformat.read(path, as_version=4)
    ran = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(ran, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(ROOT)}}).execute()
    if bless:
        for cell in ran.cells:
            cell.metadata = {}
        nbformat.write(ran, path)
        return
    if path.name == "stdlib_tour.ipynb" and LAST_FIRST:
        return  # it shows what is left of functions of the library, which are others since 3.14
    for number, (before, after) in enumerate(zip(kept.cells, ran.cells)):
        assert shown(before) == shown(after), f"cell {number}: `pytest tests/docs/test_docs.py --bless` rewrites the outputs"


def shown(cell) -> list[str]:
    """The text of a cell's outputs, addresses and rich forms aside; streams that came in pieces are joined. Variables that end together do so in an
    order that depends on the version of Python.
    """
    texts: list[str] = []
    for output in cell.get("outputs", []):
        if output.output_type == "stream":
            texts.append(output.text)
        elif output.output_type in ("execute_result", "display_data"):
            with contextlib.suppress(KeyError):
                texts.append(output.data["text/plain"])
        else:
            texts.append(f"{output.ename}: {output.evalue}")
    lines = re.sub(r"0x[0-9a-f]+", "0x…", "".join(texts)).splitlines()
    return [line for ends, run in itertools.groupby(lines, lambda line: line.lstrip().startswith("del ")) for line in (sorted(run) if ends else run)]

"""What all tests share: `--bless` for the golden texts, and how long hypothesis searches."""
import os
import sys
import zlib

import hypothesis
import pytest

import hovis  # noqa: F401

os.environ.setdefault("HOVIS_VERIFY", "1")      # the verifier runs after every pass
os.environ.setdefault("HOVIS_TRACE_SECONDS", "1000")    # what is compiled does not depend on the machine

# The same examples on every run, and a failure is told as it was found: making it small may take minutes, which the profile
# `fuzz` has (HYPOTHESIS_PROFILE=fuzz pytest ... on the test that failed).
hypothesis.settings.register_profile(
    "ci", derandomize=True, database=None, deadline=None, max_examples=int(os.environ.get("HOVIS_EXAMPLES", "60")), print_blob=False,
    suppress_health_check=list(hypothesis.HealthCheck), phases=(hypothesis.Phase.explicit, hypothesis.Phase.generate),
)
hypothesis.settings.register_profile(
    "fuzz", deadline=None, max_examples=int(os.environ.get("FUZZ_EXAMPLES", "2000")), print_blob=True,
    suppress_health_check=list(hypothesis.HealthCheck),
)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


sys.modules["hovis.jit"].CONTESTED = False  # tests want to see residuals, also where the function itself is quicker

try:
    from hovis_xla import status
except ImportError:
    pass  # there is no jaxlib
else:
    status.MINDED = ()  # pytest makes errors of warnings, for which calls would be Python's: tests are of compiled code


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="run a quarter of the tests, drawn by their names")
    parser.addoption("--bless", action="store_true", help="rewrite the golden texts and the notebooks' outputs with what hovis says now")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--bless") and getattr(config.option, "numprocesses", None):
        raise pytest.UsageError("--bless rewrites files: run it without -n")


#: Differential tests that run on every Python in any case.
EVERYWHERE = ("test_regressions", "test_review", "test_breaking", "test_environment", "test_differential", "test_compare")
#: Tests of compiled code that are many programs, each of them compiled.
LONG = (
    "test_kernels", "test_linalg", "test_unrolling", "test_native_loops", "test_meaning", "test_parts", "test_windows", "test_examples", "test_buckets",
    "test_numpy_coverage", "test_random_control", "test_random_parts", "test_random_meaning", "test_random_stores", "test_masks", "test_sweeping",
    "test_random_loops", "test_random_mixed", "test_growing", "test_products", "test_calling", "test_going_through_lists", "test_threads", "test_forks", "test_leaks",
    "test_read_only", "test_instances",
)
#: Tests of text, of whole programs that are run in processes of their own, or of many derivatives, where Python's version hardly matters.
APART = ("test_house", "test_examples", "test_notebooks", "test_residual", "test_rows", "test_tower", "test_memory", "test_lanes", "test_learning", "test_harness", "test_cli_processes", "test_trees_and_names", "test_composed")


def _pythons(item: pytest.Item) -> int:
    """On how many of the three Pythons a test runs: on one; on 3.11 and one other, as 3.12 and 3.13 have one NumPy and one jaxlib; or on all.

    Transforms are programs of their own, made of what is traced: what Python's version changes is tested where it is.
    """
    folder, name = item.path.parent.name, item.path.stem
    if (folder == "differential" and name not in EVERYWHERE) or (folder == "xla" and name in LONG):
        return 1
    if name in APART or (folder == "tests" and getattr(item, "originalname", "") in APART):
        return 1
    return 2 if folder in ("xla", "transforms") or name == "test_rules" else 3


def _runs_here(item: pytest.Item) -> bool:
    number, minor, pythons = zlib.crc32(item.nodeid.encode()), sys.version_info.minor, _pythons(item)
    if pythons == 1:
        return number % 3 == minor % 3
    return pythons == 3 or minor == 11 or number % 2 == minor % 2


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A long test runs on one of the Pythons, or two, drawn by its name; on each of them where its file is run alone, or with HOVIS_EXAMPLES set."""
    if "HOVIS_EXAMPLES" in os.environ or config.option.keyword or len(items) < 2000:
        return
    away = [item for item in items if not _runs_here(item) or (config.getoption("--quick") and zlib.crc32(item.name.encode()) % 4)]
    config.hook.pytest_deselected(items=away)
    gone = set(away)
    items[:] = [item for item in items if item not in gone]


@pytest.fixture
def bless(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--bless"))


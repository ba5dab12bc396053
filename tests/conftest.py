"""What all tests share: `--bless` for the golden texts, and how long hypothesis searches."""
import os
import sys
import zlib
from pathlib import Path

import hypothesis
import pytest

import hovis  # noqa: F401

os.environ.setdefault("HOVIS_VERIFY", "1")      # the verifier runs after every pass
os.environ.setdefault("HOVIS_TRACE_SECONDS", "1000")    # what is compiled does not depend on the machine
os.environ.setdefault("HOVIS_DEBUG", "1")       # a failure of hovis itself is raised, it does not leave the call to Python

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


sys.modules["hovis.front.jit"].CONTESTED = False  # tests want to see residuals, also where the function itself is quicker

try:
    from hovis_xla.abi import errstate
except ImportError:
    pass  # there is no jaxlib
else:
    errstate.MINDED = ()  # pytest makes errors of warnings, for which calls would be Python's: tests are of compiled code


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="run a quarter of the tests, drawn by their names")
    parser.addoption("--bless", action="store_true", help="rewrite the golden texts and the notebooks' outputs with what hovis says now")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--bless") and getattr(config.option, "numprocesses", None):
        raise pytest.UsageError("--bless rewrites files: run it without -n")


TESTS = Path(__file__).parent
#: Differential tests that run on every Python in any case.
EVERYWHERE = ("differential/random/test_regressions", "differential/random/test_review", "differential/random/test_breaking", "differential/random/test_differential",
              "differential/environment/test_environment", "differential/harness/test_compare")
#: Tests of compiled code that are many programs, each of them compiled; tests of text, of whole programs that are run in processes of their own,
#: or of derivatives, where Python's version hardly matters.
ONCE = (
    "cpython/", "transforms/", "unit/backend/test_builtin_names", "unit/backend/test_unwatched_loops", "unit/engine/test_self_interpretation",
    "unit/front/test_cli_processes", "unit/front/test_function_arguments", "unit/front/test_house",
    "xla/front/test_size_buckets", "xla/hlo/test_dot_layout", "xla/loops/test_driver", "xla/loops/test_native_loops", "xla/loops/test_unrolling", "xla/lowering/test_builtins",
    "xla/memory/test_growing", "xla/memory/test_list_traversal", "xla/memory/test_masks", "xla/memory/test_memory", "xla/memory/test_read_only", "xla/memory/test_windows",
    "xla/numpy/test_coverage", "xla/ops/test_higher_order", "xla/ops/test_linalg", "xla/processes/", "xla/programs/test_examples", "xla/programs/test_kernels",
    "xla/programs/test_partition", "xla/random/",
)
#: Tests of the same kind in files of which others run everywhere.
ONCE_BY_NAME = ("test_examples", "test_notebooks", "test_residual")


def _pythons(item: pytest.Item) -> int:
    """On how many of the three Pythons a test runs: on one, drawn by its name; on 3.11 and one other, as 3.12 and 3.13 have one NumPy and one jaxlib; or on all.

    Transforms are programs of their own, made of what is traced: what Python's version changes is tested where it is.
    """
    place = item.path.relative_to(TESTS).with_suffix("").as_posix()
    if place.startswith(ONCE) or getattr(item, "originalname", "") in ONCE_BY_NAME or (place.startswith("differential/") and place not in EVERYWHERE):
        return 1
    return 2 if place.startswith("xla/") or place == "lattice/test_rules" else 3


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


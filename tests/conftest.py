"""Configuration of all tests: the options `--quick` and `--bless`, the profiles of hypothesis, and the tests that run on only one Python version."""
import gc
import os
import sys
import zlib
from pathlib import Path

import hypothesis
import pytest

import hovis  # noqa: F401

os.environ.setdefault("HOVIS_VERIFY", "1")      # the verifier runs after every pass that changes something
os.environ.setdefault("HOVIS_TRACE_SECONDS", "1000")    # so that the speed of the machine has no influence on what is compiled
os.environ.setdefault("HOVIS_DEBUG", "1")       # an internal error of hovis is raised instead of falling back to Python

# The profile `ci` uses the same examples on every run and reports a failure without shrinking it. Shrinking may take minutes; the
# profile `fuzz` does it (HYPOTHESIS_PROFILE=fuzz pytest ... on the test that failed).
hypothesis.settings.register_profile(
    "ci", derandomize=True, database=None, deadline=None, max_examples=int(os.environ.get("HOVIS_EXAMPLES", "25")), print_blob=False,
    suppress_health_check=list(hypothesis.HealthCheck), phases=(hypothesis.Phase.explicit, hypothesis.Phase.generate),
)
hypothesis.settings.register_profile(
    "fuzz", deadline=None, max_examples=int(os.environ.get("FUZZ_EXAMPLES", "2000")), print_blob=True,
    suppress_health_check=list(hypothesis.HealthCheck),
)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


sys.modules["hovis.front.jit"].CONTESTED = False  # tests need the residual, also where the original function is faster

try:
    from hovis_xla.abi import errstate
except ImportError:
    pass  # jaxlib is not installed
else:
    errstate.MINDED = ()  # pytest turns warnings into errors, and calls would fall back to Python: tests need compiled code


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="run a quarter of the tests, drawn by their names")
    parser.addoption("--bless", action="store_true", help="rewrite the golden texts and the notebooks' outputs with what hovis says now")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--bless") and getattr(config.option, "numprocesses", None):
        raise pytest.UsageError("--bless rewrites files: run it without -n")


TESTS = Path(__file__).parent
#: Differential tests that always run on every Python version.
EVERYWHERE = ("differential/random/test_regressions", "differential/random/test_review", "differential/random/test_breaking", "differential/random/test_differential",
              "differential/environment/test_environment", "differential/harness/test_compare")
#: Tests that run on one Python version each. Compiled code and derivatives are built from traces, and differences between Python versions are
#: covered by the tests of tracing. The other tests are about texts, rows of tables, and whole programs that are run in their own processes.
ONCE = (
    "cpython/", "docs/", "lattice/test_rules", "transforms/", "unit/arguments/", "unit/backend/test_assemble", "unit/backend/test_builtin_names",
    "unit/backend/test_source", "unit/backend/test_unwatched_loops", "unit/base/", "unit/engine/test_library", "unit/engine/test_self_interpretation",
    "unit/front/", "xla/",
)


def _is_once(item: pytest.Item) -> bool:
    """Does a test run on only one Python version, which is chosen by the hash of its name?"""
    place = item.path.relative_to(TESTS).with_suffix("").as_posix()
    return place.startswith(ONCE) or (place.startswith("differential/") and place not in EVERYWHERE)


def _share() -> tuple[int, int]:
    """Which of how many Pythons is this? `make test` tells that of those that it runs; else it is one of the five."""
    at, _, count = os.environ.get("HOVIS_SHARE", f"{sys.version_info.minor - 10}/5").partition("/")
    return int(at) % int(count), int(count)


def _runs_here(item: pytest.Item) -> bool:
    at, count = _share()
    return not _is_once(item) or zlib.crc32(item.nodeid.encode()) % count == at


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run each long test on one Python version, chosen by its name; run it on every version in a run of few tests or with HOVIS_EXAMPLES set."""
    if "HOVIS_EXAMPLES" in os.environ or config.option.keyword or len(items) < 2000:
        return
    away = [item for item in items if not _runs_here(item) or (config.getoption("--quick") and zlib.crc32(item.name.encode()) % 4)]
    config.hook.pytest_deselected(items=away)
    gone = set(away)
    items[:] = [item for item in items if item not in gone]


def pytest_collection_finish() -> None:
    """Exempt the collected tests, and what they import, from garbage collection: it would look at all of them each time."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def bless(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--bless"))


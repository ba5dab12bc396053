"""What all tests share: `--bless` for the golden texts, and how long hypothesis searches."""
import os
import sys
import zlib

import hypothesis
import pytest

os.environ.setdefault("HOVIS_VERIFY", "1")      # the verifier runs after every pass

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


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--bless", action="store_true", help="rewrite the golden texts and the notebooks' outputs with what hovis says now")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--bless") and getattr(config.option, "numprocesses", None):
        raise pytest.UsageError("--bless rewrites files: run it without -n")


#: Differential tests that run on every Python in any case.
EVERYWHERE = ("test_regressions", "test_review", "test_breaking", "test_environment", "test_differential", "test_compare")
#: Tests of compiled code that are many programs, each of them compiled.
LONG = ("test_kernels", "test_linalg", "test_unrolling", "test_native_loops", "test_meaning", "test_parts", "test_windows", "test_examples", "test_buckets")


def _is_drawn(folder: str, name: str) -> bool:
    return (folder == "differential" and name not in EVERYWHERE) or (folder == "xla" and name in LONG)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A differential program runs on one of the three Pythons, drawn by its name; on each of them with HOVIS_EXAMPLES set.

    So do long tests of compiled code.
    """
    if "HOVIS_EXAMPLES" in os.environ or config.option.keyword or len(items) < 2000:
        return
    mine = sys.version_info.minor % 3
    away = [
        item for item in items
        if _is_drawn(item.path.parent.name, item.path.stem) and zlib.crc32(item.nodeid.encode()) % 3 != mine
    ]
    config.hook.pytest_deselected(items=away)
    gone = set(away)
    items[:] = [item for item in items if item not in gone]


@pytest.fixture
def bless(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--bless"))

"""What hovis relies on in a jaxlib, looked at once: some of it is nowhere promised, and a new version may do otherwise.

``self_test`` takes a tenth of a second, so what it found is kept on disk, for this jaxlib, CPU and flags.  Where
nothing may be kept there it is done when somebody asks, and before the first program with a loop.
"""

import contextlib
import json
from pathlib import Path
from typing import Final

from hovis.base.once import once
from hovis_xla.emit.values import NotLowerable
from hovis_xla.jaxlib import adapter, disk_cache, self_test

#: What only makes loops quick; without it they are right, and slow.
QUICK: Final = frozenset({"a loop becomes one native function", "the threshold for that can be set", "a barrier keeps stores in place"})

_FILE: Final = "self-test.json"


@once
def missing() -> frozenset[str]:
    """What this jaxlib does not do as hovis expects."""
    about = json.dumps(disk_cache.circumstances(False), sort_keys=True)
    where = disk_cache.folder()
    found = _read(where / _FILE, about) if where is not None else None
    if found is None:
        found = _look()
        if where is not None:
            _write(where / _FILE, about, found)
    return found


def _look() -> frozenset[str]:
    try:
        return frozenset(what for what, holds in self_test.self_test().items() if not holds)
    except adapter.XlaError as error:
        return frozenset({f"the self-test can be compiled ({str(error).splitlines()[0]})"})


def check() -> None:
    """NotLowerable, if programs of this jaxlib can't be trusted."""
    wrong = missing() - QUICK
    if wrong:
        raise NotLowerable(f"jaxlib {adapter.version()} is not as it is expected to be, not so: {', '.join(sorted(wrong))}")


def about_loops() -> str:
    """What there is to say of loops in this jaxlib: nothing, if it makes native code of them."""
    slow = missing() & QUICK
    return f"With jaxlib {adapter.version()} loops are slower than they could be, not so: {', '.join(sorted(slow))}." if slow else ""


def _read(path: Path, about: str) -> frozenset[str] | None:
    """What was found by an earlier process in the same circumstances."""
    try:
        with open(path, encoding="utf-8") as file:
            kept = json.load(file)
        if kept["about"] == about and all(type(what) is str for what in kept["missing"]):
            return frozenset(kept["missing"])
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        pass
    return None


def _write(path: Path, about: str, found: frozenset[str]) -> None:
    with contextlib.suppress(OSError):
        disk_cache.put(path, json.dumps({"about": about, "missing": sorted(found)}).encode())

"""Self-test of the properties of jaxlib that hovis relies on: some are documented nowhere, and a new version may behave otherwise.

``self_test`` takes a tenth of a second, therefore its findings are kept on disk, for this jaxlib, CPU and flags.  Where
nothing may be written to disk, it runs on request, and before the first program with a loop.
"""

import contextlib
import json
from typing import Final

from hovis.base.once import once
from hovis_xla.emit.values import NotLowerable
from hovis_xla.jaxlib import adapter, disk_cache, self_test

#: Properties that only make loops fast; without them, loops are correct but slow.
QUICK: Final = frozenset({"a loop becomes one native function", "a barrier keeps stores in place"})

_FILE: Final = "self-test"


@once
def missing() -> frozenset[str]:
    """Return the expected properties that this jaxlib does not have."""
    where = disk_cache.folder()
    if where is None:
        return _look()
    about = json.dumps(disk_cache.circumstances(False), sort_keys=True)
    with contextlib.suppress(OSError, ValueError):
        kept, *found_before = (where / _FILE).read_text(encoding="utf-8").splitlines()
        if kept == about:
            return frozenset(found_before)
    found = _look()
    with contextlib.suppress(OSError):
        disk_cache.put(where / _FILE, "\n".join([about, *sorted(found)]).encode())
    return found


def _look() -> frozenset[str]:
    try:
        return frozenset(what for what, holds in self_test.self_test().items() if not holds)
    except adapter.XlaError as error:
        return frozenset({f"the self-test can be compiled ({str(error).splitlines()[0]})"})


def check() -> None:
    """Raise NotLowerable if programs of this jaxlib can't be trusted."""
    wrong = missing() - QUICK
    if wrong:
        raise NotLowerable(f"jaxlib {adapter.version()} does not behave as expected; these checks failed: {', '.join(sorted(wrong))}")


def about_loops() -> str:
    """Describe why loops are slow in this jaxlib; empty if it compiles them to native code."""
    slow = missing() & QUICK
    return f"With jaxlib {adapter.version()}, loops are slower than they could be; these checks failed: {', '.join(sorted(slow))}." if slow else ""

"""Third-party libraries: what one offers under the entry-point group ``hovis.library`` is used as soon as its module is imported.

The name of an entry point is that of a module, its object a :class:`hovis.library.core.Library`:

    [project.entry-points."hovis.library"]
    sparse = "sparse_for_hovis:LIBRARY"

It is loaded when a function is traced after ``sparse`` has been imported.  A library that can't be loaded is skipped, with one warning.
"""

import importlib
import sys
import warnings
from typing import Any, Final

from hovis.base import once, own_code
from hovis.library.core import Library
from hovis.library.standard import STANDARD

own_code.leave_as_calls(__file__)

GROUP: Final = "hovis.library"
#: Top-level modules that have no entry points for hovis.
_OURS: Final = frozenset({*sys.stdlib_module_names, "__main__", "hovis", "hovis_xla", "numpy", "jaxlib", "ml_dtypes"})


class Offered:
    """The entry points that are not loaded yet, by the module that they wait for; looked up once a foreign module is imported."""

    def __init__(self) -> None:
        self.waiting: dict[str, list[Any]] | None = None
        self._seen = 0
        self._lock = once.lock()

    def look(self) -> None:
        """Load the entry points whose modules have been imported since the last call. Do nothing while another thread loads them, which may wait
        for a module that this one imports.
        """
        if len(sys.modules) == self._seen or not self._lock.acquire(blocking=False):
            return
        try:
            self._load_all()
        finally:
            self._lock.release()

    def _load_all(self) -> None:
        if self.waiting is None:
            if all(name.partition(".")[0] in _OURS for name in list(sys.modules)):
                self._seen = len(sys.modules)
                return
            self.waiting = {}
            for point in importlib.import_module("importlib.metadata").entry_points(group=GROUP):
                self.waiting.setdefault(point.name, []).append(point)
        for name in [name for name in self.waiting if name in sys.modules]:
            for point in self.waiting.pop(name):
                _load(point)
        self._seen = len(sys.modules)


def _load(point: Any) -> None:
    try:
        library = point.load()
        if not isinstance(library, Library):
            raise TypeError(f"it is not a hovis.Library, but {type(library).__name__}")
    except Exception as error:  # any error of the third party
        why = f"{type(error).__name__}: {error}"
        warnings.warn(f"the library {point.value} that extends hovis for {point.name} can't be loaded, and is ignored: {why}", RuntimeWarning, stacklevel=2)
        return
    STANDARD.add(library)


OFFERED: Final = Offered()

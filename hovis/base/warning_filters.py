"""Filters of warnings that hold for a while, and leave no trace."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def warnings_are(action: str) -> Iterator[None]:
    """Let all warnings be ignored, or raised, within.

    ``warnings.catch_warnings`` also makes all modules forget which warnings they have shown (``_filters_mutated`` of Lib/warnings.py),
    so that those of the user's would be shown again.

    action   "ignore" or "error"

    >>> with warnings_are("ignore"): warnings.warn("nobody hears of it")
    """
    before = warnings.filters
    warnings.filters = [(action, None, Warning, None, 0)]
    try:
        yield
    finally:
        warnings.filters = before

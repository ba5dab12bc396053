"""Temporary warning filters that leave no trace."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def warnings_are(action: str) -> Iterator[None]:
    """Ignore all warnings, or raise them as errors, in the enclosed block.

    ``warnings.catch_warnings`` also makes all modules forget which warnings they have shown (``_filters_mutated`` of Lib/warnings.py),
    so that warnings of user code would be shown again.

    action   "ignore" or "error"

    >>> with warnings_are("ignore"): warnings.warn("nobody hears of it")
    """
    before = warnings.filters
    warnings.filters = [(action, None, Warning, None, 0)]
    try:
        yield
    finally:
        warnings.filters = before

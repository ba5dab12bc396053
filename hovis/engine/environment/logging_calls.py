"""What becomes of a call of logging: nothing, something that only writes, or code of the user's."""

import io
import logging
import re
import sys
from collections.abc import Iterator
from typing import Any, Final

#: The level is not enabled; what is logged is only written; anything may happen.
SILENT: Final = "silent"
PLAIN: Final = "plain"
OPEN: Final = "open"

#: Classes whose instances run nothing of the user's, as long as nothing is hung on them.
_HANDLERS: Final = (logging.StreamHandler, logging.FileHandler, logging.NullHandler, type(logging.lastResort))
_STREAMS: Final = (io.TextIOWrapper, io.StringIO)
#: Formats that say where the call stands.
_PLACE: Final = re.compile("pathname|filename|module|lineno|funcName|stack_info")


def fate(logger: Any, level: int) -> str:
    """What becomes of plain values that a logger is given at this level, as it is set up now."""
    if type(logger) not in (logging.Logger, logging.RootLogger) or _is_bent(logger):
        return OPEN
    if not _is_enabled(logger, level):
        return SILENT
    if logger.filters or logging.getLogRecordFactory() is not logging.LogRecord:
        return OPEN
    handlers = list(_handlers(logger)) or [logging.lastResort]
    return PLAIN if all(map(_is_plain, handlers)) else OPEN


def _is_enabled(logger: Any, level: int) -> bool:
    """``logger.isEnabledFor(level)``, which would remember the answer."""
    known = logger._cache.get(level)
    answer: bool = level >= logger.getEffectiveLevel() and logger.manager.disable < level if known is None else known
    return answer and not logger.disabled


def _handlers(logger: Any) -> Iterator[Any]:
    while logger is not None:
        yield from logger.handlers
        logger = logger.parent if logger.propagate else None


def _is_plain(handler: Any) -> bool:
    if type(handler) not in _HANDLERS or handler.filters or _is_bent(handler):
        return False
    format = handler.formatter
    if format is not None and (type(format) is not logging.Formatter or _is_bent(format) or _PLACE.search(str(format._fmt))):
        return False
    stream = sys.stderr if type(handler) is type(logging.lastResort) else getattr(handler, "stream", None)
    return stream is None or type(stream) in _STREAMS


def _is_bent(held: Any) -> bool:
    """Has an object methods of its own?"""
    return any(callable(getattr(type(held), name, None)) for name in vars(held))

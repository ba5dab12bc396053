"""The effect of a logging call: none, output only, or possibly user code."""

import io
import logging
import re
import sys
from collections.abc import Iterator
from typing import Any, Final

#: Effects: the level is not enabled; the message is only written; anything may happen.
SILENT: Final = "silent"
PLAIN: Final = "plain"
OPEN: Final = "open"

#: Classes whose instances run no user code, as long as no attributes of an instance override methods.
_HANDLERS: Final = (logging.StreamHandler, logging.FileHandler, logging.NullHandler, type(logging.lastResort))
_STREAMS: Final = (io.TextIOWrapper, io.StringIO)
#: Format fields that show the source location of the call.
_PLACE: Final = re.compile("pathname|filename|module|lineno|funcName|stack_info")


def fate(logger: Any, level: int) -> str:
    """Classify the effect of logging plain values with a logger at this level, as it is set up now: SILENT, PLAIN or OPEN."""
    if type(logger) not in (logging.Logger, logging.RootLogger) or _is_bent(logger):
        return OPEN
    if not _is_enabled(logger, level):
        return SILENT
    if logger.filters or logging.getLogRecordFactory() is not logging.LogRecord:
        return OPEN
    handlers = list(_handlers(logger)) or [logging.lastResort]
    return PLAIN if all(map(_is_plain, handlers)) else OPEN


def _is_enabled(logger: Any, level: int) -> bool:
    """``logger.isEnabledFor(level)``, without caching the answer in the logger."""
    known = logger._cache.get(level)
    answer: bool = level >= logger.getEffectiveLevel() and logger.manager.disable < level if known is None else known
    return answer and not logger.disabled


def _handlers(logger: Any) -> Iterator[Any]:
    while logger is not None:
        yield from iter(logger.handlers)
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
    """Does an attribute of the object itself override a method of its class?"""
    return any(callable(getattr(type(held), name, None)) for name in vars(held))

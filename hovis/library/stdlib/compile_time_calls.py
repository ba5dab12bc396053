"""Functions of the standard library that map plain data to plain data: calls with known arguments are executed while tracing.

A call that prints, raises or warns is left to run time, and so is one whose result is not plain data.  The table contains function
objects: a function that replaces one of them in its module is not in it.
"""

import ast
import base64
import binascii
import bisect
import calendar
import colorsys
import difflib
import fnmatch
import functools
import html
import json
import math
import posixpath
import re
import shlex
import statistics
import string
import struct
import textwrap
import urllib.parse
import zlib
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any, Final

from hovis.base import interrupts
from hovis.base.warning_filters import warnings_are
from hovis.engine.environment.footprints import followed, footprint
from hovis.engine.machine.call_results import opaque
from hovis.engine.machine.constant_folding import look, virtual
from hovis.engine.machine.machine import Machine
from hovis.engine.state.values import STRONG, V, labels_of
from hovis.library.core import Library
from hovis.library.language.signatures.fold_limits import short, weight

AHEAD: Final = Library("ahead")

#: The most characters and items of the arguments (of results: four times as many) of a call that is executed while tracing.
MOST: Final = 4_000
#: The largest int among the arguments, because the size of the result may depend on it.
LARGEST: Final = 10_000

_FUNCTIONS: Final[dict[Any, str]] = {
    ast: "literal_eval",
    base64: "b16decode b16encode b32decode b32encode b64decode b64encode urlsafe_b64decode urlsafe_b64encode a85encode b85encode",
    binascii: "crc32 hexlify unhexlify",
    bisect: "bisect bisect_left bisect_right",
    calendar: "isleap leapdays monthrange weekday",
    colorsys: "hls_to_rgb hsv_to_rgb rgb_to_hls rgb_to_hsv rgb_to_yiq yiq_to_rgb",
    difflib: "get_close_matches",
    fnmatch: "translate",
    html: "escape unescape",
    json: "dumps loads",
    math: "dist fsum prod",
    posixpath: "basename commonpath dirname isabs join normpath split splitext",
    re: "escape",
    shlex: "join quote split",
    statistics: "fmean mean median mode pvariance quantiles stdev variance",
    string: "capwords",
    struct: "calcsize pack unpack",
    textwrap: "dedent fill indent shorten wrap",
    urllib.parse: "parse_qs parse_qsl quote quote_plus unquote unquote_plus urlencode urljoin",
    zlib: "adler32 crc32",
}


def _called(fn: Callable[..., Any]) -> Any:
    """Make the action that calls fn while tracing."""

    def rule(m: Machine, args: list[V], named: dict[str, V]) -> V | None:
        given = look(m, [*args, *named.values()])
        if given is None or not _plain(given) or weight(*given) > MOST:
            return None
        values, keywords = given[: len(args)], dict(zip(named, given[len(args) :], strict=True))
        try:
            with warnings_are("error"):
                found, codes = followed(fn, values, keywords, _ends(m.library))
        except Exception as error:
            interrupts.let_through(error)
            return None
        if weight(found) > 4 * MOST:
            return None
        if not _is_short(found) or not _stays(m, fn, codes):
            return opaque(m, fn, args, named)
        every = [*args, *named.values()]
        for value in every:
            m.use(value, STRONG)
        return virtual(m, found, labels_of(*every))

    return rule


def _is_short(found: Any) -> bool:
    """Is the result free of ints whose conversion to or from text depends on ``sys.set_int_max_str_digits``?"""
    if type(found) is dict:
        return _is_short([*found, *found.values()])
    return all(map(_is_short, found)) if type(found) in (list, tuple) else short(found)


def _stays(m: Machine, fn: Callable[..., Any], codes: frozenset[CodeType] | None) -> bool:
    """Is the residual guarded against changes of whatever fn reads?"""
    if not isinstance(fn, FunctionType):
        return True
    if codes is None:
        return m.environment.frozen
    return m.environment.relies_on(fn, footprint(fn, codes, _ends(m.library)))


@functools.lru_cache(16)
def _ends(library: Library) -> frozenset[CodeType]:
    """Return the code objects of functions that the library has rules for, at which footprints end."""
    known = {*library.actions, *library.primitives} - AHEAD.actions.keys()
    return frozenset(fn.__code__ for fn in known if isinstance(fn, FunctionType))


def _plain(values: list[Any]) -> bool:
    """Do the values consist only of numbers of moderate size, strings, bytes, None, and lists, tuples and dicts of these?"""
    for value in values:
        kind = type(value)
        if kind in (list, tuple):
            if not _plain(list(value)):
                return False
        elif kind is dict:
            if not _plain([*value, *value.values()]):
                return False
        elif kind is int:
            if abs(value) > LARGEST:
                return False
        elif kind not in (str, bytes, float, bool, type(None)):
            return False
    return True


#: Classes whose constructors are called while tracing in the same way.
_METHODS: Final = (bytes,)

for _fn in _METHODS:
    AHEAD.action(_fn)(_called(_fn))
for _module, _names in _FUNCTIONS.items():
    for _name in _names.split():
        _fn = getattr(_module, _name)
        AHEAD.action(_fn)(_called(_fn))

"""Rules for functions and classes of the standard library that are implemented in C and run no code of the user's for arguments of these classes:
streams in memory, binary data, dates (CPython: Modules/_io, _struct.c, binascii.c, zlibmodule.c, unicodedata.c, _datetimemodule.c).
"""

import binascii
import datetime
import io
import struct
import sys
import threading
import unicodedata
import zlib
from typing import Final

from hovis.lattice import AbstractValue, Const, Type
from hovis.library.core import Library
from hovis.library.language.signatures.signature_language import Answer, row, rows, signatures
from hovis.library.language.signatures.type_queries import RAISES, READS, TUPLE, class_of, tuple_of

C_FUNCTIONS: Final = Library("C functions")
#: Formats of more bytes than this are not tried out.
LARGEST: Final = 4096

# ------------------------------------------------------------------------------------------------- streams in memory

row(C_FUNCTIONS, io.BytesIO, signatures("none? -> BytesIO", "buffer -> BytesIO r"), False)
row(C_FUNCTIONS, io.StringIO, signatures("initial_value=str|none? newline=str|none? -> StringIO !"), False)
rows(
    C_FUNCTIONS,
    io.BytesIO,
    """
    close      -> none !i
    flush      -> none !i
    getvalue   -> bytes !i
    read       index|none? -> bytes !i
    read1      index|none? -> bytes !i
    readable   -> bool !i
    readline   index|none? -> bytes !i
    readlines  index|none? -> list !i
    seek       index index? -> int !i
    seekable   -> bool !i
    tell       -> int !i
    truncate   index|none? -> int !i
    writable   -> bool !i
    write      bytes -> int !i
    write      buffer -> int !ir
    """,
    receiver="BytesIO",
)
rows(
    C_FUNCTIONS,
    io.StringIO,
    """
    close      -> none !i
    getvalue   -> str !i
    read       index|none? -> str !i
    readable   -> bool !i
    readline   index|none? -> str !i
    seek       index index? -> int !i
    seekable   -> bool !i
    tell       -> int !i
    truncate   index|none? -> int !i
    writable   -> bool !i
    write      str -> int !i
    """,
    receiver="StringIO",
)

# ------------------------------------------------------------------------------------------------- binary data


def _unpacked(form: AbstractValue, buffer: AbstractValue) -> Answer | None:
    """The tuple that ``struct.unpack`` returns: the classes of its items, if the format is known."""
    if class_of(form) not in (str, bytes, struct.Struct) or class_of(buffer) not in (bytes, bytearray, memoryview):
        return None
    effect = RAISES if class_of(buffer) is bytes else RAISES | READS
    if not isinstance(form, Const):
        return Answer(TUPLE, effect)
    try:
        packed = form.value if type(form.value) is struct.Struct else struct.Struct(form.value)  # type: ignore[arg-type]
    except struct.error:
        return Answer(TUPLE, effect)
    if packed.size > LARGEST:
        return Answer(TUPLE, effect)
    return Answer(tuple_of(*(Type(type(item)) for item in packed.unpack(bytes(packed.size)))), effect)


def _unpacked_from(form: AbstractValue, buffer: AbstractValue, offset: AbstractValue = Const(0)) -> Answer | None:  # noqa: B008
    return _unpacked(form, buffer) if class_of(offset) in (int, bool) else None


row(C_FUNCTIONS, struct.unpack, _unpacked, False)
row(C_FUNCTIONS, struct.Struct.unpack, _unpacked, False)
row(C_FUNCTIONS, struct.unpack_from, _unpacked_from, False)
row(C_FUNCTIONS, struct.Struct.unpack_from, _unpacked_from, False)
rows(
    C_FUNCTIONS,
    struct,
    """
    Struct    str|bytes -> Struct !
    calcsize  str|bytes -> int !
    pack      str|bytes atom* -> bytes !
    """,
    dict.fromkeys(("pack", "Struct"), False),
)
row(C_FUNCTIONS, struct.Struct.pack, signatures("Struct atom* -> bytes !"), False)
rows(
    C_FUNCTIONS,
    int,
    """
    from_bytes  bytes=bytes byteorder=str? :signed=bool? -> int !
    from_bytes  bytes=buffer byteorder=str? :signed=bool? -> int !r
    """,
)
rows(C_FUNCTIONS, float, "fromhex str -> float !")
row(C_FUNCTIONS, bytearray, signatures("-> bytearray", "buffer -> bytearray r"), False)
rows(
    C_FUNCTIONS,
    bytearray,
    """
    append      index -> none w!
    clear       -> none w!
    copy        -> bytearray r
    decode      encoding=codec? errors=onerror? -> str !r
    endswith    bytes index|none? index|none? -> bool !r
    extend      buffer -> none rw!
    find        bytes|index index|none? index|none? -> int !r
    hex         -> str r
    pop         index? -> int rw!
    reverse     -> none rw
    startswith  bytes index|none? index|none? -> bool !r
    """,
    receiver="bytearray",
)
rows(C_FUNCTIONS, memoryview, "tobytes -> bytes !r \n tolist -> list !r", {"tolist": False}, receiver="memoryview")
rows(
    C_FUNCTIONS,
    binascii,
    """
    hexlify     bytes -> bytes !
    unhexlify   bytes|str -> bytes !
    a2b_base64  bytes|str -> bytes !
    b2a_base64  bytes :newline=bool? -> bytes !
    crc32       bytes int? -> int !
    """,
)
rows(C_FUNCTIONS, zlib, "crc32 bytes int? -> int ! \n adler32 bytes int? -> int !")

# ------------------------------------------------------------------------------------------------- text, dates, the interpreter

rows(
    C_FUNCTIONS,
    unicodedata,
    """
    combining         str -> int !
    decomposition     str -> str !
    east_asian_width  str -> str !
    normalize         str str -> str !
    """,
)
rows(
    C_FUNCTIONS,
    datetime.date,
    """
    isoformat   -> str
    isoweekday  -> int
    toordinal   -> int
    weekday     -> int
    """,
    receiver="date",
)
row(C_FUNCTIONS, datetime.date, signatures("year=index month=index day=index -> date !"), False)
row(C_FUNCTIONS, datetime.timedelta.total_seconds, signatures("timedelta -> float"), False)
row(C_FUNCTIONS, sys.getrecursionlimit, signatures("-> int r"), False)
row(C_FUNCTIONS, threading.get_ident, signatures("-> int r"), False)

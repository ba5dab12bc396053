"""Compiled programs on disk, by a digest of what they were compiled from: loading one takes a few milliseconds.

    magic, digest of the rest, length of the header, header (JSON: the circumstances), machine code

The digest is of the program as it is given to XLA, of all options that XLA is given and has read, and of hovis's version.  What the
sources of the lowering do is in the program, so that trees of one version that are being worked on need no digest of theirs.

The folder is ``HOVIS_CACHE_DIR``, else one of the user's own; "off" switches it off.  Whatever is wrong with an entry
(damage, another jaxlib, CPU or flags, another owner) makes it no entry: the program is compiled and the file written anew.
Files appear whole or not at all, so that processes may share the folder; nothing in them is unpickled.  The machine code
in them is run: the folder has to belong to the user, and to be writable for nobody else.

What is compiled quickly for a first call is written when the process ends, if it has not been compiled in full by then.
"""

import atexit
import contextlib
import dataclasses
import hashlib
import io
import json
import os
import platform
import stat
import string
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import hovis
from hovis.base.once import once
from hovis_xla.jaxlib import adapter, compilation
from hovis_xla.jaxlib.compilation import Program, Recipe

MAGIC: Final = b"hovis_xla cache 1\n"
_DIGEST: Final = hashlib.sha256().digest_size
#: Bytes of the length of a file's header.
_LENGTH: Final = 8
#: What compiles faster than this (seconds) is not worth a file.
WORTH: Final = 0.02
#: So many bytes are kept (``HOVIS_CACHE_SIZE``); what was not used for longest goes first.
SIZE: Final = 1 << 29
#: What a size may be written in.
_UNITS: Final = {"": 1, **{f"{letter}{end}": base**power for power, letter in enumerate("kmgt", 1) for end, base in (("", 1024), ("ib", 1024), ("b", 1000))}}
#: After so many seconds a file that is not written to its end is taken to be left by a process that was killed.
LEFT: Final = 3600
#: So many programs wait for the end of the process.
WAITING: Final = 16

_waiting: Final[dict[Path, tuple[Program, bool]]] = {}

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_waiting.clear)  # the parent writes them


@once
def machine() -> dict[str, str]:
    """What machine code depends on."""
    features = platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = {line for line in info.read_text(encoding="utf-8").splitlines() if line.startswith(("flags", "Features"))}
        features += " " + hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()[:16]
    return {"jaxlib": adapter.version(), "cpu": features}


def circumstances(exact: bool) -> dict[str, Any]:
    """All that machine code depends on besides the program."""
    options = {"exact": exact, "native_loop_bytes": compilation.NATIVE_LOOP_BYTES, "level": compilation.LEVEL}
    return {**machine(), "flags": _flags(), "options": options}


def _flags() -> str:
    """``XLA_FLAGS``, and a digest of each file of flags that it names."""
    text = os.environ.get("XLA_FLAGS", "")
    words = text.split()
    files = [word.partition("=")[2] for word in words if word.lstrip("-").startswith("flagfile=")] + ([text.strip()] if words and words[0][0] != "-" else [])
    for name in files:
        try:
            text += f" {hashlib.sha256(Path(name).read_bytes()).hexdigest()}"
        except (OSError, ValueError):
            text += " unreadable"
    return text


def folder() -> Path | None:
    """Where programs are kept; None if they are not to be, or if that can't be."""
    return _folder()[0]


def trouble() -> str:
    """Why no programs can be kept, though they are to be; nothing, if all is well."""
    return _folder()[1]


def _folder() -> tuple[Path | None, str]:
    chosen = os.environ.get("HOVIS_CACHE_DIR")
    if chosen is not None and chosen.lower() in ("", "0", "off", "none"):
        return None, ""
    name = chosen or "the user's folder"
    try:
        where = Path(chosen).expanduser() if chosen else _of_the_user() / "hovis"
        name = str(where)
        where.mkdir(mode=0o700, parents=True, exist_ok=True)
        why = _not_private(where)
    except (OSError, RuntimeError) as error:
        why = str(getattr(error, "strerror", None) or error)
    return (None, f"Compiled programs are not kept: {name} can't be used ({why}). HOVIS_CACHE_DIR names another folder, or is off.") if why else (where, "")


def _of_the_user() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def _not_private(where: Path) -> str:
    """Why it is not this user's alone; nothing, if it belongs to them and nobody else can write to it."""
    found = where.stat()
    if not os.access(where, os.R_OK | os.X_OK):
        return "it can't be read"
    if not hasattr(os, "getuid"):
        return ""
    if found.st_uid != os.getuid():
        return "it is another user's"
    return "others can write to it" if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) else ""


def key_of(module: Any, recipe: Recipe) -> str:
    """The digest of a module and of all else that its machine code depends on."""
    code = io.BytesIO()
    module.operation.write_bytecode(code)
    about = {**circumstances(recipe.exact), **dataclasses.asdict(recipe), "hovis": hovis.__version__}
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode() + b"\n" + compilation.options_of(recipe) + b"\n" + code.getvalue()).hexdigest()


def compiled(module: Any, inputs: Any, outputs: Any, callbacks: Sequence[Any], recipe: Recipe, first: tuple[Any, Recipe] | None = None) -> Program:
    """As ``compilation.compile_module``, through the folder.  ``first``: another form of the program, by which ``is_there`` is to find it."""
    where = folder()
    if where is None:
        return compilation.compile_module(module, inputs, outputs, callbacks, recipe)
    path = where / key_of(module, recipe)
    waits = _waiting.get(path)
    if waits is not None:
        return waits[0]
    code = _read(path, recipe.exact)
    program = None
    if code is not None:
        with contextlib.suppress(adapter.XlaError):
            program = compilation.deserialize(code, inputs, outputs, callbacks, recipe)
    if program is None:
        start = time.perf_counter()
        program = compilation.compile_module(module, inputs, outputs, callbacks, recipe)
        if time.perf_counter() - start > WORTH or code is not None:
            _keep(path, program, recipe, later=recipe.quick and not callbacks)
    if first is not None and _exists(path):
        with contextlib.suppress(OSError):
            (where / key_of(*first)).touch(mode=0o600)
        _waiting.pop(where / key_of(first[0], dataclasses.replace(first[1], quick=True)), None)
    return program


def _keep(path: Path, program: Program, recipe: Recipe, later: bool) -> None:
    """Write an entry, now or when the process ends."""
    if not later:
        _write(path, program, recipe.exact)
        return
    _waiting[path] = program, recipe.exact
    _written_at_the_end()
    write_waiting(WAITING)


@once
def _written_at_the_end() -> None:
    atexit.register(write_waiting)


def write_waiting(most: int = 0) -> None:
    """Write what waits for the end of the process, the oldest first, until no more than so many do."""
    with contextlib.suppress(StopIteration, KeyError, RuntimeError):  # another thread is at it
        while len(_waiting) > most:
            path = next(iter(_waiting))
            _write(path, *_waiting.pop(path))


def is_there(module: Any, recipe: Recipe) -> bool:
    """Has this program, or what it is another form of, been compiled in full before?  Whether the entry is sound turns out when it is read."""
    where = folder()
    return where is not None and _exists(where / key_of(module, recipe))


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False


def bound() -> int:
    """How many bytes are kept: ``HOVIS_CACHE_SIZE`` ("512M", "2 GiB", "1e9"); what is no size is warned of once, and not raised."""
    return _size(os.environ.get("HOVIS_CACHE_SIZE", "").strip())


@once
def _size(text: str) -> int:
    if not text:
        return SIZE
    number = text.rstrip(string.ascii_letters)
    unit = text[len(number) :].lower()
    try:
        found = float(number) * _UNITS["" if unit == "b" else unit]
        if found >= 0:
            return int(found)
    except (ValueError, LookupError, OverflowError):
        pass
    with contextlib.suppress(Warning):  # nor where warnings are errors
        message = f"HOVIS_CACHE_SIZE={text} is no size, as 512M, 2GiB and 1e9 are: {SIZE >> 20} MiB of compiled programs are kept"
        warnings.warn(message, RuntimeWarning, stacklevel=2)
    return SIZE


def _read(path: Path, exact: bool) -> bytes | None:
    """The machine code of an entry; None if there is none that fits."""
    try:
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb") as file:
            if hasattr(os, "getuid") and os.fstat(file.fileno()).st_uid != os.getuid():
                return None
            blob = file.read()
    except OSError:
        return None
    with contextlib.suppress(OSError):  # where nothing can be written it is found all the same
        os.utime(path)
    start = len(MAGIC) + _DIGEST
    rest = blob[start:]
    if not blob.startswith(MAGIC) or hashlib.sha256(rest).digest() != blob[len(MAGIC) : start]:
        return None
    length = int.from_bytes(rest[:_LENGTH], "big")
    if rest[_LENGTH : _LENGTH + length] != _header(path.name, exact):
        return None
    return rest[_LENGTH + length :]


def _header(name: str, exact: bool) -> bytes:
    return json.dumps({"key": name, **circumstances(exact)}, sort_keys=True).encode()


def _write(path: Path, program: Program, exact: bool) -> None:
    """Put an entry there, whole or not at all."""
    try:
        header = _header(path.name, exact)
        rest = len(header).to_bytes(_LENGTH, "big") + header + program.serialize()
        put(path, MAGIC + hashlib.sha256(rest).digest() + rest)
        _make_room(path.parent)
    except (OSError, adapter.XlaError):
        pass


def put(path: Path, content: bytes) -> None:
    """Write a file of the folder, whole or not at all; OSError if it can't be."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=_NEW)
    try:
        with open(handle, "wb") as file:
            file.write(content)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


#: How the name of a file begins that is being written.
_NEW: Final = ".new-"


def _make_room(where: Path) -> None:
    """Remove what was not used for longest, until the rest is small enough; and what a process left half done, which counts until then.

    Others do so at the same time: what is gone meanwhile is no concern.
    """
    limit = bound()
    found = []
    with os.scandir(where) as entries:
        for entry in entries:
            with contextlib.suppress(FileNotFoundError):
                about = entry.stat(follow_symlinks=False)
                if entry.name.startswith(_NEW) and time.time() - about.st_mtime > LEFT:
                    os.unlink(entry.path)
                elif entry.name.startswith(_NEW) or len(entry.name) == 2 * _DIGEST:
                    found.append((about.st_mtime, about.st_size, entry.path))
    total = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if total <= limit:
            break
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        total -= size

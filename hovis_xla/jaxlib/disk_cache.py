"""A disk cache of compiled programs, keyed by a digest of what they were compiled from: loading one takes a few milliseconds.

    magic, digest of the key and the machine code, machine code

The key is a digest of the program as it is passed to XLA, of all options that XLA is given or has read, and of hovis's version.  The
sources of the lowering need no digest while they are being worked on, because a change of them has an effect only if it changes the program.

The folder is ``HOVIS_CACHE_DIR``, or else a folder of the user; "off" disables the cache.  An entry that is wrong in any way (damage,
another jaxlib, CPU or flags, another owner) is ignored: the program is compiled, and the file is written again.  Files are written
atomically, so that processes may share the folder; nothing in them is unpickled.  The machine code in them will be run: the folder must
belong to the user, and nobody else may be able to write to it.

A program that is compiled quickly for a first call is written when the process ends, if it has not been compiled in full by then.
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

MAGIC: Final = b"hovis_xla cache 2\n"
_DIGEST: Final = hashlib.sha256().digest_size
#: Programs that compile in less time than this (in seconds) are not written.
WORTH: Final = 0.02
#: Default size limit of the cache in bytes (``HOVIS_CACHE_SIZE``); the least recently used files are removed first.
SIZE: Final = 1 << 29
#: Units of sizes, with their numbers of bytes.
_UNITS: Final = {"": 1, **{f"{letter}{end}": base**power for power, letter in enumerate("kmgt", 1) for end, base in (("", 1024), ("ib", 1024), ("b", 1000))}}
#: After so many seconds an unfinished file is assumed to have been left by a process that was killed.
LEFT: Final = 3600
#: Maximal number of programs that wait to be written at the end of the process.
WAITING: Final = 16

_waiting: Final[dict[Path, Program]] = {}

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_waiting.clear)  # the parent writes them


@once
def machine() -> dict[str, str]:
    """Return what machine code depends on: the version of jaxlib and the features of the CPU."""
    features = platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = {line for line in info.read_text(encoding="utf-8").splitlines() if line.startswith(("flags", "Features"))}
        features += " " + hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()[:16]
    return {"jaxlib": adapter.version(), "cpu": features}


def circumstances(exact: bool) -> dict[str, Any]:
    """Return everything besides the program on which machine code depends."""
    options = {"exact": exact, "native_loop_bytes": compilation.NATIVE_LOOP_BYTES, "level": compilation.LEVEL}
    return {**machine(), "flags": _flags(), "options": options}


def _flags() -> str:
    """Return ``XLA_FLAGS``, and a digest of each file of flags that it names."""
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
    """Return the folder of the cache, or None if the cache is off or the folder cannot be used."""
    return _folder()[0]


def trouble() -> str:
    """Return why no programs can be kept although the cache is on; "" if there is no problem."""
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
    return (None, f"Compiled programs are not stored: {name} can't be used ({why}). Set HOVIS_CACHE_DIR to another folder or off.") if why else (where, "")


def _of_the_user() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def _not_private(where: Path) -> str:
    """Return why the folder is not private to this user; "" if they own it and nobody else can write to it."""
    found = where.stat()
    if not os.access(where, os.R_OK | os.X_OK):
        return "it can't be read"
    if not hasattr(os, "getuid"):
        return ""
    if found.st_uid != os.getuid():
        return "it belongs to another user"
    return "others can write to it" if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) else ""


def key_of(module: Any, recipe: Recipe) -> str:
    """Return the digest of a module and of everything else on which its machine code depends."""
    code = io.BytesIO()
    module.operation.write_bytecode(code)
    about = {**circumstances(recipe.exact), **dataclasses.asdict(recipe), "hovis": hovis.__version__}
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode() + b"\n" + compilation.options_of(recipe) + b"\n" + code.getvalue()).hexdigest()


def compiled(module: Any, inputs: Any, outputs: Any, callbacks: Sequence[Any], recipe: Recipe, first: tuple[Any, Recipe] | None = None) -> Program:
    """Do what ``compilation.compile_module`` does, through the cache. ``first``: another form of the program, by which ``is_there`` is to find
    it.
    """
    where = folder()
    if where is None:
        return compilation.compile_module(module, inputs, outputs, callbacks, recipe)
    path = where / key_of(module, recipe)
    program = _waiting.get(path)
    if program is not None:
        return program
    code = _read(path)
    if code is not None:
        with contextlib.suppress(adapter.XlaError):
            program = compilation.deserialize(code, inputs, outputs, callbacks, recipe)
    if program is None:
        start = time.perf_counter()
        program = compilation.compile_module(module, inputs, outputs, callbacks, recipe)
        if time.perf_counter() - start > WORTH or code is not None:
            if recipe.quick and not callbacks:
                _waiting[path] = program
                write_waiting(WAITING)
            else:
                _write(path, program)
    if first is not None and os.path.exists(path):
        with contextlib.suppress(OSError):
            (where / key_of(*first)).touch(mode=0o600)
        _waiting.pop(where / key_of(first[0], dataclasses.replace(first[1], quick=True)), None)
    return program


def write_waiting(most: int = 0) -> None:
    """Write the entries that wait for the end of the process, the oldest first, until at most ``most`` are left."""
    with contextlib.suppress(StopIteration, KeyError, RuntimeError):  # another thread is doing the same
        while len(_waiting) > most:
            path = next(iter(_waiting))
            _write(path, _waiting.pop(path))


atexit.register(write_waiting)


def is_there(module: Any, recipe: Recipe) -> bool:
    """Has this program, or the one that it is another form of, been compiled in full before? Whether the entry is valid is found only when it is
    read.
    """
    where = folder()
    return where is not None and os.path.exists(where / key_of(module, recipe))


def bound() -> int:
    """Return the size limit of the cache in bytes: ``HOVIS_CACHE_SIZE`` ("512M", "2 GiB", "1e9"). For an invalid value warn once, and raise
    nothing.
    """
    return _size(os.environ.get("HOVIS_CACHE_SIZE", "").strip())


@once
def _size(text: str) -> int:
    if not text:
        return SIZE
    number = text.rstrip(string.ascii_letters)
    unit = text[len(number) :].lower()
    with contextlib.suppress(ValueError, LookupError, OverflowError):
        found = float(number) * _UNITS["" if unit == "b" else unit]
        if found >= 0:
            return int(found)
    with contextlib.suppress(Warning):  # do not raise even where warnings are errors
        message = f"HOVIS_CACHE_SIZE={text} is not a size (examples: 512M, 2GiB, 1e9); up to {SIZE >> 20} MiB of compiled programs are stored"
        warnings.warn(message, RuntimeWarning, stacklevel=2)
    return SIZE


def _read(path: Path) -> bytes | None:
    """Return the machine code of an entry, or None if there is no valid entry."""
    try:
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb") as file:
            if hasattr(os, "getuid") and os.fstat(file.fileno()).st_uid != os.getuid():
                return None
            blob = file.read()
    except OSError:
        return None
    with contextlib.suppress(OSError):  # the entry is valid even if the folder is read-only
        os.utime(path)
    code = blob[len(MAGIC) + _DIGEST :]
    return code if blob == _sealed(path, code) else None


def _sealed(path: Path, code: bytes) -> bytes:
    """Return the content of an entry, which is valid under one name only."""
    return MAGIC + hashlib.sha256(path.name.encode() + code).digest() + code


def _write(path: Path, program: Program) -> None:
    """Write an entry atomically; errors are ignored."""
    with contextlib.suppress(OSError, adapter.XlaError):
        put(path, _sealed(path, program.serialize()))
        _make_room(path.parent)


def put(path: Path, content: bytes) -> None:
    """Write a file of the folder atomically; raise OSError if that fails."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=_NEW)
    try:
        with open(handle, "wb") as file:
            file.write(content)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


#: Prefix of the names of files that are being written.
_NEW: Final = ".new-"


def _make_room(where: Path) -> None:
    """Remove the least recently used files until the rest is within the limit, and unfinished files of processes that were killed. An unfinished
    file counts until then.

    Other processes may do the same at the same time: files that have disappeared in between are ignored.
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

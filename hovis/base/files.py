"""Atomic writing of files, and running of Python files from their current text.

Writing creates a new file beside the old one and renames it over that one: a full device, a signal or a second writer keeps the old content intact.
Running compiles the text itself: CPython's bytecode cache is keyed by whole seconds and sizes, and returns old code if a file was written twice in a second.
"""

import contextlib
import errno
import importlib.machinery
import importlib.util
import linecache
import os
import secrets
import stat
import sys
import types
from collections.abc import Iterable, Iterator

from hovis.errors import WriteError


def write(path: "str | os.PathLike[str]", data: bytes, sources: Iterable[str] = ()) -> None:
    """Write data to a file atomically: whole or not at all.

    A symbolic link stays, and the file that it points to is written.  An existing file keeps its permissions.  Anything that is no regular file (a pipe,
    a terminal, ``/dev/null``) is written to directly.

    sources   files that must not be overwritten
    Raises WriteError if the file is one of the sources, under any name; OSError, with the path, if it can't be written: then it is unchanged.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(f"{folder}/text", b"one")
    ...     write(f"{folder}/text", b"two")
    ...     print(os.listdir(folder), pathlib.Path(folder, "text").read_text())
    ['text'] two
    """
    try:
        about = _stat(path)
        if about is not None and not stat.S_ISREG(about.st_mode):
            with open(path, "wb") as file:
                file.write(data)
            return
        if about is not None and (source := next(_same(about, sources), None)) is not None:
            raise WriteError(f"{os.fspath(path)!r} is {source!r}, a source file of the traced program: give the output another name")
        if not os.path.basename(path):
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
        _exchange(os.path.realpath(path), data, about)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), os.fspath(path)) from None


def _stat(path: "str | os.PathLike[str]") -> os.stat_result | None:
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def _same(about: os.stat_result, sources: Iterable[str]) -> Iterator[str]:
    """Yield the sources that are the file with the status ``about``."""
    for source in sources:
        with contextlib.suppress(OSError, ValueError):
            if os.path.samestat(about, os.stat(source)):
                yield source


def _exchange(path: str, data: bytes, about: os.stat_result | None) -> None:
    """Replace the file at path by a new one that contains data."""
    if about is not None and not os.access(path, os.W_OK):
        os.close(os.open(path, os.O_WRONLY))  # raises the error that writing would have raised
    made = os.path.join(os.path.dirname(path), f".hovis-{secrets.token_hex(8)}")
    handle = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with open(handle, "wb") as file:
            if about is not None:
                _like(file.fileno(), about)
            file.write(data)
        os.replace(made, path)
    except BaseException:
        os.unlink(made)
        raise


def _like(handle: int, about: os.stat_result) -> None:
    """Give a new file the owner and the permissions of an old one, as far as that is allowed."""
    mine = os.fstat(handle)
    if hasattr(os, "fchown") and (mine.st_uid, mine.st_gid) != (about.st_uid, about.st_gid):
        with contextlib.suppress(OSError):
            os.fchown(handle, about.st_uid, about.st_gid)
    if hasattr(os, "fchmod"):
        os.fchmod(handle, stat.S_IMODE(about.st_mode))


# ------------------------------------------------------------------------------------------------- running


class _Text(importlib.machinery.SourceFileLoader):
    """Loads a Python file from its current text, without a cache of its bytecode."""

    def get_code(self, fullname: str) -> types.CodeType:
        data = self.get_data(self.path)
        text = importlib.util.decode_source(data)
        # tracebacks show the text that was run, even if the file changes later
        linecache.cache[self.path] = len(text), None, text.splitlines(keepends=True), self.path
        code: types.CodeType = self.source_to_code(data, self.path)
        return code


def run(path: "str | os.PathLike[str]", name: str, listed: bool = False) -> types.ModuleType:
    """Run a Python file from its current text, and return the module of this name that it makes.

    listed   is the module in ``sys.modules`` while it runs, and afterwards if it has not raised?
    Raises OSError if the file can't be read, SyntaxError if it is not Python, and anything that running it raises.
    """
    file = os.path.abspath(path)
    loader = _Text(name, file)
    spec = importlib.util.spec_from_file_location(name, file, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    try:
        code = loader.get_code(name)
    except (ValueError, RecursionError, MemoryError) as error:
        raise SyntaxError(str(error) or "it is nested too deep") from None
    if listed:
        sys.modules[name] = module
    try:
        exec(code, vars(module))
    except BaseException:
        if listed:
            sys.modules.pop(name, None)
        raise
    return module


__all__ = ["run", "write"]

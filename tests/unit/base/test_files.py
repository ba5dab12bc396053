"""Files are written whole or not at all, never over a source, and loaded as they are now."""
import errno
import importlib
import linecache
import os
import pickle
import random
import stat
import sys
import threading
import traceback

import pytest

import hovis
from hovis import Any, Int, SpecError, WriteError
from hovis.__main__ import main
from hovis.base import files

SOURCE = "def scaled(x, by):\n    return x * by\n\n\ndef failing(x):\n    return 1 // x\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "kept.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    yield tmp_path
    sys.modules.pop("kept", None)


def scaled(x, by):
    return x * by


def left(folder):
    """The files in a folder: nothing half done is among them."""
    return sorted(path.name for path in folder.iterdir())


# ------------------------------------------------------------------------------------------- loading


def test_what_was_saved_last_is_loaded(folder):
    for by in [3, 4, 5, 6, 3, 8, 9]:    # of one length, and in one second
        hovis.trace(scaled, Int, by).save("one.py")
        assert hovis.load("one.py")(7) == 7 * by
    assert left(folder) == ["kept.py", "one.py"]


def test_files_that_are_written_and_loaded_at_random(folder):
    drawn, kept = random.Random(1), {}
    names = ["a.py", "class.py", "my-file.py", "é x.py", "sub/b.py", "no_end", "a.b.py"]
    os.mkdir("sub")
    loaded = []
    for _ in range(60):
        name = drawn.choice(names)
        if drawn.random() < 0.5 or name not in kept:
            kept[name] = drawn.randrange(1000, 9999)
            hovis.trace(scaled, Int, kept[name]).save(name)
        found = hovis.load(os.path.abspath(name) if drawn.random() < 0.3 else name)
        loaded.append((found, kept[name]))
        assert found(2) == 2 * kept[name]
    assert all(found(3) == 3 * by for found, by in loaded)
    assert not list(folder.rglob("__pycache__"))


def test_the_command_line_sees_the_file_as_it_is(folder, capsys):
    for by in "3456":
        (folder / "kept.py").write_text(f"def scaled(x):\n    return x * {by}\n")
        assert main(["specialize", "kept.py:scaled", "Int"]) == 0
        assert f"x * {by}" in capsys.readouterr().out
        sys.modules.pop("kept", None)
    assert left(folder) == ["kept.py"]


def test_tracebacks_show_the_text_that_runs(folder):
    hovis.trace(lambda x: 1 // x, Int).save("one.py", refuse=True)
    found = hovis.load("one.py")
    os.remove("one.py")
    os.mkdir("other")
    os.chdir("other")
    linecache.checkcache()
    with pytest.raises(ZeroDivisionError) as caught:
        found(0)
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (last.filename, last.line) == (str(folder / "one.py"), "return 1 // x")


@pytest.mark.parametrize("text", ["# -*- coding: latin-1 -*-\nRESIDUAL = lambda: 'é'\n", "\ufeffRESIDUAL = lambda: 'é'\n", "RESIDUAL = lambda: 'é'\r\n"])
def test_encodings(folder, text):
    (folder / "one.py").write_bytes(text.encode("latin-1" if "latin" in text else "utf-8"))
    assert hovis.load(folder / "one.py")() == "é"


@pytest.mark.parametrize("text", [b"def", b"x = 1\n", b"\xff\xfe", b"x = '\0'\nRESIDUAL = print\n", b"# coding: nothing\n", b"(" * 100_000, b"RESIDUAL = 3\n"])
def test_what_is_no_residual(folder, text):
    (folder / "one.py").write_bytes(text)
    with pytest.raises(SpecError, match=r"one\.py"):
        hovis.load("one.py")


def test_files_that_are_not_there(folder):
    with pytest.raises(FileNotFoundError):
        hovis.load("nowhere.py")
    with pytest.raises(IsADirectoryError):
        hovis.load(folder)


def test_a_loaded_function_is_that_of_no_module(folder):
    hovis.trace(scaled, Int, 3).save("one.py")
    with pytest.raises(pickle.PicklingError):
        pickle.dumps(hovis.load("one.py"))


# ------------------------------------------------------------------------------------------- writing


def test_the_source_is_refused_by_all_of_its_names(folder, capsys):
    os.link("kept.py", "hard.py")
    os.symlink("kept.py", "soft.py")
    os.mkdir("sub")
    os.symlink(folder, "sub/back")
    for name in ["kept.py", "./kept.py", str(folder / "kept.py"), "hard.py", "soft.py", "sub/../kept.py", "sub/back/kept.py"]:
        assert main(["specialize", "kept.py:scaled", "Int", "3", "-o", name]) == 2
        assert "source" in capsys.readouterr().err
        assert (folder / "kept.py").read_text() == SOURCE
    kept = importlib.import_module("kept")
    for fn in (kept.scaled, lambda x, by: kept.scaled(x, by)):
        with pytest.raises(WriteError, match=r"kept\.py"):
            hovis.trace(fn, Int, 3).save("hard.py")
    with pytest.raises(WriteError):
        hovis.trace(scaled, Int, 3).save(hovis.__file__)
    assert (folder / "kept.py").read_text() == SOURCE


def test_a_module_that_hovis_has_written_is_written_anew(folder):
    hovis.trace(scaled, Int, 3).save("made.py")
    made = importlib.import_module("made")
    try:
        hovis.trace(scaled, Int, 4).save("made.py")
        assert (made.scaled(2), hovis.load("made.py")(2)) == (6, 8)
    finally:
        del sys.modules["made"]


def test_permissions_links_and_what_is_no_file(folder):
    (folder / "old.py").write_text("old")
    os.chmod("old.py", 0o640)
    os.symlink("old.py", "link.py")
    os.symlink("new.py", "dangling.py")
    files.write("link.py", b"new")
    assert os.path.islink("link.py")
    assert (folder / "old.py").read_bytes() == b"new"
    assert stat.S_IMODE(os.stat("old.py").st_mode) == 0o640
    files.write("dangling.py", b"made")
    assert (folder / "new.py").read_bytes() == b"made"
    before = os.umask(0o027)
    try:
        files.write("masked.py", b"")
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat("masked.py").st_mode) == 0o640
    files.write("/dev/null", b"gone")
    os.mkfifo("pipe")
    found = []
    reader = threading.Thread(target=lambda: found.append((folder / "pipe").read_bytes()))
    reader.start()
    files.write("pipe", b"through")
    reader.join(10)
    assert found == [b"through"]


@pytest.mark.parametrize("fault", ["full", "exchange", "interrupt"])
def test_what_can_not_be_written_is_as_it_was(folder, monkeypatch, fault):
    (folder / "old.py").write_text("old")

    def fails(*_):
        raise KeyboardInterrupt if fault == "interrupt" else OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/elsewhere")

    monkeypatch.setattr(os, "replace", fails)
    if fault == "full":
        monkeypatch.setattr(files, "_like", fails)
    with pytest.raises(KeyboardInterrupt if fault == "interrupt" else OSError) as caught:
        files.write("old.py", b"new")
    if fault != "interrupt":
        assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, "old.py")
    assert left(folder) == ["kept.py", "old.py"]
    assert (folder / "old.py").read_text() == "old"


def test_errors_say_which_file(folder):
    os.symlink("round.py", "round.py")
    os.mkdir("sub")
    for name, number in [("sub", errno.EISDIR), ("sub/", errno.EISDIR), ("no/file.py", errno.ENOENT), ("kept.py/x", errno.ENOTDIR), ("round.py", errno.ELOOP),
                         ("x" * 5000, errno.ENAMETOOLONG), ("/dev/full", errno.ENOSPC)]:  # fmt: skip
        with pytest.raises(OSError, match=r".") as caught:
            files.write(name, b"new")
        assert (caught.value.errno, caught.value.filename) == (number, name)
    if os.getuid():
        os.chmod("kept.py", 0o444)
        with pytest.raises(PermissionError):
            files.write("kept.py", b"new")
    assert (folder / "kept.py").read_text() == SOURCE
    assert left(folder) == ["kept.py", "round.py", "sub"]


def test_readers_see_whole_files(folder):
    texts = [b"a" * 100_000, b"b" * 200_000]
    files.write("shared.py", texts[0])
    done, seen = threading.Event(), set()

    def read():
        while not done.is_set():
            seen.add((folder / "shared.py").read_bytes())

    reader = threading.Thread(target=read)
    reader.start()
    for k in range(200):
        files.write("shared.py", texts[k % 2])
    done.set()
    reader.join(10)
    assert seen <= set(texts)


def test_any_may_be_saved(folder):
    hovis.trace(scaled, Any, 2).save("one.py")
    assert hovis.load("one.py")("ab") == "abab"

"""Programs on disk: found again, never trusted, shared by processes, and bounded."""
import errno
import os
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest

import hovis
import hovis_xla
from hovis.base.once import forget
from hovis_xla.jaxlib import adapter, compilation, disk_cache
from hovis_xla.jaxlib.compilation import Recipe

pytestmark = [pytest.mark.xla, pytest.mark.usefixtures("in_full")]

X = np.linspace(0.0, 1.0, 7)


def wave(x, n):
    x = np.sin(x) + x * n
    print("round", n)
    return x


@pytest.fixture
def folder(tmp_path, monkeypatch):
    where = tmp_path / "programs"
    monkeypatch.setenv("HOVIS_CACHE_DIR", str(where))
    monkeypatch.setattr(disk_cache, "WORTH", 0.0)
    return where


@pytest.fixture
def compiles(monkeypatch):
    """How often XLA has compiled."""
    found = []
    real = compilation.compile_module

    def counted(*args):
        found.append(args)
        return real(*args)

    monkeypatch.setattr(compilation, "compile_module", counted)
    return found


def run():
    f = hovis_xla.jit(wave, target="xla")
    got = f(X, 3)
    assert np.allclose(got, wave(X, 3), rtol=1e-14)
    assert "XLA executable" in f.explain(), f.explain()
    return f


def entries(folder):
    return sorted(folder.iterdir())


def test_the_second_time_it_is_loaded(folder, compiles, capsys):
    run()
    (entry,) = entries(folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert entry.stat().st_mode & 0o077 == 0
    capsys.readouterr()
    run()
    assert capsys.readouterr().out == "round 3\n" * 2  # callbacks are those of the new one
    assert len(compiles) == 1


def test_what_was_loaded_can_be_stored_again(folder, compiles):
    """XLA's own serialization of a loaded program has no machine code in it."""
    for _ in range(3):
        blob = hovis_xla.compile(hovis.trace(lambda x: x * 2.0 + 1.0, hovis.Float)).serialize()
        assert hovis_xla.load(blob)(4.0) == 9.0
        disk_cache.write_waiting()
    assert len(compiles) == 1


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "text", "other", "header"])
def test_what_is_wrong_is_made_anew(folder, compiles, damage):
    run()
    (entry,) = entries(folder)
    good = entry.read_bytes()
    bad = {
        "cut": good[: len(good) // 2], "flip": good[:-9] + bytes([good[-9] ^ 1]) + good[-8:], "empty": b"", "text": b"what is this?",
        "other": good.replace(b"hovis_xla cache 2", b"hovis_xla cache 0"), "header": disk_cache.MAGIC + bytes(40),
    }[damage]  # fmt: skip
    entry.write_bytes(bad)
    run()
    assert len(compiles) == 2
    assert entry.read_bytes()[: len(disk_cache.MAGIC)] == disk_cache.MAGIC
    run()
    assert len(compiles) == 2


def test_machine_code_that_xla_refuses(folder, compiles):
    run()
    (entry,) = entries(folder)

    class Nonsense:
        def serialize(self):
            return b"no machine code"

    disk_cache._write(entry, Nonsense())
    assert disk_cache._read(entry) == b"no machine code"
    run()
    assert len(compiles) == 2
    run()
    assert len(compiles) == 2


def test_other_circumstances_are_other_entries(folder, compiles, monkeypatch):
    run()
    monkeypatch.setattr(disk_cache, "circumstances", lambda exact: {"jaxlib": "another"})
    run()
    assert len(compiles) == len(entries(folder)) == 2
    os.replace(*entries(folder))  # under a name that is not its own
    run()
    assert len(compiles) >= 2


def test_a_folder_of_somebody_else_is_not_used(folder, compiles):
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    run()
    run()
    assert len(compiles) == 2
    assert not entries(folder)


@pytest.mark.parametrize("value", ["off", "", "0", "/dev/null/nowhere"])
def test_it_can_be_off(value, compiles, monkeypatch):
    monkeypatch.setenv("HOVIS_CACHE_DIR", value)
    assert disk_cache.folder() is None
    run()
    run()
    assert len(compiles) == 2


def test_what_was_not_used_for_longest_goes(folder, monkeypatch):
    run()
    (first,) = entries(folder)
    os.utime(first, (1, 1))
    monkeypatch.setenv("HOVIS_CACHE_SIZE", str(first.stat().st_size + 100))
    f = hovis_xla.jit(lambda x: x * 2, target="xla")
    f(X)
    assert first not in entries(folder)
    assert len(entries(folder)) == 1


def test_entries_that_another_process_removes_meanwhile(folder, monkeypatch):
    folder.mkdir()
    for name in "ab":
        (folder / (name * 64)).write_bytes(b"x" * 100)
    monkeypatch.setenv("HOVIS_CACHE_SIZE", "0")
    removed, unlink = [], os.unlink

    def late(path):
        unlink(path)
        removed.append(path)
        unlink(path)

    monkeypatch.setattr(disk_cache.os, "unlink", late)
    disk_cache._make_room(folder)
    assert len(removed) == 2 and not list(folder.iterdir())


@pytest.mark.parametrize(("text", "bytes"), [
    ("", 1 << 29), ("1000", 1000), ("1e9", 10**9), ("512M", 512 << 20), ("2GiB", 2 << 30), ("2 GiB", 2 << 30), ("3MB", 3_000_000), ("1.5k", 1536), ("7b", 7),
    (" 64m ", 64 << 20), ("1T", 1 << 40), ("0", 0),
])
def test_sizes(monkeypatch, text, bytes):
    monkeypatch.setenv("HOVIS_CACHE_SIZE", text)
    assert disk_cache.bound() == bytes


@pytest.mark.parametrize("text", ["lots", "-1", "5 parsecs", "nan", "inf", "1e999", "M", "1,5G", "0x10", "--", "1_0 K b"])
def test_what_is_no_size_is_warned_of_once_and_never_raised(monkeypatch, text):
    forget(disk_cache._size)
    monkeypatch.setenv("HOVIS_CACHE_SIZE", text)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        sizes = {disk_cache.bound(), disk_cache.bound()}
    assert sizes == {1 << 29} and ["HOVIS_CACHE_SIZE" in str(w.message) for w in told] == [True]
    forget(disk_cache._size)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        disk_cache.bound()
    forget(disk_cache._size)


def test_a_call_goes_on_where_the_size_is_none(folder, compiles, monkeypatch):
    monkeypatch.setenv("HOVIS_CACHE_SIZE", "a lot")
    run()
    run()
    assert len(compiles) == len(entries(folder)) == 1


def test_a_file_system_that_can_only_be_read(folder, compiles, monkeypatch):
    run()
    before = [(path.name, path.read_bytes()) for path in entries(folder)]

    def refused(*args, **kwargs):
        raise OSError(errno.EROFS, "Read-only file system")

    for owner, name in ((os, "utime"), (os, "replace"), (os, "unlink"), (disk_cache.tempfile, "mkstemp"), (disk_cache.Path, "touch")):
        monkeypatch.setattr(owner, name, refused)
    run()
    assert len(compiles) == 1       # a hit
    hovis_xla.jit(lambda x: x * 3, target="xla")(X)
    assert len(compiles) == 2 and [(path.name, path.read_bytes()) for path in entries(folder)] == before


def test_files_of_writers_that_were_killed_count_and_go(folder, monkeypatch):
    run()
    (first,) = entries(folder)
    size = first.stat().st_size
    left, older, fresh = folder / ".new-left", folder / ".new-older", folder / ".new-fresh"
    for path in (left, older, fresh):
        path.write_bytes(b"x" * size)
    now = time.time()
    os.utime(older, (1, 1))
    os.utime(left, (now - 60, now - 60))
    os.utime(first, (now - 30, now - 30))
    disk_cache._make_room(folder)
    assert entries(folder) == sorted([left, fresh, first])
    monkeypatch.setenv("HOVIS_CACHE_SIZE", str(2 * size))
    disk_cache._make_room(folder)
    assert entries(folder) == sorted([fresh, first])


def test_a_writer_that_fails_leaves_nothing(folder, monkeypatch):
    folder.mkdir()

    def full(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(disk_cache.os, "replace", full)
    with pytest.raises(OSError, match="No space"):
        disk_cache.put(folder / "a", b"content")
    assert not entries(folder)


def key(recipe=Recipe()):
    with adapter.context(), adapter.ir.Location.unknown(adapter.context()):
        return disk_cache.key_of(adapter.ir.Module.parse("func.func @main() { return }"), recipe)


def test_the_key_is_of_all_that_machine_code_depends_on(tmp_path, monkeypatch):
    seen = {key()}

    def is_another(recipe=Recipe()):
        found = key(recipe)
        assert found not in seen and key(recipe) == found
        seen.add(found)

    for name in ("exact", "stays", "small", "native", "tiles", "quick"):
        is_another(Recipe(**{name: True}))
    flags = tmp_path / "flags"
    for form in ("{}", "--xla_cpu_enable_fast_math=false --flagfile={}"):
        monkeypatch.setenv("XLA_FLAGS", form.format(flags))
        is_another()
        for text in ("--xla_cpu_enable_fast_math=true", "--xla_cpu_enable_fast_math=false"):
            flags.write_text(text)
            is_another()
        flags.unlink()
    monkeypatch.delenv("XLA_FLAGS")
    assert key() in seen
    with monkeypatch.context() as changed:
        changed.setattr(hovis, "__version__", "another")
        is_another()
    for name, value in (("LEVEL", 1), ("NATIVE_LOOP_BYTES", 5)):
        with monkeypatch.context() as changed:
            changed.setattr(compilation, name, value)
            is_another()
    with monkeypatch.context() as changed:
        changed.setattr(compilation, "_THREADS", 77)
        is_another(Recipe(small=True))
    with monkeypatch.context() as changed:
        changed.setattr(compilation, "_OWN_SUMS", ("another_option", "value"))
        is_another(Recipe(native=True))


def test_a_folder_that_cannot_be_used_is_said_once(tmp_path, monkeypatch, compiles):
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    monkeypatch.setenv("HOVIS_CACHE_DIR", str(in_the_way / "programs"))
    f = run()
    f(X[:3], 2)
    assert f.explain().count("programs can't be used (Not a directory)") == 1
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    monkeypatch.setenv("HOVIS_CACHE_DIR", str(shared))
    assert f.explain().count("shared can't be used (others can write to it)") == 1
    monkeypatch.setenv("HOVIS_CACHE_DIR", "off")
    assert "can't be used" not in f.explain()


PROCESS = """
import os, random, sys
import numpy as np
import hovis_xla
from hovis_xla.jaxlib import disk_cache
disk_cache.WORTH = 0.0
where, seed = sys.argv[1], int(sys.argv[2])
dice = random.Random(seed)
for round in range(12):
    def f(x, k=round % 4):
        return x * k + np.cos(x)
    g = hovis_xla.jit(f, target="xla")
    x = np.arange(5.0)
    assert np.allclose(g(x), f(x), rtol=1e-14), round
    for name in os.listdir(where):
        if dice.random() < 0.5:
            try:
                with open(os.path.join(where, name), "r+b") as file:
                    file.seek(dice.randrange(200))
                    file.write(dice.randbytes(9))
            except FileNotFoundError:
                pass
print("right")
"""


def test_processes_share_a_folder_whose_entries_are_damaged(folder):
    environment = {**os.environ, "HOVIS_CACHE_DIR": str(folder), "PYTHONPATH": os.pathsep.join(sys.path)}
    both = [subprocess.Popen([sys.executable, "-c", PROCESS, str(folder), str(k)], env=environment, stdout=subprocess.PIPE, text=True) for k in range(2)]
    assert [p.communicate(timeout=300)[0] for p in both] == ["right\n", "right\n"]


def test_what_xla_does_not_compile_is_python(monkeypatch):
    def refuse(*args):
        raise disk_cache.adapter.XlaError("INTERNAL: no")

    monkeypatch.setattr(compilation, "compile_module", refuse)
    f = hovis_xla.jit(lambda x: x + 1, target="xla")
    assert f(1.5) == f(1.5) == 2.5
    assert "residual Python, because XLA does not compile it: INTERNAL: no" in f.explain()

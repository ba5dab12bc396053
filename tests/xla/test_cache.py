"""Programs on disk: found again, never trusted, shared by processes, and bounded."""
import os
import subprocess
import sys

import numpy as np
import pytest

import hovis_xla
from hovis_xla import cache

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
    monkeypatch.setattr(cache, "WORTH", 0.0)
    return where


@pytest.fixture
def compiles(monkeypatch):
    """How often XLA has compiled."""
    found = []
    real = cache.adapter.compile_module

    def counted(*args):
        found.append(args)
        return real(*args)

    monkeypatch.setattr(cache.adapter, "compile_module", counted)
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


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "text", "other", "header"])
def test_what_is_wrong_is_made_anew(folder, compiles, damage):
    run()
    (entry,) = entries(folder)
    good = entry.read_bytes()
    bad = {
        "cut": good[: len(good) // 2], "flip": good[:-9] + bytes([good[-9] ^ 1]) + good[-8:], "empty": b"", "text": b"what is this?",
        "other": good.replace(b"hovis_xla cache 1", b"hovis_xla cache 0"), "header": cache.MAGIC + bytes(40),
    }[damage]  # fmt: skip
    entry.write_bytes(bad)
    run()
    assert len(compiles) == 2
    assert entry.read_bytes()[: len(cache.MAGIC)] == cache.MAGIC
    run()
    assert len(compiles) == 2


def test_machine_code_that_xla_refuses(folder, compiles):
    run()
    (entry,) = entries(folder)

    class Nonsense:
        def serialize(self):
            return b"no machine code"

    cache._write(entry, Nonsense(), False)
    assert cache._read(entry, False) == b"no machine code"
    run()
    assert len(compiles) == 2
    run()
    assert len(compiles) == 2


def test_other_circumstances_are_other_entries(folder, compiles, monkeypatch):
    run()
    monkeypatch.setattr(cache, "circumstances", lambda exact: {"jaxlib": "another"})
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
    assert cache.folder() is None
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

    monkeypatch.setattr(cache.os, "unlink", late)
    cache._make_room(folder)
    assert len(removed) == 2 and not list(folder.iterdir())


PROCESS = """
import os, random, sys
import numpy as np
import hovis_xla
from hovis_xla import cache
cache.WORTH = 0.0
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
        raise cache.adapter.XlaError("INTERNAL: no")

    monkeypatch.setattr(cache.adapter, "compile_module", refuse)
    f = hovis_xla.jit(lambda x: x + 1, target="xla")
    assert f(1.5) == f(1.5) == 2.5
    assert "residual Python, because XLA does not compile it: INTERNAL: no" in f.explain()

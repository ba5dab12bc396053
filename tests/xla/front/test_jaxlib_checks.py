"""What is relied on of jaxlib is looked at once, kept on disk, and told; programs are right without it."""

import numpy as np
import pytest

import hovis_xla
from hovis.base.once import forget
from hovis_xla.jaxlib import adapter, self_test
from hovis_xla.runtime import jaxlib_checks
from tests.xla.harness.checking import agree

GOOD = dict.fromkeys(("runs", *sorted(jaxlib_checks.QUICK)), True)


@pytest.fixture
def looks(monkeypatch):
    """How often it was looked at; what it finds."""
    found, times = dict(GOOD), []

    def looked():
        times.append(1)
        return found

    monkeypatch.setattr(self_test, "self_test", looked)
    forget(jaxlib_checks.missing)
    yield found, times
    forget(jaxlib_checks.missing)


def again():
    forget(jaxlib_checks.missing)
    return jaxlib_checks.missing()


def halves(x, n):
    for _ in range(n):
        x = x * 0.5 + 1.0
    return x


def test_a_jaxlib_without_native_loops_is_right_and_said_to_be_slow(looks):
    looks[0]["a loop becomes one native function"] = False
    jitted = hovis_xla.jit(halves, target="xla")
    agree(halves, jitted, np.arange(4.0), 3)
    assert "loops are slower than they could be; these checks failed: a loop becomes one native function" in jitted.explain()


def test_nothing_is_compiled_by_a_jaxlib_that_is_wrong(looks):
    looks[0]["runs"] = False
    jitted = hovis_xla.jit(halves, target="xla")
    agree(halves, jitted, np.arange(4.0), 3)
    assert "residual Python" in jitted.explain()
    assert "these checks failed: runs" in jitted.explain()


def test_what_was_found_is_kept_for_the_same_jaxlib(looks, tmp_path, monkeypatch):
    found, times = looks
    monkeypatch.setenv("HOVIS_CACHE_DIR", str(tmp_path))
    found["a barrier keeps stores in place"] = False
    for _ in range(3):
        assert again() == {"a barrier keeps stores in place"}
    assert len(times) == 1
    file = tmp_path / "self-test"
    kept = file.read_bytes()
    for content in (b"", b"\xff", b"[]", b"another jaxlib", kept[1:]):
        file.write_bytes(content)
        assert again() == {"a barrier keeps stores in place"}
    assert len(times) == 6
    assert file.read_bytes() == kept


def test_a_self_test_that_cannot_be_compiled_is_no_program(monkeypatch, looks):
    def fails():
        raise adapter.XlaError("UNIMPLEMENTED: while")

    monkeypatch.setattr(self_test, "self_test", fails)
    with pytest.raises(hovis_xla.emit.values.NotLowerable, match="UNIMPLEMENTED: while"):
        jaxlib_checks.check()


@pytest.mark.parametrize("text", ["[" * 100_000, '{"about": ' * 50_000, '{"about": 1, "missing": 3}', "3", "", "\x00"])
def test_a_file_that_is_no_record_is_none(looks, tmp_path, monkeypatch, text):
    _, times = looks
    monkeypatch.setenv("HOVIS_CACHE_DIR", str(tmp_path))
    (tmp_path / "self-test").write_text(text)
    assert again() == again() == frozenset()
    assert len(times) == 1      # the record has been written anew

"""Tests here look at executables, also where Python would be quicker; those of the choice itself say ``target="auto"``.

A first call may be done by a program that is compiled quickly, a second one by another: half of the tests, drawn by their names,
have both, the others compile in full at once.
"""
import zlib

import pytest


@pytest.fixture(autouse=True)
def _run_by_xla(monkeypatch, request):
    monkeypatch.setenv("HOVIS_TARGET", "xla")
    monkeypatch.setenv("HOVIS_CACHE_DIR", "off")
    monkeypatch.setattr("hovis_xla.runtime.executable.QUICKLY", zlib.crc32(request.node.name.encode()) % 2 == 0)


@pytest.fixture
def in_full(monkeypatch):
    """The first call has the program that all others have."""
    monkeypatch.setattr("hovis_xla.runtime.executable.QUICKLY", False)

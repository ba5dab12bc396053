"""Tests here look at executables, also where Python would be quicker; those of the choice itself say ``target="auto"``."""
import pytest


@pytest.fixture(autouse=True)
def _run_by_xla(monkeypatch):
    monkeypatch.setenv("HOVIS_TARGET", "xla")
    monkeypatch.setenv("HOVIS_CACHE_DIR", "off")

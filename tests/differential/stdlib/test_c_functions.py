"""Functions of C code in the standard library: results, errors and the state of streams behind them, known and unknown."""
from __future__ import annotations

import collections
import datetime
import io
import struct
import unicodedata
import zlib

import pytest

import hovis
import hovis.front.jit as jitting
from hovis import Any
from hovis.ir.model import Effect
from tests.differential.harness.compare import difference
from tests.differential.harness.splits import observe


def reads(data):
    stream = io.BytesIO(data)
    head = stream.read(2)
    if len(head) < 2:
        return stream.tell(), stream.getvalue()
    size, flags = struct.unpack(">BB", head)
    rest = [stream.read(1) for _ in range(size % 4)]
    stream.seek(0)
    return size + 1, flags << 3, b"".join(rest), stream.read(), int.from_bytes(head, "little", signed=True)


def writes(data):
    stream, text = io.BytesIO(), io.StringIO()
    for byte in data:
        stream.write(struct.pack("<H", byte))
        text.write(f"{byte};")
    text.seek(1)
    return stream.getvalue(), text.read(), stream.write(memoryview(data)), zlib.crc32(data), stream.truncate(1), stream.getvalue()


def closes(data):
    stream = io.BytesIO(data)
    stream.close()
    return stream.read()


def too_short(data):
    return struct.unpack(">Q", data)[0]


def packs(data):
    return struct.pack("b", len(data) * 100)


def grows(data):
    made = bytearray(data)
    made.append(len(data) % 256)
    made.extend(data)
    made.reverse()
    return made.find(b"a"), made.pop(), made.decode("latin-1"), bytes(made.copy()), made.hex()


def derived(data):
    class Stream(io.BytesIO):
        def read(self, size=-1):
            return b"mine" + super().read(size)

    class Items(list):
        def append(self, item):
            super().append((item, len(self)))

    stream, items = Stream(data), Items()
    items.append(stream.read(1))
    list.append(items, stream.read(1))
    list.extend(items, [1])
    return items, items.copy(), list.pop(items), type(items.copy()).__name__


def dates(data):
    day = datetime.date(2000 + len(data), 1 + len(data) % 12, 28)
    return day.isoformat(), day.weekday(), day.toordinal(), datetime.timedelta(len(data)).total_seconds()


def wrong_date(data):
    return datetime.date(2000, 13, len(data))


def texts(data):
    text = data.decode("latin-1")
    return [unicodedata.category(c) for c in text], unicodedata.normalize("NFKD", text), unicodedata.category(text)


CASES = [reads, writes, closes, too_short, packs, grows, derived, dates, wrong_date, texts]
DATA = [b"", b"a", b"\x03\x07abcdefgh", bytes(range(9)), b"\xff\xfe\xe9", b"a" * 70]


@pytest.mark.parametrize("fn", CASES, ids=lambda fn: fn.__name__)
def test_results_and_errors(fn, monkeypatch):
    monkeypatch.setattr(jitting, "CONTESTED", False)
    monkeypatch.setenv("HOVIS_DEBUG", "1")
    ways = [hovis.specialize(fn, bytes), hovis.specialize(fn, Any), hovis.jit(fn)]
    for data in DATA * 3:
        wanted = observe(fn, (data,))
        known = hovis.specialize(fn, hovis.const(data))
        for way in (*ways, lambda _, known=known: known()):
            found = observe(lambda data, way=way: way(data), (data,))
            assert not difference(wanted[0], found[0])


def test_unpacked_items_have_their_classes():
    def fields(data):
        first, second, third = struct.unpack("<hd2s", data)
        return first + 1, second * 2, third.upper()

    traced = hovis.trace(fields, bytes)
    assert str(traced.out_tree) == "(Int, Float, Bytes)" and not [op for op in traced.ops if op.effect & Effect.OPAQUE]


def test_a_load_from_a_known_defaultdict():
    table = collections.defaultdict(list, a=[1], b=[2, 3])

    def total(key):
        return sum(table["a"]), len(table["b"]), table[key]

    jitted = hovis.jit(total)
    for change in (lambda: None, lambda: table["a"].append(5), lambda: table.pop("b"), lambda: table.update(a=[7]), lambda: table.pop("a")):
        change()
        for key in ("c", "d", "c"):
            before = dict(table)
            wanted, after = total(key), dict(table)
            table.clear()
            table.update(before)
            assert jitted(key) == wanted and dict(table) == after, "the factory is called as often"


@pytest.mark.parametrize("value", [None, [1]], ids=str)
def test_a_deleted_key_of_a_defaultdict_is_missing(monkeypatch, value):
    monkeypatch.setattr(jitting, "CONTESTED", False)
    made = []
    table = collections.defaultdict(lambda: made.append(1) or "made", a=value, b=None)
    flag = [0]

    def load(k):
        known = "a" in table
        return (known, flag[0], table["a"]) if known else (known, flag[0], table.get("a", "none"))

    jitted = hovis.jit(load)
    assert jitted(1) == jitted(2) == (True, 0, value)
    del table["a"]
    assert jitted(3) == (False, 0, "none") and not made and "a" not in table
    assert hovis.jit(lambda: table["a"])() == "made" and made == [1]

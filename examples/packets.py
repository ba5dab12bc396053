"""A parser of binary packets, driven by a description of the format: with the format known, only slices and shifts remain.

    python examples/packets.py
"""
import hovis

#: Name, kind, and the parameter of the kind: the size of a number in bytes, the field that holds a length, the fields of an item.
SENSOR = (
    ("magic", "bytes", 2),
    ("version", "uint", 1),
    ("flags", "bits", (("urgent", 1), ("kind", 3), ("priority", 4))),
    ("device", "uint", 4),
    ("count", "uint", 2),
    ("readings", "repeat", ("count", (("channel", "uint", 1), ("value", "int", 2)))),
    ("size", "uint", 1),
    ("note", "text", "size"),
)


class Truncated(ValueError):
    """The packet is shorter than its format requires."""


def take(data, at, count):
    piece = data[at : at + count]
    if len(piece) != count:
        raise Truncated(f"{count} bytes wanted at {at}, {len(piece)} left")
    return piece


def parse(fields, data, at=0):
    """Parse the record at offset `at` of `data`; return the record and its end."""
    record = {}
    for name, kind, how in fields:
        if kind == "uint":
            record[name] = int.from_bytes(take(data, at, how), "big")
            at += how
        elif kind == "int":
            record[name] = int.from_bytes(take(data, at, how), "big", signed=True)
            at += how
        elif kind == "bytes":
            record[name] = take(data, at, how)
            at += how
        elif kind == "bits":
            number = take(data, at, 1)[0]
            at += 1
            left = 8
            for part, width in how:
                left -= width
                record[part] = number >> left & (1 << width) - 1
        elif kind == "repeat":
            counter, inner = how
            items = []
            for _ in range(record[counter]):
                item, at = parse(inner, data, at)
                items.append(item)
            record[name] = items
        elif kind == "text":
            size = record[how]
            record[name] = take(data, at, size).decode()
            at += size
        else:
            raise ValueError(f"no such kind of field: {kind}")
    return record, at


PACKET = b"hv" + bytes([3, 0b1_010_0111]) + (77).to_bytes(4, "big") + (2).to_bytes(2, "big")
PACKET += bytes([1]) + (-5).to_bytes(2, "big", signed=True) + bytes([9]) + (300).to_bytes(2, "big") + bytes([2]) + b"ok"


def by_hand(data, at=0):
    """The same format, written as an expert would."""
    magic = take(data, at, 2)
    version = int.from_bytes(take(data, at + 2, 1), "big")
    flags = take(data, at + 3, 1)[0]
    device = int.from_bytes(take(data, at + 4, 4), "big")
    count = int.from_bytes(take(data, at + 8, 2), "big")
    at += 10
    readings = []
    for _ in range(count):
        channel = int.from_bytes(take(data, at, 1), "big")
        readings.append({"channel": channel, "value": int.from_bytes(take(data, at + 1, 2), "big", signed=True)})
        at += 3
    size = int.from_bytes(take(data, at, 1), "big")
    note = take(data, at + 1, size).decode()
    record = {
        "magic": magic, "version": version, "urgent": flags >> 7 & 1, "kind": flags >> 4 & 7, "priority": flags & 15,
        "device": device, "count": count, "readings": readings, "size": size, "note": note,
    }  # fmt: skip
    return record, at + 1 + size


def specialized():
    """The residual: a function of the data and the offset."""
    return hovis.specialize(parse, hovis.const(SENSOR), bytes, int)


if __name__ == "__main__":
    residual = specialized()
    print(residual.trace.source())
    assert residual(PACKET, 0) == parse(SENSOR, PACKET) == by_hand(PACKET)
    print(residual(PACKET, 0))
    for size in range(len(PACKET)):
        try:
            residual(PACKET[:size], 0)
        except Truncated as error:
            told = str(error)
    print(told)

"""What an optimised HLO module does with its loops: how many are native code, and what is copied in them."""
import re
from typing import NamedTuple

COMPUTATION = re.compile(r"^(?:ENTRY )?%?([\w.\-]+) .*\{$")
CALLED = re.compile(r"(?:to_apply|calls|body|condition|true_computation|false_computation)=%?([\w.\-]+)|branch_computations=\{([^}]*)\}")
COPIED = re.compile(r"= \(?\w+\[([\d,]*)\]\S* copy\(")
#: An array of more elements is big.
BIG = 256


class Loops(NamedTuple):
    """``native`` of the ``whiles`` are part of one native function; ``copies`` of big arrays are made within loops."""

    whiles: int
    native: int
    copies: int


def loops_of(text: str) -> Loops:
    bodies = computations(text)
    found = {"whiles": 0, "native": 0, "copies": 0}
    seen = set()

    def walk(name: str, native: bool, looping: bool) -> None:
        if (name, native, looping) in seen:
            return
        seen.add((name, native, looping))
        for line in bodies.get(name, ()):
            is_while = " while(" in line
            found["whiles"] += is_while
            found["native"] += is_while and native
            found["copies"] += looping and big_copy(line)
            inside = native or 'xla_cpu_small_call="true"' in line
            for one, several in CALLED.findall(line):
                for called in [one] if one else re.findall(r"[\w.\-]+", several):
                    walk(called, inside, looping or is_while)

    entry = re.search(r"^ENTRY %?([\w.\-]+)", text, re.MULTILINE)
    if entry is not None:
        walk(entry[1], False, False)
    return Loops(**found)


def computations(text: str) -> dict[str, list[str]]:
    """The lines of each computation, by its name."""
    bodies: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        head = COMPUTATION.match(line)
        if head is not None and not line.startswith(" "):
            lines = bodies.setdefault(head[1], [])
        else:
            lines.append(line)
    return bodies


def big_copy(line: str) -> bool:
    copied = COPIED.search(line)
    if copied is None:
        return False
    size = 1
    for dim in filter(None, copied[1].split(",")):
        size *= int(dim)
    return size > BIG

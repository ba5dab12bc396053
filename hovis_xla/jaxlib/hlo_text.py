"""How XLA has compiled loops, read from the text of the optimized HLO.

A loop is native if it, or the code that contains it, is one function of machine code; any other loop is interpreted op by op, at some
50 ns for each operation.  An array that is copied in every iteration shows that a store was not done in place.
"""

import math
import re
from dataclasses import dataclass
from typing import Final

#: Copies of fewer elements are not reported.
LARGE: Final = 256

_HEAD: Final = re.compile(r"(ENTRY )?%?([\w.\-]+) .*\{$")
_CALLED: Final = re.compile(r"(?:body|condition|to_apply|calls|true_computation|false_computation)=%?([\w.\-]+)")
_BRANCHES: Final = re.compile(r"branch_computations=\{([^}]*)\}")
_WHILE: Final = re.compile(r"[\]})] while\(")
_COPY: Final = re.compile(r"= \(?\w+\[([\d,]*)\]\S* copy\(")
_NATIVE: Final = "xla_cpu_small_call"
_FUSED: Final = re.compile(r" fusion\(.* calls=%?([\w.\-]+)")
#: The operations in a kernel that does nothing but copy.
_COPYING: Final = re.compile(r"[\]})] (?:parameter|bitcast|copy)\(")


@dataclass(frozen=True, slots=True)
class Loops:
    """Counts of loops that are machine code (``native``) and that are not (``walked``), and of large arrays that are copied in each iteration of
    a loop (``copies``).
    """

    native: int
    walked: int
    copies: int

    def __str__(self) -> str:
        count = self.native + self.walked
        if not count:
            return ""
        text = "Its loop is" if count == 1 else f"Its {count} loops are"
        text += " native code" if not self.walked else " not native code" if not self.native else f" native code, except {self.walked}"
        return text + (f"; in each iteration {self.copies} arrays are copied." if self.copies else ".")


def loops_of(text: str, large: int = LARGE) -> Loops:
    """Count the loops in the optimized HLO of a module, and the copies in them of arrays of at least ``large`` elements.

    A copy in a kernel that does something else as well does not count: it is how the kernel writes its result, for example in another order.
    """
    bodies, main = _computations(text)
    kernels = {name for lines in bodies.values() for line in lines for name in _FUSED.findall(line)}
    kernels = {name for name in kernels if any(not _COPYING.search(line) for line in bodies.get(name, ()))}
    found = [0, 0, 0]
    todo = [(main, False, False)]
    while todo:
        name, native, inside = todo.pop()
        for line in bodies.get(name, ()):
            loop = _WHILE.search(line) is not None
            if loop:
                found[0 if native else 1] += 1
            copied = _COPY.search(line)
            if copied and inside and name not in kernels and math.prod(int(d) for d in copied[1].split(",") if d) >= large:
                found[2] += 1
            branches = _BRANCHES.search(line)
            called = _CALLED.findall(line) + ([b.strip().lstrip("%") for b in branches[1].split(",")] if branches else [])
            todo += [(one, native or _NATIVE in line, inside or loop) for one in called]
    return Loops(*found)


def _computations(text: str) -> tuple[dict[str, list[str]], str]:
    """Return the lines of each computation by its name, and the name of the entry computation."""
    bodies: dict[str, list[str]] = {}
    current: list[str] = []
    main = ""
    for line in text.splitlines():
        head = None if line.startswith(" ") else _HEAD.match(line)
        if head:
            current = bodies[head[2]] = []
            main = head[2] if head[1] else main
        elif line.startswith(" "):
            current.append(line)
    return bodies, main

"""What a call does to many values at once: one row a callable, ordinary Python that the engine traces through.

Of what is *batched* there is one value a lane, along axis 0 of an array; the rest is the same in all lanes.  A row is
given how many lanes there are and which operands are batched (True, False), and the operands; what it returns is batched.

    elementwise(np.sin, operator.add, …)            ranks are aligned, then it is the callable itself
    @batched(np.matmul) def _(lanes, which, a, b): … anything else

What has no row is done lane by lane.
"""

from collections.abc import Callable
from typing import Any, Final

Rule = Callable[..., Any]

#: callable -> its row
BATCHING: Final[dict[Any, Rule]] = {}


def batched(*fns: object) -> Callable[[Rule], Rule]:
    """The decorated function is the row of these."""

    def add(rule: Rule) -> Rule:
        for fn in fns:
            BATCHING[fn] = rule
        return rule

    return add


def by(make: Callable[[Any], Rule], *fns: object) -> None:
    """Rows of one kind, made of the callables themselves."""
    for fn in fns:
        BATCHING[fn] = make(fn)

"""Batching rules, by callable: each is an ordinary Python function that computes the call in all lanes at once. The engine traces through it.

A *batched* operand has one value per lane, along axis 0 of an array; an operand that is not batched is the same in all
lanes.  A rule gets the number of lanes, for each operand whether it is batched (True, False), and the operands; its result
is batched.

    elementwise(np.sin, operator.add, …)            ranks are aligned, then it is the callable itself
    @batched(np.matmul) def _(lanes, which, a, b): … anything else

A callable without a rule is called lane by lane.
"""

from collections.abc import Callable
from typing import Any, Final

Rule = Callable[..., Any]

#: callable -> its rule
BATCHING: Final[dict[Any, Rule]] = {}


def batched(*fns: object) -> Callable[[Rule], Rule]:
    """Decorator: register the function as the batching rule of fns."""

    def add(rule: Rule) -> Rule:
        for fn in fns:
            BATCHING[fn] = rule
        return rule

    return add


def by(make: Callable[[Any], Rule], *fns: object) -> None:
    """Register the batching rule ``make(fn)`` for each of fns."""
    for fn in fns:
        BATCHING[fn] = make(fn)

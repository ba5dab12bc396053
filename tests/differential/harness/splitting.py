"""Programs with calls, each compared with CPython for several splits into known and unknown arguments."""

import copy

import pytest

import hovis
from tests.differential.harness import compare

#: The specs of the arguments of a call, by the name of the split.
SPLITS = {
    "any": lambda call: [hovis.Any] * len(call),
    "typed": lambda call: [type(a) for a in call],
    "known": lambda call: [hovis.const(copy.deepcopy(a)) for a in call],
    "first": lambda call: [hovis.const(copy.deepcopy(a)) if k == 0 else type(a) for k, a in enumerate(call)],
}


class Programs:
    """The programs of a module, registered by decorator."""

    def __init__(self):
        self.found = []

    def __call__(self, *calls, fallback=False):
        def register(fn):
            self.found.append((fn, calls, fallback))
            return fn

        return register

    def parametrize(self, test):
        cases = [(fn, call, split, fallback) for fn, calls, fallback in self.found for call in calls for split in SPLITS if split != "first" or len(call) > 1]
        names = [f"{fn.__name__}-{split}-{call}"[:60] for fn, call, split, _ in cases]
        return pytest.mark.parametrize(("fn", "call", "split", "fallback"), cases, ids=names)(test)


def check(fn, call, split, fallback=False):
    """Check that the residual for this split does the same as fn; fallback: it may be one call of the original."""
    residual = hovis.specialize(fn, *SPLITS[split](call))
    assert fallback or not residual.trace.fallback, residual.trace.reasons
    passed = 0 if split in ("any", "typed") else len(call) if split == "known" else 1
    want, got = compare.fresh(call), compare.fresh(call)[passed:]
    compare.same(compare.observe(fn, want, watch=want[passed:]), compare.observe(residual, got, watch=got), f"{fn.__name__}{call} {split}")

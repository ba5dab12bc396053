"""Refine the effects of calls of residual functions to those of the ops left in their bodies.

The effect recorded while tracing may be larger than that of the traced body, and passes remove ops from the body later.
"""

from hovis.ir.model import Effect, Function, callees
from hovis.passes.rewriting import Pass


def _effect_refinement(function: Function) -> bool:
    """Refine the effects of calls of residual functions.

    A call of a residual function gets the effects of the ops in that function and its callees, and no others.
    """
    functions = callees(function)
    if len(functions) == 1 and not any(op.callee is function for op in function.ops()):
        return False
    found = dict.fromkeys(functions, Effect.RAISES)
    calls = {one: [op for op in one.ops() if _enters(op.callee)] for one in functions}
    for one in functions:
        for op in one.ops():
            if not _enters(op.callee):
                found[one] |= op.effect & ~Effect.INTERRUPTED
    todo = list(functions)
    while todo:
        one = todo.pop()
        for caller in functions:
            if found[one] & ~found[caller] and any(op.callee is one for op in calls[caller]):
                found[caller] |= found[one]
                todo.append(caller)
    changed = False
    for op in (op for one in functions for op in calls[one]):
        less = _both(op.effect, found[op.callee])  # type: ignore[index]
        changed |= less != op.effect
        op.effect = less
    return changed


def _both(told: Effect, found: Effect) -> Effect:
    """Return the effects that are in both ``told`` and ``found``; an opaque effect includes every other one."""
    if found & Effect.OPAQUE:
        return told
    return found if told & Effect.OPAQUE else told & found


def _enters(callee: object) -> bool:
    """Is callee a residual function whose body is run by a call? (The body of a generator is not.)"""
    return isinstance(callee, Function) and not callee.is_generator


effect_refinement = Pass(_effect_refinement, whole=True)

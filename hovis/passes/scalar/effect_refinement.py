"""What calls of residual functions may do: no more than what is left in these.

While tracing, a function may have seemed to do more than it does in the end, and passes take things away.
"""

from hovis.ir.model import Effect, Function, callees
from hovis.passes.rewriting import Pass


def _effect_refinement(function: Function) -> bool:
    """Refine the effects of calls of residual functions.

    A call of a residual function has the effects of that function, and not more.
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
    """What may happen by either account: what is opaque may do anything."""
    if found & Effect.OPAQUE:
        return told
    return found if told & Effect.OPAQUE else told & found


def _enters(callee: object) -> bool:
    """Is it a residual function, whose body a call runs?  (That of a generator it does not.)"""
    return isinstance(callee, Function) and not callee.is_generator


effect_refinement = Pass(_effect_refinement, whole=True)

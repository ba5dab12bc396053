"""Calls that stay in the residual for their effects, and whose results are predicted: the residual tests the prediction.

If the actual result differs, the residual continues in a world in which nothing of the environment is assumed (as after a failed guard).
"""

import operator

from hovis.engine.machine import branches
from hovis.engine.machine.call_results import finish, opaque
from hovis.engine.machine.machine import Machine
from hovis.engine.state.specialization_tables import GiveUp
from hovis.engine.state.values import STRONG, Known, V
from hovis.ir.model import Effect
from hovis.lattice import Type
from hovis.lattice.constants import is_immutable, same_constant
from hovis.library.core import Stand


def call(m: Machine, callee: Known, stand: Stand, args: list[V], kwargs: dict[str, V]) -> int | None:
    """Call a known object, or the one that it holds, and predict the result. Only as the last action of an instruction, which leaves the result
    on the stack.
    """
    values = [m.resolve(value) for value in args]
    named = {name: m.resolve(value) for name, value in kwargs.items()}
    expected = None
    if m.state.world < 2 and all(isinstance(value, Known) for value in (*values, *named.values())):
        assert stand.expected is not None
        expected = stand.expected(m, callee, values, named)
    if m.guesses:
        if expected is None:
            raise GiveUp("the result of a call can't be predicted")
        return finish(m, expected, "value")
    result = opaque(m, callee, values, named)
    if expected is None:
        return finish(m, result, "value")
    for value in (*values, *named.values()):
        m.use(value, STRONG)
    test = same_constant if is_immutable(expected.value) else operator.is_
    same = m.emit(test, [result, expected], type=Type(bool), effect=Effect.PURE)
    other = m.state.fork()
    other.world = 2
    other.frames[-1].stack.append(result)
    other.frames[-1].pc += 1
    branches.split(m, same, other)
    return finish(m, expected, "value")

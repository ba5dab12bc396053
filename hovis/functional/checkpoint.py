"""``checkpoint``: functions of which reverse mode keeps only the arguments, and recomputes all other values.

In a trace the call of such a function is one op (:class:`hovis.front.custom_rules.Kernel`), until nothing is differentiated any more.
Its rule runs the function once more, from its arguments, as part of the reverse sweep.
"""

from collections.abc import Callable
from typing import Any

from hovis.backend.assembler.assemble import assemble
from hovis.base import pytree
from hovis.base.function_wrapper import take_names
from hovis.engine.calls.subtrace import Mirror
from hovis.engine.machine.call_results import finish
from hovis.engine.machine.machine import Machine
from hovis.engine.state.heap import VObj
from hovis.engine.state.specialization_tables import GiveUp
from hovis.engine.state.values import Known
from hovis.errors import SpecError
from hovis.front.custom_rules import Kernel, whole
from hovis.front.outcome import COMPUTED, filled, is_number, outcome
from hovis.functional.differentiated_arguments import changes
from hovis.functional.nested_transforms import APPLYING, remembered
from hovis.functional.transformed import Transformed
from hovis.ir.analysis.control_flow import uses
from hovis.ir.model import Effect, Function, Return, callees
from hovis.library.standard import STANDARD
from hovis.library.tables.derivatives import TABLE
from hovis.passes import pipeline
from hovis.transforms.aliasing import Groups
from hovis.transforms.record.recorder import follow


def checkpoint(fn: Callable[..., Any]) -> Callable[..., Any]:
    """fn, of which reverse mode keeps only the arguments: the other values that it needs are computed again.

    fn   a callable of trees of numbers and arrays; SpecError for anything else.  A call raises what fn raises.

    This takes less memory, above all in loops, and more time.  Side effects of fn (prints, stores into its arguments) must happen
    only once: a call that has such effects is not checkpointed.
    Source: Griewank and Walther, Evaluating Derivatives (2008), chapter 12.

    >>> from hovis import grad
    >>> import math
    >>> round(grad(checkpoint(lambda x: math.sin(math.sin(x))))(1.0), 6)
    0.360039
    """
    return Checkpointed(fn)


class Checkpointed(Transformed):
    """See :func:`checkpoint`."""

    __slots__ = ()

    @property
    def naming(self) -> str:
        return "{}"

    def __init__(self, fn: Any) -> None:
        if not callable(fn):
            raise SpecError(f"hovis.checkpoint takes a callable, not {type(fn).__name__}")
        super().__init__(fn)
        take_names(self, fn)

    def eager(self) -> Callable[..., Any]:
        """Return fn itself: outside of a trace nothing is differentiated."""
        fn: Callable[..., Any] = self.fn
        return fn

    def derived(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        fn = self.fn
        held: list[Any] = []
        tree = pytree.flatten((args, kwargs), held)

        def flat(*leaves: Any) -> Any:
            rest = list(reversed(leaves))
            ours, named = pytree.rebuilt(tree, [rest.pop() if changes(old) else old for old in held])
            result: list[Any] = []
            shape = pytree.flatten(follow(fn, ours, named), result)
            return tuple(result), shape

        kernel, plan, shape, operands = kernel_of(flat, *[leaf for leaf in held if changes(leaf)])
        if kernel is None:
            return follow(fn, args, kwargs)
        found = whole(kernel, operands)
        single = len([known for known in plan if known is COMPUTED]) == 1
        return pytree.rebuilt(shape, filled(plan, (found,) if single else found))


APPLYING.add(Checkpointed.derived.__code__)


def kernel_of(fn: Any, *leaves: Any) -> tuple[Any, Any, Any, Any]:
    """Return the kernel of `fn` for a call with these `leaves`, the leaves of its result (COMPUTED, or their values), the tree of its result,
    and the arguments of the kernel; None for each if there can be no kernel. Outside of a trace there is none.
    """
    return None, None, None, None


def _kernel_of(m: Machine, args: list[Any], named: dict[str, Any]) -> Any:
    fn, *leaves = args
    try:
        mirror = Mirror(m, fn, leaves, len(leaves))
        found = remembered(m, mirror, ("checkpoint",), m.library, lambda function: _kernel(function, mirror))
    except GiveUp:
        found = None
    if found is None:
        parts: list[Any] = [Known(None)] * 4
    else:
        kernel, places, plan, shape = found
        operands = m.new(VObj("tuple", tuple, tuple(mirror.given[k] for k in places)))
        parts = [Known(kernel), Known(plan), Known(shape), operands]
    return finish(m, m.new(VObj("tuple", tuple, tuple(parts))), "value")


STANDARD.actions[kernel_of] = _kernel_of


def _kernel(function: Function, mirror: Mirror) -> tuple[Kernel, list[int], tuple[Any, ...], Any] | None:
    """Return the kernel of a Function, the positions of the arguments that it uses, the leaves of its result, and their tree; None if the result
    is not known, or if the Function has other effects.
    """
    found = outcome(function)
    if found is None or not found.computed[0] or not _only_computes(found.function):
        return None
    end = found.end.terminator
    assert isinstance(end, Return)
    if len(found.computed[0]) == 1:
        (end.value,) = found.computed[0]
    made = pipeline.run(found.function, ["dce"])
    used = uses(made)
    places = [k for k, param in enumerate(made.params) if used.get(param)]
    if not all(is_number(made.params[k]) for k in places):
        return None
    made.blocks[0].params = tuple(made.params[k] for k in places)
    kernel = Kernel(assemble(made, mirror.namespace, mends=False))
    body = kernel.fn

    def definition(*args: Any) -> Any:
        return follow(body, args, {})  # assembled code calls methods of arrays through their classes, and these do not accept tracer boxes

    row = TABLE.row(kernel)
    row.definition, row.again = definition, True
    return kernel, places, found.plans[0], found.tree


def _only_computes(function: Function) -> bool:
    """Can the Function run twice without a visible difference?"""
    groups = Groups(function)
    if any(groups.is_stored(param) for param in function.params):
        return False
    ops = [op for one in callees(function) for op in one.ops() if not isinstance(op.callee, Function)]
    return not any(op.effect & (Effect.IO | Effect.RANDOM | Effect.CLOCK | Effect.OPAQUE) for op in ops)

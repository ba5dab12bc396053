"""Floating-point simplifications of XLA that change results, and the barriers that prevent them.

XLA's algebraic simplifier replaces ``(x + c) - c`` by ``x``, ``x / y / z`` by ``x / (y * z)``, ``log(exp(x))`` by ``x``, and
``x * x >= 0`` by true: this ignores rounding, overflow and nan, which NumPy's results reflect.  An optimization barrier before
the second operation hides the first one from the simplifier.  It costs nothing for a scalar, and, before 0.12, for arrays as well.
"""

import math
from collections.abc import Callable, Container, Sequence
from typing import Any, Final

from hovis_xla.jaxlib.adapter import ir, version
from hovis_xla.jaxlib.adapter import stablehlo as hlo

#: Operations whose results have the (maybe converted) elements of their first operand.
_ARRANGE: Final = frozenset({"broadcast_in_dim", "reshape", "transpose", "slice", "dynamic_slice", "convert", "reverse"})

#: These, and operations that select some elements of their first operand or pad it.
_CHOOSE: Final = _ARRANGE | {"gather", "pad"}


def source_of(value: Any, operations: Container[str] = _ARRANGE) -> Any:
    """Return the value from which these elements come, behind reshapes, slices, casts and other rearrangements, or behind the given operations."""
    while name_of(value) in operations:
        value = value.owner.operands[0]
    return value


def name_of(value: Any) -> str:
    """Return the name of the StableHLO operation that defines a value; "" for a block argument."""
    return str(value.owner.name).removeprefix("stablehlo.") if isinstance(value, ir.OpResult) else ""


def _made_by(value: Any, *names: str) -> bool:
    return name_of(source_of(value)) in names


def is_constant(value: Any) -> bool:
    source = source_of(value)
    return name_of(source) == "constant" or (name_of(source) == "complex" and all(map(is_constant, source.owner.operands)))


def numbers(values: Sequence[Any]) -> list[float] | None:
    """Return the number of each value, or None unless each is a constant number or an array filled with one."""
    found = [_number(value) for value in values]
    return None if None in found else found  # type: ignore[return-value]


def _number(value: Any) -> float | None:
    value = source_of(value, _ARRANGE - {"convert"})
    known = value.owner.attributes["value"] if name_of(value) == "constant" else None
    return known.get_splat_value().value if known is not None and known.is_splat else None


def is_zero(value: Any, negative: bool = False) -> bool:
    """Is the value a constant filled with 0.0 (with ``negative``: with -0.0)?"""
    source = source_of(value)
    if name_of(source) == "complex":
        return all(is_zero(part, negative) for part in source.owner.operands)
    number = _number(source)
    return number is not None and number == 0 and (math.copysign(1, number) < 0) is negative


def may_turn_zero(value: Any) -> bool:
    """May XLA's simplifier find that the value is a constant 0.0, as in ``float(n ^ n)``?"""
    value = source_of(value, _ARRANGE - {"convert"})
    source = source_of(value)
    if name_of(value) == "convert" and goes_round(source):
        # an int that XLA may find to be the 0 that it was before the loop
        return _is_int(source)
    return isinstance(source, ir.OpResult) and name_of(source) not in ("constant", "iota", "gather", "bitcast_convert") and _is_int(source)


def _is_int(value: Any) -> bool:
    return isinstance(ir.RankedTensorType(value.type).element_type, ir.IntegerType)


def may_turn_signed_zero(value: Any, within: int = 4) -> bool:
    """May XLA's simplifier find that the value is a constant 0.0 or -0.0? ``within`` limits the number of nested products that are searched."""
    value = source_of(value, _CHOOSE - {"convert"})
    if name_of(value) == "select":
        return any(map(is_zero, value.owner.operands))
    if name_of(value) in ("real", "imag"):
        return _part_may_turn_zero(value.owner.operands[0], name_of(value) == "imag")
    if name_of(value) != "multiply" or not within or _is_int(value):
        return False
    factors = value.owner.operands
    zeros = [is_zero(x) or may_turn_zero(x) or may_turn_signed_zero(x, within - 1) for x in factors]
    return any(zeros) and all(zero or _is_folded(x) for zero, x in zip(zeros, factors, strict=True))


def _is_folded(value: Any) -> bool:
    """Is the value made only of constants, by operations that combine or split them?"""
    source = source_of(value)
    joined = name_of(source) in ("concatenate", "complex", "real", "imag")
    return is_constant(source) or (joined and all(map(_is_folded, source.owner.operands)))


def _part_may_turn_zero(number: Any, imag: bool) -> bool:
    """Can XLA find, through operations that move elements, that a part (the imaginary one if ``imag``) of a complex number was built from a
    constant zero?
    """
    number = source_of(number, _CHOOSE)
    if name_of(number) in ("concatenate", "select"):
        return any(_part_may_turn_zero(x, imag) for x in list(number.owner.operands)[name_of(number) == "select" :])
    return name_of(number) == "complex" and is_zero(number.owner.operands[imag])


def is_spread(value: Any, axes: Sequence[int], most: int = 32) -> bool:
    """May XLA find that an array is constant along these axes, because no value that varies along them is among the values that it is computed
    from?

    XLA computes a sum of such an array as a product, which is -0.0 where the sum of -0.0 is 0.0.  The answer is yes if more than ``most``
    operations would have to be searched.
    """
    todo = [(value, set(axes))]
    while todo and (most := most - 1):
        value, along = todo.pop()
        shape, name = value.type.shape, name_of(value)
        varying = {k for k in along if shape[k] != 1}
        if not varying:
            continue
        if name in ("", "iota", "while", "custom_call") or (name == "constant" and not value.owner.attributes["value"].is_splat):
            return False
        for source in value.owner.operands:
            if name == "broadcast_in_dim":
                along = {k for k, at in enumerate(value.owner.attributes["broadcast_dimensions"]) if at in varying}
            elif name == "transpose":
                along = {value.owner.attributes["permutation"][k] for k in varying}
            else:
                along = varying if source.type.shape == shape else set(range(len(source.type.shape)))
            todo.append((source, along))
    return True


def goes_round(value: Any) -> bool:
    """Does a loop carry the value from iteration to iteration?"""
    return isinstance(value, ir.BlockArgument) and not str(value.owner.owner.name).startswith("func.")


def hidden(value: Any) -> Any:
    """Return the value behind an optimization barrier, which hides its definition from XLA's simplifier."""
    return hlo.OptimizationBarrierOp([value]).results[0]


def _hidden_number(value: Any) -> Any:
    """Hide a value; for a constant that fills an array, hide the number and fill the array again, so that no array is kept in memory."""
    if name_of(value) not in ("broadcast_in_dim", "reshape") or not is_constant(value):
        return hidden(value)
    number = _hidden_number(value.owner.operands[0])
    copy = value.owner.clone().operation
    copy.operands[0] = number
    return copy.results[0]


def _has_constant(value: Any, *names: str) -> bool:
    """Is the value the result of one of these operations with a constant operand?"""
    source = source_of(value)
    return name_of(source) in names and any(map(is_constant, source.owner.operands))


def _chain(*names: str) -> Callable[[Any, Any], tuple[bool, bool]]:
    """Return the rule for two nested operations that each have a constant operand: hide the constant of the outer one."""
    return lambda a, b: (is_constant(a) and _has_constant(b, *names), is_constant(b) and _has_constant(a, *names))


def _multiply(a: Any, b: Any) -> tuple[bool, bool]:
    hide_a, hide_b = _chain("multiply", "divide")(a, b)
    return hide_a, hide_b or (_made_by(a, "exponential") and _made_by(b, "exponential"))


def _divide(a: Any, b: Any) -> tuple[bool, bool]:
    hide_b = _made_by(b, "divide") or (is_constant(b) and _has_constant(a, "multiply")) or (_made_by(a, "exponential") and _made_by(b, "exponential"))
    return _made_by(a, "divide"), hide_b


def _is_square(value: Any) -> bool:
    source = source_of(value)
    return name_of(source) == "multiply" and source.owner.operands[0] == source.owner.operands[1]


def _compare(a: Any, b: Any) -> tuple[bool, bool]:
    """Hide the constant that is compared with a value which is never negative, but may be nan."""
    return is_constant(a) and not is_constant(b) and _is_size(b), is_constant(b) and not is_constant(a) and _is_size(a)


def _is_size(value: Any) -> bool:
    return _made_by(value, "abs", "sqrt", "exponential", "power", "maximum") or _is_square(value)


#: jaxlib before 0.11 removes barriers early enough that they cost nothing; later versions materialize a value behind a barrier as an array.
BARRIERS_ARE_FREE: Final = tuple(map(int, version().split(".")[:2])) < (0, 11)


def is_rounded(value: Any, numbers: bool = False) -> bool:
    """Would XLA divide by this array by multiplying with a rounded reciprocal: is it a constant that is not a power of two, or a broadcast
    value? With ``numbers``, a broadcast value counts only if it is a scalar.
    """
    value = source_of(value, ("reshape", "convert"))
    source = value.owner.operands[0] if name_of(value) == "broadcast_in_dim" else value
    if name_of(source) != "constant":
        return source is not value and (not numbers or not ir.RankedTensorType(source.type).shape)
    known = ir.DenseElementsAttr(source.owner.attributes["value"])
    return not known.is_splat or abs(math.frexp(float(known.get_splat_value().value))[0]) != 0.5


#: operation → function that says which of its operands have to be hidden
_RULES: Final[dict[str, Callable[..., tuple[bool, ...]]]] = {
    "divide": _divide, "compare": _compare,
    "log": lambda a: (_made_by(a, "exponential", "power"),),
    "sqrt": lambda a: (_is_square(a),),
    "power": lambda a, _: (_made_by(a, "exponential", "power", "sqrt") or _is_square(a), False),
}  # fmt: skip
if BARRIERS_ARE_FREE:  # later versions do not combine such constants
    _RULES.update({"add": _chain("add", "subtract"), "subtract": _chain("add", "subtract"), "multiply": _multiply})


def literal(name: str, operands: Sequence[Any]) -> list[Any]:
    """Return the operands of an operation on floats, hidden where XLA would otherwise simplify the operation."""
    rule = _RULES.get(name)
    if rule is None:
        return list(operands)
    hide = _hidden_number if name == "compare" else hidden
    return [hide(x) if wanted else x for x, wanted in zip(operands, rule(*operands), strict=True)]

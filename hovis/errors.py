"""The exceptions that hovis raises itself. Any other exception comes from the traced program, or is a bug."""


def said(value: object) -> str:
    """Format a value for a message: shortened if it is long, named by its class if it can't be shown.

    >>> said(3), len(said("x" * 10_000)) < 200
    ('3', True)
    """
    try:
        text = repr(value)
    except Exception:
        # ints with too many digits, values that are nested too deep, and anything that a user-defined __repr__ raises
        text = f"a {type(value).__name__}"
    return text if len(text) <= 160 else f"{text[:120]}…{text[-30:]}"


class HovisError(Exception):
    """The base of the exceptions that hovis raises itself.

    >>> issubclass(SpecError, HovisError) and issubclass(SpecError, TypeError)
    True
    """


class TraceError(HovisError):
    """A function can't be traced completely, and ``strict=True`` asked for an error instead of the fallback: the message says what is left,
    where, and why.

    >>> from hovis import Str, options
    >>> try: options(strict=True).trace(lambda name: open(name), Str)
    ... except TraceError as error: print("open" in str(error))
    True
    """


class SpecError(HovisError, TypeError):
    """The specs do not fit the function's parameters, or an argument does not fit its spec.

    >>> from hovis import Int, trace
    >>> trace(lambda x: x, Int, Int)
    Traceback (most recent call last):
    hovis.errors.SpecError: <lambda> takes 1 parameter (x), so there is no parameter for the spec Int
    """


class VerifierError(HovisError):
    """A Function is not valid IR; the message is its text, with the error under the offending line.

    >>> from hovis import parse
    >>> try: parse("1: (%1 :: Int)\\n  %2 = add(%1, %3) :: Int\\n  return %2")
    ... except (VerifierError, ParseError) as error: print(type(error).__name__)
    ParseError
    """


class ParseError(HovisError, ValueError):
    """A text can't be parsed as a Function; the message quotes the line.

    >>> from hovis import parse
    >>> parse("nonsense")
    Traceback (most recent call last):
    hovis.errors.ParseError: this is not a line of a Function: 'nonsense'
    """


class WriteError(HovisError):
    """A residual can't be written as a module: the message says what in it can't, where, why, and what to do.

    >>> from hovis import Any, trace
    >>> try: trace(len, Any).module()
    ... except WriteError as error: print("left as one call" in str(error))
    True
    """


class TransformError(TraceError):
    """A function can't be transformed: the message says which part of it prevents that, where, and what to do.

    >>> import numpy as np
    >>> from hovis import vmap
    >>> try: vmap(lambda x: print(x))(np.ones(2))
    ... except TransformError as error: print(str(error).partition(",")[0])
    print has side effects
    """


class InverseError(TransformError, ValueError):
    """hovis finds no inverse of a function: the message says at which operation, and why.

    >>> from hovis import inverse
    >>> try: inverse(lambda x: abs(x))(2.0)
    ... except InverseError as error: print("abs has no inverse" in str(error))
    True
    """


class DerivativeError(TransformError):
    """hovis knows no derivative of a function: the message says which part of it has none, where, and what to do.

    >>> from hovis import custom_vjp, grad
    >>> try: grad(custom_vjp(lambda x: x))(2.0)
    ... except DerivativeError as error: print("no derivative" in str(error))
    True
    """


class RunningAway(HovisError):
    """Raised by ``vmap`` where lanes diverge, or few remain in a loop: running them one after the other is quicker. Internal: no caller sees it."""


class Declined(HovisError):
    """Raised by a row of the library for operands that it does not support; the message says which ones it supports.

    It does not reach the user: for a derivative it becomes a :class:`DerivativeError` that names the call, and ``vmap`` runs the call lane by lane.
    """

"""The exceptions that hovis raises itself.  Anything else out of it is the traced program's own, or a bug."""


def said(value: object) -> str:
    """A value as a message shows it: cut where it is long, by its class where it can't be shown.

    >>> said(3), len(said("x" * 10_000)) < 200
    ('3', True)
    """
    try:
        text = repr(value)
    except Exception:
        # numbers of too many digits, what is nested too deep, and whatever classes of the user's do
        text = f"a {type(value).__name__}"
    return text if len(text) <= 160 else f"{text[:120]}…{text[-30:]}"


class HovisError(Exception):
    """The base of the exceptions that hovis raises itself.

    >>> issubclass(SpecError, HovisError) and issubclass(SpecError, TypeError)
    True
    """


class TraceError(HovisError):
    """A function cannot be traced, and ``strict=True`` asked for an error instead of the fallback: what stays, where, and why.

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
    """A Function is broken; the message is its text with the complaint under the offending line.

    >>> from hovis import parse
    >>> try: parse("1: (%1 :: Int)\\n  %2 = add(%1, %3) :: Int\\n  return %2")
    ... except (VerifierError, ParseError) as error: print(type(error).__name__)
    ParseError
    """


class ParseError(HovisError, ValueError):
    """A text is not that of a Function; the message quotes the line.

    >>> from hovis import parse
    >>> parse("nonsense")
    Traceback (most recent call last):
    hovis.errors.ParseError: this is no line of a Function: 'nonsense'
    """


class WriteError(HovisError):
    """A residual can't be written as a module: the message says what in it can't, where, why, and what to do.

    >>> from hovis import Any, trace
    >>> try: trace(len, Any).module()
    ... except WriteError as error: print("left as one call" in str(error))
    True
    """


class TransformError(TraceError):
    """A function can't be transformed: the message says what in it stands against it, where, and what to do.

    >>> import numpy as np
    >>> from hovis import vmap
    >>> try: vmap(lambda x: print(x))(np.ones(2))
    ... except TransformError as error: print(str(error).partition(",")[0])
    print does more than compute
    """


class InverseError(TransformError, ValueError):
    """A function has no inverse that hovis finds: the message says at which operation, and why.

    >>> from hovis import inverse
    >>> try: inverse(lambda x: abs(x))(2.0)
    ... except InverseError as error: print("abs has no inverse" in str(error))
    True
    """


class DerivativeError(TransformError):
    """A function has no derivative that hovis knows: the message says what in it has none, where, and what to do.

    >>> from hovis import custom_vjp, grad
    >>> try: grad(custom_vjp(lambda x: x))(2.0)
    ... except DerivativeError as error: print("no derivative" in str(error))
    True
    """


class RunningAway(HovisError):
    """Lanes do not go together, or few are left in a loop: one after the other is quicker.  Nobody sees it."""


class Declined(HovisError):
    """What a row of the library raises for operands that it is not for: the message says which it is for.

    Nobody sees it: of a derivative it becomes a :class:`DerivativeError` that names the call, of ``vmap`` the call goes lane by lane.
    """

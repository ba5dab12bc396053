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
    """The base of them all."""


class TraceError(HovisError):
    """A function cannot be traced, and ``strict=True`` asked for an error instead of the fallback."""


class SpecError(HovisError, TypeError):
    """The specs do not fit the function's parameters, or an argument does not fit its spec."""


class VerifierError(HovisError):
    """A Function is broken; the message is its text with the complaint under the offending line."""


class ParseError(HovisError, ValueError):
    """A text is not that of a Function; the message quotes the line."""


class WriteError(HovisError):
    """A residual can't be written as a module: the message says what in it can't, where, why, and what to do."""


class TransformError(TraceError):
    """A function can't be transformed: the message says what in it stands against it, where, and what to do."""


class InverseError(TransformError, ValueError):
    """A function has no inverse that hovis finds: the message says at which operation, and why."""


class DerivativeError(TransformError):
    """A function has no derivative that hovis knows: the message says what in it has none, where, and what to do."""


class RunningAway(HovisError):
    """Lanes do not go together, or few are left in a loop: one after the other is quicker.  Nobody sees it."""


class Declined(HovisError):
    """What a row of the library raises for operands that it is not for: the message says which it is for.

    Nobody sees it: of a derivative it becomes a :class:`DerivativeError` that names the call, of ``vmap`` the call goes lane by lane.
    """

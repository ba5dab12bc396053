"""Time budget for the traces of one jitted function, based on the time and the success of its earlier traces."""

from typing import Final

from hovis.base import own_code

own_code.leave_as_calls(__file__)

#: FURTHER: the part of its time limit that a trace for other arguments may take, once time was lost on useless traces; LOSSES: total time that may be
#: lost, in multiples of the limit.
FURTHER: Final = 0.1
LOSSES: Final = 2
#: Limit for all traces of a function together, in multiples of the limit of one trace, as long as no residual has been faster than the function itself.
UNPAID: Final = 1.0


class TraceTime:
    """Seconds of tracing without a usable residual (lost), and seconds spent on residuals of which none has been faster than the function yet
    (unpaid).

    limit: the number of seconds that one trace may take according to the options in force.
    """

    __slots__ = ("_lost", "_unpaid")

    def __init__(self) -> None:
        self._lost = self._unpaid = 0.0

    def left(self, limit: float) -> float:
        """Return the number of seconds that the next trace may take."""
        if self._lost > FURTHER * limit:
            return FURTHER * limit if self._lost < LOSSES * limit else 0.0
        return max(UNPAID * limit - self._unpaid, FURTHER * limit)

    def why(self, limit: float) -> str:
        """Return the reason why the time left is less than `limit`, as words that follow "tracing it", or an empty string if no time was lost."""
        return f"for other arguments took longer than {limit:g} s of work" if self._lost > FURTHER * limit else ""

    def spent(self, seconds: float, in_vain: bool, contested: bool) -> None:
        """Record that a trace has taken `seconds`. in_vain: it gave no usable residual; contested: its residual is compared with the function
        itself.
        """
        if in_vain:
            self._lost += seconds
        elif contested:
            self._unpaid += seconds

    def paid(self) -> None:
        """Record that a residual has been faster than the function: no time is unpaid any more."""
        self._unpaid = 0.0

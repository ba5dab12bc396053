"""How long the traces of one jitted function may take, by what the earlier ones have taken and what came of them."""

from typing import Final

from hovis.base import own_code

own_code.leave_as_calls(__file__)

#: What of its time tracing may take for other arguments, once it has taken all of it in vain; and how often that much may be lost in all.
FURTHER: Final = 0.1
LOSSES: Final = 2
#: All traces of a function together may take so many times what one may, as long as no residual has won against the function itself.
UNPAID: Final = 1.0


class TraceTime:
    """Seconds of work of which nothing came (lost), and those that residuals have taken to make of which none has won yet (unpaid).

    limit: how many seconds one trace may take, as the options in force say.
    """

    __slots__ = ("_lost", "_unpaid")

    def __init__(self) -> None:
        self._lost = self._unpaid = 0.0

    def left(self, limit: float) -> float:
        """How many seconds the next trace may take."""
        if self._lost > FURTHER * limit:
            return FURTHER * limit if self._lost < LOSSES * limit else 0.0
        return max(UNPAID * limit - self._unpaid, FURTHER * limit)

    def why(self, limit: float) -> str:
        """Why these are less than limit, in words that follow "tracing it"; empty, if nothing was lost."""
        return f"for other arguments took longer than {limit:g} s of work" if self._lost > FURTHER * limit else ""

    def spent(self, seconds: float, in_vain: bool, contested: bool) -> None:
        """A trace has taken so long; contested: its residual is held against the function itself."""
        if in_vain:
            self._lost += seconds
        elif contested:
            self._unpaid += seconds

    def paid(self) -> None:
        """A residual has won."""
        self._unpaid = 0.0

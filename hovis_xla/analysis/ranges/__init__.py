"""Integer range analysis of Functions: intervals, their arithmetic, and facts from tests, types and loops."""

from hovis.base import own_code

own_code.leave_as_calls(*__path__)

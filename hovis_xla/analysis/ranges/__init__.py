"""What the integers of a Function can be: intervals, their arithmetic, and what tests, types and loops say of them."""

from hovis.base import own_code

own_code.leave_as_calls(*__path__)

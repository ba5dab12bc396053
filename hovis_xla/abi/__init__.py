"""Between host and program: how arguments are passed, results put together, effects done in order."""

from hovis.base import own_code

own_code.leave_as_calls(*__path__)

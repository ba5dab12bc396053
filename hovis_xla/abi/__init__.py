"""Interface between the host and a compiled program: arguments, results and ordered side effects."""

from hovis.base import own_code

own_code.leave_as_calls(*__path__)

"""Reports for people: why something was not specialized, and traces in notebooks."""

from hovis.base import own_code

own_code.leave_as_calls(*__path__)

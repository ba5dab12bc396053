"""``hovis_xla.jit``, ahead-of-time compilation, what is kept for arguments of one kind."""

from hovis.base import own_code

own_code.leave_as_calls(*__path__)

"""``hovis_xla.jit``, ahead-of-time compilation, and the variants that a jitted function keeps."""

from hovis.base import own_code

own_code.leave_as_calls(*__path__)

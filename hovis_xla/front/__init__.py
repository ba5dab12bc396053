"""``hovis_xla.jit``, ahead-of-time compilation, and the variants that a jitted function keeps."""

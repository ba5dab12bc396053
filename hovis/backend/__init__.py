"""F4: from a Function back to a Python function."""

from hovis.backend.assemble import assemble

__all__ = ["assemble"]

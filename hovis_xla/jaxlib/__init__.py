"""The interface to jaxlib: MLIR, the client, compilation, programs on disk, the text of optimized HLO."""

from hovis.base import own_code

own_code.leave_as_calls(*__path__)

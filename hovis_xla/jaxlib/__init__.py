"""The interface to jaxlib: MLIR, the client, compilation, programs on disk, the text of optimized HLO."""

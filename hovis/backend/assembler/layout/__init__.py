"""The order of blocks, their jumps, the moves on edges, and the exception handlers."""

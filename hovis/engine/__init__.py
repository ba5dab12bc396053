"""F3: the abstract interpreter of bytecode. It executes operations on known values, and emits IR for the others."""

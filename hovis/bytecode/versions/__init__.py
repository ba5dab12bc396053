"""The rows of each version of CPython: how its opcodes are expressed in normalised steps."""

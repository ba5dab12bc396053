"""Control flow beyond branches: iteration, generators, exceptions, pattern matching."""

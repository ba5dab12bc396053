"""Rules for Python's operators, builtin functions and builtin types."""

"""Calls: inlining of Python functions, builtins, operators, enumerations, calls that are traced separately."""

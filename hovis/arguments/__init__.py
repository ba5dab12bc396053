"""Specs, which describe the arguments of a trace, and their binding to parameters."""

"""Builtin containers of the trace: lists, dicts, sets, and what is done with them."""

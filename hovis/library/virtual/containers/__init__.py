"""Actions on builtin containers of the trace: lists, tuples, dicts, sets."""

"""Executables: compiled, kept for sizes, written as bytes, retried where something has grown."""

from hovis.base import own_code

own_code.leave_as_calls(*__path__)

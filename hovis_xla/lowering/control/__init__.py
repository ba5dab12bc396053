"""Lowering of control flow: from jumps to ``while``, ``if`` and ``case``, with the values that loops carry and branches merge."""

from hovis.base import own_code

own_code.leave_as_calls(*__path__)

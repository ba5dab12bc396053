"""Lowering of control flow: from jumps to ``while``, ``if`` and ``case``, with the values that loops carry and branches merge."""

"""Control flow: jumps to ``while``, ``if`` and ``case``, and what goes round loops and comes out of branches."""

from hovis.base import own_code

own_code.leave_as_calls(*__path__)

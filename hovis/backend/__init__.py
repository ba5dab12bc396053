"""From a Function back to a Python function: as bytecode (``assembler``, ``entry``), as text (``source``, ``polish``), as a module (``module``)."""

from hovis.base import own_code

own_code.leave_as_calls(*__path__)

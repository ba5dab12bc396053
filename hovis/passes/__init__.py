"""F3: passes over the IR, each ``Function -> Function``."""

from hovis.base import own_code
from hovis.passes.pipeline import PASSES, clean, default, run
from hovis.passes.rewriting import Pass

__all__ = ["PASSES", "Pass", "clean", "default", "run"]

own_code.leave_as_calls(*__path__)

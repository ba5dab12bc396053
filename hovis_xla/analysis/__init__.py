"""Analyses of Functions: loops and trip counts, integer ranges, stored arrays, side effects."""

from hovis.base import own_code

own_code.leave_as_calls(*__path__)

"""Analyses of Functions: loops and trip counts, ranges of integers, what is stored into, side effects."""

from hovis.base import own_code

own_code.leave_as_calls(*__path__)

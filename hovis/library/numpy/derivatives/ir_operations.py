"""Derivatives of the IR's own operations: those that make containers, and those that pass values through."""

from typing import Any

from hovis.ir import operations as ops
from hovis.library.tables.derivatives import pull, push


def _part(k: int, g: Any, y: Any, *items: Any) -> Any:
    return g[k]


pull(ops.make_tuple, every=_part)
pull(ops.make_list, every=_part)
push(ops.make_tuple, every=None)
pull(ops.check_bound, lambda g, y, value, name, free: g, None, None)
push(ops.check_bound, lambda t, y, value, name, free: t, None, None)

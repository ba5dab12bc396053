"""Promotion of Python's numbers in batches: an array of all lanes has a dtype of its own, whereas a single Python number adopts that of the
other operands.
"""

import operator
from typing import Any, Final

import numpy as np

from hovis.lattice import AbstractValue, Array, Type, Union
from hovis.library.numpy.rules.ufuncs import IN_PLACE, OPERATORS

_PYTHON: Final = (bool, int, float, complex)
_COMPARISONS: Final = frozenset({np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal})
#: Functions that select among numbers: the result has the common dtype of the numbers.
_CHOICES: Final = frozenset({np.where, np.clip, np.ndarray.clip})
#: Functions that make an array from numbers, passed singly or in lists.
OF_ELEMENTS: Final = frozenset({np.array, np.asarray})


def fitting(callee: Any, result: AbstractValue, operands: list[AbstractValue]) -> list[str | None]:
    """Return the dtype to which each operand of a call must be converted; None where an array of these numbers has the right dtype already."""
    kinds = [_kind(kind) for kind in operands]
    if any(kind is None for kind in kinds):
        return [None] * len(kinds)
    if result in (Type(int), Type(float), Type(complex)) and callee in OPERATORS:
        # Python's operators treat bools as ints
        return ["int64" if kind is bool else None for kind in kinds]
    strong = [kind for kind in kinds if isinstance(kind, np.dtype)]
    weak = [isinstance(kind, type) and kind is not bool for kind in kinds]
    if not strong or not any(weak):
        return [None] * len(kinds)
    found = _dtypes(callee, kinds, strong)
    return [str(dtype) if flag and dtype is not None else None for flag, dtype in zip(weak, found, strict=True)]


def _kind(kind: AbstractValue) -> Any:
    """Return the class of a Python number, or the dtype of NumPy arrays and scalars; None for anything else."""
    if isinstance(kind, Array):
        return np.dtype(str(kind.dtype))
    cls: Any = kind.cls if isinstance(kind, Type) else None
    if cls in _PYTHON:
        return cls
    scalar: Any = cls if isinstance(cls, type) and issubclass(cls, np.generic) else None
    return None if scalar is None else np.dtype(scalar)


def _dtypes(callee: Any, kinds: list[Any], strong: list[Any]) -> list[Any]:
    nothing = [None] * len(kinds)
    ufunc = callee if isinstance(callee, np.ufunc) else OPERATORS.get(IN_PLACE.get(callee, callee)) if callee is not operator.matmul else None
    if ufunc is not None and ufunc.nin == len(kinds):
        if ufunc in _COMPARISONS and all(kind is int if isinstance(kind, type) else kind.kind in "iu" for kind in kinds):
            return nothing
        try:
            return list(ufunc.resolve_dtypes((*[np.dtype(bool) if kind is bool else kind for kind in kinds], *[None] * ufunc.nout))[: len(kinds)])
        except TypeError:
            return nothing
    if callee in _CHOICES:
        together = np.result_type(*strong, *[kind(0) for kind in kinds if isinstance(kind, type)])
        return [together] * len(kinds)
    return nothing


def held(kind: AbstractValue, dtype: str, alone: bool) -> str | None:
    """Return the integer dtype into which a number must fit to become an element of an array; None where there is no restriction.

    A Python number must fit into any integer dtype; a NumPy scalar only into a signed one, and only if it is stored singly (alone).
    """
    if isinstance(kind, Union):
        return next((to for one in kind.members if (to := held(one, dtype, alone)) is not None), None)
    found, into = None if isinstance(kind, Array) else _kind(kind), np.dtype(dtype)
    if found is None or into.kind not in "iu" or np.can_cast(np.dtype(found), into) or np.dtype(found).kind not in "iuf":
        return None
    return dtype if isinstance(found, type) or (alone and into.kind == "i") else None

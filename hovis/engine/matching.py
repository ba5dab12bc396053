"""The match statement (CPython: Python/ceval.c, match_class, match_keys)."""

from typing import Any, Final

from hovis.engine.machine import Machine
from hovis.engine.results import finish
from hovis.engine.values import Known, V, labels_of
from hovis.ir import operations as ops
from hovis.ir.model import Effect
from hovis.lattice import Type

_SEQUENCE: Final = 1 << 5
_MAPPING: Final = 1 << 6


def match(m: Machine, kind: str, count: int) -> int | None:
    if kind in ("sequence", "mapping"):
        return _collection(m, kind)
    if kind == "class":
        names, cls, subject = m.pop(), m.pop(), m.pop()
        return finish(m, m.emit(ops.match_class, [subject, cls, Known(count), names]), "value")
    keys, subject = m.frame.stack[-1], m.frame.stack[-2]
    m.push(m.emit(ops.match_keys, [subject, keys]))
    return None


def _collection(m: Machine, kind: str) -> int | None:
    subject: V = m.resolve(m.frame.stack[-1])
    cls = m.class_of(subject)
    if cls is not None:
        flag = _SEQUENCE if kind == "sequence" else _MAPPING
        m.push(Known(bool(cls.__flags__ & flag), labels_of(subject) if not hasattr(subject, "lost") else frozenset()))
        return None
    fn: Any = ops.match_sequence if kind == "sequence" else ops.match_mapping
    m.push(m.emit(fn, [subject], type=Type(bool), effect=Effect.PURE))
    return None

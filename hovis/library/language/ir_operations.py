"""Rules for the operations of the IR: those that build, unpack and match builtin containers, load and store names, and handle exceptions."""

import types
from typing import Any, Final

from hovis.ir import operations
from hovis.ir.model import Effect
from hovis.ir.operations import UNBOUND, wording
from hovis.lattice import ANY, AbstractValue, Const, Type, join
from hovis.lattice.inspection import is_a
from hovis.library.core import Library
from hovis.library.language.builtins import PLAIN_EXCEPTIONS
from hovis.library.language.containers import ITERATORS_OF, any_of
from hovis.library.language.signatures.signature_language import RANGE_ITERATORS, VIEWS, Answer, row, signatures
from hovis.library.language.signatures.type_queries import (
    BOOL,
    INT,
    LIST,
    NONE,
    PURE,
    RAISES,
    READS,
    STR,
    TUPLE,
    WRITES,
    atomic,
    class_of,
    items_of,
    part,
    tuple_of,
)

OPERATIONS: Final = Library("operations")


def _hashed(cls: type) -> Any:
    """Make the rule for building a set or dict: it applies if the keys are hashed and compared without user code."""
    step = 2 if cls is dict else 1
    return lambda *items: Answer(Type(cls)) if len(items) % step == 0 and all(map(atomic, items[::step])) else None


def _instance(cls: AbstractValue, names: AbstractValue, *values: AbstractValue) -> Answer | None:
    return Answer(Type(cls.value)) if isinstance(cls, Const) and is_a(cls.value, type) else None


def _unpack(iterable: AbstractValue, *counts: AbstractValue) -> Answer | None:
    """Unpacking of a builtin iterable, whose ``__iter__`` is not user code."""
    cls = class_of(iterable)
    items = items_of(iterable)
    if items is not None and len(counts) == 1 and counts[0] == Const(len(items)):
        return Answer(tuple_of(*items))
    if cls in (list, dict, set, *VIEWS):
        return Answer(TUPLE, READS | RAISES)
    return Answer(TUPLE, RAISES) if cls in (tuple, str, bytes, range, frozenset) else None


def _checked(value: AbstractValue, *name: AbstractValue) -> Answer:
    return Answer(value, PURE if class_of(value) not in (None, type(UNBOUND)) else RAISES)


_ALWAYS: Final[list[tuple[Any, AbstractValue, Effect]]] = [
    (operations.make_list, LIST, PURE),
    (operations.make_cell, Type(types.CellType), PURE),
    (operations.make_function, Type(types.FunctionType), PURE),
    (operations.bind, Type(types.MethodType), PURE),
    (operations.cell_get, ANY, READS | RAISES),
    (operations.cell_set, NONE, WRITES),
    (operations.lacks, BOOL, READS),
    (operations.is_method_of, BOOL, READS),
    (operations.keeps, BOOL, READS),
    (operations.own_attribute, ANY, READS),
    (operations.drop, NONE, WRITES),
    (operations.load_global, ANY, READS | RAISES),
    (operations.load_build_class, ANY, READS | RAISES),
    (operations.load_name, ANY, READS | RAISES),
    (operations.load_name_or_cell, ANY, READS | RAISES),
    (operations.delete_name, NONE, WRITES | RAISES),
    (operations.store_global, NONE, WRITES),
    (operations.delete_global, NONE, WRITES | RAISES),
]


def _always(result: AbstractValue, effect: Effect) -> Any:
    return lambda *args: Answer(result, effect)


for _fn, _type, _effect in _ALWAYS:
    row(OPERATIONS, _fn, _always(_type, _effect), False)

row(OPERATIONS, operations.make_tuple, lambda *items: Answer(tuple_of(*items)), False)
row(OPERATIONS, operations.make_set, _hashed(set), False)
row(OPERATIONS, operations.make_dict, _hashed(dict), False)
row(OPERATIONS, operations.make_object, _instance, False)
row(OPERATIONS, operations.make_stored, _instance, False)
row(OPERATIONS, operations.make_class, _instance, False)
row(OPERATIONS, operations.make_class_quietly, _instance, False)
row(OPERATIONS, operations.is_plain, lambda value: Answer(BOOL), False)
row(OPERATIONS, operations.unpack, _unpack, False)
row(OPERATIONS, operations.unpack_star, _unpack, False)
row(OPERATIONS, operations.check_bound, _checked, False)


def _made(source: AbstractValue, *position: AbstractValue) -> Answer | None:
    cls = class_of(source)
    return Answer(any_of(ITERATORS_OF[cls][0])) if cls in (list, tuple, str, bytes) else None


_DICT_ITERATORS: Final = {view: any_of(ITERATORS_OF[cls][0]) for view, cls in zip(("keys", "values", "items"), VIEWS, strict=True)}


def _made_of_dict(source: AbstractValue, position: AbstractValue, view: AbstractValue) -> Answer | None:
    known = class_of(source) is dict and isinstance(view, Const) and view.value in _DICT_ITERATORS
    return Answer(_DICT_ITERATORS[view.value], READS | RAISES) if known else None  # type: ignore[attr-defined]


def _steppable(value: AbstractValue) -> Answer:
    cls = class_of(value)
    return Answer(BOOL if cls is None else Const(any("__next__" in base.__dict__ for base in cls.__mro__)))


def _inherits(value: AbstractValue, cls: AbstractValue) -> Answer | None:
    known = class_of(value)
    if not isinstance(cls, Const) or not is_a(cls.value, type):
        return None
    return Answer(BOOL if known is None else Const(cls.value in known.__mro__))


def _type_name(value: AbstractValue) -> Answer:
    cls = class_of(value)
    return Answer(STR if cls is None else Const(operations.name_of_class(cls)))


def _complaint(words: AbstractValue, value: AbstractValue, other: AbstractValue = Const(None)) -> Answer | None:  # noqa: B008
    if class_of(words) is not str:
        return None
    if not isinstance(words, Const) or words.value not in wording.FOUND:
        return Answer(STR, RAISES)
    first, second = class_of(value), class_of(other)
    return Answer(STR if first is None or second is None else Const(wording.about(words.value, first, second)))  # type: ignore[arg-type]


def _converted(result: AbstractValue, name: AbstractValue, of: AbstractValue) -> Answer | None:
    """The check of the result of ``__int__`` or ``__index__``: an exact int is returned unchanged."""
    return Answer(INT) if class_of(result) is int and isinstance(name, Const) and name.value in ("__int__", "__index__") else None


row(OPERATIONS, operations.is_iterator, _steppable, True)
row(OPERATIONS, operations.inherits, _inherits, True)
row(OPERATIONS, operations.type_name, _type_name, True)
row(OPERATIONS, operations.complaint, _complaint, True)
row(OPERATIONS, operations.converted_to_hash, lambda result, of: Answer(INT) if class_of(result) is int else None, False)
row(OPERATIONS, operations.converted, _converted, False)
row(OPERATIONS, operations.make_iterator, _made, False)
row(OPERATIONS, operations.make_range_iterator, lambda *bounds: Answer(any_of(RANGE_ITERATORS)), False)
row(OPERATIONS, operations.range_step, lambda step: Answer(INT, RAISES) if class_of(step) is int else None, False)
row(OPERATIONS, operations.range_goes_on, lambda at, stop, step: Answer(BOOL) if {class_of(b) for b in (at, stop, step)} == {int} else None)
row(OPERATIONS, operations.make_dict_iterator, _made_of_dict, False)


def _matches(flag: int) -> Any:
    """Make the rule that tests a flag of the subject's class."""

    def rule(subject: AbstractValue) -> Answer:
        cls = class_of(subject)
        return Answer(BOOL if cls is None else Const(bool(cls.__flags__ & flag)))

    return rule


row(OPERATIONS, operations.match_sequence, _matches(1 << 5), True)
row(OPERATIONS, operations.match_mapping, _matches(1 << 6), True)
row(OPERATIONS, operations.match_keys, lambda d, k: Answer(join(TUPLE, NONE), READS | RAISES) if class_of(d) is dict and atomic(k) else None, False)
row(OPERATIONS, operations.list_extend, signatures("list container -> none wr"), False)
row(OPERATIONS, operations.dict_update, signatures("dict dict -> none wr"), False)


# ------------------------------------------------------------------------------------------------- exceptions


def _raised(exception: AbstractValue) -> Answer | None:
    """The operand of ``raise``: an instance is raised unchanged, a builtin exception class is called."""
    if isinstance(exception, Const) and is_a(exception.value, type):
        return Answer(Type(exception.value), READS) if exception.value in PLAIN_EXCEPTIONS else None
    cls = class_of(exception)
    return Answer(Type(cls), READS) if cls is not None and issubclass(cls, BaseException) else None


def _with_cause(exception: AbstractValue, cause: AbstractValue) -> Answer | None:
    known = _is_exception(exception) and (class_of(cause) is type(None) or _is_exception(cause))
    return Answer(part(exception), WRITES) if known else None


def _matched(exception: AbstractValue, classes: AbstractValue) -> Answer | None:
    """Exception matching, which looks only at the MRO, without ``__subclasscheck__``. None if classes is not known or contains anything but
    exception classes, which raises.
    """
    if not isinstance(classes, Const):
        return None
    wanted = classes.value if type(classes.value) is tuple else (classes.value,)
    if not all(isinstance(one, type) and issubclass(one, BaseException) for one in wanted):
        return None
    cls = class_of(exception)
    if cls is not None and issubclass(cls, BaseException):
        return Answer(Const(any(one in cls.__mro__ for one in wanted)))
    return Answer(BOOL)


row(OPERATIONS, operations.raised, _raised, False)
row(OPERATIONS, operations.with_cause, _with_cause, False)
row(OPERATIONS, operations.exception_matches, _matched, False)
row(OPERATIONS, operations.traceback_of, lambda e: Answer(ANY, READS) if _is_exception(e) else None, False)
row(OPERATIONS, operations.enter_handler, lambda e: Answer(NONE, Effect.IO), False)
row(OPERATIONS, operations.leave_handler, lambda: Answer(NONE, Effect.IO), False)
row(OPERATIONS, operations.current_exception, lambda: Answer(ANY, READS), False)


def _is_exception(a: AbstractValue) -> bool:
    cls = class_of(a)
    return cls is not None and issubclass(cls, BaseException)

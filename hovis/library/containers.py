"""tuple, list, dict, set and range: their methods, iterators over them, and the operations that build them.

Where contents are unknown nothing is answered for what compares or hashes them: that is user code.
"""

import types
from typing import Any, Final

from hovis.ir import operations
from hovis.ir.model import Effect
from hovis.ir.operations import UNBOUND
from hovis.lattice import ANY, AbstractValue, Const, Type, forget, join
from hovis.library.core import Library
from hovis.library.operators import CONTAINS, DELITEM, GETITEM, SETITEM
from hovis.library.signatures import (
    BOOL,
    INT,
    LIST,
    NONE,
    PURE,
    RAISES,
    RANGE_ITERATORS,
    READS,
    STR,
    STR_ITERATORS,
    TUPLE,
    VIEWS,
    WRITES,
    Answer,
    atomic,
    class_of,
    items_of,
    row,
    rows,
    signatures,
    tuple_of,
)

CONTAINERS: Final = Library("containers")

# ------------------------------------------------------------------------------------------------- methods

rows(CONTAINERS, tuple, "count atom -> int \n index atom index? index? -> int !", receiver="tuple_of_atoms")

rows(
    CONTAINERS,
    range,
    """
    count  int -> int
    index  int -> int !
    """,
    {"count": True, "index": True},
    receiver="range",
)

rows(CONTAINERS, slice, "indices int -> (int,int,int) !", receiver="slice")

rows(
    CONTAINERS,
    list,
    """
    append   any -> none w
    clear    -> none w
    copy     -> list r
    extend   container -> none wr
    insert   index any -> none w
    pop      index? -> any wr!
    reverse  -> none w
    """,
    receiver="list",
)

rows(
    CONTAINERS,
    list,
    """
    count   solid -> int
    index   solid index? index? -> int !
    remove  solid -> none w!
    sort    :key=none? :reverse=bool? -> none w!
    """,
    {"remove": False, "sort": False},
    receiver="list_of_atoms",
)

rows(
    CONTAINERS,
    dict,
    """
    clear       -> none w
    copy        -> dict r
    get         key any? -> any r
    items       -> dict_items
    keys        -> dict_keys
    pop         key -> any wr!
    pop         key any -> any wr
    popitem     -> tuple wr!
    setdefault  key any? -> any wr
    values      -> dict_values
    """,
    receiver="dict",
)

rows(
    CONTAINERS,
    set,
    """
    add      key -> none w
    clear    -> none w
    copy     -> set r
    discard  key -> none w
    pop      -> any wr!
    remove   key -> none w!
    """,
    receiver="set",
)

rows(
    CONTAINERS,
    frozenset,
    """
    copy                  -> frozenset
    difference            atoms* -> frozenset
    intersection          atoms* -> frozenset
    isdisjoint            atoms -> bool
    issubset              atoms -> bool
    issuperset            atoms -> bool
    symmetric_difference  atoms -> frozenset
    union                 atoms* -> frozenset
    """,
    receiver="set_of_atoms",
)


def _of(cls: type, rule: Any) -> Any:
    """rule for a receiver of this class alone."""
    return lambda receiver, *args: rule(receiver, *args) if class_of(receiver) is cls else None


for _cls in (list, dict):
    row(CONTAINERS, _cls.__getitem__, _of(_cls, GETITEM))
    row(CONTAINERS, _cls.__setitem__, _of(_cls, SETITEM), False)
    row(CONTAINERS, _cls.__delitem__, _of(_cls, DELITEM), False)
row(CONTAINERS, dict.__contains__, _of(dict, CONTAINS))


# ------------------------------------------------------------------------------------------------- constructors


def _tuple(items: AbstractValue | None = None) -> Answer | None:
    """An exact tuple is given back as it is."""
    if items is None:
        return Answer(tuple_of())
    cls = class_of(items)
    if cls is tuple:
        return Answer(items)
    if cls is str and isinstance(items, Const):
        return Answer(tuple_of(*[STR] * len(items.value)))  # type: ignore[arg-type]
    if cls in (str, bytes, range, frozenset):
        return Answer(TUPLE)
    return Answer(TUPLE, READS) if cls in (list, dict, set, *VIEWS) else None


def _dict(*source: AbstractValue, **named: AbstractValue) -> Answer | None:
    if not source:
        return Answer(Type(dict))
    return Answer(Type(dict), READS) if len(source) == 1 and class_of(source[0]) is dict and not named else None


row(CONTAINERS, tuple, _tuple)
row(CONTAINERS, dict, _dict)

# ------------------------------------------------------------------------------------------------- iterators

#: container class -> (classes of its iterator, what it gives, may a step raise because the container changed?)
_ITERATORS: Final[dict[type, tuple[tuple[type, ...], AbstractValue, Effect]]] = {
    list: ((type(iter([])),), ANY, PURE),
    tuple: ((type(iter(())),), ANY, PURE),
    str: (STR_ITERATORS, STR, PURE),
    bytes: ((type(iter(b"")),), INT, PURE),
    range: (RANGE_ITERATORS, INT, PURE),
    dict: ((type(iter({})),), ANY, RAISES),
    set: ((type(iter(set())),), ANY, RAISES),
    frozenset: ((type(iter(set())),), ANY, RAISES),
    VIEWS[0]: ((type(iter({}.keys())),), ANY, RAISES),
    VIEWS[1]: ((type(iter({}.values())),), ANY, RAISES),
    VIEWS[2]: ((type(iter({}.items())),), TUPLE, RAISES),
}

_REVERSED: Final[dict[type, tuple[tuple[type, ...], AbstractValue, Effect]]] = {
    list: ((type(reversed([])),), ANY, PURE),
    tuple: ((type(reversed(())),), ANY, RAISES),
    str: ((type(reversed("")),), ANY, RAISES),
    bytes: ((type(reversed(b"")),), ANY, RAISES),
    range: ((type(reversed(range(1))), type(reversed(range(2**200)))), INT, PURE),
    dict: ((type(reversed({})),), ANY, RAISES),
    VIEWS[0]: ((type(reversed({}.keys())),), ANY, RAISES),
    VIEWS[1]: ((type(reversed({}.values())),), ANY, RAISES),
    VIEWS[2]: ((type(reversed({}.items())),), TUPLE, RAISES),
}

#: iterator class -> what a step gives, and the effect of the step
_STEPS: Final[dict[type, tuple[AbstractValue, Effect]]] = {
    cls: (item, effect) for table in (_ITERATORS, _REVERSED) for classes, item, effect in table.values() for cls in classes
}

#: Iterators that are their own iterator; what a step of these does is unknown.
_OWN: Final = (types.GeneratorType, map, filter, zip, enumerate)


def _any_of(classes: tuple[type, ...]) -> AbstractValue:
    found: AbstractValue = Type(classes[0])
    for cls in classes[1:]:
        found = join(found, Type(cls))
    return found


def _iter(a: AbstractValue) -> Answer | None:
    cls = class_of(a)
    if cls in _ITERATORS:
        return Answer(_any_of(_ITERATORS[cls][0]))
    return Answer(forget(a)) if cls in _STEPS or cls in _OWN else None


def _reversed(a: AbstractValue) -> Answer | None:
    cls = class_of(a)
    return Answer(_any_of(_REVERSED[cls][0]), RAISES if cls is range else PURE) if cls in _REVERSED else None


def _next(a: AbstractValue, *default: AbstractValue) -> Answer | None:
    step = _STEPS.get(class_of(a) or object)
    if step is None or len(default) > 1:
        return None
    item, effect = step
    if default:
        return Answer(join(item, default[0]), effect | READS | WRITES)
    return Answer(item, effect | READS | WRITES | RAISES)


row(CONTAINERS, iter, _iter, False)
row(CONTAINERS, reversed, _reversed, False)
row(CONTAINERS, next, _next, False)

# ------------------------------------------------------------------------------------------------- operations of the IR


def _hashed(cls: type) -> Any:
    """A new set or dict: building it hashes and compares its keys."""
    step = 2 if cls is dict else 1
    return lambda *items: Answer(Type(cls)) if len(items) % step == 0 and all(map(atomic, items[::step])) else None


def _instance(cls: AbstractValue, names: AbstractValue, *values: AbstractValue) -> Answer | None:
    return Answer(Type(cls.value)) if isinstance(cls, Const) and isinstance(cls.value, type) else None


def _unpack(iterable: AbstractValue, *counts: AbstractValue) -> Answer | None:
    """Unpacking of what has no ``__iter__`` of its own."""
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
    (operations.make_class, Type(type), PURE),
    (operations.make_class_quietly, Type(type), PURE),
    (operations.is_plain, BOOL, PURE),
    (operations.bind, Type(types.MethodType), PURE),
    (operations.cell_get, ANY, READS | RAISES),
    (operations.cell_set, NONE, WRITES),
    (operations.lacks, BOOL, READS),
    (operations.own_attribute, ANY, READS),
    (operations.drop, NONE, WRITES),
    (operations.load_global, ANY, READS | RAISES),
    (operations.load_name, ANY, READS | RAISES),
    (operations.load_name_or_cell, ANY, READS | RAISES),
    (operations.delete_name, NONE, WRITES | RAISES),
    (operations.store_global, NONE, WRITES),
    (operations.delete_global, NONE, WRITES | RAISES),
]


def _always(result: AbstractValue, effect: Effect) -> Any:
    return lambda *args: Answer(result, effect)


for _fn, _type, _effect in _ALWAYS:
    row(CONTAINERS, _fn, _always(_type, _effect), False)

row(CONTAINERS, operations.make_tuple, lambda *items: Answer(tuple_of(*items)), False)
row(CONTAINERS, operations.make_set, _hashed(set), False)
row(CONTAINERS, operations.make_dict, _hashed(dict), False)
row(CONTAINERS, operations.make_object, _instance, False)
row(CONTAINERS, operations.unpack, _unpack, False)
row(CONTAINERS, operations.unpack_star, _unpack, False)
row(CONTAINERS, operations.check_bound, _checked, False)
def _made(source: AbstractValue, *position: AbstractValue) -> Answer | None:
    cls = class_of(source)
    return Answer(_any_of(_ITERATORS[cls][0])) if cls in (list, tuple, str, bytes) else None


_DICT_ITERATORS: Final = {view: _any_of(_ITERATORS[cls][0]) for view, cls in zip(("keys", "values", "items"), VIEWS, strict=True)}


def _made_of_dict(source: AbstractValue, position: AbstractValue, view: AbstractValue) -> Answer | None:
    known = class_of(source) is dict and isinstance(view, Const) and view.value in _DICT_ITERATORS
    return Answer(_DICT_ITERATORS[view.value], READS | RAISES) if known else None  # type: ignore[attr-defined]


row(CONTAINERS, operations.make_iterator, _made, False)
row(CONTAINERS, operations.make_range_iterator, lambda *bounds: Answer(_any_of(RANGE_ITERATORS)), False)
row(CONTAINERS, operations.make_dict_iterator, _made_of_dict, False)


def _matches(flag: int) -> Any:
    """Is a flag of the class set?"""

    def rule(subject: AbstractValue) -> Answer:
        cls = class_of(subject)
        return Answer(BOOL if cls is None else Const(bool(cls.__flags__ & flag)))

    return rule


row(CONTAINERS, operations.match_sequence, _matches(1 << 5), True)
row(CONTAINERS, operations.match_mapping, _matches(1 << 6), True)
row(CONTAINERS, operations.match_keys, lambda d, k: Answer(join(TUPLE, NONE), READS | RAISES) if class_of(d) is dict and atomic(k) else None, False)
row(CONTAINERS, operations.list_extend, signatures("list container -> none wr"), False)
row(CONTAINERS, operations.dict_update, signatures("dict dict -> none wr"), False)

"""Rules for tuple, list, dict, set and range: their methods, their iterators, and the operations that build them.

Where the contents are unknown, the rules for operations that compare or hash them return None: these may run user code.
"""

import types
from typing import Any, Final

from hovis.ir.model import Effect
from hovis.lattice import ANY, AbstractValue, Const, Type, forget, join
from hovis.library.core import Library
from hovis.library.language.operators import CONTAINS, DELITEM, GETITEM, SETITEM
from hovis.library.language.signatures.signature_language import ANYTHING, RANGE_ITERATORS, STR_ITERATORS, VIEWS, Answer, row, rows
from hovis.library.language.signatures.type_queries import INT, NONE, PURE, RAISES, READS, STR, TUPLE, WRITES, atomic, class_of, part, tuple_of, values_of

CONTAINERS: Final = Library("containers")


# ------------------------------------------------------------------------------------------------- methods

rows(
    CONTAINERS,
    tuple,
    """
    count  tuple_of_atoms atom -> int
    count  tuple any -> int o
    index  tuple_of_atoms atom index? index? -> int !
    index  tuple any any? any? -> int o
    """,
)

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
    append   list+ any -> none w
    clear    list+ -> none w
    copy     list+ -> list r
    count    list_of_atoms solid -> int
    count    list any -> int o
    extend   list+ container -> none wr
    extend   list+ any -> none o
    index    list_of_atoms solid index? index? -> int !
    index    list any any? any? -> int o
    insert   list+ index any -> none w
    pop      list+ index? -> any wr!
    remove   list_of_atoms solid -> none w!
    remove   list any -> none o
    reverse  list+ -> none w
    sort     list_of_atoms :key=none? :reverse=bool? -> none w!
    sort     list :key=any? :reverse=any? -> none o
    """,
    {"remove": False, "sort": False, "extend": False},
)

rows(
    CONTAINERS,
    dict,
    """
    clear       -> none w
    items       -> dict_items
    keys        -> dict_keys
    pop         key -> any wr!
    pop         key any -> any wr
    popitem     -> tuple wr!
    setdefault  key any? -> any wr
    update      dict? -> none wro
    values      -> dict_values
    """,
    receiver="dict+",
)

rows(CONTAINERS, dict, "copy dict -> dict r")  # an instance of a subclass is iterated over

rows(
    CONTAINERS,
    set,
    """
    add                          key -> none w
    add                          any -> none o
    clear                        -> none w
    copy                         -> set r
    difference                   any* -> set o
    difference_update            any* -> none o
    discard                      key -> none w
    discard                      any -> none o
    intersection                 any* -> set o
    intersection_update          any* -> none o
    isdisjoint                   any -> bool o
    issubset                     any -> bool o
    issuperset                   any -> bool o
    pop                          -> any wr!
    remove                       key -> none w!
    remove                       any -> none o
    symmetric_difference         any -> set o
    symmetric_difference_update  any -> none o
    union                        any* -> set o
    update                       any* -> none o
    """,
    receiver="set+",
)

rows(
    CONTAINERS,
    frozenset,
    """
    copy                  set_of_atoms -> frozenset
    copy                  frozenset -> frozenset
    difference            set_of_atoms atoms* -> frozenset
    difference            frozenset any* -> frozenset o
    intersection          set_of_atoms atoms* -> frozenset
    intersection          frozenset any* -> frozenset o
    isdisjoint            set_of_atoms atoms -> bool
    isdisjoint            frozenset any -> bool o
    issubset              set_of_atoms atoms -> bool
    issubset              frozenset any -> bool o
    issuperset            set_of_atoms atoms -> bool
    issuperset            frozenset any -> bool o
    symmetric_difference  set_of_atoms atoms -> frozenset
    symmetric_difference  frozenset any -> frozenset o
    union                 set_of_atoms atoms* -> frozenset
    union                 frozenset any* -> frozenset o
    """,
)


def _looked_up(d: AbstractValue, key: AbstractValue, default: AbstractValue = NONE) -> Answer | None:
    """``dict.get`` with a key whose hash and ``==`` run no user code."""
    cls = class_of(d)
    if cls is None or not issubclass(cls, dict) or not atomic(key):
        return None
    return Answer(join(values_of(d), part(default)), READS)


row(CONTAINERS, dict.get, _looked_up)


def _of(cls: type, rule: Any) -> Any:
    """Restrict rule to receivers of exactly this class."""
    return lambda receiver, *args: rule(receiver, *args) if class_of(receiver) is cls else None


for _cls in (list, dict):
    row(CONTAINERS, _cls.__getitem__, _of(_cls, GETITEM))
    row(CONTAINERS, _cls.__setitem__, _of(_cls, SETITEM), False)
    row(CONTAINERS, _cls.__delitem__, _of(_cls, DELITEM), False)
row(CONTAINERS, dict.__contains__, _of(dict, CONTAINS))


# ------------------------------------------------------------------------------------------------- constructors


def _tuple(items: AbstractValue | None = None) -> Answer | None:
    """``tuple(items)``; an exact tuple is returned unchanged."""
    if items is None:
        return Answer(tuple_of())
    cls = class_of(items)
    if cls is tuple:
        return Answer(items)
    if cls is str and isinstance(items, Const):
        return Answer(tuple_of(*[STR] * len(items.value)))  # type: ignore[arg-type]
    if cls in (str, bytes, range, frozenset):
        return Answer(TUPLE)
    return Answer(TUPLE, READS if cls in (list, dict, set, *VIEWS) else ANYTHING)


def _dict(*source: AbstractValue, **named: AbstractValue) -> Answer | None:
    if not source:
        return Answer(Type(dict))
    return Answer(Type(dict), READS if len(source) == 1 and class_of(source[0]) is dict and not named else ANYTHING)


row(CONTAINERS, tuple, _tuple)
row(CONTAINERS, dict, _dict)


# ------------------------------------------------------------------------------------------------- iterators

#: container class -> (classes of its iterators, type of the items, RAISES if a step may raise because the container changed, else PURE)
ITERATORS_OF: Final[dict[type, tuple[tuple[type, ...], AbstractValue, Effect]]] = {
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

#: iterator class -> (type of the items, effect of a step besides changing the iterator)
_STEPS: Final[dict[type, tuple[AbstractValue, Effect]]] = {
    cls: (item, effect) for table in (ITERATORS_OF, _REVERSED) for classes, item, effect in table.values() for cls in classes
}

#: Iterator classes whose ``__iter__`` returns the iterator itself; the effect of a step is unknown.
_OWN: Final = (types.GeneratorType, map, filter, zip, enumerate)


def any_of(classes: tuple[type, ...]) -> AbstractValue:
    found: AbstractValue = Type(classes[0])
    for cls in classes[1:]:
        found = join(found, Type(cls))
    return found


def _iter(a: AbstractValue) -> Answer | None:
    cls = class_of(a)
    if cls in ITERATORS_OF:
        return Answer(any_of(ITERATORS_OF[cls][0]))
    return Answer(forget(a)) if cls in _STEPS or cls in _OWN else None


def _reversed(a: AbstractValue) -> Answer | None:
    cls = class_of(a)
    return Answer(any_of(_REVERSED[cls][0]), RAISES if cls is range else PURE) if cls in _REVERSED else None


def _next(a: AbstractValue, *default: AbstractValue) -> Answer | None:
    cls = class_of(a) or object
    step = (TUPLE, ANYTHING) if cls in (zip, enumerate) else _STEPS.get(cls)
    if step is None or len(default) > 1:
        return None
    item, effect = step
    if default:
        return Answer(join(item, default[0]), effect | READS | WRITES)
    return Answer(item, effect | READS | WRITES | RAISES)


row(CONTAINERS, iter, _iter, False)
row(CONTAINERS, reversed, _reversed, False)
row(CONTAINERS, next, _next, False)

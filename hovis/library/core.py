"""What a call means, as data: a Library maps callables to rules.

A rule answers only for what is its own: "nothing" (None) means "not mine", so libraries compose, ``mine | numpy | python``.
The engine knows no library; one is passed to it.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hovis.ir.model import Effect
from hovis.lattice import AbstractValue, Const, Refined, Type

#: (*types of the positional arguments, **types of the keyword arguments) -> type of the result, None: not mine.
TypeRule = Callable[..., AbstractValue | None]


@dataclass(frozen=True, slots=True)
class Primitive:
    """One callable that stays a call: what its result is, what it may do, when it is folded.

    result    from the types of the arguments to that of the result; None from it means "nothing is known here",
              and the call is opaque.
    effect    a fixed Effect, or a function of the argument types.  Given only where ``result`` answers.
    fold      may it be done at trace time on known values?  A function gets the values and says so (cost bounds).
    dims      from the engine's values of the arguments to the dimensions of an array result.
    """

    fn: Callable[..., object]
    result: TypeRule
    effect: "Effect | Callable[..., Effect]" = Effect.PURE
    fold: "bool | Callable[..., bool]" = True
    dims: Callable[..., Any] | None = None


class Part(NamedTuple):
    """One argument of the call that builds a real object: an attribute of the stand-in.

    spread: its items, one by one.  steady: iterators that are passed through ``iter()`` once more.
    """

    attribute: str
    keyword: str
    spread: bool
    steady: bool

    @classmethod
    def of(cls, text: str) -> "Part":
        keyword, _, name = text.rpartition("=")
        return cls(name.lstrip("*~"), "**" if name.startswith("**") else keyword, "*" in name, "~" in name)


@dataclass(frozen=True, eq=False)
class Stand:
    """A class of Python code that stands for one of C code: the engine enters its methods.

    real     the C class.
    cls      the stand-in; it needs no base classes, and shows nothing of itself to the user but its methods and
             properties of the same names.
    build    the callable that makes the real object, from ``parts``; None: that can't be done.
    when     attributes that must have these values for that.
    quiet    an iterator none of whose steps runs code that may raise StopIteration.
    frozen   nobody can change an object of this class.  ``opened`` gives the attributes of the stand-in for a real one.
    content  the attribute with a list or dict that nobody else holds: what is in the real object.  ``fill`` puts it
             into an empty one.
    dictionary   the real object has a dictionary of attributes as well.
    through  the attribute that a call of the object is a call of.
    expected (machine, a known object, arguments, those by name) -> what a call of it will probably give, a constant, or None.
    """

    real: type
    cls: type
    build: Callable[..., object] | None = None
    parts: tuple[Part, ...] = ()
    when: Mapping[str, object] = field(default_factory=dict)
    quiet: bool = False
    frozen: bool = False
    opened: Callable[[Any], tuple[Any, ...]] | None = None
    content: str = ""
    fill: Callable[..., object] | None = None
    dictionary: bool = False
    through: str = ""
    expected: Callable[[Any, Any, list[Any], dict[str, Any]], Any] | None = None

    @classmethod
    def of(cls, real: type, stand: type, build: Callable[..., object] | None = None, parts: str = "", **options: Any) -> "Stand":
        """parts: attributes in order, ``name=attribute`` by keyword, ``*`` and ``**attribute`` spread, ``~`` steady iterators."""
        stand.__name__, stand.__qualname__ = real.__name__, real.__qualname__
        for name in dir(real):
            # what it does not have is C code, too
            found = _lookup(real, name)
            special = name.startswith("__") and name not in _GENERIC and (callable(found) or found is None)
            if special and _lookup(stand, name) is _lookup(object, name) is not found:
                setattr(stand, name, found)
        return cls(real, stand, build, tuple(map(Part.of, parts.split())), **options)


#: Special names that say how Python keeps objects, not what they do.
_GENERIC = frozenset(
    ("__class__", "__doc__", "__module__", "__dict__", "__weakref__", "__new__", "__init__", "__getattribute__", "__setattr__", "__delattr__",
     "__dir__", "__init_subclass__", "__subclasshook__", "__class_getitem__", "__reduce__", "__reduce_ex__", "__sizeof__", "__getstate__")
)  # fmt: skip


def _lookup(cls: type, name: str) -> Any:
    return next((base.__dict__[name] for base in cls.__mro__ if name in base.__dict__), None)


def real(value: Any) -> Any:
    """For stand-ins: value as the real object that it stands for, built now."""
    return value


def acted(value: Any) -> bool:
    """For stand-ins: is value an object that a stand-in acts for?"""
    return hasattr(type(value), "__dict__") and type(value).__module__.startswith("hovis.")


def bare(value: Any) -> bool:
    """For stand-ins: does the object in question that a stand-in acts for lack a dictionary?"""
    return True


def holding(cls: type, value: Any) -> Any:
    """For protocols: an instance of a subclass of a builtin class with this value in it."""
    return value


def settled(value: object) -> bool:
    """For stand-ins: is value a constant while tracing, all the way down, that can be a key?"""
    return True


def seen(value: object) -> bool:
    """For stand-ins: is something known of value while tracing: a constant, or an object of the trace?"""
    return True


def decides(value: Any) -> Any:
    """For models: value, on which it depends how many results there are; it had better be known where sizes have to be."""
    return value


def leave() -> None:
    """For stand-ins: the object in question has to be real from the beginning."""


#: A rule written in Python that the engine traces through in place of the callable; for classes also a stand-in.
Model = Callable[..., object] | Stand

#: (machine, arguments, keyword arguments) -> an engine value, or None: not mine.  Acts on virtual objects.
Action = Callable[[Any, list[Any], dict[str, Any]], Any]


class Library:
    """Primitives, models and actions by callable.  A value: composition gives a new one."""

    __slots__ = ("abstractions", "actions", "always", "attributes", "codes", "eager", "fixed", "lazy", "models", "name", "primitives", "raises")

    def __init__(
        self,
        name: str,
        primitives: Mapping[Any, Primitive] | None = None,
        models: Mapping[Any, Model] | None = None,
        actions: Mapping[Any, Action] | None = None,
        abstractions: Mapping[type, Callable[[Any], AbstractValue]] | None = None,
        attributes: Mapping[tuple[type, str], Callable[[Any, Any], Any]] | None = None,
        lazy: Iterable[Any] = (),
        always: Mapping[Any, AbstractValue] | None = None,
        eager: Iterable[Any] = (),
        raises: Mapping[Any, Callable[..., Any]] | None = None,
        codes: Mapping[int, Action] | None = None,
        fixed: Iterable[type] = (),
    ) -> None:
        #: classes of C code whose objects never change, although they are no builtin ones
        self.fixed: set[type] = set(fixed)
        #: id of the code of functions of which there are many -> what acts for them, given the function as well
        self.codes: dict[int, Action] = dict(codes or {})
        #: callable -> (*types of the operands) -> the one exception that can come out of it, None: not known
        self.raises: dict[Any, Callable[..., Any]] = dict(raises or {})
        #: callables whose result is of one type whatever they are given
        self.always: dict[Any, AbstractValue] = dict(always or {})
        #: (exact class, attribute name) -> (machine, engine value) -> engine value, or None: not mine
        self.attributes: dict[tuple[type, str], Callable[[Any, Any], Any]] = dict(attributes or {})
        self.name = name
        #: callables whose models make objects: not where these have to be real
        self.lazy: set[Any] = set(lazy)
        #: callables whose models are entered even if nothing is known of their arguments
        self.eager: set[Any] = set(eager)
        #: how to describe known values of a class more precisely than by the class (arrays: by dtype and rank)
        self.abstractions: dict[type, Callable[[Any], AbstractValue]] = dict(abstractions or {})
        self.primitives: dict[Any, Primitive] = dict(primitives or {})
        self.models: dict[Any, Model] = dict(models or {})
        self.actions: dict[Any, Action] = dict(actions or {})

    def __or__(self, other: "Library") -> "Library":
        """This library, and where it has nothing to say, the other."""
        return Library(
            f"{self.name} | {other.name}",
            {**other.primitives, **{fn: _first_row(row, other.primitives.get(fn)) for fn, row in self.primitives.items()}},
            {**other.models, **self.models},
            {**other.actions, **{fn: _first_action(action, other.actions.get(fn)) for fn, action in self.actions.items()}},
            {**other.abstractions, **self.abstractions},
            {**other.attributes, **self.attributes},
            self.lazy | other.lazy,
            {**other.always, **self.always},
            self.eager | other.eager,
            {**other.raises, **self.raises},
            {**other.codes, **self.codes},
            self.fixed | other.fixed,
        )

    def add(self, other: "Library") -> None:
        """From now on this library is ``other | self``."""
        joined = other | self
        for name in self.__slots__:
            if name != "name":
                setattr(self, name, getattr(joined, name))

    def describe(self, cls: type, facts: Callable[[Any], Hashable]) -> Callable[[Hashable], Refined]:
        """More is known of objects of this class than that: ``facts`` of each.  Gives what makes the spec of those with some facts.

        >>> shaped = Library("mine").describe(bytes, len)
        >>> shaped(3)
        bytes(3)
        """
        self.abstractions[cls] = lambda value: Refined(cls, facts(value), facts)
        return lambda found: Refined(cls, found, facts)

    def attribute(self, cls: type, name: str, rule: Callable[[Any], AbstractValue | None]) -> None:
        """What an attribute of an unknown object is, by what is known of the object: ``const(v)`` is known; None, not known here.

        The attribute may not run code that can be seen from outside, and may not fail.
        """

        def read(m: Any, value: Any) -> Any:
            kind = rule(value.type)
            if kind is None:
                return None
            return m.known(kind.value) if isinstance(kind, Const) else m.emit(getattr, [value, m.known(name)], type=kind, effect=Effect.READS)

        self.attributes[cls, name] = read

    def of_value(self, value: object) -> AbstractValue:
        """The type of a known value."""
        describe = self.abstractions.get(type(value))
        return describe(value) if describe else Type(type(value))

    def of_class(self, cls: type) -> AbstractValue:
        """The type of an object of this trace."""
        return Type(cls)

    def rule(self, fn: object) -> Primitive | None:
        """The row of a callable, if it has one (and can be looked up at all)."""
        try:
            return self.primitives.get(fn)
        except TypeError:
            return None

    def __iter__(self) -> Iterator[Primitive]:
        return iter(self.primitives.values())

    def primitive(self, fn: Callable[..., object], result: TypeRule, **options: Any) -> None:
        """Add a row."""
        self.primitives[fn] = Primitive(fn, result, **options)

    def action(self, *fns: Callable[..., object]) -> Callable[[Action], Action]:
        """Decorator: the rule below acts on virtual objects for these callables."""

        def register(rule: Action) -> Action:
            for fn in fns:
                self.actions[fn] = rule
            return rule

        return register

    def model(self, *fns: Callable[..., object], makes: bool = False, eager: bool = False) -> Callable[[Any], Any]:
        """Decorator: trace through the function below in place of fns.  makes: it gives objects of a stand-in."""

        def register(rule: Any) -> Any:
            for fn in fns:
                self.models[fn] = rule
                if makes:
                    self.lazy.add(fn)
                if eager:
                    self.eager.add(fn)
            return rule

        return register

    def stand(self, real: type, build: Callable[..., object] | None = None, parts: str = "", eager: bool = False, **options: Any) -> Callable[[type], type]:
        """Decorator: the class below stands for a class of C code (see Stand)."""

        def register(stand_in: type) -> type:
            found = Stand.of(real, stand_in, build, parts, **options)
            self.models[stand_in] = found
            if real not in self.models:
                self.models[real] = found
                if eager:
                    self.eager.add(real)
            return stand_in

        return register


def _first_row(mine: Primitive, other: Primitive | None) -> Primitive:
    """One row for a callable that two libraries know: mine answers first."""
    if other is None or other is mine:
        return mine

    def chosen(types: tuple[AbstractValue, ...], named: Mapping[str, AbstractValue]) -> Primitive:
        try:
            found = mine.result(*types, **named)
        except TypeError:
            # a call that does not bind is not its own
            found = None
        return mine if found is not None else other

    def result(*types: AbstractValue, **named: AbstractValue) -> AbstractValue | None:
        return chosen(types, named).result(*types, **named)

    def effect(*types: AbstractValue, **named: AbstractValue) -> Effect:
        row = chosen(types, named)
        return row.effect if isinstance(row.effect, Effect) else row.effect(*types, **named)

    def fold(*values: object, **named: object) -> bool:
        row = chosen(tuple(map(Const, values)), {name: Const(value) for name, value in named.items()})
        return row.fold if isinstance(row.fold, bool) else row.fold(*values, **named)

    def dims(m: Any, args: Any, kwargs: Any) -> Any:
        row = chosen(tuple(map(m.type_of, args)), {name: m.type_of(value) for name, value in kwargs.items()})
        return None if row.dims is None else row.dims(m, args, kwargs)

    return Primitive(mine.fn, result, effect, fold, dims if mine.dims or other.dims else None)


def _first_action(mine: Action, other: Action | None) -> Action:
    """One action for a callable that two libraries act for."""
    if other is None or other is mine:
        return mine

    def act(m: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        found = mine(m, args, kwargs)
        return found if found is not None else other(m, args, kwargs)

    return act


def primitive(fn: Callable[..., object], result: TypeRule, **options: Any) -> Library:
    """A Library of one row: ``hovis.primitive(f, lambda x: hovis.Int) | library``.

    f stays a call in the residual; ``result`` gives the type of its result from those of its arguments.
    """
    made = Library(getattr(fn, "__name__", "primitive"))
    made.primitive(fn, result, **options)
    return made

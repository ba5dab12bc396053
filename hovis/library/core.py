"""The meaning of calls, as data: a `Library` maps callables to rules.

A rule that returns None does not apply to these arguments, and the next rule is tried; therefore libraries compose:
``mine | numpy | python``.  The engine contains no library; one is passed to it.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from hovis.ir.model import Effect
from hovis.lattice import AbstractValue, Const, Refined, Type

#: (*types of the positional arguments, **types of the keyword arguments) -> type of the result, or None if the rule does not apply.
TypeRule = Callable[..., AbstractValue | None]


@dataclass(frozen=True, slots=True)
class Primitive:
    """The rule of a callable that stays a call in the residual: its result type, its effect, and when it is constant folded.

    result    maps the types of the arguments to the type of the result, or to None if nothing is known of these types:
              then the call is opaque.
    effect    a fixed Effect, or a function of the argument types.  It is used only where ``result`` is not None.
    fold      may the call be executed while tracing if the arguments are known?  A bool, or a predicate on their values
              (to bound the cost).
    dims      maps the engine's values of the arguments to the dimensions of an array result.
    """

    fn: Callable[..., object]
    result: TypeRule
    effect: "Effect | Callable[..., Effect]" = Effect.PURE
    fold: "bool | Callable[..., bool]" = True
    dims: Callable[..., Any] | None = None


class Part(NamedTuple):
    """An attribute of a stand-in that is passed as an argument to the call that builds the real object.

    spread: its items are passed as separate arguments.  steady: its values are iterators to which the call applies
    ``iter()`` once more, so ``iter()`` must return them unchanged.
    """

    attribute: str
    keyword: str
    spread: bool
    steady: bool

    @classmethod
    def of(cls, text: str) -> "Part":
        keyword, _, name = text.rpartition("=")
        return cls(name.lstrip("*~"), "**" if name.startswith("**") else keyword, "*" in name, "~" in name)


class Form(NamedTuple):
    """A way to build the real object from the attributes of a stand-in.

    build    the callable that makes the object from ``parts``.
    when     attributes, and the values that they must have.
    """

    build: Callable[..., object]
    parts: tuple[Part, ...] = ()
    when: Mapping[str, object] = MappingProxyType({})

    @classmethod
    def of(cls, build: Callable[..., object], parts: str, **when: object) -> "Form":
        """Make a `Form`. parts: attributes in order, ``name=attribute`` by keyword, ``*`` and ``**attribute`` spread, ``~`` steady iterators."""
        return cls(build, tuple(map(Part.of, parts.split())), when)


@dataclass(frozen=True, eq=False)
class Stand:
    """A stand-in: a Python class whose methods the engine traces in place of those of a class implemented in C.

    real     the C class.
    cls      the stand-in; it needs no base classes, and user code sees only those of its methods and properties that the
             real class has as well.
    forms    the ways to build the real object, of which the first that fits is taken; none: it cannot be built.
    quiet    whether it is an iterator whose steps run no code that may raise StopIteration.
    frozen   whether objects of this class are immutable.
    opened   maps a real object to the attributes of its stand-in.
    content  the attribute with the list or dict, referred to by the stand-in only, that holds the items of the real object.
    fill     puts the content into an empty real object.
    dictionary   whether the real object has an attribute dictionary as well.
    through  the attribute that is called when the object is called.
    expected (machine, a known object, arguments, keyword arguments) -> the probable result of calling the object, or None.
    """

    real: type
    cls: type
    forms: tuple[Form, ...] = ()
    quiet: bool = False
    frozen: bool = False
    opened: Callable[[Any], tuple[Any, ...]] | None = None
    content: str = ""
    fill: Callable[..., object] | None = None
    dictionary: bool = False
    through: str = ""
    expected: Callable[[Any, Any, list[Any], dict[str, Any]], Any] | None = None

    @property
    def parts(self) -> tuple[Part, ...]:
        """What the first form builds the object from."""
        return self.forms[0].parts

    @classmethod
    def of(cls, real: type, stand: type, *forms: Form, **options: Any) -> "Stand":
        """Make a `Stand`."""
        stand.__name__, stand.__qualname__ = real.__name__, real.__qualname__
        for name in dir(real):
            # special methods that the stand-in does not define stay C code
            found = _lookup(real, name)
            special = name.startswith("__") and name not in _GENERIC and (callable(found) or found is None)
            if special and _lookup(stand, name) is _lookup(object, name) is not found:
                setattr(stand, name, found)
        return cls(real, stand, forms, **options)


#: Special names that concern how Python represents objects, not their behaviour.
_GENERIC = frozenset(
    ("__class__", "__doc__", "__module__", "__dict__", "__weakref__", "__new__", "__init__", "__getattribute__", "__setattr__", "__delattr__",
     "__dir__", "__init_subclass__", "__subclasshook__", "__class_getitem__", "__reduce__", "__reduce_ex__", "__sizeof__", "__getstate__")
)  # fmt: skip


def _lookup(cls: type, name: str) -> Any:
    return next((base.__dict__[name] for base in cls.__mro__ if name in base.__dict__), None)


def real(value: Any) -> Any:
    """For stand-ins: build the real object that value stands for now, and return it."""
    return value


def acted(value: Any) -> bool:
    """For stand-ins: is value an object that is represented by a stand-in?"""
    return hasattr(type(value), "__dict__") and type(value).__module__.startswith("hovis.")


def bare(value: Any) -> bool:
    """For stand-ins: does value, an object that is represented by a stand-in, lack an attribute dictionary?"""
    return True


def holding(cls: type, value: Any) -> Any:
    """For traced protocols: make an instance of cls, a subclass of a builtin class, that stores this value of the builtin class."""
    return value


def settled(value: object) -> bool:
    """For stand-ins: is value, with all its parts, a constant known while tracing that can be a dictionary key?"""
    return True


def seen(value: object) -> bool:
    """For stand-ins: is something known of value while tracing, because it is a constant or an object of the trace?"""
    return True


def decides(value: Any) -> Any:
    """For models: return value, and mark it as determining the number of results, so that it is known where sizes must be known."""
    return value


def leave() -> None:
    """For stand-ins: abandon the stand-in; its object has to be a real one from the beginning."""


#: A rule written in Python that the engine traces through in place of the callable; for classes also a stand-in.
Model = Callable[..., object] | Stand

#: (machine, arguments, keyword arguments) -> an engine value, or None if the action does not apply.  Acts on virtual objects.
Action = Callable[[Any, list[Any], dict[str, Any]], Any]


class Library:
    """A table of primitives, models, actions and other rules by callable. It is a value: composition with ``|`` makes a new one."""

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
        #: classes implemented in C, other than builtin ones, whose instances are immutable
        self.fixed: set[type] = set(fixed)
        #: id of a code object that many functions share -> their action, which gets the function as first argument
        self.codes: dict[int, Action] = dict(codes or {})
        #: callable -> rule: (*types of the operands) -> the only exception that the call can raise, or None if that is not known
        self.raises: dict[Any, Callable[..., Any]] = dict(raises or {})
        #: callables whose result has one type, whatever the arguments are
        self.always: dict[Any, AbstractValue] = dict(always or {})
        #: (exact class, attribute name) -> rule: (machine, engine value) -> engine value, or None if the rule does not apply
        self.attributes: dict[tuple[type, str], Callable[[Any, Any], Any]] = dict(attributes or {})
        self.name = name
        #: callables whose models make virtual objects: the models are not used where the objects must be real
        self.lazy: set[Any] = set(lazy)
        #: callables whose models are traced even if nothing is known of the arguments
        self.eager: set[Any] = set(eager)
        #: class -> function that describes its known values more precisely than by the class (arrays: by dtype and rank)
        self.abstractions: dict[type, Callable[[Any], AbstractValue]] = dict(abstractions or {})
        self.primitives: dict[Any, Primitive] = dict(primitives or {})
        self.models: dict[Any, Model] = dict(models or {})
        self.actions: dict[Any, Action] = dict(actions or {})

    def __or__(self, other: "Library") -> "Library":
        """Return the composition of both libraries: a rule of this one is tried first, then that of other."""
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
        """Add the rules of other in place, with priority: this library becomes ``other | self``."""
        joined = other | self
        for name in self.__slots__:
            if name != "name":
                setattr(self, name, getattr(joined, name))

    def describe(self, cls: type, facts: Callable[[Any], Hashable]) -> Callable[[Hashable], Refined]:
        """Describe values of class cls more precisely than by the class: by ``facts(value)``. Return a function that makes the spec of the
        values with given facts.

        >>> shaped = Library("mine").describe(bytes, len)
        >>> shaped(3)
        bytes(3)
        """
        self.abstractions[cls] = lambda value: Refined(cls, facts(value), facts)
        return lambda found: Refined(cls, found, facts)

    def attribute(self, cls: type, name: str, rule: Callable[[Any], AbstractValue | None]) -> None:
        """Set the rule for attribute name of unknown objects of class cls. It maps the type of the object to the type of the attribute:
        ``const(v)`` if the value is known, or None if this rule does not apply.

        Reading the attribute must have no side effects, and must not raise.
        """

        def read(m: Any, value: Any) -> Any:
            kind = rule(value.type)
            if kind is None:
                return None
            return m.known(kind.value) if isinstance(kind, Const) else m.emit(getattr, [value, m.known(name)], type=kind, effect=Effect.READS)

        self.attributes[cls, name] = read

    def of_value(self, value: object) -> AbstractValue:
        """Return the abstract type of a known value."""
        describe = self.abstractions.get(type(value))
        return describe(value) if describe else Type(type(value))

    def of_class(self, cls: type) -> AbstractValue:
        """Return the abstract type of an object of the trace, from its class."""
        return Type(cls)

    def rule(self, fn: object) -> Primitive | None:
        """Return the primitive of a callable, or None if it has none or is not hashable."""
        try:
            return self.primitives.get(fn)
        except TypeError:
            return None

    def __iter__(self) -> Iterator[Primitive]:
        return iter(self.primitives.values())

    def primitive(self, fn: Callable[..., object], result: TypeRule, **options: Any) -> None:
        """Add a `Primitive` for fn; options are its other fields."""
        self.primitives[fn] = Primitive(fn, result, **options)

    def action(self, *fns: Callable[..., object]) -> Callable[[Action], Action]:
        """Decorator: register the function as the action on virtual objects for these callables."""

        def register(rule: Action) -> Action:
            for fn in fns:
                self.actions[fn] = rule
            return rule

        return register

    def model(self, *fns: Callable[..., object], makes: bool = False, eager: bool = False) -> Callable[[Any], Any]:
        """Decorator: register the function as the model that is traced in place of fns. makes: its results are objects of a stand-in. eager: it
        is traced even if nothing is known of the arguments.
        """

        def register(rule: Any) -> Any:
            for fn in fns:
                self.models[fn] = rule
                if makes:
                    self.lazy.add(fn)
                if eager:
                    self.eager.add(fn)
            return rule

        return register

    def stand(
        self, real: type, build: Callable[..., object] | None = None, parts: str = "", *others: Form, eager: bool = False,
        when: Mapping[str, object] = MappingProxyType({}), **options: Any,
    ) -> Callable[[type], type]:  # fmt: skip
        """Decorator: register the class as a stand-in for real, a class implemented in C (see `Stand`). eager: it is used even if nothing is
        known of the arguments.  build, parts, when: its first form; None: it has no forms.
        """
        forms = () if build is None else (Form.of(build, parts, **when), *others)

        def register(stand_in: type) -> type:
            found = Stand.of(real, stand_in, *forms, **options)
            self.models[stand_in] = found
            if real not in self.models:
                self.models[real] = found
                if eager:
                    self.eager.add(real)
            return stand_in

        return register


def _first_row(mine: Primitive, other: Primitive | None) -> Primitive:
    """Combine the primitives of a callable from two libraries: mine is tried first."""
    if other is None or other is mine:
        return mine

    def chosen(types: tuple[AbstractValue, ...], named: Mapping[str, AbstractValue]) -> Primitive:
        try:
            found = mine.result(*types, **named)
        except TypeError:
            # the arguments do not bind to the parameters of the rule: it does not apply
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
    """Combine the actions for a callable from two libraries: mine is tried first."""
    if other is None or other is mine:
        return mine

    def act(m: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        found = mine(m, args, kwargs)
        return found if found is not None else other(m, args, kwargs)

    return act


def primitive(fn: Callable[..., object], result: TypeRule, **options: Any) -> Library:
    """Make a library with one primitive: ``hovis.primitive(f, lambda x: hovis.Int) | library``.

    f stays a call in the residual; ``result`` maps the types of the arguments to the type of the result.
    """
    made = Library(getattr(fn, "__name__", "primitive"))
    made.primitive(fn, result, **options)
    return made

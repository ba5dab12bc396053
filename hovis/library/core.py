"""What a call means, as data: a Library maps callables to rules.

A rule answers only for what is its own: "nothing" (None) means "not mine", so libraries compose, ``mine | numpy | python``.
The engine knows no library; one is passed to it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hovis.ir.model import Effect
from hovis.lattice import AbstractValue, Type

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


#: A rule written in Python that the engine traces through in place of the callable.
Model = Callable[..., object]

#: (machine, arguments, keyword arguments) -> an engine value, or None: not mine.  Acts on virtual objects.
Action = Callable[[Any, list[Any], dict[str, Any]], Any]


class Library:
    """Primitives, models and actions by callable.  A value: composition gives a new one."""

    __slots__ = ("abstractions", "actions", "always", "attributes", "lazy", "models", "name", "primitives")

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
    ) -> None:
        #: callables whose result is of one type whatever they are given
        self.always: dict[Any, AbstractValue] = dict(always or {})
        #: (exact class, attribute name) -> (machine, engine value) -> engine value, or None: not mine
        self.attributes: dict[tuple[type, str], Callable[[Any, Any], Any]] = dict(attributes or {})
        self.name = name
        #: callables whose models are generators: only traced where their consumer is
        self.lazy: set[Any] = set(lazy)
        #: how to describe known values of a class more precisely than by the class (arrays: by dtype and rank)
        self.abstractions: dict[type, Callable[[Any], AbstractValue]] = dict(abstractions or {})
        self.primitives: dict[Any, Primitive] = dict(primitives or {})
        self.models: dict[Any, Model] = dict(models or {})
        self.actions: dict[Any, Action] = dict(actions or {})

    def __or__(self, other: "Library") -> "Library":
        """This library, and where it has nothing to say, the other."""
        return Library(
            f"{self.name} | {other.name}",
            {**other.primitives, **self.primitives},
            {**other.models, **self.models},
            {**other.actions, **self.actions},
            {**other.abstractions, **self.abstractions},
            {**other.attributes, **self.attributes},
            self.lazy | other.lazy,
            {**other.always, **self.always},
        )

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

    def model(self, fn: Callable[..., object]) -> Callable[[Model], Model]:
        """Decorator: trace through the function below in place of fn."""

        def register(rule: Model) -> Model:
            self.models[fn] = rule
            return rule

        return register


def primitive(fn: Callable[..., object], result: TypeRule, **options: Any) -> Library:
    """A Library of one row: ``hovis.primitive(f, lambda x: hovis.Int) | library``.

    f stays a call in the residual; ``result`` gives the type of its result from those of its arguments.
    """
    made = Library(getattr(fn, "__name__", "primitive"))
    made.primitive(fn, result, **options)
    return made

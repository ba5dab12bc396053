"""Alternatives in a type that a user has written, where not every alternative is an element of the lattice."""

from collections.abc import Iterable


class Either:
    """Alternatives as the user wrote them, not all of them elements of the lattice: ``float64[3] | None``, ``Int | list[int]``."""

    __slots__ = ("alternatives",)
    __array_ufunc__ = None

    def __init__(self, alternatives: Iterable[object]) -> None:
        self.alternatives: tuple[object, ...] = tuple(one for given in alternatives for one in (given.alternatives if isinstance(given, Either) else (given,)))

    def __or__(self, other: object) -> "Either":
        return Either((self, other))

    def __ror__(self, other: object) -> "Either":
        return Either((other, self))

    def __repr__(self) -> str:
        return " | ".join(one.__qualname__ if isinstance(one, type) else repr(one) for one in self.alternatives)

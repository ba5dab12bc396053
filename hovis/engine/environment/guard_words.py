"""Tests of many guards at once, by comparing words in the memory of the objects (see object_words).

If words have changed, all guards are tested one by one: a number may have been replaced by an equal one, or another item of a dictionary has changed.
If they hold, the words are collected again; those that have changed repeatedly are left out then.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from hovis.ir.operations import UNBOUND
from hovis.lattice import object_words

if TYPE_CHECKING:
    from hovis.engine.environment.guards import Guard

Test: TypeAlias = Callable[[], bool]
#: Compiles a test of guards, one by one.
Compile: TypeAlias = "Callable[[list[Guard]], Test]"

#: The least number of guards that are tested by comparing words in memory; and the most changes of the words of a guard that holds nevertheless,
#: before it is tested by itself.
LEAST: Final = 12
MOST_CHANGES: Final = 4


def compiled(guards: "list[Guard]", whole: Test, compile: Compile) -> Test:
    """Return a test of the guards by words, or whole, which tests all guards one by one, if there are too few words for that."""
    if len(guards) < LEAST or object_words.reader is None:
        return whole
    covered = [guard for guard in guards if add_words(object_words.Words(), guard)]
    return whole if len(covered) < LEAST else _Collected(guards, covered, whole, compile, object_words.reader).compiled()


class _Collected:
    """The words of guards; ``whole`` tests the guards one by one."""

    __slots__ = ("collected", "compile", "counts", "covered", "guards", "reader", "whole")

    def __init__(self, guards: "list[Guard]", covered: "list[Guard]", whole: Test, compile: Compile, reader: object_words.Reader) -> None:
        self.guards, self.covered, self.whole, self.compile, self.reader = guards, covered, whole, compile, reader
        #: the words of each guard when they were collected last, and how often they have changed
        self.collected: list[tuple[bytes, bytes]] = []
        self.counts = [0] * len(covered)

    def compiled(self) -> Test:
        """Return the function."""
        state: list[Any] = [None]

        def again() -> bool:
            if not self.whole():
                return False
            found = self._collect()
            if self.whole():  # once more: another thread may have changed something before the words were collected
                state[0] = found
                return True
            return False

        return _test_words(state, self.reader.memory, again)

    def _collect(self) -> Any:
        words, now, kept = object_words.Words(), list[tuple[bytes, bytes]](), list[Any]()
        for k, guard in enumerate(self.covered):
            own = object_words.Words()
            known = add_words(own, guard)
            now.append((self._read(own.first)[1], self._read(own.second)[1]))
            self.counts[k] += bool(self.collected) and self.collected[k] != now[k]
            if known and self.counts[k] < MOST_CHANGES:
                words.add(own)
                kept.append(guard)
        self.collected = now
        at = {id(guard) for guard in kept}
        return *self._read(words.first), *self._read(words.second), self.compile([guard for guard in self.guards if id(guard) not in at])

    def _read(self, addresses: Iterable[int]) -> tuple[Any, bytes]:
        """Return the index of the words at these addresses, and their contents."""
        places = self.reader.places(addresses)
        return places, self.reader.memory[places].tobytes()


def _test_words(state: list[Any], memory: Any, again: Test) -> Test:
    def holds(state: Any = state, memory: Any = memory, again: Test = again) -> bool:
        if state[0] is None:
            return again()
        first, contents, second, others, rest = state[0]
        if memory[first].tobytes() == contents and (not others or memory[second].tobytes() == others):
            return rest()  # type: ignore[no-any-return]
        return again()

    return holds


def add_words(words: object_words.Words, guard: "Guard") -> bool:
    """Add the words of objects that change if a guard fails; False if they are not known."""
    kind, holder, name, value = guard
    if kind in ("item", "dict"):
        return words.add_dictionary(holder)
    if kind == "class":
        return all(words.add_dictionary(held) for held, _ in value)
    if kind == "function":
        return words.add_code(holder)
    if kind == "defaults":
        return words.add_defaults(holder)
    if kind == "bases":
        return words.add_mro(holder)
    if kind == "type":
        return words.add_class(holder)
    if kind == "cell" and value is not UNBOUND:
        return words.add_contents(holder)
    if kind == "items":
        return words.add_items(holder, range(len(value)))
    if kind == "index":
        return words.add_items(holder, (name,))
    return kind == "attribute" and (words.add_names(holder) if value is UNBOUND else words.add_attribute(holder, name, value))

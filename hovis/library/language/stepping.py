"""The base class of iterators that are defined by a step function."""

from typing import Any, Final

from hovis.ir import operations

#: The result of ``step`` for an exhausted iterator.
END: Final[Any] = operations.END


class Steps:
    """An iterator defined by its method ``step``, which returns the next item or END."""

    step: Any

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        item = self.step()
        if item is END:
            raise StopIteration
        return item

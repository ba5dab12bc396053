"""Iterators written as steps."""

from typing import Any, Final

from hovis.ir import operations

#: What ``next`` gives at the end.
END: Final[Any] = operations.END


class Steps:
    """An iterator by its steps: ``step`` gives the next item, or END."""

    step: Any

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        item = self.step()
        if item is END:
            raise StopIteration
        return item

"""The table of instruction handlers, filled by the modules that define them."""

from collections.abc import Callable
from typing import Any

from hovis.engine.machine.machine import Machine

HANDLERS: dict[str, Callable[[Machine, Any], int | None]] = {}


def handles(*names: str) -> Callable[[Callable[[Machine, Any], int | None]], Callable[[Machine, Any], int | None]]:
    """Decorator that registers a function as the handler of these instructions."""

    def register(handler: Callable[[Machine, Any], int | None]) -> Callable[[Machine, Any], int | None]:
        for name in names:
            HANDLERS[name] = handler
        return handler

    return register

"""The source of a program's random choices: hypothesis, which shrinks and keeps examples, or a seed, which is thirty times as fast."""
from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, Protocol

from hypothesis import strategies as st


class Choices(Protocol):
    def pick(self, options: Sequence[Any]) -> Any:
        """Choose one of the options."""

    def chance(self, percent: int) -> bool:
        """Return True with this probability in percent."""

    def number(self, low: int, high: int) -> int:
        """Choose an integer between low and high, both included."""


class Drawn:
    """Choices drawn by hypothesis."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw

    def pick(self, options: Sequence[Any]) -> Any:
        return self.draw(st.sampled_from(options))

    def chance(self, percent: int) -> bool:
        return self.draw(st.integers(0, 99)) >= 100 - percent

    def number(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))


class Seeded:
    """Choices from a seed: the same seed gives the same program."""

    def __init__(self, seed: int | str) -> None:
        self.random = random.Random(seed).random

    def pick(self, options: Sequence[Any]) -> Any:
        return options[int(self.random() * len(options))]

    def chance(self, percent: int) -> bool:
        return self.random() * 100 < percent

    def number(self, low: int, high: int) -> int:
        return low + int(self.random() * (high - low + 1))

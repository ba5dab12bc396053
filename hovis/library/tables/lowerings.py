"""What primitives of third parties are under another compiler: one row a callable, NumPy that says the same in operations which that has."""

from collections.abc import Callable
from typing import Any, Final

#: callable -> what is compiled in its place
LOWERINGS: Final[dict[Any, Callable[..., Any]]] = {}

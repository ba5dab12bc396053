"""Lowerings of third-party primitives for other compilers, by callable: each is an equivalent NumPy function of operations that the compiler
supports.
"""

from collections.abc import Callable
from typing import Any, Final

#: callable -> what is compiled in its place
LOWERINGS: Final[dict[Any, Callable[..., Any]]] = {}

"""The contenders that run a kernel: each compiles the kernel to a callable and reports facts about the compiled code."""
import builtins
import dataclasses
import os
import time
import types
import unittest.mock
from collections.abc import Callable
from typing import Any

import numpy as np
from kernels import KERNELS

Made = tuple[Callable[..., Any], dict[str, Any]]


class NotThere(Exception):
    """Raised where a contender has no version of a kernel, or cannot compile it."""


def numpy(name: str) -> Made:
    """Return the unchanged function."""
    return KERNELS[name].fn, {}


def hovis(name: str) -> Made:
    import hovis_xla

    fn = hovis_xla.jit(KERNELS[name].fn)

    def told(args: tuple) -> dict[str, Any]:
        text = fn.explain()
        how = "XLA" if "residual Python" not in text else "parts" if "numeric piece" in text else "Python"
        if how != "XLA":
            return {"how": how, "why": text.splitlines()[0]}
        compiled = fn.lower(*args).compile()
        with unittest.mock.patch.dict(os.environ, HOVIS_CACHE_DIR="off"):  # the cache contains it already
            _, seconds = timed(hovis_xla.compile, compiled.trace)
        return {"how": how, "compile": seconds, "loops": dataclasses.astuple(compiled.loops)}

    return fn, {"told": told}


def jax(name: str) -> Made:
    """Return the version written by hand in jax; NumPy arrays in and out, as for the others."""
    import by_hand
    import jax

    if name not in by_hand.VERSIONS:
        raise NotThere
    compiled = by_hand.VERSIONS[name]

    def called(*args: Any) -> Any:
        return jax.tree_util.tree_map(np.asarray, compiled(*args))

    def told(args: tuple) -> dict[str, Any]:
        if not hasattr(compiled, "lower"):
            return {}
        jax.clear_caches()
        _, seconds = timed(compiled.lower(*args).compile)
        called(*args)
        return {"compile": seconds}

    return called, {"told": told, "functional": True}


def numba(name: str) -> Made:
    """Compile the function, and the functions that it calls, with numba's njit, if numba accepts them."""
    njit = __import__("numba").njit
    made: dict[types.FunctionType, Any] = {}

    def compiled(fn: types.FunctionType) -> Any:
        if fn not in made:
            scope = dict(fn.__globals__)
            copy = types.FunctionType(fn.__code__, scope, fn.__name__, fn.__defaults__, fn.__closure__)
            made[fn] = njit(copy)
            for called in fn.__code__.co_names:
                inner = scope.get(called)
                if type(inner) is types.FunctionType and not hasattr(builtins, called):
                    scope[called] = compiled(inner)
        return made[fn]

    return compiled(KERNELS[name].fn), {}


def timed(fn: Callable[..., Any], *args: Any) -> tuple[Any, float]:
    start = time.perf_counter()
    found = fn(*args)
    return found, time.perf_counter() - start


CONTENDERS = {"numpy": numpy, "hovis": hovis, "jax": jax, "numba": numba}

"""Coroutine functions are left as they are; what stands for one is taken for one."""

import asyncio
import inspect

import pytest

import hovis


async def double(x):
    await asyncio.sleep(0)
    if x > 3:
        raise KeyError(x)
    return x * 2


async def more(x, *rest, k=2, **named):
    try:
        found = await double(x)
    finally:
        print("done", x)
    return found + k + sum(rest) + len(named)


WAYS = {
    "any": lambda fn: hovis.specialize(fn, hovis.Any),
    "typed": lambda fn: hovis.specialize(fn, hovis.Int),
    "jit": hovis.jit,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("fn", [double, more])
def test_it_is_a_coroutine_function(fn, way):
    made = WAYS[way](fn)
    assert inspect.iscoroutinefunction(made) or (way == "jit" and not hasattr(inspect, "markcoroutinefunction"))
    coroutine = made(1)
    assert inspect.getcoroutinestate(coroutine) == inspect.CORO_CREATED
    assert coroutine.__name__ == coroutine.cr_code.co_name == fn.__name__
    coroutine.close()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("fn", [double, more])
def test_it_does_the_same(fn, way, capsys):
    made = WAYS[way](fn)
    for x in (1, 5):
        seen = []
        for one in (fn, made):
            try:
                seen.append(asyncio.run(one(x)))
            except KeyError as error:
                seen.append((error.args, error.__context__))
            seen.append(capsys.readouterr().out)
        assert seen[:2] == seen[2:]

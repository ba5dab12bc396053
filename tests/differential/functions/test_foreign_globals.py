"""Globals of other modules, which the traced code changes: they are items of dictionaries in the residual's bytecode."""
import importlib.machinery
import traceback
import types

import pytest

import hovis
from tests.differential.harness.compare import observe, same

TEXT = '''
K = 3
def bump(x):
    global K
    K = K + x
    return K, [K for _ in range(2)]
def shadow(x):
    global len
    seen = len("four")
    len = (lambda text: x) if x else len
    if x:
        seen = seen, len("four")
        del len
    return seen, len("four")
def missing(x):
    global NOPE
    if x > 2:
        NOPE = x
    return NOPE
def caught(x):
    try:
        return missing(x)
    except NameError as error:
        return str(error), error.name
def lost(x):
    global K
    del K
    return K if x else None
'''


def module():
    made = types.ModuleType("foreign")
    made.__spec__ = importlib.machinery.ModuleSpec("foreign", importlib.machinery.BuiltinImporter)  # or linecache warns since 3.15
    exec(compile(TEXT, "foreign.py", "exec"), vars(made))
    return made


@pytest.mark.parametrize("name", ["bump", "shadow", "missing", "caught", "lost"])
@pytest.mark.parametrize("way", ["specialize", "jit"])
def test_globals_of_another_module(name, way):
    results = []
    for make in (lambda fn: fn, lambda fn: hovis.specialize(fn, int) if way == "specialize" else hovis.jit(fn)):
        foreign = module()

        def fn(x, foreign=foreign):
            return getattr(foreign, name)(x), foreign.__dict__.get("K")

        made = make(fn)
        results.append([observe(made, (x,)) for x in (1, 0, 2, 3, 1)])
    for plain, special in zip(*results, strict=True):
        same(plain, special)


def test_the_traceback_of_a_missing_global_names_the_line():
    foreign = module()
    residual = hovis.specialize(lambda x: foreign.missing(x), int)
    with pytest.raises(NameError) as caught:
        residual(1)
    assert [(frame.name, frame.lineno) for frame in traceback.extract_tb(caught.value.__traceback__)[2:]] == [("missing", 19)]


def test_a_namespace_with_builtins_of_its_own():
    namespace = {"__builtins__": {"len": lambda text: "own"}, "K": 1}
    exec("def fn(x):\n    global K\n    K = x\n    return len('four'), K", namespace)
    inner = namespace["fn"]
    residual = hovis.specialize(lambda x: inner(x), int)
    assert residual(5) == (lambda x: inner(x))(5) == ("own", 5)

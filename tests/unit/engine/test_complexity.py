"""What passes do grows with a function as it does, not with its square: counted in steps, and the residual is right."""

import pytest

import hovis
from hovis import Int
from hovis.ir import parse, verify
from hovis.passes import run
from hovis.passes.cfg import cross_jumping, simplify_cfg
from hovis.passes.scalar import correlated_branches
from hovis.transforms import evaluate


def calls(n):
    """n calls of one function, each of which makes the result known on one way: all that comes behind is decided there."""
    made = "def g(a, b=2):\n    if a > b: return a\n    return b\ndef f(x):\n" + "    x = g(x, 3) + 1\n" * n + "    return x\n"
    namespace = {}
    exec(made, namespace)
    return namespace["f"]


def commands(n):
    program = [(("add", "reset", "sub", "neg")[k * 7 % 4], k) for k in range(n)]

    def f(x):
        for command, a in program:
            if command == "add":
                x += a
            elif command == "reset":
                if x > a:
                    x = 1
            elif command == "sub":
                x -= a
            else:
                x = -x
        return x

    return f


def searches(n):
    table = [(k * 7919 % 10007, k) for k in range(n)]

    def f(x):
        return any(a == x for a, _ in table), all(a != x for a, _ in table)

    return f


def counting(monkeypatch, module, name):
    """The calls of a step of a pass from now on."""
    calls, real = [], getattr(module, name)

    def counted(*args):
        calls.append(name)
        return real(*args)

    monkeypatch.setattr(module, name, counted)
    return calls


@pytest.mark.parametrize("make", [calls, commands], ids=["calls", "commands"])
def test_edges_past_branches(monkeypatch, make):
    fn = make(300)
    trace = hovis.trace(fn, Int)
    size = len(trace.function.blocks)
    threaded = run(trace.function, ["jump_threading"], verify=False)
    many = len(threaded.blocks)
    assert many <= 3 * size + correlated_branches.WAYS
    through = counting(monkeypatch, simplify_cfg, "_through")
    straight = run(threaded, ["simplify_cfg", "dce"], verify=False)
    count, found = len(through), [evaluate(straight, x) for x in (-3, 2, 40)]
    assert count <= 3 * many
    assert found == [fn(x) for x in (-3, 2, 40)]


def test_ends_that_are_nearly_alike(monkeypatch):
    fn = searches(100)
    alike = counting(monkeypatch, cross_jumping, "_alike")
    residual = hovis.specialize(fn, Int)
    count, blocks = len(alike), len(residual.trace.blocks)
    assert count <= 32 * blocks
    assert [residual(x) for x in (-3, 0, 7919, 42)] == [fn(x) for x in (-3, 0, 7919, 42)]


def test_chains_of_jumps_that_go_round():
    """Blocks that do nothing may lead to each other for ever: what leads there stays as it is."""
    function = parse("1: (%1 :: const(f), %2 :: Int)\n  br 2\n2:\n  br 3\n3:\n  br 2")
    verify(run(function, ["simplify_cfg"]))


def asks(n):
    """n calls of nobody knows what, and a global behind each."""
    names = {"LEVEL": 1}
    exec("def f(call, x):\n" + "    call()\n    x = x * 2 + LEVEL\n" * n + "    return x\n", names)
    return names["f"]


def test_what_is_done_where_the_environment_has_changed_is_written_once():
    sizes = [sum(1 for _ in hovis.jit(asks(n)).trace(print, 1).function.ops()) for n in (10, 20)]
    assert sizes[1] <= 2 * sizes[0]


def test_the_environment_changes_at_any_of_many_calls():
    fn, left = asks(6), [0]

    def call():
        left[0] -= 1
        if not left[0]:
            fn.__globals__["LEVEL"] += 10

    def all_of(one):
        found = []
        for left[0] in range(7):
            fn.__globals__["LEVEL"] = 1
            found.append(one(call, 3))
        return found

    assert all_of(hovis.jit(fn)) == all_of(fn)


def onward(n):
    return onward(n + 1)


def there(n):
    return back(n * 2)


def back(n):
    return there(n - 1)


class Missing:
    def __getattr__(self, name):
        return self.missing

    def step(self, k=0):
        return self.step(k=k)


def missed(m):
    return m.x


def stepped(m):
    return m.step()


def guarded(n):
    try:
        return guarded(n)
    finally:
        n += 1


def through_a_lambda(n):
    return (lambda: through_a_lambda(n))()


@pytest.mark.parametrize(("f", "spec"), [(onward, Int), (there, Int), (missed, Missing), (stepped, Missing), (guarded, Int), (through_a_lambda, Int)], ids=lambda x: x.__name__ if callable(x) else "")
def test_what_calls_itself_whatever_it_is_given_is_a_function_of_its_own(f, spec):
    """Nothing is decided in between, so there would be no end to entering it."""
    traced = hovis.trace(f, spec)
    assert traced.stats["instructions"] < 500 and traced.stats["ops"] < 20
    given = 1 if spec is Int else spec()
    for way in (f, traced.compile(), hovis.jit(f)):
        with pytest.raises(RecursionError):
            way(given)


def counted_down(n):
    left = [80]

    def inner(x):
        left[0] -= 1
        return inner(x) if left[0] else x
    return inner(n)


def test_what_counts_in_an_object_ends():
    assert hovis.specialize(counted_down, Int)(3) == 3
    assert len(hovis.trace(counted_down, Int).passes().ops) == 0

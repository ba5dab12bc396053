"""What a hostile review found: one minimal program each."""

import functools

import pytest

import hovis


def chooses_by_keyword(**kw):
    return (10, "b", 3.0)[kw["i"]]


def test_numbers_in_args_and_kwargs_are_promoted():
    @hovis.jit
    def star(p, *a, k=2, **kw):
        return (10, "b", 3.0)[a[-1]], (10, "b", 3.0)[k], kw

    by_name = hovis.jit(chooses_by_keyword)
    assert [by_name(i=i) for i in range(3)] == [10, "b", 3.0]
    assert star(7, 1, 2, k=1, z=5) == (3.0, "b", {"z": 5})
    assert star(7, 1, 0) == (10, 3.0, {})


def test_numbers_of_a_bound_method_are_promoted():
    class Chooser:
        def one(self, a, *r):
            return (1, "b", 3.0)[a], (1, "b", 3.0)[r[0]]

    one = hovis.jit(Chooser().one)
    assert one(0, 1) == (1, "b") and one(2, 0) == (3.0, 1)


def test_a_call_that_does_not_bind_complains():
    def plain(a, b=2, *, c=1):
        return a * b + c

    def first(a, /, b, **k):
        return a, b, k

    for call in (lambda f: f(1, d=1), lambda f: f(1, a=1), lambda f: f(1, 2, 3)):
        with pytest.raises(TypeError):
            call(hovis.jit(plain))
    with pytest.raises(TypeError):
        hovis.jit(first)(a=5, b=1)
    assert hovis.jit(first)(1, b=2, a=5) == (1, 2, {"a": 5})


def test_what_is_wrapped_does_not_bind_the_call():
    def inner(a, b=2):
        return a, b

    @functools.wraps(inner)
    def outer(*a, **k):
        return a, k

    assert hovis.jit(outer)(1) == ((1,), {})
    assert hovis.specialize(outer, 1, b=3)() == ((1,), {"b": 3})


class Holder:
    value = 1

    def method(self):
        return "Holder"


class Other:
    def method(self):
        return "Other"


HOLDER, SHARED, SHARED_DICT = Holder(), [1, 2, 3], {"a": 1}


def test_the_class_of_a_global_is_guarded():
    global HOLDER
    HOLDER = Holder()
    called = hovis.jit(lambda: HOLDER.method())
    assert called() == "Holder"
    HOLDER.__class__ = Other
    assert called() == "Other"


class Changes:
    def __call__(self):
        HOLDER.value, Holder.value = 7, 8


def test_attributes_changed_in_mid_call():
    global HOLDER
    HOLDER, Holder.value = Holder(), 1

    @hovis.jit
    def read(f):
        before = HOLDER.value
        f()
        return before, HOLDER.value, Holder.value

    assert read(Changes()) == (1, 7, 8)


def test_a_global_that_is_also_an_argument():
    global SHARED, SHARED_DICT

    def appended(items):
        items.append(9)
        return len(SHARED)

    def inside(t):
        before = SHARED_DICT["a"]
        t[0]["a"] = "w"
        return before, SHARED_DICT["a"]

    SHARED = [1, 2, 3]
    jitted = hovis.jit(appended)
    assert (jitted([]), jitted(SHARED), jitted(SHARED)) == (3, 4, 5)
    special = hovis.specialize(appended, list)
    assert special(SHARED) == 6
    SHARED_DICT = {"a": 1}
    jitted = hovis.jit(inside)
    assert jitted(({"a": 0},)) == (1, 1)
    assert jitted((SHARED_DICT,)) == (1, "w")


def collected(n, t=()):
    if n <= 0:
        return t
    try:
        return collected(n - 1, t + (n,))
    except ValueError:
        return 0


def test_a_tuple_that_is_built_for_a_residual_function():
    assert hovis.specialize(collected, hovis.Int, hovis.const(()))(5) == (5, 4, 3, 2, 1)


class Slotted:
    __slots__ = ("x", "y")


def test_an_empty_slot_does_not_fit():
    assert hovis.specialize(lambda p: 1, hovis.Instance(Slotted, y=hovis.Int))(Slotted()) == 1


def test_what_moves_out_of_a_loop_in_a_loop_stays_within_the_outer_one():
    def f(a, b):
        c, fuel, x = 2, 5, 1
        while (q := min(a, 100)) > 1:
            for i in range(3):
                a = b * b % 5 % 2
            while ((c == a or b >= a) and not (2 >= a)) or (not (a <= c) and x <= 7):
                fuel -= 1
        return a, fuel, q

    for args in ((7, 3), (1, 3), (101, 4)):
        assert hovis.jit(f)(*args) == f(*args)

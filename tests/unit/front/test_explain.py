"""hovis.explain, errors for people, show(guards=True), and traces in notebooks."""
import functools
import re
import sys
import xml.dom.minidom

import pytest

import hovis
from hovis import Any, Float, Int, const
from hovis.diagnostics import html

FACTOR = 2


def unknown(x, y):
    z = y * 2
    return x + z


def outer(x, y):
    return unknown(x, y)


def power(x, n):
    r = 1
    while n > 0:
        n -= 1
        r *= x
    return r


async def waits(n):
    return n


def with_global(x):
    return x * FACTOR


def fact(n):
    return 1 if n == 0 else n * fact(n - 1)


# ------------------------------------------------------------------------------------------- explain


def test_the_source_line_is_quoted_and_underlined():
    text = str(hovis.explain(hovis.trace(unknown, Any, Int)))
    line = unknown.__code__.co_firstlineno + 2
    assert f"{__file__}:{line}, in unknown\n    return x + z\n           ^^^^^\n  opaque call of (+): x may be of any class" in text
    assert "a spec for x would help" in text


def test_columns_are_characters():
    def f(x):
        return ("äöü", x + 1)
    assert '    return ("äöü", x + 1)\n                   ^^^^^' in str(hovis.explain(hovis.trace(f, Any)))


def test_an_inlined_call_names_its_callers():
    assert re.search(r"in unknown\n.*\n.*\n  opaque.*\n.*\n  inlined at .*, in outer", str(hovis.explain(hovis.trace(outer, Any, Int))))


def test_what_is_decided_at_run_time():
    text = str(hovis.explain(hovis.trace(power, Int, Int)))
    assert text.startswith("power(x :: Int, n :: Int): 3 operations in 4 blocks\n")
    assert "    while n > 0:\n          ^^^^^\n  decided at run time" in text


def test_nothing_to_say():
    report = hovis.explain(hovis.trace(power, Int, 3))
    assert report.complete
    assert not report.remarks
    assert str(report).endswith("Everything was specialized.")


def test_remarks_are_told_once():
    def f(x):
        for _ in range(5):
            x = x + 1
        return x
    report = hovis.explain(hovis.trace(f, Any))
    assert sum(remark.what == "opaque call of (+)" for remark in report.remarks) <= 2


def test_a_function_left_as_a_whole_says_why():
    text = str(hovis.explain(hovis.trace(waits, Int)))
    assert "left as one call of the original" in text
    assert "coroutine" in text
    assert "async def waits(n):" in text


def test_residual_functions():
    assert "fact stays a function of its own" in str(hovis.explain(hovis.trace(fact, Int)))


def test_of_what_specialize_and_jit_gave():
    assert "decided at run time" in str(hovis.explain(hovis.specialize(power, Int, Int)))
    jitted = hovis.jit(power)
    assert "has not been called yet" in str(hovis.explain(jitted))
    jitted(2, 3)
    jitted(2.0, 3)
    text = str(hovis.explain(jitted))
    assert "power(x :: Int, n :: Int)" in text
    assert "power(x :: Float, n :: Int)" in text


def test_explain_takes_traces():
    with pytest.raises(hovis.SpecError, match="not int"):
        hovis.explain(3)


def test_source_that_is_gone():
    scope = {}
    exec(compile("def f(x):\n    return x + 1\n", "<nowhere>", "exec"), scope)
    text = str(hovis.explain(hovis.trace(scope["f"], Any)))
    assert "<nowhere>:2, in f\n  opaque call of (+)" in text


# ------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(("call", "said"), [
    (lambda: hovis.trace(power, 1, 2, 3), r"power takes 2 parameters \(x, n\), so there is no parameter for the spec 3"),
    (lambda: hovis.trace(power, m=1), r"power has no parameter 'm'; it has 2 parameters \(x, n\)"),
    (lambda: hovis.trace(power, 1, x=2), "power got two specs for its parameter 'x'"),
    (lambda: hovis.trace(power, hovis.Array("flot64", (3,))), "power, argument 'x': .*flot64"),
    (lambda: hovis.trace(power, Int, hovis.float64), "power, argument 'n': float64 needs a shape"),
    (lambda: hovis.Array("float64", (-1,)), "dimension"),
    (lambda: hovis.Array("float64", (3,), "X"), "layout"),
    (lambda: hovis.OneOf(), "at least one"),
    (lambda: hovis.Instance(3), "takes a class"),
    (lambda: hovis.trace(3), "takes a callable, not int"),
    (lambda: hovis.evaluate(hovis.trace(power, Int, Int), 2.5, 1), "power: the argument 'x' does not fit its spec Int: 2.5"),
    (lambda: hovis.evaluate(hovis.trace(power, Int, Int), 2), "power: .*2 unknown arguments"),
])  # fmt: skip
def test_errors_name_the_function_and_the_argument(call, said):
    with pytest.raises(hovis.SpecError, match=said):
        call()
    with pytest.raises(TypeError):
        call()


def test_strict_quotes_the_source():
    with pytest.raises(hovis.TraceError, match=r"in waits\n    async def waits\(n\):\n  waits was left"):
        hovis.options(strict=True).trace(waits, Int)


def test_strict_says_what_explain_says():
    with pytest.raises(hovis.TraceError) as error:
        hovis.options(strict=True).trace(unknown, Any, Int)
    assert "    return x + z\n           ^^^^^\n  opaque call of (+): x may be of any class" in str(error.value)
    assert "a spec for x would help" in str(error.value)


@pytest.mark.parametrize(("fn", "specs"), [(power, (Int, Int)), (fact, (Int,))])
def test_strict_is_content_with_decisions_at_run_time(fn, specs):
    assert hovis.options(strict=True).trace(fn, *specs).ops


def test_what_a_decision_depends_on():
    assert "decided at run time: it depends on n," in str(hovis.explain(hovis.trace(power, Int, Int)))


def test_what_was_made_for_whom():
    def f(x, key):
        return sorted([x, 1], key=key)
    assert re.search(r"made at run time: a list: it is passed to sorted", str(hovis.explain(hovis.trace(f, Any, Any))))


def test_branches_stand_where_they_are_decided():
    line = power.__code__.co_firstlineno + 2
    shown = hovis.trace(power, Int, Int).show(locations=True)
    assert re.search(rf"br \d.* unless .*test_explain.py:{line}", shown)


# ------------------------------------------------------------------------------------------- guards


def test_entry_checks_and_frozen_objects_are_shown():
    def f(x, p, c):
        return x + p["w"] + c["k"]
    trace = hovis.trace(f, Int, {"w": Float, "act": "relu"}, const({"k": 1}))
    assert trace.show() == str(trace)
    lines = trace.show(guards=True).removeprefix(trace.show()).split("\n")[1:]
    assert lines == ["# entry: x :: Int", "# entry: p :: {'w': Float, 'act': const('relu')}", "# frozen: a dict"]


def test_guards_are_shown():
    trace = hovis.jit(with_global).trace(3)
    assert trace.guards
    assert "# guard: FACTOR in module" in trace.show(guards=True)
    assert "is 2" in trace.passes().show(guards=True)


# ------------------------------------------------------------------------------------------- notebooks


@pytest.mark.parametrize("trace", [hovis.trace(power, Int, Int), hovis.trace(power, Int, 3), hovis.trace(fact, Int), hovis.trace(outer, Any, Int)], ids=["loop", "line", "two", "inlined"])
def test_html(trace):
    page = trace._repr_html_()
    xml.dom.minidom.parseString(page)       # every tag is closed, everything is escaped
    text = re.sub(r"<[^>]+>", "", page.replace("</tr>", "\n")).replace("&gt;", ">").replace("&lt;", "<").replace("&#x27;", "'").replace("&quot;", '"')
    for line in str(trace).splitlines():
        assert line in text
    assert page.count("<rect") == sum(len(f.blocks) for f in trace.functions if len(f.blocks) > 1)


def test_edges_that_touch_are_in_different_lanes():
    assert html._lanes([(0, 2), (3, 5), (1, 4), (6, 7)]) == [1, 1, 2, 1]
    assert html._lanes([]) == []


def test_html_has_the_source_beside():
    page = hovis.trace(power, Int, 3)._repr_html_()
    assert "r *= x" in page
    assert f"power:{power.__code__.co_firstlineno + 4}" in page


def test_the_graph_has_an_arrow_for_each_edge():
    trace = hovis.trace(power, Int, Int)
    page = trace._repr_html_()
    assert page.count("marker-end") == 4
    assert "true" in page
    assert "false" in page


def test_one_of_is_shown():
    assert "# entry: x :: OneOf(1, 2.5)" in hovis.trace(power, hovis.OneOf(1, 2.5), 2).show(guards=True)


@pytest.mark.parametrize("jit", [hovis.jit, hovis.specialize])
def test_a_failure_of_hovis_itself_leaves_the_call_to_python(jit, monkeypatch):
    """Tests raise it (conftest.py); users have the original, and are told."""
    def fail(*args, **named):
        raise AssertionError("no such state")

    monkeypatch.setattr(sys.modules["hovis.engine.trace"], "run", fail)
    with pytest.raises(AssertionError, match="no such state"):
        hovis.trace(power, Int, Int)
    monkeypatch.delenv("HOVIS_DEBUG")
    residual = jit(power) if jit is hovis.jit else jit(power, Int, Int)
    assert residual(3, 4) == 81
    assert "tracing failed: AssertionError: no such state" in str(hovis.explain(residual))


def test_functions_that_say_what_they_are_bound_to():
    """Some decorators give what they make the attributes of methods (networkx: the function itself)."""
    def route(x):
        return x + 1, sys._getframe(1).f_lineno
    route.__self__ = route
    hops = functools.wraps(route)(lambda x: (x + 2, sys._getframe(1).f_lineno))
    hops.__self__ = route

    def way(x):
        return route(x), hops(x)
    trace = hovis.trace(way, Int)
    assert trace(1) == way(1)
    assert "route" in str(hovis.explain(trace)) and "route" in str(trace) and "route" in trace.source()

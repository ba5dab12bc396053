"""Formatting gives an object of a subclass of str where nothing else is written: the very one that a method gave."""

from operator import mod

import pytest

import hovis


class Text(str):
    def upper(self):
        return "mine"

    def __len__(self):
        return 99


class Shown:
    def __init__(self, text):
        self.text = text

    def __str__(self):
        return Text(self.text)

    def __format__(self, spec):
        return Text(self.text)


def told(text):
    return type(text), len(text), text.upper(), str.__len__(text)


def field(a):
    return told("{}".format(a))


def behind_nothing(a):
    return told("{}{}".format("", a))


def before_nothing(a):
    return told("{}{}".format(a, ""))


def with_text(a):
    return told("<{}".format(a)), told("{}>".format(a))


def converted(a):
    return told("%s" % a), told("%s%s" % ("", a)), told("%1s" % a), told("%s." % a)


def of_a_tuple(a):
    values = (a,)
    return told(mod("%s", values)), told(mod("%s%s", ("", a))), told("%(x)s" % {"x": a})


def unknown_template(a, template="{}"):
    return told(template.format(a))


FUNCTIONS = [field, behind_nothing, before_nothing, with_text, converted, of_a_tuple, unknown_template]


@pytest.mark.parametrize("text", ["x", "", "long"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_formatting(function, text):
    def made_inside(text):
        return function(Shown(text))

    expected = function(Shown(text))
    assert hovis.specialize(function, hovis.Any)(Shown(text)) == expected
    assert hovis.jit(function)(Shown(text)) == expected
    assert hovis.specialize(made_inside, hovis.Str)(text) == expected
    assert hovis.specialize(made_inside, text)() == expected
    assert hovis.specialize(made_inside, hovis.Any)(text) == expected


def test_formatting_by_a_template_that_is_unknown():
    assert hovis.specialize(unknown_template, hovis.Any, hovis.Str)(Shown("x"), "{}") == unknown_template(Shown("x"))

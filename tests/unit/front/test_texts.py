"""Names, keys, strings and file names of any text: what is written of them is read back, and no text is run as code."""
import ast
import builtins
import enum
import html.parser
import inspect
import os
import random
import sys
import types
import warnings

import pytest

import hovis
from hovis import Any, Instance, Int, WriteError, const
from hovis.__main__ import main
from hovis.ir.naming import identifier, is_name, printable

#: Run as code, this is seen.
CODE = "injected()"
TEXTS = [
    f'a""";{CODE};"""', f"a''';{CODE};'''", f"x\n{CODE}", f"x\r{CODE}", f"x\x0c{CODE}", f"x\x0b{CODE}", f"x\x1c{CODE}", f"x\x85{CODE}", f"x\u2028{CODE}", f"x\u2029{CODE}",
    f"x): {CODE}", f"x={CODE}", f"{{{CODE}}}", f"'+{CODE}+'", f'"+{CODE}+"', f"\\'+{CODE}+'", f"x] + [{CODE}", f"x; {CODE}", f"x\\\n{CODE}", "\0", "\ud800", "\udcff", "", " ",
    "class", "None", "__debug__", "\ufb01", "fi", "²", "e\u0301", "\u212b", "𝐱", "é", "x y", "a.b", ".", "%s", "{", "}", "{}", "\\", "\\N{BEL}", "\\x", "'", '"', '"""', "'''", "\n", "\t", "#",
    "print", "list", "type", "dict", "slice", "getattr", "self", "<lambda>", "<b onclick='x'>&amp;\"", "</td>", "RESIDUAL", "original", "original_f", "f", "x", "n", "refused", "__class__", "__x",
    "_", "__import__", "match", "1", "1x", "x" * 300, "\U0001f600", "\u200b", "\ufeff", "\u202e",
]  # fmt: skip
#: How many of them each kind of program is tried with.
EXAMPLES = int(os.environ.get("HOVIS_EXAMPLES", "60")) // 10


class Thing:
    pass


class Shown:
    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text

    def __reduce__(self):
        return Shown, (self.text,)


def renamed(fn, **changes):
    """The function with other names in its code."""
    code = fn.__code__
    for known, new in changes.pop("names", {}).items():
        parts = {where: tuple(new if name == known else name for name in getattr(code, where)) for where in ("co_varnames", "co_names", "co_freevars", "co_cellvars")}
        code = code.replace(**parts)
    made = types.FunctionType(code.replace(**changes), {"__name__": "texts", "__builtins__": builtins}, changes.get("co_name", fn.__name__), fn.__defaults__, fn.__closure__)
    made.__qualname__ = changes.get("co_qualname", made.__name__)
    return made


# ------------------------------------------------------------------------------------------- functions with texts in them: what is asked for stands in ``test_any_text``


def keys(a, b):
    return (lambda d, n: (d[a] + n, {a: n, b: d[a]}, sorted(d.items())), [{a: Int, b: Int} if a != b else {a: Int}, Int], {}, [{a: 1, b: 2}, 3], {})


def called(a, b):
    def inner(x):
        return x + 1 if x else missing

    inner = renamed(inner, co_name=a, co_qualname=b)
    return renamed(lambda x, n: [inner(n), x], co_name=a, co_qualname=b, co_filename=b), [Any, Int], {}, [2.5, 3], {}


def parameters(a, b):
    a, b = identifier(a) + "_", b or "s"
    def f(x, n):
        s = x + n
        for _ in range(n):
            s = s * 2 + x
        return s, [x, n], n

    return renamed(f, names={"x": a, "s": b} if a != b else {"x": a}), [Int, Int], {}, [2, 3], {}


def by_name(a, b):
    def f(**named):
        return sorted(named.items()), named.get(a)

    return f, [], {b: 5, a: Int}, [], {b: 5, a: 1}


def passed(a, b):
    def f(x, fn):
        return fn(x, **{a: x, b: 2}), dict(**{a: 1, b: x})

    return f, [Int, Any], {}, [1, lambda x, **named: sorted(named.items())], {}


def attributes(a, b):
    def f(o, x):
        setattr(o, a, x)
        setattr(o, b, getattr(o, a) + 1)
        return getattr(o, a), sorted(vars(o).items()), hasattr(o, "x")

    return f, [Any, Int], {}, [Thing(), 3], {}


def instances(a, b):
    made = Thing()
    vars(made).update({a: 2, b: 3})
    return lambda o, n: getattr(o, a) + n, [Instance(Thing, **{a: Int, b: 3}) if a != b else Instance(Thing, **{a: Int}), Int], {}, [made, 3], {}


def variables(a, b):
    fn = renamed(lambda n: (some is None, n + 1, some(n)), names={"some": a})
    fn.__globals__[a] = lambda n: (n, b)
    return fn, [Int], {}, [3], {}


def strings(a, b):
    def f(x, n):
        if n > 5:
            raise KeyError(a, f"{n}{b}")
        return f"{a}{n}{b}{x!r:>9}", a + b, a in (b, "x"), {a: n}, [a, b][n % 2], a.join([b, str(n)]), (b, (a,)), x == a, b"x" + a.encode(errors="surrogatepass")

    return f, [Any, Int], {}, ["é", 3], {}


def known(a, b):
    return lambda x, d: (x, d[a], d), [Int, const({a: b, 1: [a, (b,)]})], {}, [1, {a: b, 1: [a, (b,)]}], {}, [1]


def chosen(a, b):
    return lambda x, n: x + n, [hovis.OneOf(a, b, "z"), const(a)], {}, [a, a], {}, [a]


def shown(a, b):
    one, other = Shown(a), Shown(b)
    return lambda x: (x, one, other.text, [one]), [Any], {}, [3], {}


def classes(a, b):
    made = type(a.replace("\0", "") if not a.isprintable() and a.isascii() else "Cls", (), {"__qualname__": b, "__module__": a, "value": 3})
    return lambda x: (isinstance(x, made), made.value, type(x) is made), [Any], {}, [3], {}


def members(a, b):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made = enum.Enum("Made", {a: 1, b: 2})
        except (ValueError, TypeError):     # a name that enum keeps for itself
            made = enum.Enum("Made", {"one": 1})
    first = next(iter(made))
    return lambda x: (first.value, x is first), [Any], {}, [first], {}


def imported(a, b):
    """A function and an object of a module whose name is any text."""
    module = types.ModuleType(a)
    module.__file__ = b
    exec("def f(x, n):\n    if n > 0: held.append(x)\n    return x + n, held[:1], other(n)\ndef other(n):\n    return n\n", vars(module))
    module.held = [[1]]
    if a not in sys.modules and a:
        sys.modules[a] = module
    return module.f, [Int, Int], {}, [1, 0], {}


KINDS = [keys, called, parameters, by_name, passed, attributes, instances, variables, strings, known, chosen, shown, classes, members, imported]


# ------------------------------------------------------------------------------------------- looking


class Tags(html.parser.HTMLParser):
    """The tags of a text; those that are opened are closed."""

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], set()

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        self.seen.add((tag, *sorted(name for name, _ in attributes)))

    def handle_startendtag(self, tag, attributes):
        self.seen.add((tag, *sorted(name for name, _ in attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


ATTRIBUTES = {"style", "title", "class", "id", "d", "x", "y", "width", "height", "fill", "stroke", "xmlns", "rx", "fill-opacity", "font-weight", "font-size", "font-family", "text-anchor",
              "marker-end", "stroke-dasharray", "viewbox", "refx", "refy", "markerwidth", "markerheight", "orient"}  # fmt: skip


def result(fn, args, named):
    try:
        return "returned", repr(fn(*args, **named))
    except Exception as error:
        return "raised", type(error), repr(error.args)


def look(traced):
    """All that is shown of a trace for people."""
    for text in (str(traced), traced.show(locations=True, guards=True), traced.show(full=True), str(hovis.explain(traced))):
        assert all(line.isprintable() for line in text.replace("\t", " ").split("\n")), text
    tags = Tags()
    tags.feed(traced._repr_html_())
    tags.close()
    assert not tags.open
    assert {tag for tag, *_ in tags.seen} <= {"div", "table", "tr", "td", "span", "svg", "g", "rect", "path", "text", "defs", "marker", "title"}
    assert {name for _, *names in tags.seen for name in names} <= ATTRIBUTES


@pytest.fixture
def hits(monkeypatch):
    found = []
    monkeypatch.setattr(builtins, "injected", lambda: found.append(1), raising=False)
    before = set(sys.modules)
    yield found
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_any_text(kind, hits, tmp_path):
    drawn, written = random.Random(kind.__name__), 0
    for a in [TEXTS[0], *drawn.sample(TEXTS, min(EXAMPLES, len(TEXTS)))]:
        b = drawn.choice(TEXTS)
        # a function, specs, named specs, arguments for the original, by name, and for the residual, if others
        fn, specs, named_specs, args, named, *others = kind(a, b)
        wanted = result(fn, args, named)
        assert result(hovis.jit(fn), args, named) == wanted, (a, b)
        traced = hovis.trace(fn, *specs, **named_specs)
        look(traced)
        unknown = others[0] if others else args
        # parameters that the original takes by name alone; what is no name is passed by position
        kinds = {u.name: u.kind for u in traced.signature.unknown}
        unknown = [*unknown, *(v for k, v in named.items() if kinds.get(k) is inspect.Parameter.POSITIONAL_OR_KEYWORD)]
        by_name = {k: v for k, v in named.items() if kinds.get(k) is inspect.Parameter.KEYWORD_ONLY}
        assert result(traced.compile(), unknown, by_name) == wanted, (a, b)
        assert result(traced.text().load(), unknown, by_name) == wanted, (a, b, traced.source())
        for refuse in (False, True):
            try:
                traced.save(tmp_path / "made.py", refuse)
            except WriteError as error:
                assert all(line.isprintable() for line in str(error).split("\n"))
                continue
            written += 1
            text = (tmp_path / "made.py").read_text(encoding="utf-8")
            assert ast.get_docstring(ast.parse(text)).endswith("written by hovis.")
            assert result(hovis.load(tmp_path / "made.py"), unknown, by_name) == wanted, (a, b, text)
    assert not hits
    assert written or kind in (called, variables, classes, members), "nothing was written"


def test_any_file_name(hits, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    written = 0
    for k, text in enumerate(TEXTS):
        stem = text.replace("/", "_").replace("\0", "").strip(".") or "x"
        os.mkdir(str(k))
        try:
            path = f"{k}/{stem[:200]}.py"
            with open(path, "w") as file:
                file.write(f"def f(x, n):\n    return x * n, {text!r}\n")
        except (OSError, UnicodeError):
            continue
        out = f"{k}/out of {stem[:200]}.py"
        status = main(["specialize", f"{path}:f", "Int", "3", "-o", out])
        said = capsys.readouterr()
        assert said.err.count("\n") == (status == 2) == (not os.path.exists(out)), said
        if not status:
            assert hovis.load(out)(2) == (6, text)
            if os.path.basename(path) != f"{stem}.py" or "." in stem:
                continue
            monkeypatch.syspath_prepend(str(k))
            assert result(hovis.load(out), [2.5], {}) in [("returned", repr((7.5, text))), ("raised", TypeError, repr(("f was specialized for x: Int: it takes no other arguments",)))]
            written += 1
    assert written > len(TEXTS) // 2
    assert not hits


# ------------------------------------------------------------------------------------------- names


def test_a_parameter_whose_name_is_none():
    fn = renamed(lambda x: x, names={"x": "x y"})
    with pytest.raises(hovis.SpecError, match="x y"):
        hovis.trace(fn, Int)


@pytest.mark.parametrize("name", ["self", "fn", "args", "kwargs", "named", "rule", "target", "inner"])
def test_keywords_may_have_any_name(name):
    import hovis_xla

    def f(**named):
        return named[name] * named[name]

    for made in (hovis.jit(f), hovis_xla.jit(f, target="python"), hovis_xla.jit(f, target="xla"), hovis.trace(f, **{name: hovis.Float}), hovis.checkpoint(f)):
        assert made(**{name: 3.0}) == 9.0
    assert hovis.value_and_grad(lambda x: hovis.checkpoint(f)(**{name: x}))(3.0) == (9.0, 6.0)


def test_a_dict_key_runs_no_code(hits, tmp_path):
    hovis.trace(lambda d: d, {'a""";injected();"""': Int}).save(tmp_path / "made.py")
    assert hovis.load(tmp_path / "made.py")({'a""";injected();"""': 1}) == {'a""";injected();"""': 1}
    assert not hits


def test_an_argument_keeps_its_name_beside_a_part_of_another():
    traced = hovis.trace(lambda a, a_w, a_w_: (a["w"], a_w, a_w_), {"w": Int}, Int, Int)
    assert traced.text().load()({"w": 1}, 2, 3) == (1, 2, 3)


def test_arguments_that_are_called_as_builtins_are():
    def f(type, list, slice, len, getattr, operator):
        return type + list["a"], slice[1:2], len, getattr + operator[0]

    traced = hovis.trace(f, Int, {"a": Int}, Any, Any, Any, [Int])
    given = 1, {"a": 2}, "xyz", 3, 4, [5]
    assert traced.text().load()(*given) == traced.compile()(*given) == f(*given)
    assert traced.text().load()(1.5, *given[1:]) == f(1.5, *given[1:])


def test_a_string_that_is_what_the_refusal_is_called(tmp_path):
    hovis.trace(lambda x: ("refused", x), Int).save(tmp_path / "made.py", refuse=True)
    assert hovis.load(tmp_path / "made.py")(1) == ("refused", 1)


def test_names():
    for text in TEXTS:
        made = identifier(text)
        assert is_name(made)
        assert made == text or not is_name(text)
        assert eval(f"'{printable(text)}'") == text if "'" not in text and "\\" not in text else True
        assert printable(text).isprintable()
        if is_name(text):
            scope = {}
            exec(f"{text} = 1", scope)
            assert text in scope

"""The cases: for each library a function that its users would write, which holds the known program; only the data is an argument.

Each function here makes one case: it imports the library, and returns a fresh function with the inputs on which it is compared. Among
these are inputs that raise.
"""
from collections.abc import Callable
from typing import Any, NamedTuple


class Case(NamedTuple):
    """A case: its name, what has to be installed, the specs of the arguments, and what makes the function and its inputs."""

    name: str
    needs: str
    specs: tuple[Any, ...]
    make: Callable[[], tuple[Callable[..., Any], list[tuple[Any, ...]]]]


CASES: dict[str, Case] = {}


def case(needs: str, *specs: Any) -> Callable[[Callable], Callable]:
    """Add a case for a library, by the name of its package; the specs are those of the function's arguments."""

    def add(make):
        CASES[make.__name__] = Case(make.__name__, needs, specs, make)
        return make

    return add


# ------------------------------------------------------------------------------------------------- templates and documents


@case("jinja2", dict)
def jinja2():
    import jinja2

    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    template = environment.from_string(
        "Hi {{ name|upper }}{% for i in items %}, {{ loop.index }}: {{ i.title }} at {{ '%.2f'|format(i.price) }}{% else %} nothing{% endfor %}"
    )

    def render(context):
        return template.render(context)

    items = [{"title": "a", "price": 3}, {"title": "b<", "price": 4.5}]
    wrong = [{"title": "t", "price": "much"}]
    return render, [({"name": "Bob", "items": items},), ({"name": "&", "items": []},), ({"items": items},), ({"name": "x", "items": wrong},)]


@case("chevron", dict)
def chevron():
    import chevron

    template = "Hello {{name}} {{#items}}<li>{{title}}: {{{price}}}</li>{{/items}}{{^items}}none{{/items}}"

    def render(context):
        return chevron.render(template, context)

    items = [{"title": "a", "price": 3}, {"title": "b<", "price": 4.5}]
    return render, [({"name": "Bob", "items": items},), ({"name": "&", "items": []},), ({},), ({"name": "x", "items": {"title": "one"}},)]


@case("mistune", str)
def mistune():
    import mistune

    markdown = mistune.create_markdown(escape=True, plugins=["strikethrough"])

    def html(text):
        return markdown(text)

    return html, [("# Hi *you*\n\n- one\n- ~~two~~ `x<y`\n",), ("plain",), ("",), ('[a](b "c") <b>\n> q',)]


# ------------------------------------------------------------------------------------------------- grammars


@case("pyparsing", str)
def pyparsing():
    import pyparsing as pp

    key, number = pp.Word(pp.alphas), pp.Word(pp.nums).set_parse_action(lambda found: int(found[0]))
    text = pp.QuotedString('"')
    pair = pp.Group(key + pp.Suppress("=") + (number | text))
    pairs = pair + pp.ZeroOrMore(pp.Suppress(",") + pair)

    def parse(line):
        return pairs.parse_string(line, parse_all=True).as_list()

    return parse, [('width=10, name="box", h=3',), ("a=1",), ("a=1,",), ("",), ('a = "open',)]


@case("arpeggio", str)
def arpeggio():
    from arpeggio import EOF, OneOrMore, Optional, ParserPython, PTNodeVisitor, RegExMatch, ZeroOrMore, visit_parse_tree

    def number():
        return RegExMatch(r"\d+(\.\d+)?")

    def factor():
        return Optional(["+", "-"]), [number, ("(", expression, ")")]

    def term():
        return factor, ZeroOrMore(["*", "/"], factor)

    def expression():
        return term, ZeroOrMore(["+", "-"], term)

    def whole():
        return OneOrMore(expression), EOF

    class Value(PTNodeVisitor):
        def visit_number(self, node, children):
            return float(node.value)

        def visit_factor(self, node, children):
            return -children[-1] if children[0] == "-" else children[-1]

        def visit_term(self, node, children):
            value = children[0]
            for i in range(2, len(children), 2):
                value = value * children[i] if children[i - 1] == "*" else value / children[i]
            return value

        def visit_expression(self, node, children):
            value = children[0]
            for i in range(2, len(children), 2):
                value = value + children[i] if children[i - 1] == "+" else value - children[i]
            return value

    parser, visitor = ParserPython(whole), Value()

    def calculate(text):
        return visit_parse_tree(parser.parse(text), visitor)

    return calculate, [("1+2*(3-4)",), ("-7.5",), ("1 + * 2",), ("",), ("1/0",)]


@case("ply", str)
def ply():
    import ply.lex
    import ply.yacc

    class Calculator:
        tokens = ("NUMBER", "PLUS", "MINUS", "TIMES", "OPEN", "CLOSE")
        t_PLUS, t_MINUS, t_TIMES, t_OPEN, t_CLOSE, t_ignore = r"\+", r"-", r"\*", r"\(", r"\)", " "
        precedence = (("left", "PLUS", "MINUS"), ("left", "TIMES"))

        def t_NUMBER(self, t):
            r"\d+"
            t.value = int(t.value)
            return t

        def t_error(self, t):
            raise SyntaxError(f"illegal {t.value[0]!r}")

        def p_binary(self, p):
            """expr : expr PLUS expr
                    | expr MINUS expr
                    | expr TIMES expr"""
            p[0] = p[1] + p[3] if p[2] == "+" else p[1] - p[3] if p[2] == "-" else p[1] * p[3]

        def p_group(self, p):
            "expr : OPEN expr CLOSE"
            p[0] = p[2]

        def p_number(self, p):
            "expr : NUMBER"
            p[0] = p[1]

        def p_error(self, p):
            raise SyntaxError(f"at {p.value!r}" if p else "at the end")

    rules = Calculator()
    lexer = ply.lex.lex(module=rules)
    parser = ply.yacc.yacc(module=rules, debug=False, write_tables=False)

    def calculate(text):
        return parser.parse(text, lexer=lexer)

    return calculate, [("1+2*(3-4)*5",), ("7",), ("1 + + 2",), ("",), ("2 $ 3",)]


@case("parse", str)
def parse():
    import parse

    form = parse.compile("{name} bought {count:d} items at {price:f} on {when:ti}")

    def read(line):
        found = form.parse(line)
        return found and found.named

    return read, [("Bob bought 12 items at 3.50 on 2024-05-06",), ("Bob bought no items",), ("",), ("Al bought 1 items at 1.0 on 2024-99-06",)]


# ------------------------------------------------------------------------------------------------- schemas


@case("jsonschema<4.18", dict)
def jsonschema():
    import jsonschema

    validator = jsonschema.Draft7Validator({
        "type": "object",
        "required": ["name"],
        "additionalProperties": False,
        "properties": {
            "name": {"type": "string", "maxLength": 10},
            "age": {"type": "integer", "minimum": 0},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
    })

    def check(document):
        return [(list(error.absolute_path), error.message) for error in validator.iter_errors(document)]

    good = {"name": "Bob", "age": 20, "tags": ["a", "b"]}
    return check, [(good,), (good | {"age": -3, "tags": [1, "x"]},), ({"other": 1},), ({},)]


@case("voluptuous", dict)
def voluptuous():
    from voluptuous import All, Any, Coerce, Length, Optional, Range, Required, Schema

    settings = Schema({
        Required("name"): All(str, Length(min=1, max=10)),
        Required("port", default=80): All(Coerce(int), Range(min=1, max=65535)),
        Optional("tags"): [Any("a", "b", int)],
    })

    def load(data):
        return settings(data)

    good = {"name": "web", "port": "8080", "tags": ["a", 3]}
    return load, [(good,), ({"name": "web"},), ({"name": "", "port": 0},), ({},), ({"name": "x", "tags": ["c"]},)]


@case("schema", dict)
def schema():
    from schema import And, Optional, Or, Schema, Use

    person = Schema({
        "name": And(str, len),
        "age": And(Use(int), lambda n: 18 <= n <= 99),
        Optional("sex"): And(str, Use(str.lower), Or("female", "male")),
    })

    def validate(data):
        return person.validate(data)

    good = {"name": "Sue", "age": "28", "sex": "Female"}
    return validate, [(good,), ({"name": "Sam", "age": 19},), ({"name": "", "age": 20},), ({},), ({"name": "Al", "age": "x"},)]


@case("cattrs", dict)
def cattrs():
    import attrs
    import cattrs

    @attrs.define
    class Point:
        x: float
        y: float = 0.0

    @attrs.define
    class Shape:
        name: str
        points: list[Point]
        closed: bool | None = None

    converter = cattrs.Converter(forbid_extra_keys=True)

    def load(data):
        return attrs.astuple(converter.structure(data, Shape))

    good = {"name": "line", "points": [{"x": 1, "y": 2.5}, {"x": "3"}], "closed": True}
    more = {"name": "x", "points": [], "colour": 1}
    return load, [(good,), ({"name": "none", "points": []},), ({"name": "bad", "points": [{"y": 1}]},), ({},), (more,)]


@case("dacite", dict)
def dacite():
    import dataclasses

    import dacite

    @dataclasses.dataclass
    class Address:
        street: str
        number: int

    @dataclasses.dataclass
    class Person:
        name: str
        addresses: list[Address]
        age: int | None = None

    strict = dacite.Config(strict=True, type_hooks={str: str.strip})

    def load(data):
        return dataclasses.astuple(dacite.from_dict(Person, data, config=strict))

    good = {"name": " Bob", "addresses": [{"street": "High ", "number": 3}], "age": 20}
    wrong = {"name": "x", "addresses": [{"street": "y", "number": "3"}]}
    return load, [(good,), ({"name": "Al", "addresses": []},), (wrong,), ({},), ({"name": "x", "addresses": [], "what": 1},)]


# ------------------------------------------------------------------------------------------------- queries and patches


@case("glom", dict)
def glom():
    import glom

    spec = {
        "name": "system.name",
        "moons": ("system.planets", [{"planet": "name", "count": ("moons", len)}]),
        "star": glom.Coalesce("system.star.name", default="?"),
    }

    def shape(data):
        return glom.glom(data, spec)

    planets = [{"name": "earth", "moons": ["moon"]}, {"name": "mars", "moons": ["phobos", "deimos"]}]
    good = {"system": {"name": "solar", "planets": planets, "star": {"name": "sun"}}}
    return shape, [(good,), ({"system": {"name": "empty", "planets": []}},), ({},)]


@case("jsonpath-ng", dict)
def jsonpath_ng():
    import jsonpath_ng.ext

    path = jsonpath_ng.ext.parse("$.store.book[?(@.price < 10)].title")

    def find(data):
        return [(str(match.full_path), match.value) for match in path.find(data)]

    books = [{"title": "a", "price": 8.95}, {"title": "b", "price": 12}, {"title": "c", "price": 3}, {"title": "d"}]
    wrong = [{"title": "x", "price": "cheap"}]
    return find, [({"store": {"book": books}},), ({"store": {"book": []}},), ({},), ({"store": {"book": wrong}},)]


@case("jsonpatch", dict)
def jsonpatch():
    import jsonpatch

    patch = jsonpatch.JsonPatch([
        {"op": "test", "path": "/version", "value": 1},
        {"op": "replace", "path": "/version", "value": 2},
        {"op": "add", "path": "/tags/-", "value": "new"},
        {"op": "move", "from": "/old", "path": "/meta/moved"},
        {"op": "remove", "path": "/drop"},
    ])

    def apply(document):
        return patch.apply(document)

    good = {"version": 1, "tags": ["a"], "old": [1, 2], "meta": {}, "drop": None}
    return apply, [(good,), (good | {"version": 3},), ({"version": 1, "tags": [], "meta": {}},), ({},)]


@case("pypika", str, int)
def pypika():
    from pypika import Order, Query, Table, functions

    people, orders = Table("people"), Table("orders")

    def build(name, least):
        query = Query.from_(people).join(orders).on(people.id == orders.person).select(people.name, functions.Sum(orders.price))
        if name:
            query = query.where(people.name.like(name + "%"))
        query = query.where((orders.price > least) | orders.paid.isnull())
        return query.groupby(people.name).orderby(people.name, order=Order.desc).limit(least).get_sql()

    return build, [("Bob", 10), ("", 0), ("O'Hara", -5), ("é", 10**20)]


# ------------------------------------------------------------------------------------------------- rules, expressions and units


@case("rule-engine", dict)
def rule_engine():
    import rule_engine

    rule = rule_engine.Rule("age >= 18 and (name =~ 'B.*' or 'vip' in tags) and size * 2 < 10")

    def matches(thing):
        return rule.matches(thing)

    good = {"name": "Bob", "age": 20, "tags": [], "size": 3}
    return matches, [(good,), ({"name": "Al", "age": 20, "tags": ["vip"], "size": 5},), ({"name": "Bob", "age": 3},), ({},), ({"name": "Bob", "age": "old"},)]


@case("asteval", float, float)
def asteval():
    import asteval

    interpreter = asteval.Interpreter(use_numpy=False, minimal=True, config={"ifexp": True})
    tree = interpreter.parse("x*x + y*2 - (x if x > y else y) / (x - 1)")

    def evaluate(x, y):
        interpreter.symtable["x"], interpreter.symtable["y"] = x, y
        interpreter.error = []
        return interpreter.run(tree)

    return evaluate, [(3.0, 4.0), (5.0, -1.0), (float("inf"), 0.0), (1.0, 2.0)]


@case("py-expression-eval", dict)
def py_expression_eval():
    from py_expression_eval import Parser

    expression = Parser().parse("x^2 + 3*y - (x > y and 1 or 2) / z + if(x > z, sqrt(x * y), -y) * min(x, y, z)")

    def evaluate(values):
        return expression.evaluate(values)

    return evaluate, [({"x": 2, "y": 3.5, "z": 4},), ({"x": 5, "y": -1, "z": 0.5},), ({"x": 1, "y": 2, "z": 3},), ({"x": 1, "y": 1, "z": 0},), ({},)]


@case("pint", float)
def pint():
    import pint

    units = pint.UnitRegistry()
    speed, limit = units.Unit("km/hour"), units.Quantity(20.0, "m/s")

    def convert(x):
        quantity = x * speed
        return quantity.to("mile/hour").magnitude, bool(quantity > limit), str((limit / quantity).to("dimensionless"))

    return convert, [(90.0,), (0.0,), (-3.5,), (float("nan"),)]


# ------------------------------------------------------------------------------------------------- numbers and dates of a locale or a calendar


@case("babel", float)
def babel():
    from babel.numbers import format_compact_decimal, format_currency, format_decimal

    def show(x):
        return format_decimal(x, locale="de"), format_currency(x, "EUR", locale="en_GB"), format_compact_decimal(x, locale="fr", fraction_digits=1)

    return show, [(1234567.891,), (0.0,), (-0.5,), (float("nan"),), (float("inf"),)]


@case("python-dateutil", int, int, int)
def dateutil():
    from datetime import datetime

    from dateutil.rrule import FR, MO, MONTHLY, rrule

    def days(year, month, day):
        return list(rrule(MONTHLY, dtstart=datetime(year, month, day), count=3, byweekday=(MO, FR), bysetpos=-1))

    return days, [(2024, 1, 31), (1999, 12, 1), (9999, 12, 1), (2024, 13, 1)]


# ------------------------------------------------------------------------------------------------- binary formats


@case("bitstruct", bytes)
def bitstruct():
    import bitstruct

    form = bitstruct.compile("u4s4b1p3u12f32r16", ["version", "kind", "flag", "length", "ratio", "tag"])

    def unpack(data):
        return form.unpack(data)

    return unpack, [(bytes.fromhex("4f81 23 3f800000 abcd"),), (bytes(9),), (bytes(8),), (b"",), (b"\xff" * 12,)]


@case("kaitaistruct", bytes)
def kaitaistruct():
    from io import BytesIO

    from kaitaistruct import KaitaiStream, KaitaiStruct, ValidationNotEqualError

    class Record(KaitaiStruct):  # as kaitai-struct-compiler writes it
        def __init__(self, _io, _parent=None, _root=None):
            self._io, self._parent, self._root = _io, _parent, _root if _root else self
            self._read()

        def _read(self):
            self.magic = self._io.read_bytes(4)
            if not self.magic == b"REC1":
                raise ValidationNotEqualError(b"REC1", self.magic, self._io, "/seq/0")
            self.kind = self._io.read_bits_int_be(3)
            self.flags = self._io.read_bits_int_be(5)
            self._io.align_to_byte()
            self.count = self._io.read_u2le()
            self.items = [Record.Item(self._io, self, self._root) for _ in range(self.count)]

        class Item(KaitaiStruct):
            def __init__(self, _io, _parent=None, _root=None):
                self._io, self._parent, self._root = _io, _parent, _root if _root else self
                self._read()

            def _read(self):
                self.size = self._io.read_u1()
                self.name = self._io.read_bytes(self.size).decode("utf-8")
                self.value = self._io.read_f4be()

    def read(data):
        record = Record(KaitaiStream(BytesIO(data)))
        return record.kind, record.flags, [(item.name, item.value) for item in record.items]

    good = b"REC1\x65\x02\x00\x03one\x3f\x80\x00\x00\x02ab\xc0\x00\x00\x00"
    return read, [(good,), (good[:-2],), (b"RECX" + good[4:],), (b"REC1\x00\x00\x00",), (b"",)]


@case("pyasn1", bytes)
def pyasn1():
    from pyasn1.codec.der import decoder
    from pyasn1.codec.native import encoder
    from pyasn1.type import char, namedtype, univ

    class Record(univ.Sequence):
        componentType = namedtype.NamedTypes(
            namedtype.NamedType("id", univ.Integer()),
            namedtype.OptionalNamedType("name", char.UTF8String()),
            namedtype.DefaultedNamedType("live", univ.Boolean(True)),
        )

    record = Record()

    def read(data):
        value, rest = decoder.decode(data, asn1Spec=record)
        return dict(encoder.encode(value)), rest

    texts = ["300b 0202012c 0c024162 010100", "3003020107 62", "300b0202012c", "", "30030c0141"]
    return read, [(bytes.fromhex(text),) for text in texts]


# ------------------------------------------------------------------------------------------------- command lines


@case("docopt", list)
def docopt():
    import docopt

    usage = """Ship.

Usage:
  ship new <name>...
  ship move <x> <y> [--speed=<kn>] [-v]

Options:
  --speed=<kn>  Speed [default: 10].
  -v            Say more.
"""

    def read(words):
        try:
            return dict(docopt.docopt(usage, words, help=False))
        except SystemExit as stop:
            return str(stop)

    return read, [(["move", "1", "2", "--speed=15"],), (["new", "a", "b"],), ([],), (["move", "1", "--what"],)]


@case("click", list)
def click():
    import click

    @click.command()
    @click.argument("files", nargs=-1, required=True)
    @click.option("--count", "-c", type=click.IntRange(1, 9), default=1)
    @click.option("--mode", type=click.Choice(["fast", "slow"]))
    @click.option("--verbose/--quiet", "-v/-q")
    def tool(files, count, mode, verbose):
        return files, count, mode, verbose

    def run(words):
        return tool.main(words, "tool", standalone_mode=False)

    return run, [(["-c", "3", "--mode=fast", "a", "b", "-v"],), (["x"],), ([],), (["-c", "12", "a"],), (["--mode", "odd", "a"],)]


# ------------------------------------------------------------------------------------------------- state machines


@case("automat", list)
def automat():
    from automat import MethodicalMachine

    class Coffee:
        machine = MethodicalMachine()

        @machine.state(initial=True)
        def empty(self):
            "no beans"

        @machine.state()
        def ready(self):
            "beans in"

        @machine.input()
        def fill(self, beans):
            "beans put in"

        @machine.input()
        def brew(self):
            "button pressed"

        @machine.output()
        def keep(self, beans):
            self.beans = beans

        @machine.output()
        def pour(self):
            return "coffee of " + self.beans

        empty.upon(fill, enter=ready, outputs=[keep])
        ready.upon(brew, enter=empty, outputs=[pour])

    def run(events):
        cup, out = Coffee(), []
        for event in events:
            out += cup.brew() if event == "brew" else cup.fill(event)
        return out

    return run, [(["java", "brew", "mocha", "brew"],), ([],), (["brew"],), (["java", "brew", "brew"],)]

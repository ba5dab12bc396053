"""The programs of the examples, compiled by the specializers of the ecosystem where these are installed."""
import importlib
import math
import sqlite3
from collections.abc import Callable, Iterator

Peer = tuple[str, Callable]


def of(name: str, example: object) -> Iterator[Peer]:
    """Yield the peers of an example: a name, and a callable that takes the same arguments as the residual."""
    for make in PEERS.get(name, ()):
        try:
            yield make.__name__.replace("_", " "), make(example)
        except ImportError:
            continue


def jsonschema(example):
    module = importlib.import_module("jsonschema")
    validator = module.Draft202012Validator(example.SCHEMA)
    return lambda document: [error.message for error in validator.iter_errors(document)]


def fastjsonschema(example):
    module = importlib.import_module("fastjsonschema")
    compiled = module.compile(example.SCHEMA)

    def validate(document):
        try:
            return compiled(document)
        except module.JsonSchemaException as error:  # the first error only
            return error

    return validate


def sympy_lambdify(example):
    sympy = importlib.import_module("sympy")
    x, y = sympy.symbols("x y")
    formula = sympy.sin(2 * x + y) * sympy.exp(-(x**2)) / (y * y + 1) + sympy.sqrt(x * x + y * y)
    return sympy.lambdify((x, y), formula, "math")


def re(example):
    return importlib.import_module("re").compile(example.PATTERN).search


def jinja2(example):
    module = importlib.import_module("jinja2")
    loader = module.DictLoader({key: text.replace("extends page", 'extends "page"') for key, text in example.TEMPLATES.items()})
    environment = module.Environment(loader=loader)
    environment.filters.update(money=example.FILTERS["money"], default=example.FILTERS["default"])
    template = environment.get_template("list")
    return lambda values: template.render(values)


def sklearn(example):
    """Train a model of the same size with sklearn, three trees of depth two; return a function that predicts one row."""
    ensemble = importlib.import_module("sklearn.ensemble")
    rows = [[a, b, c] for a in range(8) for b in range(-3, 3) for c in range(0, 20, 4)]
    model = ensemble.HistGradientBoostingRegressor(max_iter=3, max_depth=2, learning_rate=0.1, min_samples_leaf=5)
    model.fit(rows, [example.predict(example.MODEL, row) for row in rows])
    return lambda row: model.predict([[math.nan if x is None else x for x in row]])[0]


def construct(example):
    c = importlib.import_module("construct")
    reading = c.Struct("channel" / c.Int8ub, "value" / c.Int16sb)
    packet = c.Struct(
        "magic" / c.Bytes(2),
        "version" / c.Int8ub,
        "flags" / c.BitStruct("urgent" / c.BitsInteger(1), "kind" / c.BitsInteger(3), "priority" / c.BitsInteger(4)),
        "device" / c.Int32ub,
        "count" / c.Int16ub,
        "readings" / reading[c.this.count],
        "size" / c.Int8ub,
        "note" / c.PaddedString(c.this.size, "ascii"),
    )
    return lambda data, at: packet.parse(data[at:])


def sqlite(example):
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    for name, rows in example.TABLES.items():
        connection.execute(f"CREATE TABLE {name} ({', '.join(rows[0])})")
        connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(rows[0]))})", [tuple(row.values()) for row in rows])
    return lambda tables: connection.execute(example.SQL).fetchall()


def duckdb(example):
    connection = importlib.import_module("duckdb").connect()
    kinds = {int: "BIGINT", float: "DOUBLE", str: "VARCHAR"}
    for name, rows in example.TABLES.items():
        connection.execute(f"CREATE TABLE {name} ({', '.join(f'{column} {kinds[type(value)]}' for column, value in rows[0].items())})")
        connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(rows[0]))})", [tuple(row.values()) for row in rows])
    return lambda tables: connection.execute(example.SQL).fetchall()


PEERS = {
    "regex": (re,),
    "trees": (sklearn,),
    "packets": (construct,),
    "expressions": (sympy_lambdify,),
    "template": (jinja2,),
    "schema": (jsonschema, fastjsonschema),
    "plan": (sqlite, duckdb),
}

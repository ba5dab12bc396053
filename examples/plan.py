"""A query plan, run by operators that pull rows from each other: with the plan known, only the loops of the query remain.

    python examples/plan.py
"""
import operator
from dataclasses import dataclass

import hovis

# ------------------------------------------------------------------------------------------------- expressions


@dataclass(frozen=True)
class Column:
    name: str


@dataclass(frozen=True)
class Value:
    value: object


@dataclass(frozen=True)
class Apply:
    name: str
    left: object
    right: object


@dataclass(frozen=True)
class All:
    parts: tuple


FUNCTIONS = {
    "=": operator.eq, "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge, "+": operator.add, "-": operator.sub, "*": operator.mul,
}  # fmt: skip


def value_of(expression, row):
    """Evaluate an expression for a row, which is a dict."""
    match expression:
        case Column(name):
            return row[name]
        case Value(value):
            return value
        case All(parts):
            return all(value_of(part, row) for part in parts)
        case Apply(name, left, right):
            return FUNCTIONS[name](value_of(left, row), value_of(right, row))
    raise TypeError(f"no expression: {expression!r}")


# ------------------------------------------------------------------------------------------------- operators


@dataclass(frozen=True)
class Scan:
    table: str
    columns: tuple

    def rows(self, tables):
        for row in tables[self.table]:
            yield {name: row[name] for name in self.columns}


@dataclass(frozen=True)
class Filter:
    source: object
    condition: object

    def rows(self, tables):
        for row in self.source.rows(tables):
            if value_of(self.condition, row):
                yield row


@dataclass(frozen=True)
class Project:
    source: object
    columns: tuple

    def rows(self, tables):
        for row in self.source.rows(tables):
            yield {name: value_of(expression, row) for name, expression in self.columns}


@dataclass(frozen=True)
class Join:
    """A hash join with a table, which is indexed by its key."""

    source: object
    table: str
    columns: tuple
    key: str
    equal: object

    def rows(self, tables):
        index = {}
        for other in tables[self.table]:
            index.setdefault(other[self.key], []).append(other)
        for row in self.source.rows(tables):
            for other in index.get(value_of(self.equal, row), ()):
                yield {**row, **{name: other[name] for name in self.columns}}


def first(kind, value):
    """Return the initial value of an aggregate, from the first row of a group."""
    return 1 if kind == "count" else value


def update(kept, k, kind, value):
    """Update aggregate k of a group with the value of another row."""
    match kind:
        case "count":
            kept[k] += 1
        case "sum" | "avg":
            kept[k] += value
        case "min":
            if value < kept[k]:
                kept[k] = value
        case "max":
            if value > kept[k]:
                kept[k] = value


@dataclass(frozen=True)
class Group:
    """Grouping with one output row for each key; aggregates are (name, kind, expression), and the first aggregate is the count."""

    source: object
    keys: tuple
    aggregates: tuple

    def rows(self, tables):
        groups = {}
        for row in self.source.rows(tables):
            key = tuple(value_of(expression, row) for _, expression in self.keys)
            kept = groups.get(key)
            if kept is None:
                groups[key] = [first(kind, value_of(expression, row)) for _, kind, expression in self.aggregates]
            else:
                for k, (_, kind, expression) in enumerate(self.aggregates):
                    update(kept, k, kind, value_of(expression, row))
        for key, kept in groups.items():
            row = {name: key[k] for k, (name, _) in enumerate(self.keys)}
            for k, (name, kind, _) in enumerate(self.aggregates):
                row[name] = kept[k] / kept[0] if kind == "avg" else kept[k]
            yield row


@dataclass(frozen=True)
class Sort:
    source: object
    key: object
    descending: bool = False

    def rows(self, tables):
        yield from sorted(self.source.rows(tables), key=lambda row: value_of(self.key, row), reverse=self.descending)


@dataclass(frozen=True)
class Limit:
    source: object
    count: int

    def rows(self, tables):
        for k, row in enumerate(self.source.rows(tables)):
            if k >= self.count:
                return
            yield row


def query(plan, tables):
    """Return all rows of a plan."""
    return list(plan.rows(tables))


# ------------------------------------------------------------------------------------------------- a query

SQL = """
    SELECT country, year, COUNT(*) AS orders, SUM(price * number) AS total, AVG(price) AS mean, MIN(price) AS least, MAX(price) AS most
    FROM orders JOIN customers ON customer = id WHERE number > 1 AND rank > 0 AND rank < 4 GROUP BY country, year ORDER BY total DESC LIMIT 10
"""

PLAN = Limit(
    Sort(
        Group(
            Filter(
                Join(
                    Filter(Scan("orders", ("customer", "year", "price", "number")), Apply(">", Column("number"), Value(1))),
                    "customers", ("rank", "country"), "id", Column("customer"),
                ),
                All((Apply(">", Column("rank"), Value(0)), Apply("<", Column("rank"), Value(4)))),
            ),
            (("country", Column("country")), ("year", Column("year"))),
            (
                ("orders", "count", Value(1)), ("total", "sum", Apply("*", Column("price"), Column("number"))),
                ("mean", "avg", Column("price")), ("least", "min", Column("price")), ("most", "max", Column("price")),
            ),
        ),
        Column("total"),
        descending=True,
    ),
    10,
)  # fmt: skip


def by_hand(tables):
    """The same query, written as an expert would."""
    customers = {}
    for customer in tables["customers"]:
        customers.setdefault(customer["id"], []).append(customer)
    groups = {}
    for order in tables["orders"]:
        buyer, year, price, number = order["customer"], order["year"], order["price"], order["number"]
        if number <= 1:
            continue
        for customer in customers.get(buyer, ()):
            rank, country = customer["rank"], customer["country"]
            if rank > 0 and rank < 4:
                key = country, year
                kept = groups.get(key)
                if kept is None:
                    groups[key] = [1, price * number, price, price, price]
                else:
                    kept[0] += 1
                    kept[1] += price * number
                    kept[2] += price
                    if price < kept[3]:
                        kept[3] = price
                    if price > kept[4]:
                        kept[4] = price
    found = [
        {"country": country, "year": year, "orders": count, "total": total, "mean": prices / count, "least": least, "most": most}
        for (country, year), (count, total, prices, least, most) in groups.items()
    ]
    found.sort(key=lambda row: row["total"], reverse=True)
    return found[:10]


def tables_of(size):
    """Return example tables with the given number of orders, the same on each run."""
    customers = [{"id": k, "rank": k % 5, "country": ("NL", "DE", "FR", "BE")[k % 4]} for k in range(size // 10 + 3)]
    orders = [{"customer": k * 7 % (size // 8 + 3), "year": 2020 + k % 7, "price": k * 31 % 97 / 4, "number": k % 5} for k in range(size)]
    return {"customers": customers, "orders": orders}


TABLES = tables_of(1000)


def specialized():
    """The residual: a function of the tables."""
    return hovis.specialize(query, hovis.const(PLAN), dict)


if __name__ == "__main__":
    residual = specialized()
    print(residual.trace.source())
    assert residual(TABLES) == query(PLAN, TABLES) == by_hand(TABLES)
    for row in residual(TABLES):
        print(row)

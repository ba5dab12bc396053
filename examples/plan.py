"""A query plan over rows, run by generators that pull from each other: with the plan known, it is one loop.

    python examples/plan.py
"""
import operator

import hovis

#: Orders of customers from one country, a customer's total each, in descending order.
PLAN = (
    "sort",
    ("field", "total"),
    (
        "group",
        ("name",),
        (("total", "sum", ("mul", ("field", "price"), ("field", "count"))), ("orders", "count", None)),
        (
            "filter",
            ("and", ("eq", ("field", "country"), ("value", "NL")), ("gt", ("field", "count"), ("value", 1))),
            ("join", "customer", "id", ("scan", "orders"), ("scan", "customers")),
        ),
    ),
)

COMPARE = {"eq": operator.eq, "gt": operator.gt, "mul": operator.mul, "add": operator.add}


def value_of(expression, row):
    """The value of an expression for a row."""
    match expression:
        case ("field", name):
            return row[name]
        case ("value", value):
            return value
        case ("and", left, right):
            return value_of(left, row) and value_of(right, row)
        case (name, left, right):
            return COMPARE[name](value_of(left, row), value_of(right, row))


def rows_of(plan, tables):
    """The rows that a plan gives, one by one."""
    match plan:
        case ("scan", table):
            yield from tables[table]
        case ("filter", condition, source):
            for row in rows_of(source, tables):
                if value_of(condition, row):
                    yield row
        case ("join", left_key, right_key, left, right):
            index = {}
            for row in rows_of(right, tables):
                index.setdefault(row[right_key], []).append(row)
            for row in rows_of(left, tables):
                for other in index.get(row[left_key], ()):
                    yield {**row, **other}
        case ("group", keys, aggregates, source):
            groups = {}
            for row in rows_of(source, tables):
                key = tuple(row[name] for name in keys)
                if key not in groups:
                    groups[key] = [0 for _ in aggregates]
                held = groups[key]
                for k, (_, kind, expression) in enumerate(aggregates):
                    held[k] += 1 if kind == "count" else value_of(expression, row)
            for key, held in groups.items():
                yield {**dict(zip(keys, key)), **{name: total for (name, _, _), total in zip(aggregates, held)}}
        case ("sort", expression, source):
            yield from sorted(rows_of(source, tables), key=lambda row: value_of(expression, row), reverse=True)


def query(plan, tables):
    """All rows of a plan as a list."""
    return list(rows_of(plan, tables))


TABLES = {
    "customers": [{"id": 1, "name": "Ann", "country": "NL"}, {"id": 2, "name": "Bob", "country": "DE"}, {"id": 3, "name": "Cy", "country": "NL"}],
    "orders": [
        {"customer": 1, "price": 2.5, "count": 4}, {"customer": 2, "price": 9.0, "count": 3}, {"customer": 3, "price": 1.25, "count": 2},
        {"customer": 1, "price": 7.0, "count": 1}, {"customer": 3, "price": 30.0, "count": 5}, {"customer": 4, "price": 1.0, "count": 9},
    ],
}  # fmt: skip


def by_hand(tables):
    """The same query, written as an expert would."""
    customers = {}
    for row in tables["customers"]:
        customers.setdefault(row["id"], []).append(row)
    groups = {}
    for order in tables["orders"]:
        for customer in customers.get(order["customer"], ()):
            row = {**order, **customer}
            if row["country"] == "NL" and row["count"] > 1:
                name = row["name"]
                if name not in groups:
                    groups[name] = [0, 0]
                held = groups[name]
                held[0] += row["price"] * row["count"]
                held[1] += 1
    rows = [{"name": name, "total": total, "orders": orders} for name, (total, orders) in groups.items()]
    rows.sort(key=lambda row: row["total"], reverse=True)
    return rows


def specialized():
    """The residual: a function of the tables."""
    return hovis.specialize(query, hovis.const(PLAN), dict)


if __name__ == "__main__":
    residual = specialized()
    print(residual.trace.source())
    assert residual(TABLES) == query(PLAN, TABLES) == by_hand(TABLES)
    print(residual(TABLES))

"""A validator of JSON documents, driven by a schema: with the schema known, only the tests that the schema requires remain.

    python examples/schema.py
"""
import re

import hovis

SCHEMA = {
    "type": "object",
    "required": ["name", "tags", "root"],
    "properties": {
        "name": {"type": "string", "minLength": 1, "pattern": "^[A-Z]"},
        "age": {"type": "integer", "minimum": 0, "exclusiveMaximum": 150},
        "tags": {"type": "array", "items": {"type": "string", "enum": ["red", "green", "blue"]}, "maxItems": 3},
        "price": {"anyOf": [{"type": "number", "minimum": 0}, {"const": "free"}]},
        "root": {"$ref": "#/$defs/tree"},
    },
    "additionalProperties": False,
    "$defs": {
        "tree": {
            "type": "object",
            "required": ["value"],
            "properties": {"value": {"type": "number"}, "children": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
        },
    },
}


def is_a(value, kind):
    """Is value of a JSON type?  (True is not a number, 1.0 is an integer.)"""
    if kind == "object":
        return isinstance(value, dict)
    if kind == "array":
        return isinstance(value, list)
    if kind == "string":
        return isinstance(value, str)
    if kind == "boolean":
        return isinstance(value, bool)
    if kind == "null":
        return value is None
    if kind == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, float) and value.is_integer())


def resolve(reference, root):
    schema = root
    for part in reference.removeprefix("#/").split("/"):
        schema = schema[part]
    return schema


def validate(schema, root, value, path, errors):
    """Append the violations by value to errors, as messages that begin with the path of the value."""
    for keyword, rule in schema.items():
        check = KEYWORDS.get(keyword)
        if check is not None:
            check(rule, schema, root, value, path, errors)


def ref(rule, schema, root, value, path, errors):
    validate(resolve(rule, root), root, value, path, errors)


def type_(rule, schema, root, value, path, errors):
    if not is_a(value, rule):
        errors.append(f"{path} is not of type {rule}")


def const(rule, schema, root, value, path, errors):
    if value != rule:
        errors.append(f"{path} is not {rule!r}")


def enum(rule, schema, root, value, path, errors):
    if value not in rule:
        errors.append(f"{path} is none of {', '.join(map(repr, rule))}")


def minimum(rule, schema, root, value, path, errors):
    if is_a(value, "number") and value < rule:
        errors.append(f"{path} is less than {rule}")


def exclusive_maximum(rule, schema, root, value, path, errors):
    if is_a(value, "number") and value >= rule:
        errors.append(f"{path} is not less than {rule}")


def min_length(rule, schema, root, value, path, errors):
    if isinstance(value, str) and len(value) < rule:
        errors.append(f"{path} is shorter than {rule}")


def pattern(rule, schema, root, value, path, errors):
    if isinstance(value, str) and not re.search(rule, value):
        errors.append(f"{path} does not match {rule}")


def max_items(rule, schema, root, value, path, errors):
    if isinstance(value, list) and len(value) > rule:
        errors.append(f"{path} has more than {rule} items")


def items(rule, schema, root, value, path, errors):
    if isinstance(value, list):
        for k, item in enumerate(value):
            validate(rule, root, item, f"{path}[{k}]", errors)


def required(rule, schema, root, value, path, errors):
    if isinstance(value, dict):
        for name in rule:
            if name not in value:
                errors.append(f"{path} has no {name}")


def properties(rule, schema, root, value, path, errors):
    if isinstance(value, dict):
        for name, inner in rule.items():
            if name in value:
                validate(inner, root, value[name], f"{path}.{name}", errors)


def additional_properties(rule, schema, root, value, path, errors):
    if isinstance(value, dict) and rule is False:
        for name in value:
            if name not in schema["properties"]:
                errors.append(f"{path} has an unknown {name}")


def any_of(rule, schema, root, value, path, errors):
    for inner in rule:
        found = []
        validate(inner, root, value, path, found)
        if not found:
            return
    errors.append(f"{path} fits none of {len(rule)} schemas")


KEYWORDS = {
    "$ref": ref, "type": type_, "const": const, "enum": enum, "minimum": minimum, "exclusiveMaximum": exclusive_maximum,
    "minLength": min_length, "pattern": pattern, "maxItems": max_items, "items": items, "required": required,
    "properties": properties, "additionalProperties": additional_properties, "anyOf": any_of,
}  # fmt: skip


def errors_of(schema, value):
    """Return all violations of a schema by a document."""
    errors = []
    validate(schema, schema, value, "$", errors)
    return errors


DOCUMENTS = [
    {"name": "Ann", "age": 33, "tags": ["red"], "price": 2.5, "root": {"value": 1, "children": [{"value": 2}, {"value": 3.5, "children": []}]}},
    {"name": "ann", "age": 150, "tags": ["red", "black", 3, "blue"], "price": "cheap", "root": {"children": [{"value": "x"}, 4]}, "more": 1},
    {"name": "", "age": True, "tags": "red", "price": "free"},
    [],
]


def by_hand(value):
    """The same schema, written as an expert would."""
    errors = []
    if not isinstance(value, dict):
        return ["$ is not of type object"]
    for name in ("name", "tags", "root"):
        if name not in value:
            errors.append(f"$ has no {name}")
    if "name" in value:
        name = value["name"]
        if not isinstance(name, str):
            errors.append("$.name is not of type string")
        else:
            if len(name) < 1:
                errors.append("$.name is shorter than 1")
            if not re.search("^[A-Z]", name):
                errors.append("$.name does not match ^[A-Z]")
    if "age" in value:
        age = value["age"]
        number = isinstance(age, (int, float)) and not isinstance(age, bool)
        if not number or (isinstance(age, float) and not age.is_integer()):
            errors.append("$.age is not of type integer")
        if number:
            if age < 0:
                errors.append("$.age is less than 0")
            if age >= 150:
                errors.append("$.age is not less than 150")
    if "tags" in value:
        tags = value["tags"]
        if not isinstance(tags, list):
            errors.append("$.tags is not of type array")
        else:
            for k, tag in enumerate(tags):
                if not isinstance(tag, str):
                    errors.append(f"$.tags[{k}] is not of type string")
                if tag not in ("red", "green", "blue"):
                    errors.append(f"$.tags[{k}] is none of 'red', 'green', 'blue'")
            if len(tags) > 3:
                errors.append("$.tags has more than 3 items")
    if "price" in value:
        price = value["price"]
        if not (isinstance(price, (int, float)) and not isinstance(price, bool) and price >= 0) and price != "free":
            errors.append("$.price fits none of 2 schemas")
    if "root" in value:
        _tree(value["root"], "$.root", errors)
    for name in value:
        if name not in ("name", "age", "tags", "price", "root"):
            errors.append(f"$ has an unknown {name}")
    return errors


def _tree(value, path, errors):
    if not isinstance(value, dict):
        errors.append(f"{path} is not of type object")
        return
    if "value" not in value:
        errors.append(f"{path} has no value")
    else:
        number = value["value"]
        if not isinstance(number, (int, float)) or isinstance(number, bool):
            errors.append(f"{path}.value is not of type number")
    if "children" in value:
        children = value["children"]
        if not isinstance(children, list):
            errors.append(f"{path}.children is not of type array")
        else:
            for k, child in enumerate(children):
                _tree(child, f"{path}.children[{k}]", errors)


def specialized():
    """The residual: a function of the document."""
    return hovis.specialize(errors_of, hovis.const(SCHEMA), hovis.Any)


if __name__ == "__main__":
    residual = specialized()
    print(residual.trace.source())
    for document in DOCUMENTS:
        assert residual(document) == errors_of(SCHEMA, document) == by_hand(document)
        print(residual(document))

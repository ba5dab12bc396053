"""A template engine with loops, conditions, filters and inheritance: with the templates known, only string concatenation remains.

    python examples/template.py
"""
import re

import hovis

TEMPLATES = {
    "page": "<html><title>{{ title | upper }}</title>{% block body %}nothing{% endblock %}<p>{{ footer | default }}</p></html>",
    "list": (
        "{% extends page %}{% block body %}<ul>{% for item in items %}"
        "<li{% if item.new %} class=new{% else %} class=old{% endif %}>{{ item.name | escape }}: {{ item.price | money }}</li>"
        "{% endfor %}</ul>{% endblock %}"
    ),
}

_TOKEN = re.compile(r"({{.*?}}|{%.*?%})")


def parse(text):
    """Parse a template into nested tuples: ("text", t), ("show", path, filters), ("for", name, path, body), ("if", path, then, other),
    ("block", name, body) and, for the whole template, ("extends", parent)."""
    tokens = [token for token in _TOKEN.split(text) if token]
    body, rest, _ = _body(tokens, 0, ())
    assert rest == len(tokens), "an end without a beginning"
    return body


def _body(tokens, at, ends):
    found = []
    while at < len(tokens):
        token = tokens[at]
        at += 1
        if token.startswith("{{"):
            path, *filters = (part.strip() for part in token[2:-2].split("|"))
            found.append(("show", tuple(path.split(".")), tuple(filters)))
        elif token.startswith("{%"):
            words = token[2:-2].split()
            if words[0] in ends:
                return tuple(found), at, words[0]
            node, at = _statement(words, tokens, at)
            found.append(node)
        else:
            found.append(("text", token))
    return tuple(found), at, None


def _statement(words, tokens, at):
    match words:
        case ["extends", parent]:
            return ("extends", parent), at
        case ["for", name, "in", path]:
            body, at, _ = _body(tokens, at, ("endfor",))
            return ("for", name, tuple(path.split(".")), body), at
        case ["if", path]:
            then, at, end = _body(tokens, at, ("else", "endif"))
            other = ()
            if end == "else":
                other, at, _ = _body(tokens, at, ("endif",))
            return ("if", tuple(path.split(".")), then, other), at
        case ["block", name]:
            body, at, _ = _body(tokens, at, ("endblock",))
            return ("block", name, body), at
        case _:
            raise SyntaxError(f"no such statement: {' '.join(words)}")


def escape(value):
    return str(value).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


FILTERS = {
    "upper": lambda value: value.upper(),
    "escape": escape,
    "money": lambda value: f"{value:.2f} €",
    "default": lambda value: value if value else "-",
}


def lookup(path, scope):
    value = scope[path[0]]
    for name in path[1:]:
        value = value[name]
    return value


def render_body(body, scope, blocks, out):
    for node in body:
        kind = node[0]
        if kind == "text":
            out.append(node[1])
        elif kind == "show":
            value = lookup(node[1], scope)
            for name in node[2]:
                value = FILTERS[name](value)
            out.append(str(value))
        elif kind == "for":
            _, name, path, inner = node
            for item in lookup(path, scope):
                render_body(inner, {**scope, name: item}, blocks, out)
        elif kind == "if":
            _, path, then, other = node
            render_body(then if lookup(path, scope) else other, scope, blocks, out)
        elif kind == "block":
            render_body(blocks.get(node[1], node[2]), scope, blocks, out)


def render(templates, name, values):
    """Render a template; of several blocks of one name, take the one of the most derived template."""
    blocks = {}
    body = templates[name]
    while body and body[0][0] == "extends":
        for node in body[1:]:
            if node[0] == "block":
                blocks.setdefault(node[1], node[2])
        body = templates[body[0][1]]
    out = []
    render_body(body, values, blocks, out)
    return "".join(out)


PARSED = {name: parse(text) for name, text in TEMPLATES.items()}
VALUES = {
    "title": "Shop",
    "footer": "",
    "items": [{"name": "bread & butter", "price": 3.5, "new": True}, {"name": "tea", "price": 2, "new": False}],
}


def by_hand(values):
    """The same page, written as an expert would."""
    out = ["<html><title>", str(values["title"].upper()), "</title><ul>"]
    for item in values["items"]:
        out.append("<li class=new>" if item["new"] else "<li class=old>")
        out += (escape(item["name"]), ": ", f"{item['price']:.2f} €", "</li>")
    out += ("</ul><p>", str(values["footer"] or "-"), "</p></html>")
    return "".join(out)


def specialized():
    """The residual: a function of the values."""
    return hovis.specialize(render, hovis.const(PARSED), "list", dict)


if __name__ == "__main__":
    residual = specialized()
    print(residual.trace.source())
    assert residual(VALUES) == render(PARSED, "list", VALUES) == by_hand(VALUES)
    print(residual(VALUES))

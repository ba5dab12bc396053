"""Matchers of patterns in the styles that people write them in: with the pattern known, nothing of the matching of patterns is left."""
from __future__ import annotations

import random
import re

import pytest

import hovis
from hovis.ir.model import Effect

# ------------------------------------------------------------------------------------------------- patterns


def parse(pattern):
    node, at = alternatives(pattern, 0)
    assert at == len(pattern)
    return node


def alternatives(pattern, at):
    node, at = sequence(pattern, at)
    found = [node]
    while at < len(pattern) and pattern[at] == "|":
        node, at = sequence(pattern, at + 1)
        found.append(node)
    return (found[0] if len(found) == 1 else ("alt", tuple(found))), at


def sequence(pattern, at):
    items = []
    while at < len(pattern) and pattern[at] not in "|)":
        node, at = atom(pattern, at)
        if at < len(pattern) and pattern[at] in "*+?":
            kind, at = {"*": "star", "+": "plus", "?": "opt"}[pattern[at]], at + 1
            lazy = at < len(pattern) and pattern[at] == "?"
            node, at = (kind, node, not lazy), at + lazy
        items.append(node)
    return ("seq", tuple(items)), at


def atom(pattern, at):
    c = pattern[at]
    if c == "(":
        node, at = alternatives(pattern, at + 1)
        return node, at + 1
    if c == "[":
        end = pattern.index("]", at)
        return ("set", pattern[at + 1 : end]), end + 1
    return {".": ("any",), "^": ("start",), "$": ("end",)}.get(c, ("char", c)), at + 1


def fits(node, c):
    match node[0]:
        case "char":
            return c == node[1]
        case "any":
            return True
        case "set":
            return c in node[1]


# ------------------------------------------------------------------------------------------------- closures made from a tree


def compiled(node, go_on):
    kind = node[0]
    if kind in ("char", "any", "set"):
        return lambda s, i: go_on(s, i + 1) if i < len(s) and fits(node, s[i]) else None
    if kind in ("start", "end"):
        return lambda s, i: go_on(s, i) if i == (0 if kind == "start" else len(s)) else None
    if kind == "seq":
        for part in reversed(node[1]):
            go_on = compiled(part, go_on)
        return go_on
    if kind == "alt":
        ways = [compiled(way, go_on) for way in node[1]]

        def alt(s, i):
            for way in ways:
                found = way(s, i)
                if found is not None:
                    return found
            return None

        return alt
    if kind == "plus":
        return compiled(("seq", (node[1], ("star", *node[1:]))), go_on)
    if kind == "star":
        inner = compiled(node[1], lambda s, i: loop(s, i))
    else:
        inner = compiled(node[1], go_on)

    def loop(s, i):
        first, second = (inner, go_on) if node[2] else (go_on, inner)
        found = first(s, i)
        return found if found is not None else second(s, i)

    return loop


def by_closures(pattern, s):
    match = compiled(parse(pattern), lambda s, i: i)
    for i in range(len(s) + 1):
        end = match(s, i)
        if end is not None:
            return i, end
    return None


# ------------------------------------------------------------------------------------------------- continuations


def continued(node, s, i, go_on):
    kind = node[0]
    if kind == "seq":
        return in_turn(node[1], s, i, go_on)
    if kind == "alt":
        for way in node[1]:
            found = continued(way, s, i, go_on)
            if found is not None:
                return found
        return None
    if kind == "opt":
        found = continued(node[1], s, i, go_on) if node[2] else go_on(i)
        if found is None:
            found = go_on(i) if node[2] else continued(node[1], s, i, go_on)
        return found
    if kind == "plus":
        return continued(node[1], s, i, lambda j: continued(("star", *node[1:]), s, j, go_on))
    if kind == "star":

        def more(i):
            return continued(node[1], s, i, lambda j: continued(node, s, j, go_on) if j > i else None)

        first, second = (more, go_on) if node[2] else (go_on, more)
        found = first(i)
        return found if found is not None else second(i)
    if kind in ("start", "end"):
        return go_on(i) if i == (0 if kind == "start" else len(s)) else None
    return go_on(i + 1) if i < len(s) and fits(node, s[i]) else None


def in_turn(nodes, s, i, go_on):
    if not nodes:
        return go_on(i)
    return continued(nodes[0], s, i, lambda j: in_turn(nodes[1:], s, j, go_on))


def by_continuations(pattern, s):
    node = parse(pattern)
    for i in range(len(s) + 1):
        end = continued(node, s, i, lambda j: j)
        if end is not None:
            return i, end
    return None


# ------------------------------------------------------------------------------------------------- lists of what is to come


def listed(node, rest, s, i):
    kind = node[0]
    if kind == "seq":
        for part in reversed(node[1]):
            rest = (part, rest)
        return going_on(rest, s, i)
    if kind == "alt":
        for way in node[1]:
            found = listed(way, rest, s, i)
            if found is not None:
                return found
        return None
    if kind == "plus":
        return listed(node[1], (("star", *node[1:]), rest), s, i)
    if kind in ("star", "opt"):
        more = (node[1], (node, rest) if kind == "star" else rest)
        first, second = (more, rest) if node[2] else (rest, more)
        found = going_on(first, s, i)
        return found if found is not None else going_on(second, s, i)
    if kind in ("start", "end"):
        return going_on(rest, s, i) if i == (0 if kind == "start" else len(s)) else None
    return going_on(rest, s, i + 1) if i < len(s) and fits(node, s[i]) else None


def going_on(rest, s, i):
    return i if rest is None else listed(rest[0], rest[1], s, i)


def by_lists(pattern, s):
    node = parse(pattern)
    for i in range(len(s) + 1):
        end = listed(node, None, s, i)
        if end is not None:
            return i, end
    return None


# ------------------------------------------------------------------------------------------------- generators


def ends(node, s, i):
    kind = node[0]
    if kind == "seq":
        yield from ends_in_turn(node[1], s, i)
    elif kind == "alt":
        for way in node[1]:
            yield from ends(way, s, i)
    elif kind == "plus":
        for j in ends(node[1], s, i):
            yield from ends(("star", *node[1:]), s, j)
    elif kind in ("star", "opt"):
        if not node[2]:
            yield i
        for j in ends(node[1], s, i):
            if kind == "opt":
                yield j
            else:
                yield from ends(node, s, j)
        if node[2]:
            yield i
    elif kind in ("start", "end"):
        if i == (0 if kind == "start" else len(s)):
            yield i
    elif i < len(s) and fits(node, s[i]):
        yield i + 1


def ends_in_turn(nodes, s, i):
    if not nodes:
        yield i
        return
    for j in ends(nodes[0], s, i):
        yield from ends_in_turn(nodes[1:], s, j)


def by_generators(pattern, s):
    node = parse(pattern)
    for i in range(len(s) + 1):
        for end in ends(node, s, i):
            return i, end
    return None


# ------------------------------------------------------------------------------------------------- machines


def program(pattern):
    out = []

    def emit(node):
        kind = node[0]
        if kind == "seq":
            for part in node[1]:
                emit(part)
        elif kind == "alt":
            jumps = []
            for way in node[1][:-1]:
                at = len(out)
                out.append(None)
                emit(way)
                jumps.append(len(out))
                out.append(None)
                out[at] = ("split", at + 1, len(out))
            emit(node[1][-1])
            for at in jumps:
                out[at] = ("jump", len(out))
        elif kind in ("star", "opt"):
            at = len(out)
            out.append(None)
            emit(node[1])
            if kind == "star":
                out.append(("jump", at))
            out[at] = ("split", at + 1, len(out)) if node[2] else ("split", len(out), at + 1)
        elif kind == "plus":
            at = len(out)
            emit(node[1])
            out.append(("split", at, len(out) + 1) if node[2] else ("split", len(out) + 1, at))
        else:
            out.append(node)

    emit(parse(pattern))
    return (*out, ("match",))


def backtrack(code, pc, s, i):
    while True:
        op = code[pc]
        if op[0] == "match":
            return i
        if op[0] == "jump":
            pc = op[1]
        elif op[0] == "split":
            found = backtrack(code, op[1], s, i)
            if found is not None:
                return found
            pc = op[2]
        elif op[0] in ("start", "end"):
            if i != (0 if op[0] == "start" else len(s)):
                return None
            pc += 1
        elif i < len(s) and fits(op, s[i]):
            pc, i = pc + 1, i + 1
        else:
            return None


def by_machine(pattern, s):
    code = program(pattern)
    for i in range(len(s) + 1):
        end = backtrack(code, 0, s, i)
        if end is not None:
            return i, end
    return None


def by_stack(pattern, s):
    code = program(pattern)
    for start in range(len(s) + 1):
        stack = [(0, start)]
        while stack:
            pc, i = stack.pop()
            while True:
                op = code[pc]
                if op[0] == "match":
                    return start, i
                if op[0] == "jump":
                    pc = op[1]
                elif op[0] == "split":
                    stack.append((op[2], i))
                    pc = op[1]
                elif op[0] in ("start", "end"):
                    if i != (0 if op[0] == "start" else len(s)):
                        break
                    pc += 1
                elif i < len(s) and fits(op, s[i]):
                    pc, i = pc + 1, i + 1
                else:
                    break
    return None


def add(code, pc, states, s, i):
    if pc in states:
        return
    op = code[pc]
    if op[0] == "jump":
        add(code, op[1], states, s, i)
    elif op[0] == "split":
        add(code, op[1], states, s, i)
        add(code, op[2], states, s, i)
    elif op[0] in ("start", "end"):
        if i == (0 if op[0] == "start" else len(s)):
            add(code, pc + 1, states, s, i)
    else:
        states.append(pc)


def by_states(pattern, s):
    """Does the whole text match?  All states at once."""
    code = program(pattern)
    states = []
    add(code, 0, states, s, 0)
    for i, c in enumerate(s):
        following = []
        for pc in states:
            if code[pc][0] != "match" and fits(code[pc], c):
                add(code, pc + 1, following, s, i + 1)
        states = following
        if not states:
            return False
    return any(code[pc][0] == "match" for pc in states)


# ------------------------------------------------------------------------------------------------- tests

PATTERNS = ("abc", "a*b", "a+b*c", "(a|b)c", "(a|b)*c", "(ab)*c", "a?b", "a??b", "a*?b", "[ab]+c", "^a*$", "(a|ab)(c|bcd)", "((a|b)+c)?", "(a(b|c)*d)+")
STYLES = (by_closures, by_continuations, by_lists, by_generators, by_machine, by_stack, by_states)
#: Where all of the interpretation goes.
WHOLLY = {by_closures: PATTERNS, by_machine: PATTERNS}

_random = random.Random(1)
TEXTS = ["", "a", "b", "abc", "abcd", "abbcd", "aacbd"] + ["".join(_random.choices("abcd", k=_random.randrange(1, 9))) for _ in range(40)]


def expected(style, pattern, s):
    if style is by_states:
        return re.fullmatch(pattern, s) is not None
    found = re.search(pattern, s)
    return found.span() if found else None


@pytest.mark.parametrize("style", STYLES, ids=lambda style: style.__name__)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_matchers(style, pattern):
    residual = hovis.specialize(style, hovis.const(pattern), str)
    assert not residual.trace.fallback
    for s in TEXTS:
        assert residual(s) == style(pattern, s) == expected(style, pattern, s), s
    if pattern in WHOLLY.get(style, ()):
        left = {op.callee for f in residual.trace.functions for block in f.blocks for op in block.ops if Effect.OPAQUE in op.effect}
        assert not left
        text = residual.trace.source().replace("return original_", "pass  # ")
        assert not any(name in text for name in ("make_function", "make_cell", "'star'", "'alt'", "go_on", "iter("))

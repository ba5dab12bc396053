"""A backtracking matcher of regular expressions: with the pattern known, only comparisons, loops and jumps remain.

    python examples/regex.py
"""
import hovis

CLASSES = {
    "d": ("set", False, (("0", "9"),)),
    "w": ("set", False, (("a", "z"), ("A", "Z"), ("0", "9"), ("_", "_"))),
    "s": ("set", False, ((" ", " "), ("\t", "\r"))),
}
REPEATS = {"*": (0, None), "+": (1, None), "?": (0, 1)}


class Parser:
    """Parses a pattern into nested tuples: ("char", c), ("any",), ("set", negated, ranges), ("start",), ("end",), ("group", number, node),
    ("repeat", least, most, greedy, node), ("all", nodes) and ("either", nodes)."""

    def __init__(self, pattern):
        self.pattern, self.at, self.groups = pattern, 0, 0

    def peek(self):
        return self.pattern[self.at : self.at + 1]

    def take(self, c=None):
        found = self.peek()
        if not found or (c is not None and found != c):
            raise SyntaxError(f"{self.pattern!r}: expected {c or 'more'} at {self.at}")
        self.at += 1
        return found

    def parse(self):
        node = self.either()
        if self.peek():
            raise SyntaxError(f"{self.pattern!r}: unbalanced ) at {self.at}")
        return node, self.groups

    def either(self):
        ways = [self.sequence()]
        while self.peek() == "|":
            self.take()
            ways.append(self.sequence())
        return ways[0] if len(ways) == 1 else ("either", tuple(ways))

    def sequence(self):
        nodes = []
        while self.peek() not in ("", "|", ")"):
            nodes.append(self.repeated(self.atom()))
        return ("all", tuple(nodes))

    def repeated(self, node):
        if self.peek() == "{":
            self.take()
            least, _, most = self.pattern[self.at : self.pattern.index("}", self.at)].partition(",")
            self.at = self.pattern.index("}", self.at) + 1
            bounds = int(least or 0), int(most) if most else None if _ else int(least)
        elif self.peek() in ("*", "+", "?"):
            bounds = REPEATS[self.take()]
        else:
            return node
        greedy = self.peek() != "?"
        self.at += not greedy
        return ("repeat", *bounds, greedy, node)

    def atom(self):
        c = self.take()
        if c == "(":
            self.groups += 1
            number = self.groups
            node = self.either()
            self.take(")")
            return ("group", number - 1, node)
        if c == "[":
            return self.set()
        if c == "\\":
            c = self.take()
            return CLASSES.get(c, ("char", c))
        return {".": ("any",), "^": ("start",), "$": ("end",)}.get(c, ("char", c))

    def set(self):
        negated = self.peek() == "^"
        self.at += negated
        ranges = []
        while self.peek() != "]":
            low = high = self.take()
            if low == "\\":
                low = high = self.take()
                if low in CLASSES:
                    ranges += CLASSES[low][2]
                    continue
            if self.peek() == "-" and self.pattern[self.at + 1] != "]":
                self.take()
                high = self.take()
            ranges.append((low, high))
        self.take("]")
        return ("set", negated, tuple(ranges))


SINGLE = ("char", "any", "set")


def fits(node, c):
    """Does a node that matches one character match c?"""
    match node:
        case ("char", wanted):
            return c == wanted
        case ("any",):
            return c != "\n"
        case ("set", negated, ranges):
            return any(c == low if low == high else low <= c <= high for low, high in ranges) is not negated


def match(node, text, at, groups, go_on):
    """Try all matches of node at an offset; call the continuation go_on with the end and the groups of each until it returns a result."""
    match node:
        case ("start",):
            return go_on(at, groups) if at == 0 else None
        case ("end",):
            return go_on(at, groups) if at == len(text) else None
        case ("all", nodes):
            return match_all(nodes, text, at, groups, go_on)
        case ("either", ways):
            for way in ways:
                found = match(way, text, at, groups, go_on)
                if found is not None:
                    return found
            return None
        case ("group", number, inner):
            return match(inner, text, at, groups, lambda end, held: go_on(end, (*held[:number], (at, end), *held[number + 1 :])))
        case ("repeat", least, most, greedy, inner):
            if inner[0] in SINGLE:
                return repeat_single(inner, least, most, greedy, text, at, groups, go_on)
            return repeat(inner, least, most, greedy, text, at, groups, go_on)
        case _:
            return go_on(at + 1, groups) if at < len(text) and fits(node, text[at]) else None


def match_all(nodes, text, at, groups, go_on):
    if not nodes:
        return go_on(at, groups)
    return match(nodes[0], text, at, groups, lambda end, held: match_all(nodes[1:], text, end, held, go_on))


def repeat_single(node, least, most, greedy, text, at, groups, go_on):
    """Match a repetition of a single-character node: the longest match first if greedy, else the shortest first."""
    last = len(text) if most is None else min(len(text), at + most)
    end, enough = at, at + least
    if greedy:
        while end < last and fits(node, text[end]):
            end += 1
        while end >= enough:
            found = go_on(end, groups)
            if found is not None:
                return found
            end -= 1
        return None
    while True:
        if end >= enough:
            found = go_on(end, groups)
            if found is not None:
                return found
        if end >= last or not fits(node, text[end]):
            return None
        end += 1


def repeat(node, least, most, greedy, text, at, groups, go_on):
    """Match a repetition of any node: try another repetition and then the continuation, or the continuation first if not greedy."""

    def more(end, held):
        if end == at and least == 0:
            return None  # an empty repetition makes no progress
        return repeat(node, max(least - 1, 0), None if most is None else most - 1, greedy, text, end, held, go_on)

    if least > 0:
        return match(node, text, at, groups, more)
    if most == 0:
        return go_on(at, groups)
    if greedy:
        found = match(node, text, at, groups, more)
        return found if found is not None else go_on(at, groups)
    found = go_on(at, groups)
    return found if found is not None else match(node, text, at, groups, more)


def search(parsed, text):
    """Return the start and end of the first match, and its groups, or None if there is no match."""
    node, count = parsed
    for start in range(len(text) + 1):
        found = match(node, text, start, (None,) * count, lambda end, groups: (end, groups))
        if found is not None:
            end, groups = found
            return (start, end), groups
    return None


PATTERN = r"(GET|POST) (/[^ ?]*)(\?.*?)? (\d{3}) (\d+)m?s$"
PARSED = Parser(PATTERN).parse()
TEXTS = [
    "web1 GET /shop/items.html?id=3&sort=up 200 35ms",
    "web1 POST /login 302 2s",
    "web1 HEAD /login 302 2s",
    "web1 GET / 200 1ms",
    "web1 GET /search?q=a b 200 1 200 35ms",
    "web1 GET /shop/items.html 2000 35ms",
    "GET /x 404 35m",
    "",
]


def by_hand(text):
    """The same pattern, written as an expert would: a loop for each repetition, and on failure the next alternative."""
    n = len(text)
    for start in range(n):
        c = text[start]
        if c == "G" and text.startswith("ET /", start + 1):
            at = start + 3
        elif c == "P" and text.startswith("OST /", start + 1):
            at = start + 4
        else:
            continue
        path = query = at + 2
        while query < n and text[query] != " " and text[query] != "?":
            query += 1
        while query >= path:
            found = _from_query(text, query, n)
            if found is not None:
                end, last, status, time = found
                return (start, last), ((start, at), (path - 1, query), end, status, time)
            query -= 1
    return None


def _from_query(text, at, n):
    """Match the rest, with a query if possible: the span of the query or None, the end of the text, the spans of status and time; else None."""
    if at < n and text[at] == "?":
        end = at + 1
        while True:
            found = _from_status(text, end, n)
            if found is not None:
                return (at, end), *found
            if end >= n or text[end] == "\n":
                break
            end += 1
    found = _from_status(text, at, n)
    return None if found is None else (None, *found)


def _from_status(text, at, n):
    time = at + 5
    if time >= n or text[at] != " " or text[at + 4] != " ":
        return None
    if not ("0" <= text[at + 1] <= "9" and "0" <= text[at + 2] <= "9" and "0" <= text[at + 3] <= "9"):
        return None
    end = time
    while end < n and "0" <= text[end] <= "9":
        end += 1
    last = end + 1 if end < n and text[end] == "m" else end
    if end > time and last == n - 1 and text[last] == "s":
        return n, (at + 1, at + 4), (time, end)
    return None


def specialized():
    """The residual: a function of the text."""
    return hovis.specialize(search, hovis.const(PARSED), str)


if __name__ == "__main__":
    residual = specialized()
    print(residual.trace.source())
    for text in TEXTS:
        assert residual(text) == search(PARSED, text) == by_hand(text), text
        print(repr(text), residual(text))

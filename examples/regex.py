"""A backtracking matcher of regular expressions: with the pattern known, it is loops and comparisons.

    python examples/regex.py
"""
import hovis


def parse(pattern):
    """The alternatives of a pattern as tuples: ("char", c), ("any",), ("set", negated, ranges), ("group", alternatives),
    ("repeat", least, most, greedy, piece), ("start",) and ("end",)."""
    alternatives, at = _alternatives(pattern, 0)
    if at != len(pattern):
        raise ValueError(f"unbalanced parenthesis at {at}")
    return alternatives


def _alternatives(pattern, at):
    found, pieces = [], []
    while at < len(pattern) and pattern[at] != ")":
        if pattern[at] == "|":
            found.append(tuple(pieces))
            pieces = []
            at += 1
            continue
        piece, at = _piece(pattern, at)
        most = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(pattern[at : at + 1])
        if most is not None:
            at += 1
            greedy = pattern[at : at + 1] != "?"
            at += not greedy
            piece = ("repeat", *most, greedy, piece)
        pieces.append(piece)
    return (*found, tuple(pieces)), at


def _piece(pattern, at):
    c = pattern[at]
    if c == "(":
        inner, at = _alternatives(pattern, at + 1)
        return ("group", inner), at + 1
    if c == "[":
        return _set(pattern, at + 1)
    if c == ".":
        return ("any",), at + 1
    if c in "^$":
        return ("start",) if c == "^" else ("end",), at + 1
    if c == "\\":
        return _CLASSES.get(pattern[at + 1], ("char", pattern[at + 1])), at + 2
    return ("char", c), at + 1


def _set(pattern, at):
    negated = pattern[at] == "^"
    at += negated
    ranges = []
    while pattern[at] != "]":
        low = high = pattern[at]
        if pattern[at + 1] == "-" and pattern[at + 2] != "]":
            high = pattern[at + 2]
            at += 2
        ranges.append((low, high))
        at += 1
    return ("set", negated, tuple(ranges)), at + 1


_CLASSES = {
    "d": ("set", False, (("0", "9"),)),
    "w": ("set", False, (("a", "z"), ("A", "Z"), ("0", "9"), ("_", "_"))),
    "s": ("set", False, ((" ", " "), ("\t", "\t"), ("\n", "\n"))),
}


def fits(piece, c):
    """Does a single character fit?"""
    if piece[0] == "char":
        return c == piece[1]
    if piece[0] == "any":
        return c != "\n"
    inside = any(low <= c <= high for low, high in piece[2])
    return inside != piece[1]


SINGLE = ("char", "any", "set")


def match(pieces, text, at, go_on):
    """The end of a match of the pieces at an offset, behind which go_on matches too; -1 if there is none."""
    if not pieces:
        return go_on(at)
    piece, rest = pieces[0], pieces[1:]
    kind = piece[0]
    if kind in SINGLE:
        if at < len(text) and fits(piece, text[at]):
            return match(rest, text, at + 1, go_on)
        return -1
    if kind == "start":
        return match(rest, text, at, go_on) if at == 0 else -1
    if kind == "end":
        return match(rest, text, at, go_on) if at == len(text) else -1
    if kind == "group":
        for alternative in piece[1]:
            end = match(alternative, text, at, lambda end: match(rest, text, end, go_on))
            if end >= 0:
                return end
        return -1
    least, most, greedy, inner = piece[1:]
    if inner[0] in SINGLE:
        return repeat_single(inner, least, most, greedy, text, at, lambda end: match(rest, text, end, go_on))
    return repeat(inner, least, most, greedy, text, at, lambda end: match(rest, text, end, go_on))


def repeat_single(piece, least, most, greedy, text, at, go_on):
    """A repetition of single characters: no stack is needed to go back."""
    last = len(text) if most is None else min(len(text), at + most)
    end = at
    if greedy:
        while end < last and fits(piece, text[end]):
            end += 1
        while end - at >= least:
            found = go_on(end)
            if found >= 0:
                return found
            end -= 1
        return -1
    while True:
        if end - at >= least:
            found = go_on(end)
            if found >= 0:
                return found
        if end >= last or not fits(piece, text[end]):
            return -1
        end += 1


def repeat(piece, least, most, greedy, text, at, go_on):
    """A repetition of a group: once more and on, or on at once."""

    def more(end):
        if end == at and least <= 0:
            return -1  # an empty round leads nowhere
        return repeat(piece, least - 1, None if most is None else most - 1, greedy, text, end, go_on)

    if least > 0:
        return match((piece,), text, at, more)
    if most == 0:
        return go_on(at)
    if greedy:
        end = match((piece,), text, at, more)
        return end if end >= 0 else go_on(at)
    end = go_on(at)
    return end if end >= 0 else match((piece,), text, at, more)


def search(alternatives, text):
    """Where the first match begins and ends; None if there is none."""
    for start in range(len(text) + 1):
        for pieces in alternatives:
            end = match(pieces, text, start, lambda end: end)
            if end >= 0:
                return start, end
    return None


PATTERN = r"[a-z]+\d*@\w+(\.\w+)*"
TEXTS = ["mail me: bob42@example.co.uk!", "no address", "@", "a@b", "x1y2@", "ünï zz9@q.r.s."]


def by_hand(text):
    """The same pattern, written as an expert would."""
    n = len(text)
    for start in range(n + 1):
        name = start
        while name < n and "a" <= text[name] <= "z":
            name += 1
        while name - start >= 1:
            digits = name
            while digits < n and "0" <= text[digits] <= "9":
                digits += 1
            while digits >= name:
                if digits < n and text[digits] == "@":
                    end = _words(text, digits + 1)
                    if end >= 0:
                        return start, end
                digits -= 1
            name -= 1
    return None


def _words(text, at):
    end = at
    n = len(text)
    while end < n and ("a" <= text[end] <= "z" or "A" <= text[end] <= "Z" or "0" <= text[end] <= "9" or text[end] == "_"):
        end += 1
    if end == at:
        return -1
    if end < n and text[end] == ".":
        further = _words(text, end + 1)
        if further >= 0:
            return further
    return end


def specialized():
    """The residual: a function of the text."""
    return hovis.specialize(search, hovis.const(parse(PATTERN)), str)


if __name__ == "__main__":
    residual = specialized()
    print(residual.trace.source())
    for text in TEXTS:
        assert residual(text) == search(parse(PATTERN), text) == by_hand(text), text
        print(repr(text), residual(text))

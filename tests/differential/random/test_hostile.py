"""What another hostile review found: one minimal program each."""

import collections
import enum
import operator
import re
import weakref

import hovis
from hovis.ir import operations as ops
from hovis.library.stdlib import regex


def ends_in_a_handler(n):
    log = []

    def yields_in_a_handler():
        try:
            yield 1
        except KeyError:
            yield 2
        finally:
            log.append("out")

    generator = yields_in_a_handler()
    log.append((next(generator), generator.throw(KeyError(n))))
    if n:
        generator.close()
    log.append("end")
    return log, type(generator)


def test_the_reference_goes_on_behind_a_handler_where_a_generator_is_closed():
    trace = hovis.trace(ends_in_a_handler, hovis.Int)
    for n in (0, 1):
        assert hovis.evaluate(trace, n) == hovis.specialize(ends_in_a_handler, hovis.Int)(n) == ends_in_a_handler(n)


def looks_up(key):
    table, held, out = {1: 2}, {1}, []
    for look in (table.get, table.__getitem__, table.__contains__, held.add, held.discard, lambda k: k in table, lambda k: {k}, lambda k: {k: 1}, lambda k: (k, 1) in held):
        try:
            out.append(look(key))
        except (TypeError, KeyError) as error:
            out.append((type(error).__name__, str(error)))
    return out, len(held)


def test_a_known_slice_is_a_key_only_where_it_has_a_hash():
    for key in (slice(1), (1, slice(2, None)), slice(None)):
        assert hovis.specialize(looks_up, hovis.const(key))() == looks_up(key)


class Permission(enum.Flag):
    READ = enum.auto()
    WRITE = enum.auto()
    RUN = enum.auto()


def turned(value):
    out = []
    try:
        permission = Permission(value)
        out += [~permission, permission | Permission.RUN]
    except ValueError as error:
        out.append(str(error))
    return out


def test_what_is_short_is_not_written_amid_a_body_with_an_else():
    written = hovis.trace(turned, hovis.Int).text().load()
    for value in (0, 1, 5, 99):
        assert written(value) == turned(value)


class Held:
    pass


def held_weakly(n):
    class Here:
        def __init__(self, k):
            self.k = k

    known, named = weakref.WeakValueDictionary(), weakref.WeakSet()
    first, second = Held(), Here(n)
    known[n] = first
    named.add(second)
    again, reference = first, weakref.ref(second)
    first = None
    seen = [len(known), again is known.get(n), reference() is second, second.k]
    again = None
    del second
    return seen, len(known), len(named), reference() is None


def test_weak_references_end_where_a_variable_lets_go():
    for specs in ((hovis.Int,), (hovis.Any,)):
        assert hovis.specialize(held_weakly, *specs)(1) == held_weakly(1)
    assert hovis.specialize(held_weakly, 1)() == hovis.jit(held_weakly)(1) == held_weakly(1)


class Told:
    def __init__(self, name, log):
        self.name, self.log = name, log

    def __del__(self):
        self.log.append(self.name)


def lets_go_of_items(n):
    log = []
    for change in (
        lambda items: items.__setitem__(slice(1, 4), []),
        lambda items: items.__delitem__(slice(None, None, 2)),
        list.clear,
        lambda items: items.__imul__(0),
        lambda items: collections.deque(items[:3]).clear(),
    ):
        items = [Told(k, log) for k in range(n)]
        change(items)
        log.append("then")
        items = None
    queue = collections.deque([Told("left", log), Told("right", log)])
    queue.clear()
    return log


def test_items_side_by_side_end_from_the_last_one_on():
    for spec in (hovis.Int, hovis.const(5)):
        trace = hovis.trace(lets_go_of_items, spec)
        assert (trace(5) if spec is hovis.Int else trace()) == lets_go_of_items(5)


def asks_how_many(hint):
    log = []

    class Counted:
        def __init__(self, left):
            self.left = left

        def __iter__(self):
            log.append("iter")
            return self

        def __next__(self):
            if not self.left:
                raise StopIteration
            self.left -= 1
            return self.left

        def __length_hint__(self):
            log.append("hint")
            return hint

    class Sized(Counted):
        def __len__(self):
            log.append("len")
            raise TypeError

    for cls in (Counted, Sized):
        for fn in (list, tuple, lambda x: [*x], [0].extend, lambda x: operator.length_hint(x, 3)):
            try:
                log.append(fn(cls(2)))
            except (TypeError, ValueError) as error:
                log.append(str(error))
    return log


def test_who_is_iterated_is_asked_for_a_hint():
    for hint in (-1, "many", NotImplemented):
        assert hovis.specialize(asks_how_many, type(hint))(hint) == asks_how_many(hint)


NOTHING = ()


def the_same_tuples(t, n):
    own = (n, t)
    empty = [tuple([]), own[2:], own * 0, t[:0], (*[],), tuple(x for x in ())]
    return [e is NOTHING for e in empty], [s is own for s in (own[:], own[0:9], own + (), () + own, own * 1, tuple(own))], [s is t for s in (t[:], t + (), t * 1, tuple(t))]


def test_a_tuple_is_itself_where_nothing_changes():
    want = the_same_tuples((1, 2), 3)
    assert hovis.specialize(the_same_tuples, tuple, hovis.Int)((1, 2), 3) == want
    assert hovis.specialize(the_same_tuples, (hovis.Int, hovis.Int), hovis.Int)((1, 2), 3) == want
    assert hovis.specialize(the_same_tuples, hovis.const((1, 2)), hovis.const(3))() == want


def runs(code, x):
    at = total = 0

    def step(jump):
        nonlocal at
        at = at + 1 if jump is None else jump
        if at < len(code):
            return code[at]
        raise StopIteration

    op = code[0]
    try:
        while True:
            jump = None
            if op == "down":
                x -= 1
            elif op == "add":
                total += 2
            elif op == "loop":
                if x > 0:
                    jump = 0
            op = step(jump)
    except StopIteration:
        return total


def test_a_jump_that_may_be_none_is_told_from_others_behind_the_test_for_none():
    code = ("down", "add", "loop")
    trace = hovis.trace(runs, hovis.const(code), hovis.Int)
    assert "getitem" not in str(trace)
    assert [trace(x) for x in (-1, 1, 5)] == [runs(code, x) for x in (-1, 1, 5)]


def tokens(text):
    return [(match.lastgroup, match.group()) for match in re.finditer(r"(?P<number>\d+(\.\d*)?)|(?P<name>[A-Za-z_]\w*)|(?P<op>[-+*/()<,])|\s+", text)]


def test_what_is_quickly_found_although_much_repeats():
    text = "maximum(sin(x1), 2.5 * -other, choose(x1 < 1, 3, y))"
    trace = hovis.trace(tokens, hovis.const(text))
    assert not trace.blocks[0].ops or {op.callee for op in trace.blocks[0].ops} <= {ops.make_list}
    assert trace() == tokens(text)
    for pattern, slow in [("a*a*a*a*", False), ("a*a*a*a*b", True), ("(a*)*b", True), ("(x|a*a*a*a*)$", True), (r"\d+\.?\d*|\w+", False)]:
        assert regex.quick(re.compile(pattern), "a" * 60) is not slow
    assert not regex.quick(re.compile("a*a*a*a*"), "a" * 60, to_end=True)


class Scope(dict):
    def __init__(self, outer=None, **names):
        super().__init__(names)
        self.outer = outer

    def find(self, name):
        return self if name in self else self.outer.find(name)


class Procedure:
    def __init__(self, names, body, scope):
        self.names, self.body, self.scope = names, body, scope


def value_of(x, scope):
    if isinstance(x, str):
        return scope.find(x)[x]
    if not isinstance(x, tuple):
        return x
    if x[0] == "if":
        return value_of(x[2], scope) if value_of(x[1], scope) else value_of(x[3], scope)
    if x[0] == "lambda":
        return Procedure(x[1], x[2], scope)
    if x[0] == "define":
        scope[x[1]] = value_of(x[2], scope)
        return None
    called, *given = [value_of(y, scope) for y in x]
    if isinstance(called, Procedure):
        return value_of(called.body, Scope(called.scope, **dict(zip(called.names, given, strict=True))))
    return called(*given)


def value_in_a_loop(x, scope):
    while True:
        if isinstance(x, str):
            return scope.find(x)[x]
        if not isinstance(x, tuple):
            return x
        if x[0] == "if":
            x = x[2] if value_in_a_loop(x[1], scope) else x[3]
            continue
        if x[0] == "lambda":
            return Procedure(x[1], x[2], scope)
        if x[0] == "define":
            scope[x[1]] = value_in_a_loop(x[2], scope)
            return None
        called, *given = [value_in_a_loop(y, scope) for y in x]
        if not isinstance(called, Procedure):
            return called(*given)
        x, scope = called.body, Scope(called.scope, **dict(zip(called.names, given, strict=True)))


def scheme(value, forms, n):
    scope = Scope(None, n=n, less=operator.lt, minus=operator.sub, plus=operator.add)
    for form in forms:
        result = value(form, scope)
    return result


FIBONACCI = (
    ("define", "fib", ("lambda", ("k",), ("if", ("less", "k", 2), "k", ("plus", ("fib", ("minus", "k", 1)), ("fib", ("minus", "k", 2)))))),
    ("fib", "n"),
)


def test_recursion_of_a_guest_whose_scopes_are_a_subclass_of_dict():
    for value in (value_of, value_in_a_loop):
        trace = hovis.trace(scheme, hovis.const(value), hovis.const(FIBONACCI), hovis.Int)
        assert not {"lambda", "less", "define", "find"} & set(re.findall(r"\w+", str(trace).split("\n", 1)[1]))
        assert [trace(n) for n in (0, 1, 7)] == [0, 1, 13]


def writes_to_what_is_lent(n):
    top = Scope(z=n)

    def walk(scope, k):
        if k < 1:
            scope.find("z")["z"] += 1
            return scope.find("z")["z"]
        a = walk(Scope(top, k=k), k - 1)
        scope["w"] = a
        return a + walk(Scope(scope, k=k), k - 2) + len(scope)

    return walk(Scope(top), n), top


def gives_away_what_is_lent(n):
    top, kept = Scope(z=n), []

    def walk(scope, k):
        kept.append(scope)
        if k < 1:
            return repr(scope)
        return walk(Scope(top, k=k), k - 1) + walk(scope, k - 2)

    return walk(top, n), [x is top for x in kept], kept


def counts_in_what_is_given(n):
    top = collections.Counter()

    def walk(counted, k):
        counted[k % 2] += 1
        top.update(counted)
        if k < 1:
            return counted.total()
        other = collections.defaultdict(int, counted)
        return walk(collections.Counter(other), k - 1) + walk(counted, k - 2) + other["q"]

    return walk(top, n), top


def test_recursion_that_changes_or_keeps_what_it_is_given():
    for fn in (writes_to_what_is_lent, gives_away_what_is_lent, counts_in_what_is_given):
        trace = hovis.trace(fn, hovis.Int)
        assert not trace.fallback
        for n in (0, 1, 4):
            assert repr(trace(n)) == repr(fn(n))


def keeps_in_its_defaults():
    def fn(x, seen=[], *, counted={}):  # noqa: B006
        seen.append(x)
        counted[x] = counted.get(x, 0) + 1
        return len(seen), dict(counted)

    def calls(f):
        yield f(1)
        yield f(1)
        fn.__kwdefaults__ = {"counted": {}}
        yield f(1)
        fn.__defaults__ = ([7, 7],)
        yield f(1)

    return fn, calls


def test_defaults_that_are_written_to_are_replaced_between_calls():
    fn, calls = keeps_in_its_defaults()
    want = list(calls(fn))
    fn, calls = keeps_in_its_defaults()
    assert list(calls(hovis.jit(fn))) == want

"""What another hostile review found: one minimal program each."""

import enum
import weakref

import hovis


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

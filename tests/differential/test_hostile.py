"""What another hostile review found: one minimal program each."""

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

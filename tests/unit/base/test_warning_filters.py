"""Tracing does not make modules forget which warnings they have shown."""
import warnings

import hovis
from hovis.base.warning_filters import warnings_are


def test_a_warning_is_shown_once():
    shown = []
    with warnings.catch_warnings():
        warnings.resetwarnings()
        warnings.showwarning = lambda message, *_args, **_kwargs: shown.append(str(message))

        def noisy():
            warnings.warn("old", UserWarning)  # noqa: B028

        def fn(x):
            return "%s-%s" % ("a", (1, 2)), "a,b".split(","), f"{'q':>5}", x  # noqa: UP031

        compiled = hovis.jit(fn)
        for x in (1, 2.5, "x"):
            noisy()
            compiled(x)
        assert shown == ["old"]


def test_filters_are_put_back():
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        with warnings_are("ignore"):
            warnings.warn("unheard", stacklevel=1)
        warnings.warn("heard", stacklevel=1)
    assert [str(one.message) for one in shown] == ["heard"]

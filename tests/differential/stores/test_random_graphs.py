"""Random programs over known objects that refer to one another (see random_graphs)."""
import os

import pytest

import hovis
from tests.differential.stores import random_graphs

#: With HOVIS_EXAMPLES more of them are drawn.
COUNT = int(os.environ.get("HOVIS_EXAMPLES", "60")) // 3


@pytest.mark.parametrize("part", range(4))
def test_random_graphs(part):
    wrong = [told for seed in range(part, COUNT, 4) if (told := random_graphs.check(seed))]
    assert not wrong, wrong[0]


@pytest.mark.parametrize("way", ["specialize", "jit"])
@pytest.mark.parametrize("place", random_graphs.HIDING)
def test_where_an_object_is_kept(place, way):
    """Unknown code that names the place comes to the object; so does the traced code, by a name of its own."""
    put = "\n    ".join(random_graphs.HIDING[place].replace("$", "m").split("\n"))
    text = random_graphs.PRELUDE + f"""
def make():
    m = Node(1, 2)
    {put}
    @hovis.boundary
    def unknown(n):
        {place}.c = n
    def fn(n):
        m.a = n
        before = m.c, m.d
        unknown(n)
        {place}.d = n + 1
        return before, m.c, m.d
    return fn
"""

    def made():
        namespace = {"__name__": "kept"}
        exec(text, namespace)
        return namespace["make"]()

    plain, fn = made(), made()
    residual = hovis.specialize(fn, hovis.Int) if way == "specialize" else hovis.jit(fn)
    assert [residual(n) for n in (7, 0, 8)] == [plain(n) for n in (7, 0, 8)]

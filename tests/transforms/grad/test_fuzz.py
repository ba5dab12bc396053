"""Two of the random programs of :mod:`tests.transforms.harness.fuzz`."""

from tests.transforms.harness import fuzz


def test_a_drawn_program() -> None:
    assert fuzz.compare(fuzz.text_of(11000001), 11000001, compiled=False) != "no differences"


def test_a_drawn_program_derived_twice() -> None:
    assert fuzz.compare_second(fuzz.text_of(13000006), 13000006, compiled=False) == "right"

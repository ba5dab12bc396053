"""What ``__hash__`` gives is taken as it is where it fits a machine word (slot_tp_hash)."""

import pytest

import hovis


class Hashed:
    def __init__(self, value):
        self.value = value

    def __hash__(self):
        return self.value


def asked(value):
    return hash(Hashed(value))


@pytest.mark.parametrize("value", [1, -1, -2, 2**61 - 1, 2**61, 2**62, 2**63 - 1, -(2**63), 2**63, -(2**63) - 1, 2**70, True])
def test_hash(value):
    assert hovis.specialize(asked, hovis.Any)(value) == asked(value)
    assert hovis.specialize(asked, type(value))(value) == asked(value)
    assert hovis.specialize(asked, hovis.const(value))() == asked(value)

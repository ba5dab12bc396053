"""Every opcode of the running Python has a row in its version's table, and every row makes known ops."""

import dis

import pytest

from hovis.bytecode import OPS
from hovis.bytecode.normalize import TABLE

#: Never in co_code: they belong to the interpreter itself.
INTERNAL = {"RESERVED", "INTERPRETER_EXIT", "ENTER_EXECUTOR", "EXIT_INIT_CHECK"}
#: Left by the compiler to its own later stages.
PSEUDO = {name for name, opcode in dis.opmap.items() if opcode > 255}
INSTRUMENTED = {name for name in dis.opmap if name.startswith("INSTRUMENTED_")}

REAL = sorted(set(dis.opmap) - INTERNAL - PSEUDO - INSTRUMENTED)

#: Steps that stack_layout.py and normalize.py turn into ops, or into nothing.
STEPS = {"Null", "NullUnder", "Truth"}


@pytest.mark.parametrize("opcode", REAL)
def test_opcode_has_a_row(opcode):
    assert opcode in TABLE, f"{opcode}: no row in hovis/bytecode/versions; see docs/add-an-opcode.md"


def test_no_row_for_what_is_no_opcode():
    assert set(TABLE) <= set(REAL), f"rows that this Python does not have: {sorted(set(TABLE) - set(REAL))}"


@pytest.mark.parametrize("opcode", sorted(TABLE))
def test_row_makes_known_ops(opcode):
    row = TABLE[opcode]
    opargs = range(26) if opcode == "BINARY_OP" else range(1, 5) if "INTRINSIC" in opcode else range(16)
    for arg in opargs:
        for op, _ in row if isinstance(row, tuple) else row(arg):
            assert op in OPS or op in STEPS, f"{opcode} makes {op!r}, which instructions.OPS does not name"


@pytest.mark.skipif(not hasattr(dis, "_intrinsic_1_descs"), reason="3.11 has no intrinsics")
@pytest.mark.parametrize("opcode", ["CALL_INTRINSIC_1", "CALL_INTRINSIC_2"])
def test_every_intrinsic_has_a_row(opcode):
    names = dis._intrinsic_1_descs if opcode.endswith("1") else dis._intrinsic_2_descs
    for arg, name in enumerate(names):
        if not name.endswith("INVALID"):
            assert TABLE[opcode](arg), name


def test_operators_are_in_the_order_of_the_running_python():
    for arg, (_, symbol) in enumerate(dis._nb_ops):
        ((op, recipe),) = TABLE["BINARY_OP"](arg)
        assert (op == "Inplace") == symbol.endswith("=")
        assert (op == "GetItem") == (symbol == "[]")
        assert recipe(None, arg) == symbol.removesuffix("=") or symbol == "[]"

"""Inline guards, looks at the environment that are emitted in place: a global is loaded and compared, as quickly as the original loads it.

A test that finds a change jumps to the full test (``Look.hold``), which is emitted elsewhere: a number may be another object of the same value.
"""

from types import CellType
from typing import Any, Final

from hovis.backend.assembler.encode import OP, SUBSCRIPT, Label
from hovis.backend.assembler.selection.stack_code import Item, StackCode
from hovis.ir import operations as ops
from hovis.ir.model import Op, Operand
from hovis.lattice import Const, inline_attributes

#: If a look needs more tests than this, a call makes them.
MOST: Final = 8
_TYPE: Final = type


class Look:
    """The labels of a look that is emitted in place, and the code of the whole test.

    failed  a test has failed       raised  a test has found nothing to compare       held  nothing has changed
    """

    __slots__ = ("failed", "held", "place", "raised", "whole")

    def __init__(self, place: object, whole: list[Item]) -> None:
        self.failed, self.raised, self.held = Label(), Label(), Label()
        self.place, self.whole = place, whole


def write(linear: StackCode, cond: Operand) -> Look | None:
    """Emit the tests of a branch on a look, if they are few and quick; a test that fails jumps to a label of the Look. Return None if nothing
    was emitted.
    """
    if not isinstance(cond, Op) or cond.callee is not ops.unchanged or cond not in linear.inline or not isinstance(cond.args[0], Const):
        return None
    environment: Any = cond.args[0].value
    probes = environment.probes()
    tests = None if probes is None else _tests(linear, probes)
    if tests is None or len(tests) > MOST:
        return None
    linear.at(cond.location)
    items, linear.items = linear.items, []
    linear.callee(environment.hold)
    linear.call(0)
    look = Look(cond.location, linear.items)
    linear.items = items
    linear.macro(lambda writer: writer.within(look.raised))
    for how, holder, name, value in tests:
        _compare(linear, how, holder, name, value)
        linear.macro(lambda writer: writer.asm.jump_if("FALSE", look.failed))
    linear.macro(lambda writer: writer.within(None))
    return look


def _tests(linear: StackCode, probes: Any) -> list[Any] | None:
    """Return each test once; a name that is absent in the module and present in the builtins becomes one test of a global of the residual."""
    namespace = linear.namespace
    found = namespace.get("__builtins__")
    builtin = found if isinstance(found, dict) else getattr(found, "__dict__", None)
    tests: dict[Any, Any] = {}
    for probe in probes:
        how, holder, name, _ = probe
        tests.setdefault((how, id(holder), name if isinstance(name, str) else (type(name), id(name))), probe)
    for key, (how, holder, name, value) in list(tests.items()):
        if how == "item" and type(name) is str and name.isidentifier():
            hidden = "absent", id(namespace), name
            if holder is namespace:
                tests[key] = "global", holder, name, value
            elif holder is builtin and tests.pop(hidden, None) is not None:
                tests[key] = "global", namespace, name, value
    return list(tests.values())


def _compare(linear: StackCode, how: str, holder: Any, name: Any, value: Any) -> None:
    """Push whether a test holds."""
    if how == "absent":
        linear.constant(name)
        linear.constant(holder)
        linear.do(OP["CONTAINS_OP"], 1, -1)
        return
    if how == "global":
        linear.do(OP["LOAD_GLOBAL"], linear.pool.name(name) << 1, 1)
    elif how == "class":
        linear.callee(_TYPE)
        linear.constant(holder)
        linear.call(1)
    elif how == "kind":
        linear.callee(_TYPE)
        linear.constant(holder)
        linear.constant(name)
        linear.do(*SUBSCRIPT, -1)
        linear.call(1)
    elif type(holder) is CellType and linear.user_cell(holder, None):
        linear.cell(OP["LOAD_DEREF"], linear.user_cells[id(holder), None], 1)
    elif how in ("attribute", "plain attribute"):
        _read(linear, how, holder, name)
    elif how in ("bound", "plain bound"):
        _read(linear, how, holder, name)
        _read(linear, how, holder, name)
        linear.do(OP["IS_OP"], 1, -1)
        return
    else:
        linear.constant(holder)
        linear.constant(name)
        linear.do(*SUBSCRIPT, -1)
    linear.constant(value)
    linear.do(OP["IS_OP"], 0, -1)


def _read(linear: StackCode, how: str, holder: Any, name: str) -> None:
    """Push an attribute of an instance, read in the way of its class, or (``plain``) without calling the hooks of its class."""
    if not how.startswith("plain "):
        linear.constant(holder)
        linear.attribute(name)
        return
    linear.callee(inline_attributes.plain)
    linear.constant(holder)
    linear.constant(name)
    linear.call(2)

"""Selection rules for exceptions, and for the yields of a generator."""

from hovis.backend.assembler.encode import OP, POP_TOP, YIELD, YIELD_FROM, Label, Region
from hovis.backend.assembler.selection.selection_rules import FIXED, Rule, constant_of, fixed
from hovis.backend.assembler.selection.stack_code import StackCode, Writer
from hovis.backend.tracebacks import Trim, Untrim, outline
from hovis.bytecode.normalize import INDEXED
from hovis.ir import operations as ops
from hovis.ir.model import Op


def _enter(linear: StackCode, op: Op) -> None:
    linear.do(OP["PUSH_EXC_INFO"], 0, 1)
    linear.handlers(1)
    linear.do(POP_TOP, 0, -1)


def _leave(linear: StackCode, op: Op) -> None:
    linear.handlers(-1)
    linear.do(OP["POP_EXCEPT"], 0, -1)


FIXED[id(ops.enter_handler), 1] = Rule(_enter, result=False)
FIXED[id(ops.leave_handler), 0] = Rule(_leave, result=False)


def _yield(linear: StackCode, op: Op) -> None:
    linear.do(OP["YIELD_VALUE"], YIELD, 0)
    linear.do(OP["RESUME"], 1, 0)


FIXED[id(ops.yield_), 1] = Rule(_yield)
if not INDEXED:
    fixed(ops.yield_from_iter, 1, (OP["GET_YIELD_FROM_ITER"], 0, 0))


def _yield_from(linear: StackCode, op: Op) -> None:
    """Emit the loop that CPython's compiler emits for ``yield from``; a ``yield_rest`` enters it at the yield."""

    def loop(writer: Writer) -> None:
        asm, outer = writer.asm, writer.asm.region
        ended, thrown, within = Label(), Label(), Label()
        if op.callee is ops.yield_rest:
            asm.jump(within)
        again = asm.send(ended)
        if "CLEANUP_THROW" in OP:
            asm.region = Region(thrown, asm.depth)
        asm.bind(within)
        asm.do(OP["YIELD_VALUE"], YIELD_FROM)
        asm.do(OP["RESUME"], 2)
        asm.region = outer
        asm.send_again(again)
        if "CLEANUP_THROW" in OP:
            asm.bind(thrown)
            asm.grow(1)
            asm.do(OP["CLEANUP_THROW"], 0, -1)
        asm.bind(ended)
        if "END_SEND" in OP:
            asm.do(OP["END_SEND"], 0, -2 if INDEXED else -1)
        else:
            asm.depth -= 1

    if INDEXED:
        linear.do(OP["PUSH_NULL"], 0, 1)
    linear.constant(None)
    linear.macro(loop)


FIXED[id(ops.yield_from), 1] = FIXED[id(ops.yield_rest), 1] = Rule(_yield_from)


def _raised(linear: StackCode, op: Op) -> None:
    """Raise the exception with a handler right behind: it gets the residual's own traceback entry and its context."""
    caught = Label()
    mend = linear.watched(op)

    def raise_here(writer: Writer) -> None:
        asm = writer.asm
        outer = asm.region
        asm.region = Region(caught, asm.depth - 1)
        asm.do(OP["RAISE_VARARGS"], 1, -1)
        asm.region = outer
        asm.bind(caught)
        asm.grow(1)
        if mend:
            writer.mend()

    linear.macro(raise_here)


FIXED[id(ops.raised), 1] = Rule(_raised)


def _caught_at(linear: StackCode, op: Op) -> None:
    if linear.watched(op):
        linear.tell(Trim(constant_of(op.args[1]) - 1))


def _passed(linear: StackCode, op: Op) -> None:
    around = outline(op.location)[constant_of(op.args[1]) - 1 : -1]
    if linear.trims and around:
        linear.tell(Untrim(around))


FIXED[id(ops.caught_at), 2] = Rule(_caught_at, (0,))
FIXED[id(ops.passed), 2] = Rule(_passed, (0,))

"""A log of overwritten array elements, so that the reverse sweep can put them back where a rule asks for them.

Elements are copied before a store overwrites them; when the sweep passes the store, the copy is put back.  The final contents of
arrays that are visible outside are saved, and put back at the end of the sweep.
"""

import operator as o
from typing import TYPE_CHECKING

from hovis.ir.model import Block, Effect, Invoke, Op, Operand, Param, Value
from hovis.lattice import Const, Type
from hovis.library.numpy.adjoints.cotangents import overwritten
from hovis.transforms.aliasing import is_array, is_store
from hovis.transforms.reverse.writing import Writer
from hovis.transforms.ssa_variables import Variable

if TYPE_CHECKING:
    from hovis.transforms.reverse.sweep import Sweep


class Log:
    """The stores into arrays whose earlier contents a rule may ask for.

    asked    the groups of arrays whose contents a rule has asked for
    """

    def __init__(self, sweep: "Sweep") -> None:
        self.sweep = sweep
        self.asked: set[Value] = set()
        self.old: dict[Op, Operand] = {}
        self.undone: list[tuple[Block, Op, Op]] = []
        self.finishing: tuple[Block, Op | None] | None = None
        for block in list(sweep.normal.function.blocks):
            for op in list(block.all_ops()):
                if sweep.activity.acts(op):
                    self.old[op] = self._copied(block, op)

    def _copied(self, block: Block, op: Op) -> Operand:
        """Emit a copy of the elements that op overwrites, in front of op."""
        at = len(block.ops) if isinstance(block.terminator, Invoke) and block.terminator.op is op else block.ops.index(op)
        rest = block.ops[at:]
        block.ops = block.ops[:at]
        found = _overwritten(Writer(block, self.sweep, asks=False), op.args[0], _index(op))
        block.ops += rest
        return found

    def undo(self, writer: Writer, op: Op) -> None:
        """Reserve a place in the sweep for undoing op."""
        made = Op(o.setitem, (), type=Type(type(None)), effect=Effect.WRITES | Effect.RAISES, location=op.location)
        writer.block.ops.append(made)
        self.undone.append((writer.block, op, made))

    def finish(self, writer: Writer) -> None:
        """Remember the place at which the sweep ends."""
        self.finishing = writer.block, writer.block.ops[-1] if writer.block.ops else None

    def close(self, first: Block) -> None:
        """After the sweep has been written, put back the elements that rules ask for, and remove the other reserved places."""
        sweep = self.sweep
        for block, op, made in self.undone:
            target = op.args[0]
            assert isinstance(target, Param | Op)
            if sweep.groups.of(target) in self.asked:
                args = (target, _index(op), self.old[op])
                at = block.ops.index(made)
                rest, block.ops = block.ops[at + 1 :], block.ops[: at + 1]
                made.args = tuple(sweep.available(arg, block) for arg in args)
                # ops that compute the store's operands go before it
                more = block.ops[at + 1 :]
                block.ops = [*block.ops[:at], *more, made, *rest]
            else:
                block.ops.remove(made)
        self._keep(first)

    def _keep(self, first: Block) -> None:
        """Save the final contents of arrays that are visible outside where the sweep begins, and put them back where it ends."""
        sweep = self.sweep
        assert self.finishing is not None
        block, last = self.finishing
        undone = {sweep.groups.of(op.args[0]) for _, op, _ in self.undone} & self.asked  # type: ignore[arg-type]
        roots = dict.fromkeys(v for v in (*sweep.function.params, *sweep.normal.results) if isinstance(v, Param | Op) and is_array(v))
        for root in roots:
            if sweep.groups.of(root) not in undone:
                continue
            kept = Variable(root.type, sweep.no_end, None, root.dims)
            rest, first.ops = first.ops, []
            found = _overwritten(Writer(first, sweep, asks=False), root, Const(Ellipsis))
            first.ops += rest
            sweep.variables.write(kept, first, found)
            at = block.ops.index(last) + 1 if last is not None else 0
            rest, block.ops = block.ops[at:], block.ops[:at]
            args = (sweep.final(root, block) if root in sweep.kept else sweep.available(root, block), Const(Ellipsis), sweep.variables.value(kept, block))
            block.ops.append(Op(o.setitem, args, type=Type(type(None)), effect=Effect.WRITES | Effect.RAISES))
            last = block.ops[-1]
            block.ops += rest


def _index(op: Op) -> Operand:
    return op.args[1] if is_store(op) else Const(Ellipsis)


def _overwritten(writer: Writer, target: Operand, index: Operand) -> Operand:
    before = writer.block
    found = writer.rule(overwritten, target, index)
    assert writer.block is before, "what is overwritten is copied in one go"
    return found

"""Moves between locals: the loads, stores and clears on an edge, and the loads that clear their local."""

from hovis.backend.assembler.encode import COPY, DELETE_FAST, LOAD_FAST, POP_TOP, STORE_FAST, TAKE_FAST, Assembly
from hovis.backend.assembler.liveness import Flow, may_finalize
from hovis.backend.assembler.register_allocation import Slots
from hovis.backend.assembler.selection.instruction_selection import Linear
from hovis.backend.assembler.selection.stack_code import DO, Item
from hovis.ir.model import Edge, Op, Operand, Param, Value
from hovis.lattice import Const


class Plan:
    """The actions on an edge: moves, the indices of those that clear the local they load (``takes``), and locals to clear. Stores are in reverse
    order.
    """

    __slots__ = ("clears", "moves", "takes")

    def __init__(self, moves: list[tuple[Param, Operand]], takes: set[int], clears: list[int]) -> None:
        self.moves, self.takes, self.clears = moves, takes, clears

    def __bool__(self) -> bool:
        return bool(self.moves or self.clears)


class Moves:
    """Emits loads, and the actions on edges."""

    def __init__(self, asm: Assembly, flow: Flow, linear: Linear, slots: Slots) -> None:
        self.asm, self.flow, self.linear, self.slots = asm, flow, linear, slots
        self.of = slots.of
        #: does the local of a value have to be cleared where the value dies?
        self.clears: dict[Value, bool] = {}

    def load(self, value: Operand, takes: bool) -> None:
        """Emit the load of a local; takes: also clear it, if the time of its release matters."""
        local = self.of[value]
        if not takes or not self.matters(value):
            self.asm.do(LOAD_FAST, local, 1)
        elif TAKE_FAST is not None:
            self.asm.do(TAKE_FAST, local, 1)
        else:
            self.asm.do(LOAD_FAST, local, 1)
            self.asm.do(DELETE_FAST, local)

    def matters(self, value: Operand) -> bool:
        """Does the local of value have to be cleared where value dies?"""
        assert isinstance(value, Param | Op)
        found = self.clears.get(value)
        if found is None:
            found = self.clears[value] = may_finalize(value.type)
        return found

    def constant(self, value: object) -> None:
        """Emit the load of a known value."""
        items: list[Item] = []
        self.linear.items = items
        self.linear.constant(value)
        for kind, opcode, arg, effect in items:
            if kind == DO:
                self.asm.do(opcode, arg, effect)
            else:
                self.asm.deref(opcode, arg, effect)

    def plan(self, edge: Edge, live: set[Value], top: Operand | None) -> Plan:
        """Plan the actions on edge, where the values in live are live before it, and top is on the stack."""
        of = self.of
        moves, kept = [], set()
        for param, value in self.flow.moves(edge):
            if value is not top and of.get(value) == of[param]:
                kept.add(of[param])
            else:
                moves.append((param, value))
        if self.flow.ends_at_once(edge.block):
            return Plan(moves, set(), [])
        stored = {of[param] for param, _ in moves} | kept
        staying = self.flow.live_in[self.flow.index[edge.block]]
        dying = {value: of[value] for value in live if value not in staying and of[value] not in stored and self.matters(value)}
        takes = set()
        for k in range(len(moves) - 1, -1, -1):
            value = moves[k][1]
            if isinstance(value, Param | Op) and dying.pop(value, None) is not None:
                takes.add(k)
        return Plan(moves, takes, self.slots.in_turn(dying.values()))

    def write(self, plan: Plan, top: Operand | None) -> None:
        """Emit parallel moves by way of the stack; top is there already."""
        asm = self.asm
        for local in plan.clears:
            asm.do(DELETE_FAST, local)
        moves = list(enumerate(plan.moves))
        if top is not None:
            first = next((m for m in moves if m[1][1] is top), None)
            if first is None:
                asm.do(POP_TOP, 0, -1)
            else:
                moves.remove(first)
                moves.insert(0, first)
        for pushed, (k, (_, value)) in enumerate(moves):
            if value is top:
                if pushed:
                    asm.do(COPY, pushed, 1)
            elif isinstance(value, Const):
                self.constant(value.value)
            else:
                self.load(value, k in plan.takes)
        for _, (param, _) in reversed(moves):
            asm.do(STORE_FAST, self.of[param], -1)

    def clear(self, values: list[Value]) -> None:
        for local in self.slots.in_turn(self.of[value] for value in values if self.matters(value)):
            self.asm.do(DELETE_FAST, local)

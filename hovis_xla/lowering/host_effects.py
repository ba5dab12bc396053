"""Observable effects of a run, and reads of the environment that may have changed: ordered calls of the host, and variables that outlive the
call.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hovis.front.kernels.primitives import Kept
from hovis.ir.model import Op
from hovis.lattice import Const, Type
from hovis.lattice.inspection import is_a
from hovis_xla.abi import primitive_calls
from hovis_xla.abi.ordered_effects import Act, Reread
from hovis_xla.analysis import persistent_scalars
from hovis_xla.analysis.persistent_scalars import Variable
from hovis_xla.analysis.primitive_effects import ACTS
from hovis_xla.emit import builder, custom_calls
from hovis_xla.emit.block_slots import TAG, as_val, describe, num_of, tensor
from hovis_xla.emit.builder import T, tensor_type
from hovis_xla.emit.locations import Location
from hovis_xla.emit.values import ARRAY, EITHER, SCALAR, Handle, Known, NotLowerable, Num, OneOf, Operand, Raised, Struct, Val, is_handle, num_of_type
from hovis_xla.jaxlib.adapter import ir
from hovis_xla.jaxlib.adapter import stablehlo as hlo
from hovis_xla.lowering.control.carried_kinds import WHICH
from hovis_xla.lowering.control.control_flow import Walker
from hovis_xla.lowering.operands import is_raised, name_of


class Effects(Walker):
    """The part of a lowering that has the host perform effects in program order."""

    def act(self, callee: Callable[..., Any], args: list[Operand], kwargs: dict[str, Operand], op: Op) -> Operand:
        """Lower a call that the host makes in program order. Its arguments are numbers, known objects, and containers and texts of these."""
        if isinstance(callee, Kept):
            if kwargs:
                raise NotLowerable(f"{name_of(callee)} is called with keyword arguments")
            return primitive_calls.act(self, op, args)
        lends = callee in ACTS
        leaves: list[Val] = []
        trees = [self.argument_tree(a, leaves, callee, lends) for a in (*args, *kwargs.values())]
        wanted = op in self.scope.used and op.type not in (Type(type(None)), Const(None))
        num = num_of_type(op.type) if wanted else None
        if wanted and (num is None or num.kind == ARRAY):
            raise NotLowerable(f"the result of {name_of(callee)} is used, but is not known to be a number")
        act = Act(callee, trees, list(kwargs), [v.num for v in leaves], self.record, num, op.location, failures=self.failures)
        (found,) = self.in_turn([tensor(v) for v in leaves], act, [num] if num is not None else []) or (None,)
        return Known(None) if found is None or num is None else Val(num, found.ir)

    def argument_tree(self, operand: Operand, leaves: list[Val], callee: Callable[..., Any] | str, lends: bool) -> Any:
        """Describe how the host builds an operand, and append its XLA values to ``leaves``. ``lends``: it may be an array, passed as a copy, as
        the callee does not write to it.
        """
        if isinstance(operand, Struct):
            parts = tuple(self.argument_tree(p, leaves, callee, lends) for p in operand.parts)
            return "build", operand.callee, parts, id(operand.op or operand)
        if isinstance(operand, OneOf):
            leaves.append(Val(WHICH, operand.which))
            at = len(leaves) - 1
            return "oneof", at, tuple(self.argument_tree(m, leaves, callee, lends) for m in operand.members)
        if isinstance(operand, Known) and not is_a(operand.value, np.ndarray | Raised | Handle):
            return "known", operand.value
        if not isinstance(operand, Known | Val) or is_raised(operand) or is_handle(operand):
            raise NotLowerable(f"{name_of(callee)} of {describe(operand)}")
        value = self.val(operand)
        if value.num.kind == EITHER:
            leaves += [Val(Num(SCALAR, value.num.dtype), value.ir), Val(TAG, value.tag)]
            return "either", len(leaves) - 2
        if value.num.kind == ARRAY and not lends:
            raise NotLowerable(f"{name_of(callee)} of an array, which it might write to")
        leaves.append(value)
        return "leaf", len(leaves) - 1

    def in_turn(self, values: list[T], callback: Callable[..., Any], results: Sequence[Num]) -> list[T]:
        """Call the host after all earlier effects; at run time the call is skipped if the program has already bailed out."""
        self.callbacks.append(callback)
        if self.token is None:
            raise NotLowerable("a side effect where none was expected")
        number = len(self.callbacks) - 1
        self.acted = True
        kinds = [(r.dtype, r.shape) for r in results]
        if self.bail is None:
            self.token, found = custom_calls.callback(self.token, values, number, kinds)
            return found
        made = hlo.IfOp([hlo.TokenType.get(), *(tensor_type(*k) for k in kinds)], builder.not_(self.bail).ir)
        for region, does in zip(made.regions, (True, False), strict=True):
            with ir.InsertionPoint(region.blocks.append()):
                token, found = custom_calls.callback(self.token, values, number, kinds) if does else (self.token, [builder.zeros(*k) for k in kinds])
                hlo.return_([token, *(f.ir for f in found)])
        self.token = made.results[0]
        return [T(r, *k) for r, k in zip(list(made.results)[1:], kinds, strict=True)]

    def outlives(self, key: Any, variable: Variable, value: Any) -> None:
        """Register a variable that outlives the call; ``value`` is the input of the program with its initial content."""
        num = variable.num
        location = self.outliving[key] = Location(num.dtype, (), True, owner=variable)
        self.memory.bottom[location] = T(value, num.dtype, ())

    def of_outliving(self, callee: Callable[..., Any], args: list[Operand]) -> Operand | None:
        """Lower a read of a variable that outlives the call, or a store into it; return None if the call is about no such variable."""
        location = self.outliving.get(persistent_scalars.key_of(callee, [a.value if isinstance(a, Known) else None for a in args]))
        if location is None:
            return None
        num = location.owner.num
        if callee in persistent_scalars.READS:
            return Val(num, self.memory.read(location).ir)
        if num_of(args[-1]) != num:
            raise NotLowerable("a variable that outlives the call is assigned a value of another kind")
        self.memory.content[location] = tensor(as_val(args[-1], num))
        return Known(None)

    def reread(self, callee: Callable[..., Any], args: list[Operand]) -> Operand:
        """Return the value of a global or cell that is read again after a call that could have changed it.

        Its present value is assumed; this is checked at every call or, after an act, at this point of the program.
        """
        values = [a.value for a in args if isinstance(a, Known)]
        if len(values) < len(args):
            raise NotLowerable("a read of an unknown variable")
        try:
            found = callee(*values)
        except (NameError, AttributeError) as missing:
            raise NotLowerable(f"a name or an attribute that does not exist now ({missing})") from None
        if not self.acted and not self.rereads:
            self.environment.append((callee, tuple(values), found))
        else:
            site = self.op.location if self.op is not None else None
            self.bail_if(self.in_turn([], Reread(callee, values, found, site, self.record if self.rereads else None), [TAG])[0])
        return Known(found)

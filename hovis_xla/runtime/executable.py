"""Compiled Functions: how to inspect them, and how to call them (``call_entry``)."""

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hovis.base import deadline, gc_pause
from hovis.base.deadline import OutOfTime
from hovis.base.once import COMPILER, alone, lazy, lock
from hovis.front.autotuner import Contest
from hovis.ir.model import Function
from hovis_xla.abi import scalar_packing
from hovis_xla.abi.call_entry import BAILED, Entrance
from hovis_xla.abi.ordered_effects import Log, guarded
from hovis_xla.abi.run_record import Record
from hovis_xla.abi.signature import Lowered
from hovis_xla.choice import cost_model
from hovis_xla.emit.values import Known, Late, NotLowerable, Num, num_of_type, num_of_value
from hovis_xla.hlo.chain_splitting import split_chains
from hovis_xla.hlo.dot_layout import assign_dot_layouts
from hovis_xla.hlo.licm import hoist_invariants
from hovis_xla.hlo.module import Module
from hovis_xla.hlo.partial_sort import select_partially
from hovis_xla.jaxlib import adapter, disk_cache, progress
from hovis_xla.jaxlib.adapter import XlaError
from hovis_xla.jaxlib.compilation import Program, Recipe
from hovis_xla.jaxlib.hlo_text import Loops, loops_of
from hovis_xla.lowering.module import NOTHING, lower
from hovis_xla.lowering.pipeline import OF_LOOPS, in_rounds, rewrite, shaped
from hovis_xla.runtime import jaxlib_checks
from hovis_xla.runtime.capacity_retry import Growing


def parameters(function: Function, types: Sequence[Num | Known | None] | None = None) -> list[Num | Known]:
    """Return what each parameter of a Function is: as given, else by its type (with all dimensions known)."""
    found: list[Num | Known] = []
    for k, (param, given) in enumerate(zip(function.params, types or [None] * len(function.params), strict=True)):
        num = given if given is not None else num_of_type(param.type, param.dims)
        if num is None:
            raise NotLowerable(f"the argument {param.name or k!s} :: {param.type} is neither a number nor an array of known shape", function.location)
        found.append(num)
    return found


#: Is a first call done by a program that is compiled quickly?
QUICKLY: bool = True


class Executable:
    """A compiled Function. Called with its leaves it returns the result, or BAILED.

    ``types`` says what each leaf is; the program is compiled when it is first needed, unless it is given.  Half of the time of a
    first call is spent in LLVM's optimizer: where there is little work, the first call (:meth:`first`) does without it, and without
    passes that make loops faster by making programs longer.  ``lowered`` is the Lowered of that quick compilation, until the
    Function is lowered in full.
    """

    def __init__(self, name: str, types: Sequence[Num | Known], lowered: Lowered, exact: bool = False, program: Program | None = None) -> None:
        self.name = name
        self.types = list(types)
        self.lowered = lowered
        self.exact = exact
        self._program = program
        #: held by the thread that compiles the program
        self._compiling = lock()
        self._enter: Callable[..., Any] | None = None
        self._larger: Callable[..., Any] | None = None
        #: may a first call be done by a program that is compiled quickly?
        self.in_a_hurry = QUICKLY and not exact and program is None
        self._function: Function | None = None
        self._ordered = False
        #: the Lowered for a first call; None once the Function is lowered in full
        self._plain: Lowered | None = None
        #: the effects that were already performed of a call that Python has to do again
        self.log = Log()

    @staticmethod
    @alone
    def of(
        function: Function, types: Sequence[Num | Known | None] | None = None, exact: bool = False, ordered: bool = False, hurry: bool = False
    ) -> "Executable":
        """Return the executable of a Function; NotLowerable if it can't be lowered.

        ordered  see ``module.lower``
        hurry    a call is waiting: the Function is lowered in full only when that is needed
        """
        known = parameters(function, types)
        try:
            with gc_pause.seldom():
                function = shaped(function)
                early = hurry and QUICKLY and not exact
                made = Executable(function.name, known, lower(function if early else in_rounds(function), known, True, ordered=ordered, bounded=early), exact)
        except OutOfTime as late:
            raise Late(str(late), function.location) from None
        made._function, made._ordered = function, ordered
        if made.lowered.work.loops:
            jaxlib_checks.check()
            made._plain = made.lowered if early else None
        if made.lowered.tapes:
            made._in_full()  # tapes are made longer than those of the program that is kept
        return made

    def _in_full(self) -> Lowered:
        """Return the Lowered for the full compilation, and lower the Function for it if that has not been done."""
        if self._plain is not None and self._function is not None:
            plain, self._plain, whole = self._plain, None, in_rounds(self._function)
            with gc_pause.seldom(), deadline.within(deadline.limit()):
                if whole is not self._function:
                    with contextlib.suppress(NotLowerable, OutOfTime):
                        self.lowered = lower(whole, self.types, True, ordered=self._ordered)
                if self.lowered is plain and plain.bounded:
                    # if this is refused too, as other loops are expanded, the bounded program stays, and Python does calls in which it bails out
                    with contextlib.suppress(NotLowerable, OutOfTime):
                        self.lowered = lower(self._function, self.types, True, ordered=self._ordered)
        return self.lowered

    @lazy
    def general(self) -> "Executable":
        """The executable for ints of any size: itself, unless it is for small ints only."""
        if not self.lowered.narrow or self._function is None:
            return self
        return self._again(False)

    def _for_larger(self, *leaves: Any) -> Any:
        """Do a call with ints that are not small. Return BAILED, and Python does the call, if there is no program for them."""
        if self._larger is None:
            try:
                self._larger = self.general.enter
            except (XlaError, NotLowerable):
                self._larger = lambda *leaves: BAILED
        return self._larger(*leaves)

    @lazy
    def growing(self) -> Growing | None:
        """The executables with longer tapes; None if no tape can turn out to be too short."""
        return Growing(self, functools.partial(self._again, self.lowered.narrow)) if self.lowered.tapes and self._function is not None else None

    def _again(self, narrow: bool, slots: Mapping[int, int] = NOTHING) -> "Executable":
        """Lower the same Function to another executable, for small ints or not (``narrow``) and with tapes of these lengths (``slots``)."""
        assert self._function is not None
        made = Executable(self.name, self.types, lower(in_rounds(self._function), self.types, narrow, slots, self._ordered), self.exact)
        made.log = self.log
        made._function = self._function
        if slots:
            made.growing = self.growing
        return made

    # --------------------------------------------------------------------------------------------- inspection

    def stablehlo(self, locations: bool = False) -> str:
        """Return the text of the program as it is before XLA optimizes it."""
        with COMPILER:
            return adapter.text_of(self._in_full().module, locations)

    @property
    def program(self) -> Program:
        """The compiled program, made when it is first needed."""
        return self._program or self._compiled()

    @lazy
    def _packed(self) -> tuple[Any, Recipe]:
        """The module for the full compilation, and the recipe for that."""
        return self._prepared(self._in_full(), True)

    @lazy
    def _packed_plainly(self) -> tuple[Any, Recipe]:
        """The module for the quick compilation, and the recipe for that, without the passes that take long and make loops fast."""
        return self._packed if self._plain is None else self._prepared(self._plain, False)

    def _prepared(self, low: Lowered, in_full: bool) -> tuple[Any, Recipe]:
        """Run the passes over the module of a Lowered; return the result, and the recipe to compile it."""
        module = Module(scalar_packing.packed(low.module, low.inputs, low.outputs))
        recipe = Recipe(self.exact, small=low.work.small, native=low.work.native)
        rewrite(select_partially, module)
        if in_full:
            for act in OF_LOOPS if low.work.loops else ():
                rewrite(act, module)
            tiles = rewrite(assign_dot_layouts, module, low.work.native)
            recipe = dataclasses.replace(recipe, tiles=tiles, stays=low.work.loops and rewrite(hoist_invariants, module))
        rewrite(split_chains, module)
        return module.ir, recipe

    def _compiled(self) -> Program:
        """Compile the program in full. The first thread that needs it does that, while other threads can do other work."""
        with gc_pause.seldom(), COMPILER, adapter.context():
            packed = self._packed if self._program is None else None
            first = self.__dict__.get("_packed_plainly")  # what a first call looks up on disk
        with self._compiling, gc_pause.seldom(), adapter.context():
            if self._program is None and packed is not None:
                module, recipe = packed
                self._program = self._made(self.lowered, module, recipe, first)
        with COMPILER:
            self.__dict__.pop("_packed", None)
            self.__dict__.pop("_packed_plainly", None)
        assert self._program is not None
        return self._program

    def _made(self, low: Lowered, module: Any, recipe: Recipe, first: tuple[Any, Recipe] | None = None) -> Program:
        """Compile a module as a recipe says."""
        inputs, outputs = scalar_packing.interface(low.inputs), scalar_packing.interface(low.outputs)
        with progress.told(f"compiling {self.name}"):
            return disk_cache.compiled(module, inputs, outputs, low.callbacks, recipe, first)

    @property
    def loops(self) -> Loops:
        """The loops of the program as XLA has compiled them."""
        return loops_of(self.program.as_text())

    # --------------------------------------------------------------------------------------------- profitability

    @property
    def overhead(self) -> float:
        """Cost of a call besides the work, in microseconds."""
        return cost_model.of_call(self.lowered.inputs, self.lowered.outputs, len(self.lowered.callbacks))

    @property
    def is_worth_it(self) -> bool:
        """May the work take longer than the overhead of a call?"""
        return self.lowered.work.loops or self.lowered.work.python > self.overhead

    def contest(self, *others: str) -> Contest:
        """Return a Contest of the executable with other ways to do the same."""
        work = self.lowered.work
        return Contest(["xla", *others], functools.partial(cost_model.hopeless, work, self.overhead), grows=work.loops)

    # --------------------------------------------------------------------------------------------- running

    @property
    def enter(self) -> Callable[..., Any]:
        """The function from the leaves to the result, or BAILED."""
        if self._enter is None:
            program = self.program
            self._enter = self._entrance(self.lowered, program)
        return self._enter

    def first(self, *leaves: Any) -> Any:
        """Do a first call. Like ``enter``, but if the work is certain to be little, the program is compiled quickly; the next call compiles it
        in full.
        """
        with gc_pause.seldom(), COMPILER, adapter.context():
            hurry, self.in_a_hurry = self.in_a_hurry and self._program is None, False
            low = self.lowered
            little = hurry and low.work.is_little(leaves, low.bounded and not low.callbacks)
            packed = self._packed_plainly if little else None
        if packed is None:
            return self.enter(*leaves)
        module, recipe = packed
        with gc_pause.seldom(), adapter.context():
            is_there = disk_cache.is_there(module, recipe)
            program = None if is_there else self._made(low, module, dataclasses.replace(recipe, quick=True))
        if program is None:  # it is on disk, compiled in full
            return self.enter(*leaves)
        found = self._entrance(low, program)(*leaves)
        return self.enter(*leaves) if found is BAILED and low.bounded else found

    def _entrance(self, low: Lowered, program: Program) -> Callable[..., Any]:
        growing = self.growing
        growth = None if growing is None else (growing.longer if growing.first is self else (), functools.partial(growing.told, self))
        enter = Entrance(self.types, low, program, self._for_larger, growth).entry()
        if low.record is None and not low.texts:
            return enter
        return guarded(enter, low.record if low.record is not None else Record(), self.log)

    def __call__(self, leaves: Sequence[Any]) -> Any:
        return self.enter(*leaves)

    def fits(self, leaves: Sequence[Any]) -> bool:
        """Do the leaves have the types and shapes that the executable was compiled for?"""
        return all(num_of_value(leaf) == num for leaf, num in zip(leaves, self.types, strict=True) if isinstance(num, Num))

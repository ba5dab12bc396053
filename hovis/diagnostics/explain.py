"""The report of ``hovis.explain``: what was left for run time, where in the source, why, and what would help."""

import builtins
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hovis.backend.tracebacks import outline
from hovis.diagnostics.checks import checks, fits, short
from hovis.engine.lost_precision import JOINED
from hovis.ir import naming, operations
from hovis.ir.model import Block, Branch, Effect, Function, Location, Op, Operand, Param, Terminator, edges
from hovis.ir.operations import load_global, yield_
from hovis.ir.quoting import place, quote
from hovis.lattice import Any as AnyType
from hovis.lattice import Const, Type
from hovis.library.core import Library, Stand

#: Builtins that access an attribute of their first argument.
_ATTRIBUTES: Final = frozenset({getattr, setattr, delattr})

#: Longer chains of inlined calls are printed without their middle.
MAX_CALLERS: Final = 6


@dataclass(frozen=True, slots=True)
class Remark:
    """One thing that was left for run time.

    what      the thing: a call, a branch, a whole function
    why       the reason, a sentence
    hint      a way to avoid it, or ""
    location  its place in the user's source
    """

    what: str
    why: str
    hint: str = ""
    location: Location | None = None

    @property
    def loss(self) -> bool:
        """Is something left that could have been specialized? (A decision on an unknown value does not count.)"""
        return not self.what.startswith((DECIDED, MADE)) and not self.what.endswith((OWN, JOINED, STAYS))

    def lines(self, times: int = 1) -> list[str]:
        """Return the lines of the remark: the place, the source line with the span underlined, the reason."""
        text = [f"{self.what}: {self.why}" if self.why else self.what]
        if times > 1:
            text[0] += f" ({times} times)"
        if self.hint:
            text.append(self.hint)
        at = outline(self.location)[::-1]
        text = [naming.printable(line) for line in text]
        if not at:
            return text
        around = [f"  inlined at {place(caller)}" for caller in at[1:]]
        if len(around) > MAX_CALLERS:
            left_out = len(around) - MAX_CALLERS
            around[MAX_CALLERS // 2 : -MAX_CALLERS // 2] = [f"  ({left_out} more calls)"]
        return [place(at[0]), *quote(at[0]), *("  " + line for line in text), *around]


class Report:
    """Report of what was left for run time, and why: ``remarks`` has the remarks one by one, ``str`` gives the text.

    consequences  how many more operations are left because they use results of these
    """

    def __init__(self, headlines: Sequence[str], remarks: Iterable[Remark], consequences: int = 0) -> None:
        self.headlines = list(headlines)
        self.counts = Counter(remarks)
        self.consequences = consequences

    @property
    def remarks(self) -> list[Remark]:
        """The remarks without duplicates, in the order of the trace."""
        return list(self.counts)

    @property
    def complete(self) -> bool:
        """Was everything specialized?"""
        return not any(not remark.what.endswith(JOINED) for remark in self.counts)

    def __str__(self) -> str:
        parts = ["\n".join(map(naming.printable, self.headlines))] if self.headlines else []
        parts += ["\n".join(remark.lines(times)) for remark, times in self.counts.items()]
        if self.consequences:
            parts.append(f"and {_count(self.consequences, 'more operation')} on the results of these.")
        if not self.counts:
            parts.append("Everything was specialized.")
        return "\n\n".join(parts)

    __repr__ = __str__


# ------------------------------------------------------------------------------------------------- remarks


def of_functions(functions: Sequence[Function], library: Library, names: Mapping[int, str]) -> tuple[list[Remark], int]:
    """Collect the remarks on a trace, and count the operations that are left only because of them. names: what the user calls a Param, by id."""
    found: list[Remark] = []
    consequences = 0
    sources = Sources(functions, names)
    given = sources.handed_on(functions[0].params)
    called = {id(op.callee) for one in functions for op in one.ops()}
    for function in functions:
        if id(function) in called and not function.is_generator:
            found.append(Remark(f"{function.name} {OWN}", "it calls itself, depending on a decision at run time", "", function.location))
        for block in function.blocks:
            left = [op for op in block.all_ops() if op.effect & Effect.OPAQUE and op.callee is not yield_]
            roots = [op for op in left if not _follows(op, given)]
            consequences += len(left) - len(roots)
            branch = block.terminator
            looked_at, expected = _expectation(branch, library)
            found += [_of_op(op, library, sources, expected if op is looked_at else None) for op in roots]
            found += _made(block, library)
            if isinstance(branch, Branch) and looked_at is None and not _checks_again(branch.cond) and branch.cond not in left:
                found.append(_of_branch(branch, sources))
    return found, consequences


class Sources:
    """Finds the arguments of the user from which a value was computed."""

    def __init__(self, functions: Sequence[Function], names: Mapping[int, str]) -> None:
        self.names = names
        self._incoming: dict[int, list[Operand]] = {}
        for function in functions:
            for block in function.blocks:
                for edge in edges(block.terminator):
                    for param, arg in zip(edge.block.params, edge.args, strict=True):
                        self._incoming.setdefault(id(param), []).append(arg)

    def handed_on(self, params: Iterable[Param]) -> set[int]:
        """Return the ids of ``params``, and of all block parameters that they are passed to."""
        onto: dict[int, list[int]] = {}
        for param, args in self._incoming.items():
            for arg in args:
                onto.setdefault(id(arg), []).append(param)
        found, todo = set[int](), [id(param) for param in params]
        while todo:
            at = todo.pop()
            if at not in found:
                found.add(at)
                todo += onto.get(at, ())
        return found

    def of(self, *values: Operand) -> str:
        """Name the arguments from which ``values`` were computed: ``x and n``, in the order of the arguments; empty if there are none."""
        seen: set[int] = set()
        todo = [value for value in values if isinstance(value, Param | Op)]
        while todo:
            value = todo.pop()
            if id(value) not in seen:
                seen.add(id(value))
                before = value.operands() if isinstance(value, Op) else self._incoming.get(id(value), ())
                todo += [one for one in before if isinstance(one, Param | Op)]
        return _listing([name for at, name in self.names.items() if at in seen])


def _listing(names: Sequence[str]) -> str:
    return " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else "".join(names)


def _follows(op: Op, given: set[int]) -> bool:
    """Is op opaque only because of its operands, which are unknown because of another opaque call?"""
    unknown = [a for a in op.operands() if isinstance(a, Param | Op) and isinstance(a.type, AnyType)]
    return bool(unknown) and not any(id(a) in given for a in unknown)


def _checks_again(cond: Operand) -> bool:
    """Is the condition hovis's own test that the environment is unchanged?"""
    return isinstance(cond, Op) and any(isinstance(a, Op) and a.callee is load_global for a in cond.args)


def _expectation(branch: Terminator | None, library: Library) -> tuple[Op | None, Const | None]:
    """Return the call whose result a branch compares with the expected value, and that value; (None, None) for another branch."""
    cond = branch.cond if isinstance(branch, Branch) else None
    if isinstance(cond, Op) and len(cond.args) == 2 and isinstance(cond.args[0], Op) and isinstance(cond.args[1], Const):
        stand = library.models.get(type(cond.args[0].callee))
        if isinstance(stand, Stand) and stand.expected is not None:
            return cond.args[0], cond.args[1]
    return None, None


def _of_branch(branch: Branch, sources: Sources) -> Remark:
    location = (branch.cond.location if isinstance(branch.cond, Op) else None) or branch.location
    told = sources.of(branch.cond)
    why = f"it depends on {told}, not known while tracing" if told else "its condition is not known while tracing"
    return Remark(DECIDED, why, "", location)


#: How the text of a remark begins or ends that is not about a loss (see ``Remark.loss``).
OWN: Final = "stays a function of its own"
STAYS: Final = "stays"
DECIDED: Final = "decided at run time"
MADE: Final = "made at run time"


def _made(block: Block, library: Library) -> list[Remark]:
    """Collect remarks on the objects that were materialized because an opaque call takes them."""
    found = []
    for op in block.all_ops():
        if op.effect & Effect.OPAQUE and op.callee is not builtins.__build_class__:
            for made in op.operands():
                if isinstance(made, Op) and made.callee in _MAKERS and made.location is not None:
                    found.append(Remark(f"{MADE}: {_MAKERS[made.callee]}", f"it is passed to {callee_text(op)}", "", made.location))
    return found


_MAKERS: Final[dict[object, str]] = {
    operations.make_list: "a list",
    operations.make_dict: "a dict",
    operations.make_set: "a set",
    operations.make_object: "an object",
    operations.make_stored: "an object",
    operations.make_function: "a function",
    operations.make_exception: "an exception",
}


def _of_op(op: Op, library: Library, sources: Sources, expected: Const | None = None) -> Remark:
    if expected is not None:
        why = f"the contents of its cache and the number of its calls can be observed; its result is expected to be {short(expected.value)}, and is checked"
        return Remark(f"call of {callee_text(op)} {STAYS}", why, "", op.location)
    return Remark(f"opaque call of {callee_text(op)}", *_why(op, library, sources), op.location)


def callee_text(op: Op) -> str:
    """Describe the callee of an op for a reader."""
    callee = op.callee
    if isinstance(callee, Function):
        return callee.name
    if isinstance(callee, Op) and callee.callee is operations.make_function and isinstance(callee.args[3], Const):
        return str(callee.args[3].value)
    if isinstance(callee, Param | Op):
        return "an unknown callable"
    if any(callee is one for one in _IN_WORDS):
        return _IN_WORDS[callee]
    if callee in _ATTRIBUTES and len(op.args) > 1 and isinstance(op.args[1], Const):
        return f"{callee.__name__} of {op.args[1].value!r}"
    return naming.name_of(callee) or repr(callee)


#: The source syntax for callables that only the IR has.
_IN_WORDS: Final[dict[Any, str]] = {
    operations.import_name: "import",
    operations.import_from: "from … import",
    operations.context_enter: "with",
    operations.context_exit: "with",
    operations.group_matches: "except*",
    operations.prepare_reraise: "except*",
    operations.exception_matches: "except",
    operations.dict_update: "{**…}",
    operations.dict_merge: "a call with **",
    operations.apply: "a call with * and **",
    operations.apply_positional: "a call with *",
    operations.format_value: "format",
    operations.warn_at: "warnings.warn",
    operations.warn_above: "warnings.warn",
    operations.raise_now: "raise",
    operations.raise_from: "raise … from",
    operations.unpack: "unpacking",
    operations.unpack_star: "unpacking",
    builtins.__build_class__: "class",
}

#: For some callables: the reason why a call stays, and a hint.
_REASONS: Final[dict[Any, tuple[str, str]]] = {
    operations.import_name: ("the module was not loaded while tracing, and importing it runs its code", "import it before hovis traces"),
    builtins.__build_class__: ("the body of a class runs when the class statement runs", "define the class outside of the function"),
    builtins.eval: ("the code that it runs is only known at run time", ""),
    builtins.exec: ("the code that it runs is only known at run time", ""),
    operations.warn_at: ("the warning filters decide at run time what happens to a warning", ""),
    operations.warn_above: ("the warning filters decide at run time what happens to a warning", ""),
}


def _why(op: Op, library: Library, sources: Sources) -> tuple[str, str]:
    callee, names = op.callee, sources.names
    if isinstance(callee, Param | Op):
        told = sources.of(callee)
        return f"the callee {f'depends on {told}, and ' if told else ''}is not known while tracing", ""
    if any(callee is one for one in _REASONS):
        return _REASONS[callee]
    unknown = [a for a in op.operands() if isinstance(a, Param | Op) and isinstance(a.type, AnyType)]
    if not _has_rule(callee, library):
        if any(isinstance(one, Stand) and one.real is type(callee) for one in library.models.values()):
            # hovis would trace through such an object if the traced code had made it
            wrapped = getattr(callee, "__wrapped__", None)
            hint = f"{getattr(callee, '__name__', 'it')}.__wrapped__ could be traced" if callable(wrapped) else ""
            return "its contents are only known at run time", hint
        if callable(callee) and hasattr(callee, "__code__"):
            return "hovis does not trace into it", ""
        return "hovis has no rule for it, so it may do anything", "define one with hovis.primitive"
    if unknown:
        told = _listed(unknown, names) or sources.of(*unknown)
        hint = f"a spec for {told} would help" if any(id(v) in names for v in unknown) else ""
        return f"{told or 'an operand'} may be of any class, and the class decides what happens", hint
    classes = ", ".join(str(a.type) for a in op.args if isinstance(a, Param | Op))
    if any(isinstance(a, Op | Param) and isinstance(a.type, Type) and a.type.cls in _HOLDERS for a in op.args):
        return f"it uses the contents of its operands ({classes}), which may be of any class", ""
    return f"it may run code of the user's classes ({classes})", ""


_HOLDERS: Final = frozenset({list, tuple, dict, set, frozenset})


def _has_rule(callee: Any, library: Library) -> bool:
    try:
        return any(callee in table for table in (library.primitives, library.actions, library.models, library.always)) or callee in _ATTRIBUTES
    except TypeError:
        return False


def _listed(values: Sequence[Operand], names: Mapping[int, str]) -> str:
    told = dict.fromkeys(names[id(v)] for v in values if id(v) in names)
    return " and ".join(told)


def headline(name: str, parameters: Iterable[str], functions: Sequence[Function]) -> str:
    """Return the first line of the report: the function as it was traced, and how much is left of it."""
    ops = sum(1 for f in functions for _ in f.ops())
    blocks = sum(len(f.blocks) for f in functions)
    opaque = sum(1 for f in functions for op in f.ops() if op.effect & Effect.OPAQUE)
    told = f"{_count(ops, 'operation')} in {_count(blocks, 'block')}"
    return f"{name}({', '.join(parameters)}): {told}{f', {opaque} opaque' if opaque else ''}"


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"


__all__ = ["Remark", "Report", "callee_text", "checks", "fits", "headline", "of_functions", "place", "quote"]

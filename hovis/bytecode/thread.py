"""Jumps made short, so that what the compilers of the versions lay out differently looks alike."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hovis.bytecode.instructions import TERMINAL, Handler, Instruction
from hovis.bytecode.layout import Step

_INVERSE = {"true": "false", "false": "true", "none": "not_none", "not_none": "none"}


@dataclass(slots=True)
class Draft:
    """An instruction whose jumps may still change; ``target`` and ``handler`` are indexes of drafts, or -1."""

    op: str
    arg: Any
    step: Step
    depth: int
    handler_depth: int
    target: int = -1
    handler: int = -1


def thread(drafts: Sequence[Draft]) -> tuple[list[Instruction], list[int]]:
    """The instructions, and the height of the stack before each.

    A jump to a Jump goes where that goes; what is then out of reach is dropped, and so is a Jump to the next
    instruction; a Jump to a Return becomes a Return; a Branch around a Jump becomes the opposite Branch.
    """
    drafts = list(drafts)
    for at, draft in enumerate(drafts):
        if draft.target >= 0:
            draft.target = _final(drafts, draft.target)
            if draft.op == "Jump" and drafts[draft.target].op == "Return":
                drafts[at] = drafts[draft.target]
    kept, count = list(range(len(drafts))), -1
    while len(kept) != count:  # twice as a rule; once more where a handler was there for a Jump alone
        count = len(kept)
        kept = _straighten(drafts, _reachable(drafts, kept))
    index = {old: new for new, old in enumerate(kept)}
    return [_instruction(drafts[old], index) for old in kept], [drafts[old].depth for old in kept]


def _final(drafts: Sequence[Draft], target: int) -> int:
    """Where a jump to ``target`` ends up; an empty endless loop stays where it is."""
    seen = {target}
    while drafts[target].op == "Jump":
        target = drafts[target].target
        if target in seen:
            break
        seen.add(target)
    return target


def _reachable(drafts: Sequence[Draft], order: Sequence[int]) -> list[int]:
    """Those of ``order`` that can be reached from the first, when each goes on to the next."""
    place = [-1] * len(drafts)
    for index, at in enumerate(order):
        place[at] = index
    seen = bytearray(len(order))
    work = [0] if order else []
    while work:
        index = work.pop()
        while not seen[index]:
            seen[index] = 1
            draft = drafts[order[index]]
            if draft.target >= 0:
                work.append(place[draft.target])
            if draft.handler >= 0:
                work.append(place[draft.handler])
            if draft.op in TERMINAL:
                break
            index += 1
    return [at for index, at in enumerate(order) if seen[index]]


def _straighten(drafts: Sequence[Draft], kept: Sequence[int]) -> list[int]:
    """Without the Jumps that lead to the next instruction, or that a Branch need only step over."""
    targets = {drafts[old].target for old in kept}  # a Jump among them is an endless loop
    result: list[int] = []
    for place, old in enumerate(kept):
        draft = drafts[old]
        if draft.op == "Jump" and old not in targets:
            following = kept[place + 1] if place + 1 < len(kept) else -1
            if draft.target == following:
                continue
            before = drafts[result[-1]] if result else None
            if before is not None and before.op == "Branch" and before.target == following:
                before.arg, before.target = _INVERSE[before.arg], draft.target
                continue
        result.append(old)
    return result


def _instruction(draft: Draft, index: dict[int, int]) -> Instruction:
    op, arg, raw = draft.op, draft.arg, draft.step.raw
    if draft.target >= 0:
        arg = (arg, index[draft.target]) if op == "Branch" else index[draft.target]
    handler = None
    if draft.handler >= 0 and raw.entry is not None:
        handler = Handler(index[draft.handler], draft.handler_depth, raw.entry.lasti)
    # what the constructor of a NamedTuple does, without the call in between
    return tuple.__new__(Instruction, (op, arg, raw.position, handler, raw.offset))

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
    instructions = [_instruction(drafts[old], index) for old in kept]
    return instructions, [drafts[old].depth for old in kept]


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
    place = {at: index for index, at in enumerate(order)}
    seen: set[int] = set()
    work = [0] if order else []
    while work:
        index = work.pop()
        if index not in seen:
            seen.add(index)
            draft = drafts[order[index]]
            if draft.op not in TERMINAL:
                work.append(index + 1)
            work.extend(place[to] for to in (draft.target, draft.handler) if to >= 0)
    return [order[index] for index in sorted(seen)]


def _straighten(drafts: Sequence[Draft], kept: Sequence[int]) -> list[int]:
    """Without the Jumps that lead to the next instruction, or that a Branch need only step over."""
    targets = {drafts[old].target for old in kept}  # a Jump among them is an endless loop
    result: list[int] = []
    for place, old in enumerate(kept):
        draft = drafts[old]
        following = kept[place + 1] if place + 1 < len(kept) else -1
        if draft.op == "Jump" and old not in targets:
            if draft.target == following:
                continue
            before = drafts[result[-1]] if result else None
            if before is not None and before.op == "Branch" and before.target == following:
                before.arg, before.target = _INVERSE[before.arg], draft.target
                continue
        result.append(old)
    return result


def _instruction(draft: Draft, index: dict[int, int]) -> Instruction:
    arg, raw = draft.arg, draft.step.raw
    if draft.op == "Branch":
        arg = (draft.arg, index[draft.target])
    elif draft.target >= 0:
        arg = index[draft.target]
    handler = None
    if draft.handler >= 0 and raw.entry is not None:
        handler = Handler(index[draft.handler], draft.handler_depth, raw.entry.lasti)
    return Instruction(draft.op, arg, raw.position, handler, raw.offset)

"""Jump threading, which also removes differences between the code layouts of the CPython versions."""

from collections.abc import Mapping, Sequence
from functools import partial

from hovis.bytecode.instructions import TERMINAL, Handler, Instruction
from hovis.bytecode.stack_layout import Step

#: Limit, in steps, for copies of exit blocks: CPython's compiler copies blocks of at most four instructions (MAX_COPY_SIZE in Python/flowgraph.c) to
#: the jumps that lead there.
MAX_COPIED = 8

_INVERSE = {"true": "false", "false": "true", "none": "not_none", "not_none": "none"}


def thread(steps: Sequence[Step]) -> tuple[list[Instruction], list[int]]:
    """Return the instructions after jump threading, and the height of the stack before each.

    A jump to a Jump is redirected to the final target; unreachable steps are dropped, and so is a Jump to the next
    instruction; a Jump to a Return becomes a Return; a Branch around a Jump becomes the inverse Branch; a loop has one test, at its header.
    """
    steps = list(steps)
    kept = _settle(steps, list(range(len(steps))))
    if _drop_second_tests(steps, kept):
        kept = _settle(steps, kept)
    index = {old: new for new, old in enumerate(kept)}
    return [_instruction(steps[old], index) for old in kept], [steps[old].depth for old in kept]


def _settle(steps: list[Step], kept: list[int]) -> list[int]:
    """Thread the jumps of these steps; return the indexes of the steps that remain when nothing more can be dropped."""
    for at in kept:
        step = steps[at]
        if step.target >= 0:
            step.target = _final(steps, step)
            if step.op == "Jump" and steps[step.target].op == "Return":
                steps[at] = steps[step.target]
    count = -1
    while len(kept) != count:  # usually two iterations; one more if a handler only covered a Jump
        count = len(kept)
        kept = _straighten(steps, _reachable(steps, kept))
    return kept


def _drop_second_tests(steps: list[Step], kept: Sequence[int]) -> bool:
    """Replace the second copy of a while loop's test, which CPython's compiler (compiler_while, up to 3.13) emits behind the body, by a Jump to
    the first. Return whether anything changed.
    """
    place = {old: new for new, old in enumerate(kept)}
    order = [steps[old] for old in kept]
    changed = False
    for at, step in enumerate(order):
        round_again = _round_again(order, place, at) if step.op == "Branch" else None
        if round_again is None:
            continue
        first, length = place[round_again.target] - 1, 0
        copies = partial(_is_copy, order, place, at - first)
        while length < first < at - length - 1 and copies(first - length - 1, at - length - 1):
            length += 1
        if length:
            copied, polled = order[at - length], (round_again.polled, round_again.poll, round_again.poll_depth)
            steps[kept[at - length]] = Step("Jump", None, step.raw, kept[first - length], copied.handler, copied.depth, copied.handler_depth, *polled)
            changed = True
    return changed


def _round_again(order: Sequence[Step], place: Mapping[int, int], at: int) -> Step | None:
    """Return the step that jumps back into the loop, behind its first test, if the Branch at ``at`` is a second copy of that test: the Branch
    itself, or the Jump behind it if the Branch leaves the loop. None if it is no such copy.
    """
    step = order[at]
    for back in order[at : at + 2]:
        first = place[back.target] - 1 if back.op in ("Branch", "Jump") else -1
        one = order[first]
        if not 0 <= first < at or one.op != "Branch" or one.raw.position != step.raw.position:
            continue
        if back is not step and one.arg == step.arg and one.target == step.target:
            return back
        if back is step and one.arg == _INVERSE[step.arg] and _comes_to(order, place, at + 1, one.target):
            return back
    return None


def _comes_to(order: Sequence[Step], place: Mapping[int, int], at: int, target: int) -> bool:
    """Does ``at`` stand at the target, at a Jump to it, or at a copy of the code from there to its end?"""
    there = place[target]
    if at == there or (at < len(order) and order[at].op == "Jump" and order[at].target == target):
        return True
    for one, other in zip(order[there : there + MAX_COPIED], order[at : at + MAX_COPIED], strict=False):
        if one.op != other.op or one.arg != other.arg or one.raw.position != other.raw.position or one.handler != other.handler or one.target >= 0:
            return False
        if one.op in TERMINAL:
            return True
    return False


def _is_copy(order: Sequence[Step], place: Mapping[int, int], apart: int, first: int, second: int) -> bool:
    """Do two steps, ``apart`` steps from each other, do the same for the same place in the source? A load that one instruction combines with a
    store has the place of the store.
    """
    one, other = order[first], order[second]
    same = one.op == other.op and one.handler == other.handler and (one.arg is other.arg or one.arg == other.arg)
    if not same or (one.raw.position != other.raw.position and one.op != "GetLocal"):
        return False
    if one.target < 0 or one.target == other.target:
        return True
    return place[other.target] == place[one.target] + apart or _comes_to(order, place, place[other.target], one.target)


def _final(steps: Sequence[Step], step: Step) -> int:
    """Return the final target of a jump through other Jumps, and give step their poll for signals. An empty endless loop stays as it is."""
    target = step.target
    seen = {target}
    while steps[target].op == "Jump":
        _take_poll(step, steps[target])
        target = steps[target].target
        if target in seen:
            break
        seen.add(target)
    return target


def _take_poll(step: Step, other: Step) -> None:
    """Give step the poll for signals of a jump that it now bypasses, unless it has one."""
    if step.polled is None:
        step.polled, step.poll, step.poll_depth = other.polled, other.poll, other.poll_depth


def _reachable(steps: Sequence[Step], order: Sequence[int]) -> list[int]:
    """Return the steps of ``order`` that are reachable from the first, where each falls through to the next."""
    place = [-1] * len(steps)
    for index, at in enumerate(order):
        place[at] = index
    seen = bytearray(len(order))
    work = [0] if order else []
    while work:
        index = work.pop()
        while not seen[index]:
            seen[index] = 1
            step = steps[order[index]]
            if step.target >= 0:
                work.append(place[step.target])
            if step.handler >= 0:
                work.append(place[step.handler])
            if step.poll >= 0:
                work.append(place[step.poll])
            if step.op in TERMINAL:
                break
            index += 1
    return [at for index, at in enumerate(order) if seen[index]]


def _straighten(steps: Sequence[Step], kept: Sequence[int]) -> list[int]:
    """Drop the Jumps to the next instruction; invert each Branch that only steps over a Jump, and drop the Jump."""
    targets = {steps[old].target for old in kept}  # a Jump among the targets is an endless loop
    result: list[int] = []
    for place, old in enumerate(kept):
        step = steps[old]
        if step.op == "Jump" and old not in targets:
            following = kept[place + 1] if place + 1 < len(kept) else -1
            if step.target == following:
                continue
            before = steps[result[-1]] if result else None
            if before is not None and before.op == "Branch" and before.target == following:
                before.arg, before.target = _INVERSE[before.arg], step.target
                before.polled, before.poll, before.poll_depth = step.polled, step.poll, step.poll_depth
                continue
        result.append(old)
    return result


def _instruction(step: Step, index: dict[int, int]) -> Instruction:
    op, arg, raw = step.op, step.arg, step.raw
    if step.target >= 0:
        arg = (arg, index[step.target]) if op == "Branch" else index[step.target]
    handler = None
    if step.handler >= 0 and raw.entry is not None:
        handler = Handler(index[step.handler], step.handler_depth, raw.entry.lasti)
    polled, poll = step.polled, None
    if polled is not None and polled.entry is not None and step.poll >= 0:
        poll = Handler(index[step.poll], step.poll_depth, polled.entry.lasti)
    # as the constructor of a NamedTuple does, but without its extra call
    return tuple.__new__(Instruction, (op, arg, raw.position, handler, raw.offset, polled is not None, poll))

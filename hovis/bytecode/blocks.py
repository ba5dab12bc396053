"""Analyses of normalised code: edges, live slots, loop heads, post-dominators.

They run once for every code object that is traced, so they are written for speed: plain loops over lists of ints.
"""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from hovis.bytecode.instructions import Code, Instruction

#: The successors of each instruction on normal edges (see ``successors``).
Follow: TypeAlias = Sequence[tuple[int, ...]]

_READS = frozenset({"GetLocal", "TakeLocal", "DelLocal", "MakeCell", "GetCell", "SetCell", "DelCell", "CellRef"})


def analyze(name: str, whole: "Code") -> dict[str, Any] | None:
    """Compute the analysis of that name, and those that are computed along with it; None if there is no such analysis."""
    code = whole.instructions
    if name == "handling":
        return {name: handling(code, whole.successors, whole.depth)}
    if name == "guarded":
        return {name: any(i.op == "Send" or (i.op == "Yield" and i.handler is not None) for i in code)}
    if name == "successors":
        return {name: successors(code)}
    if name == "reads_locals":
        return {name: reads_locals(code)}
    if name == "live":
        every = (1 << len(whole.names)) - 1
        return {name: [every] * len(code) if whole.reads_locals else live_slots(code, whole.successors, every)}
    if name == "loop_heads":
        return {name: loop_heads(code, whole.successors)}
    if name == "looping":
        return {name: frozenset(at for end, follow in enumerate(whole.successors) for head in follow if head <= end for at in range(head, end + 1))}
    if name == "head_tests":
        return {name: head_tests(code, whole.successors, whole.loop_heads)}
    if name == "natural_loops":
        return {name: natural_loops(whole.successors, whole.head_tests.values())}
    if name in ("ipdom", "pdom_depth"):
        ipdom, depth = post_dominators(code, whole.successors)
        return {"ipdom": ipdom, "pdom_depth": depth}
    return None


def successors(code: "Sequence[Instruction]") -> list[tuple[int, ...]]:
    """List the successors of each instruction on normal edges: first the next instruction, then the jump target."""
    result: list[tuple[int, ...]] = []
    for index, (op, arg, *_) in enumerate(code):
        if op == "Jump":
            result.append((arg,))
        elif op in ("Return", "Raise", "Reraise"):
            result.append(())
        elif op == "Branch":
            result.append((index + 1, arg[1]))
        elif op in ("ForIter", "Send"):
            result.append((index + 1, arg))
        else:
            result.append((index + 1,))
    return result


def reads_locals(code: "Sequence[Instruction]") -> bool:
    """Does the code use the name of a builtin that sees the variables of its caller?"""
    return any((op == "GetGlobal" and arg in _SEES_LOCALS) or (op in ("GetAttr", "GetMethod") and arg == "locals") for op, arg, *_ in code)


_SEES_LOCALS = frozenset({"locals", "vars", "dir", "eval", "exec"})


def live_slots(code: "Sequence[Instruction]", follow: Follow, every: int) -> list[int]:
    """Compute the slots that are live before each instruction, as bit masks, exception edges included; every: the mask of all slots.

    Backward passes until nothing changes: one for straight-line code, and one more for each nesting level of loops.
    """
    reads, keeps, handlers, polls = [], [], [], []
    asked, forward = False, True
    for index, (op, arg, _, handler, _, _, poll) in enumerate(code):
        slot = 0
        if op in _READS or op == "SetLocal":
            slot = 1 << arg
        elif op == "GetNameOr" and arg[2] is not None:
            slot = 1 << arg[2]
        # super() without arguments reads its arguments from the frame: the load of the name, and the call after it, may read all variables
        before, asked = asked, op == "GetGlobal" and arg == "super"
        reads.append(every if asked or before else 0 if op == "SetLocal" else slot)
        keeps.append(~slot if op == "SetLocal" else -1)
        handlers.append(-1 if handler is None else handler.target)
        polls.append(-1 if poll is None else poll.target)
        forward = forward and (handler is None or handler.target > index) and min(follow[index], default=index + 1) > index
    live = [0] * len(code)
    changed = True
    while changed:
        changed = False
        for index in range(len(code) - 1, -1, -1):
            mask = 0
            for after in follow[index]:
                mask |= live[after]
            mask = mask & keeps[index] | reads[index]
            if handlers[index] >= 0:
                mask |= live[handlers[index]]
            if polls[index] >= 0:
                mask |= live[polls[index]]
            if mask != live[index]:
                live[index] = mask
                changed = not forward  # without back edges one pass is enough
    return live


def loop_heads(code: "Sequence[Instruction]", normal: Follow) -> frozenset[int]:
    """Find the targets of back edges, exception edges included: edges to an instruction on the path of a depth-first search from the entry."""
    if not code:
        return frozenset()
    follow = [
        after if handler is None and poll is None else (*after, *(one.target for one in (handler, poll) if one is not None))
        for after, (_, _, _, handler, _, _, poll) in zip(normal, code)
    ]
    if all(to > index for index, after in enumerate(follow) for to in after):
        # every loop has an edge to an earlier instruction, or to the same one; most code has none
        return frozenset()
    heads = set()
    state = bytearray(len(code))  # 0 not seen, 1 being visited, 2 done
    state[0] = 1
    path = [(0, iter(follow[0]))]
    while path:
        index, rest = path[-1]
        for after in rest:
            if state[after] == 0:
                state[after] = 1
                path.append((after, iter(follow[after])))
                break
            if state[after] == 1:
                heads.add(after)
        else:
            state[index] = 2
            path.pop()
    return frozenset(heads)


def head_tests(code: "Sequence[Instruction]", normal: Follow, heads: frozenset[int]) -> dict[int, int]:
    """Map the first Branch after each loop header, reached by straight-line code alone, as of ``while test:``, to that header."""
    found = {}
    for head in heads.intersection(to for index, after in enumerate(normal) for to in after if to <= index) if heads else ():
        at = head
        while code[at].op not in _LEADS:
            at += 1
        if code[at].op == "Branch":
            found[at] = head
    return found


def natural_loops(normal: Follow, heads: Collection[int]) -> dict[int, frozenset[int]]:
    """Map each of these headers to its natural loop: itself and the instructions from which a jump back to it is reached without passing it."""
    before: list[list[int]] = [[] for _ in normal] if heads else []
    for index, after in enumerate(normal) if heads else ():
        for to in after:
            before[to].append(index)
    loops = {}
    for head in heads:
        found, todo = {head}, [index for index in before[head] if index >= head]
        while todo:
            index = todo.pop()
            if index not in found:
                found.add(index)
                todo += before[index]
        loops[head] = frozenset(found)
    return loops


#: The ops that end a basic block.
_LEADS = frozenset({"Branch", "ForIter", "Send", "Jump", "Return", "Raise", "Reraise"})


def post_dominators(code: "Sequence[Instruction]", follow: Follow) -> tuple[list[int | None], list[int]]:
    """Compute the immediate post-dominators on normal edges, and the depth of each instruction in the post-dominator tree.

    Cooper, Harvey and Kennedy's iteration on the reversed edges, from a virtual exit that follows every Return.
    Instructions that reach no Return (they raise, or loop forever) are excluded: None, at depth 0.
    """
    count = len(code)
    order = _toward_exit(code, follow)
    rank = [0] * count + [1]  # 0: excluded; the virtual exit has the index `count`
    for number, index in enumerate(order):
        rank[index] = number + 2
    parent = [-1] * count + [count]

    def common(a: int, b: int) -> int:
        while a != b:
            while rank[a] > rank[b]:
                a = parent[a]
            while rank[b] > rank[a]:
                b = parent[b]
        return a

    changed = True
    while changed:
        changed = False
        for index in order:
            new = count if code[index].op == "Return" else -1
            for after in follow[index]:
                if rank[after] and parent[after] >= 0:
                    new = after if new < 0 else common(new, after)
            if new != parent[index]:
                parent[index] = new
                changed = True

    depth = [0] * count
    for index in order:
        depth[index] = 1 if parent[index] == count else depth[parent[index]] + 1
    return [None if up in (-1, count) else up for up in parent[:count]], depth


def _toward_exit(code: "Sequence[Instruction]", follow: Follow) -> list[int]:
    """List the instructions that reach a Return, in reverse postorder of the reversed edges."""
    before: list[list[int]] = [[] for _ in code]
    for index, afters in enumerate(follow):
        for after in afters:
            before[after].append(index)
    seen = bytearray(len(code))
    order: list[int] = []
    for exit_ in (index for index, instruction in enumerate(code) if instruction.op == "Return"):
        seen[exit_] = 1
        path = [(exit_, iter(before[exit_]))]
        while path:
            index, rest = path[-1]
            for previous in rest:
                if not seen[previous]:
                    seen[previous] = 1
                    path.append((previous, iter(before[previous])))
                    break
            else:
                order.append(index)
                path.pop()
    order.reverse()
    return order


def handling(code: "Sequence[Instruction]", follow: Follow, depth: "Sequence[int]") -> list[tuple[int, ...]]:
    """Compute, for each instruction, where on the stack the open handlers have saved the exceptions handled before them, the innermost last.

    PushExc saves the previous exception there, PopExc removes it.
    """
    found: list[tuple[int, ...] | None] = [None] * len(code)
    todo: list[tuple[int, tuple[int, ...]]] = [(0, ())] if code else []
    while todo:
        at, open_ = todo.pop()
        if found[at] is not None:
            continue
        found[at] = open_
        op = code[at].op
        for handler in (code[at].handler, code[at].poll):
            if handler is not None:
                todo.append((handler.target, tuple(p for p in open_ if p < handler.depth)))
        after = (*open_, depth[at] - 1) if op == "PushExc" else open_[:-1] if op == "PopExc" else open_
        todo += [(to, after) for to in follow[at]]
    return [() if positions is None else positions for positions in found]

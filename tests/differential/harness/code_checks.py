"""Check the code of residuals: loops in which CPython never checks for signals, and stack depths."""
import dis

import networkx as nx
from bytecode import ConcreteBytecode

#: Instructions that check the eval breaker, besides calls.
LOOKS = ("JUMP_BACKWARD", "RESUME", "YIELD_VALUE", "SEND")
#: Instructions without a fallthrough successor that end the frame or raise.
ENDS = ("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE")
#: Instructions that never raise; and operators, which are covered with a call behind them although those of numbers do not raise either.
QUIET = ("CACHE", "NOP", "STORE_FAST", "LOAD_FAST", "LOAD_CONST", "POP_TOP", "COPY", "SWAP", "PUSH_NULL", "JUMP_FORWARD", "JUMP_BACKWARD_NO_INTERRUPT",
         "LOAD_FAST_LOAD_FAST", "STORE_FAST_LOAD_FAST", "STORE_FAST_STORE_FAST", "LOAD_FAST_AND_CLEAR", "PRECALL", "COMPARE_OP", "BINARY_OP")


def looks(instruction):
    name = instruction.opname
    return name in LOOKS or name.startswith("POP_JUMP_BACKWARD") or (name.startswith("CALL") and not name.startswith("CALL_INTRINSIC"))


def unwatched_loops(code):
    """Return the instruction offsets of each loop in which CPython never checks for signals or lets other threads run (the eval breaker of
    Python/ceval.c); exception edges count as edges.
    """
    instructions = list(dis.get_instructions(code))
    graph = nx.DiGraph()
    for instruction, following in zip(instructions, [*instructions[1:], None]):
        name, at = instruction.opname, instruction.offset
        graph.add_node(at)
        if instruction.opcode in dis.hasjrel or instruction.opcode in dis.hasjabs:
            graph.add_edge(at, instruction.argval)
        if following is not None and name not in ENDS and not (name.startswith("JUMP_") and "_IF_" not in name):
            graph.add_edge(at, following.offset)
        for entry in dis._parse_exception_table(code):
            if entry.start <= at < entry.end and name not in QUIET:
                graph.add_edge(at, entry.target)
    graph.remove_nodes_from([instruction.offset for instruction in instructions if looks(instruction)])
    parts = nx.strongly_connected_components(graph)
    return [sorted(part) for part in parts if len(part) > 1 or any(graph.has_edge(at, at) for at in part)]


def wrong_depth(code):
    """Compare `co_stacksize` with the computation of the package `bytecode`; return what is wrong with it, or an empty text.

    For code without exception handlers, both have to be equal. The package takes the least depth that the covered instructions have for the depth to
    which a handler cuts the stack, but the exception table may cut it to less (as residuals do: what lies on the stack there belongs to the call that
    has failed). Then the package finds too much, or fails where tries begin within others; it never finds less.
    """
    try:
        found = ConcreteBytecode.from_code(code).compute_stacksize(check_pre_and_post=False)
    except AssertionError:
        return "" if code.co_exceptiontable else "the package cannot compute it"
    if found == code.co_stacksize or (code.co_exceptiontable and found > code.co_stacksize):
        return ""
    return f"co_stacksize is {code.co_stacksize}, the package computes {found}"

"""Find loops of bytecode in which CPython never checks for signals or lets other threads run (the eval breaker of Python/ceval.c)."""
import dis

import networkx as nx

#: Instructions that check the eval breaker, besides calls.
LOOKS = ("JUMP_BACKWARD", "RESUME", "YIELD_VALUE", "SEND")
#: Instructions without a fallthrough successor that end the frame or raise.
ENDS = ("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE")
#: Instructions that never raise.
QUIET = ("CACHE", "NOP", "STORE_FAST", "LOAD_FAST", "LOAD_CONST", "POP_TOP", "COPY", "SWAP", "PUSH_NULL", "JUMP_FORWARD", "JUMP_BACKWARD_NO_INTERRUPT")


def looks(instruction):
    name = instruction.opname
    return name in LOOKS or name.startswith("POP_JUMP_BACKWARD") or (name.startswith("CALL") and not name.startswith("CALL_INTRINSIC"))


def unwatched_loops(code):
    """Return the instruction offsets of each such loop; exception edges count as edges."""
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

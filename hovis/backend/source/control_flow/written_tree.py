"""Trees of statements whose leaves are written as Python already."""

import ast
import copy
from dataclasses import dataclass

from hovis.backend.source.control_flow.statement_tree import End, Labeled, Leave, Statement, Try, While
from hovis.ir.model import Block


@dataclass(slots=True, eq=False)
class Test:
    """An If whose condition is written already."""

    cond: ast.expr
    then: "list[Written]"
    other: "list[Written]"


@dataclass(slots=True, eq=False)
class Plain:
    """Statements without jumps; final if nothing follows them."""

    statements: list[ast.stmt]
    final: bool = False


Written = Statement | Test | Plain


def parts(node: Written) -> list[list[Written]]:
    """Return the trees inside of a node."""
    match node:
        case Test():
            return [node.then, node.other]
        case Labeled() | While():
            return [node.body]  # type: ignore[list-item]
        case Try():
            return [node.body, node.handler, *([node.other] if node.other is not None else [])]  # type: ignore[list-item]
    return []


def count(tree: list[Written], block: Block) -> int:
    """Return how often tree is left for block."""
    return sum((isinstance(node, Leave) and node.block is block and not node.again) + sum(count(part, block) for part in parts(node)) for node in tree)


def put(tree: list[Written], block: Block, rest: list[Written]) -> bool:
    """Replace the jump to block by rest, if the jump is in no loop and no try; return whether it was replaced."""
    for k, node in enumerate(tree):
        if isinstance(node, Leave) and node.block is block and not node.again:
            tree[k:] = rest
            return True
        if isinstance(node, Test | Labeled) and any(put(part, block, rest) for part in parts(node)):
            return True
    return False


def size(tree: list[Written]) -> int:
    """Return the approximate number of statements in a tree."""
    own = sum(len(node.statements) if isinstance(node, Plain) else not isinstance(node, Leave | Labeled) for node in tree)
    return own + sum(size(part) for node in tree for part in parts(node))


def ends(tree: list[Written]) -> bool:
    """Does every path through tree return or raise (and none leave it for another place)?"""
    last = tree[-1] if tree else None
    if isinstance(last, Test):
        return ends(last.then) and ends(last.other)
    return isinstance(last, Plain) and last.final and not any(isinstance(node, Leave | While | Try | Labeled | End) for node in tree)


def copied(tree: list[Written]) -> list[Written]:
    """Return a copy of a tree without loops and handlers."""
    found: list[Written] = []
    for node in tree:
        if isinstance(node, Test):
            found.append(Test(copy.deepcopy(node.cond), copied(node.then), copied(node.other)))
        elif isinstance(node, Plain):
            found.append(Plain(copy.deepcopy(node.statements), node.final))
        else:
            assert isinstance(node, Leave)
            found.append(Leave(node.block, node.again))
    return found

"""Remarks for ``explain`` on the user's variables that are unknown only because they had too many values to keep apart."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from hovis.engine.state.frames_and_heap import State
from hovis.engine.state.values import Dyn
from hovis.ir.model import Location

if TYPE_CHECKING:
    from hovis.engine.worklist import Engine

#: The end of each remark.
JOINED: Final = "has too many values here to specialize for each of them"


def reasons(engine: "Engine") -> Iterator[tuple[str, Location | None, str]]:
    """Yield for each variable, once, a remark, its location, and the hint that would change it."""
    seen: set[str] = set()
    for site, forced in engine.tables.forced.items():
        for path in forced:
            for entry in engine.keys.entries.get(site, {}).values():
                name = _variable(engine, entry.state, path)
                if name is not None and name not in seen:
                    seen.add(name)
                    engine.state = _behind_the_test(entry.state)
                    yield f"{name} {JOINED}", engine.location(), f"hovis.static({name}) here would specialize for each of them"


def _behind_the_test(state: State) -> State:
    """Return the state moved to the beginning of the loop body, where a hint can be written, if state stands at a loop header; else state."""
    frame = state.frames[-1]
    test = next((at for at, head in frame.code.head_tests.items() if head == frame.pc), None)
    body = [at for at in frame.code.successors[test] if at in frame.code.natural_loops[frame.pc]] if test is not None else []
    if not body:
        return state
    moved = state.fork()
    moved.frames[-1].pc = body[0]
    return moved


def _variable(engine: "Engine", state: State, path: int) -> str | None:
    """Return the name of the user's variable at path, if its value in state is unknown; else None."""
    part = engine.tables.paths.parts[path]
    if len(part) != 3 or part[1] != "local" or part[0] >= len(state.frames):
        return None
    code = state.frames[part[0]].code
    value = engine.keys.value_at(state, path)
    if not isinstance(value, Dyn) or part[2] >= len(code.names) or code.filename.startswith(engine.package):
        return None
    return code.names[part[2]] if code.names[part[2]].isidentifier() else None

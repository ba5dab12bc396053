"""Many random programs, fast: `python -m tests.differential.harness.fuzz --seconds 600`.

Programs are drawn from a seed, so that a number is enough to reproduce one. They run in a child process: a child that
dies or hangs is a finding too, and the next child continues after it. Failures are written to a folder, a few of each kind, and are shrunk by
`python -m tests.differential.harness.shrinking FILE`.
"""
from __future__ import annotations

import argparse
import collections
import gc
import hashlib
import json
import mmap
import os
import random
import resource
import signal
import struct
import sys
import time
from pathlib import Path

from tests.differential.harness import checking
from tests.differential.harness.choices import Seeded
from tests.differential.harness.drawing import draw
from tests.differential.harness.program import Program

KEPT = 3            # the maximum number of failures kept of one kind
PER_CHILD = 1500    # programs run by one child process
SILENT = 60.0       # seconds without a new program: detects hangs that the alarm cannot end
MEMORY = 3 << 30
FUEL = 20_000       # of one trace: programs that need more are left to other tests


class Board:
    """The progress of the child: its current seed and the time of its start, in memory that outlives the child."""

    def __init__(self) -> None:
        self.memory = mmap.mmap(-1, 64)

    def put(self, at: int) -> None:
        self.memory[:16] = struct.pack("qd", at, time.time())

    def get(self) -> tuple[int, float]:
        return struct.unpack("qd", self.memory[:16])


class Run:
    def __init__(self, folder: Path, themes: list[str], ways: list[str]) -> None:
        self.folder, self.themes, self.ways = folder, themes, ways
        self.folder.mkdir(parents=True, exist_ok=True)
        self.log = folder / "log.jsonl"

    def drawn(self, seed: int) -> tuple[Program, str, str]:
        choices = Seeded(seed)
        theme = choices.pick(self.themes)
        way = choices.pick(self.ways)
        program = draw(choices, theme)
        return program.hinted() if choices.chance(15) else program, theme, way

    def record(self, failure: checking.Failure, program: Program, theme: str, way: str, seed: int) -> None:
        name = hashlib.sha1(f"{theme} {failure.kind}".encode()).hexdigest()[:8]
        here = len(list(self.folder.glob(f"{name}-*.json")))
        with self.log.open("a") as log:
            log.write(json.dumps({"at": time.time(), "seed": seed, "theme": theme, "way": way, "kind": failure.kind, "file": name}) + "\n")
        if here < KEPT:
            made = {"program": program.dump(), "theme": theme, "way": way, "seed": seed, "kind": failure.kind, "told": failure.told}
            (self.folder / f"{name}-{here}.json").write_text(json.dumps(made))

    def child(self, first: int, until: float, board: Board) -> None:
        """Run programs, starting with seed `first`, then end the process."""
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.unraisablehook = lambda _: None
        gc.disable()      # collect only at a fixed place, so that garbage of an earlier program is not finalized while another runs
        gc.freeze()
        checking.FUEL = FUEL
        counts: collections.Counter[str] = collections.Counter()
        for seed in range(first, first + PER_CHILD):
            if time.time() > until:
                break
            board.put(seed)
            gc.collect(2 if seed % 500 == 0 else 1 if seed % 20 == 0 else 0)
            program, theme, way = self.drawn(seed)
            try:
                failure = checking.check(program, way)
            except checking.Unfit:
                counts["unfit"] += 1
                continue
            counts[f"{theme} {way}"] += 1
            if failure:
                counts["failures"] += 1
                self.record(failure, program, theme, way, seed)
        with (self.folder / "counts.jsonl").open("a") as file:
            file.write(json.dumps({"python": f"{sys.version_info[0]}.{sys.version_info[1]}", "at": time.time(), "fallbacks": checking.fallbacks, **counts}) + "\n")
        board.put(seed + 1)
        os._exit(0)

    def watch(self, pid: int, board: Board) -> str | None:
        """Wait for a child; return how it died, or None if it ended normally."""
        while True:
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                return None if os.WIFEXITED(status) and not os.WEXITSTATUS(status) else f"the interpreter died: {status}"
            if time.time() - board.get()[1] > SILENT:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                return "the interpreter hangs"
            time.sleep(0.2)

    def go(self, seed: int, seconds: float) -> None:
        until, board = time.time() + seconds, Board()
        while time.time() < until:
            board.put(seed)
            pid = os.fork()
            if not pid:
                self.child(seed, until, board)
            died = self.watch(pid, board)
            seed = board.get()[0]
            if died:
                program, theme, way = self.drawn(seed)
                self.record(checking.Failure(died, ""), program, theme, way, seed)
                seed += 1


def main() -> None:
    os.environ.setdefault("HOVIS_DEBUG", "1")      # internal errors of hovis are raised with their tracebacks
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 40))
    parser.add_argument("--themes", default="all")
    parser.add_argument("--ways", default=",".join(("specialize", "specialize", *checking.WAYS)))
    parser.add_argument("--into", type=Path, default=Path(".fuzz"))
    chosen = parser.parse_args()
    from tests.differential.harness.drawing import THEMES
    themes = list(THEMES) if chosen.themes == "all" else chosen.themes.split(",")
    Run(chosen.into, themes, chosen.ways.split(",")).go(chosen.seed, chosen.seconds)


if __name__ == "__main__":
    main()

"""Run a pass by its name; verify and print what it makes where that is asked for.

    HOVIS_VERIFY=1              the verifier runs after every pass that changes something
    HOVIS_PRINT_AFTER=dce,gvn   what these passes change is printed to stderr, before and after ("all": every pass)

A pass gives what it makes of its subject, or rewrites it and says whether anything has changed.  Functions have hovis's
verifier, the modules of a back end have their own: what it complains of is raised with the name of the pass in front, the
outer one first where passes run others.
"""

import os
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from hovis.errors import VerifierError
from hovis.ir.verifier import verify

S = TypeVar("S")

#: Raises VerifierError if a subject is broken.
Check = Callable[[S], object]


def is_verified() -> bool:
    """Does HOVIS_VERIFY in the environment ask for the verifier after every pass?"""
    return os.environ.get("HOVIS_VERIFY", "0") not in ("", "0")


def checking(check: Check[Any] = verify) -> Check[Any] | None:
    """What checks after every pass; None, if nothing does."""
    return check if is_verified() else None


def run_pass(name: str, act: Callable[[S], Any], subject: S, check: Check[S] | None) -> Any:
    """What ``act`` gives for the subject.  With check, what it has changed is verified: nothing, if it gives False or the very subject."""
    printed = os.environ.get("HOVIS_PRINT_AFTER")
    if printed and (printed == "all" or name in printed.split(",")):
        act = _printing(name, act)
    if check is None:
        return act(subject)
    try:
        made = act(subject)
        if made is not False and made is not subject:
            check(made if isinstance(made, type(subject)) else subject)
    except VerifierError as error:
        raise VerifierError(f"{name}: {error}") from None
    return made


def _printing(name: str, act: Callable[[S], Any]) -> Callable[[S], Any]:
    """The pass, which prints its subject before and after it, if it changes anything."""

    def printing(subject: S) -> Any:
        before = str(subject)
        made = act(subject)
        after = str(made if isinstance(made, type(subject)) else subject)
        if after != before:
            print(f"== before {name}\n{before}\n== after {name}\n{after}\n", file=sys.stderr)
        return made

    return printing

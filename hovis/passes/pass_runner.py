"""Run a pass by its name, and verify and print its result where the environment asks for it.

    HOVIS_VERIFY=1              the verifier runs after every pass that changes something
    HOVIS_PRINT_AFTER=dce,gvn   what these passes change is printed to stderr, before and after ("all": every pass)

A pass returns a new version of its subject, or rewrites the subject in place.  Functions are
checked by hovis's verifier, the modules of a back end by a verifier of its own: an error of the verifier is raised with the name of the
pass in front of its message, that of the outer pass first where a pass runs others.
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
    """Does HOVIS_VERIFY in the environment ask for the verifier after every pass that changes something?"""
    return os.environ.get("HOVIS_VERIFY", "0") not in ("", "0")


def checking(check: Check[Any] = verify) -> Check[Any] | None:
    """Return the check that runs after every pass that changes something, or None if nothing is to be checked."""
    return check if is_verified() else None


def run_pass(name: str, act: Callable[[S], Any], subject: S, check: Check[S] | None, reports_change: bool = False) -> Any:
    """Run ``act`` on the subject and return its result. With check, verify the result, or the subject if the result is of another type.

    A pass that returns the subject itself has changed nothing, and nothing is verified; nor is it if the pass returns False and
    ``reports_change`` says that its result is whether it has changed the subject.
    """
    printed = os.environ.get("HOVIS_PRINT_AFTER")
    if printed and (printed == "all" or name in printed.split(",")):
        act = _printing(name, act)
    if check is None:
        return act(subject)
    try:
        made = act(subject)
        if made is not subject and not (reports_change and made is False):
            check(made if isinstance(made, type(subject)) else subject)
    except VerifierError as error:
        raise VerifierError(f"{name}: {error}") from None
    return made


def _printing(name: str, act: Callable[[S], Any]) -> Callable[[S], Any]:
    """Wrap a pass to print its subject before and after it, if it changes anything."""

    def printing(subject: S) -> Any:
        before = str(subject)
        made = act(subject)
        after = str(made if isinstance(made, type(subject)) else subject)
        if after != before:
            print(f"== before {name}\n{before}\n== after {name}\n{after}\n", file=sys.stderr)
        return made

    return printing

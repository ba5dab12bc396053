"""How a pass is run: by its name, and under a verifier where that is asked for.

A pass gives what it makes of its subject, or rewrites it.  Functions have hovis's verifier, the modules of a back end have their own:
what it complains of is raised with the name of the pass in front, the outer one first where passes run others.
"""

import os
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
    """What ``act`` gives for the subject.  With check, that is verified, or the subject, if it gives none."""
    if check is None:
        return act(subject)
    try:
        made = act(subject)
        check(made if isinstance(made, type(subject)) else subject)
    except VerifierError as error:
        raise VerifierError(f"{name}: {error}") from None
    return made

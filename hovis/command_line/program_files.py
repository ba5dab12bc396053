"""Loading of the function, or another global, that ``FILE.py:NAME`` names."""

import contextlib
import os
import sys
import traceback
from pathlib import Path
from typing import Any, Final

from hovis.base import files


class Refused(Exception):
    """Raised when a request of the user can't be met; the message is all that is printed."""


def load(target: str) -> Any:
    """Return the function that ``FILE.py:NAME`` names; a method is ``FILE.py:Class.method``."""
    found = named(target)
    if not callable(found):
        file, _, name = target.rpartition(":")
        raise Refused(f"{name!r} in {file} is not a function: {type(found).__name__}")
    return found


def named(target: str) -> Any:
    """Return the object that ``FILE.py:NAME`` names."""
    file, colon, name = target.rpartition(":")
    path = Path(file)
    if not colon or not name:
        raise Refused(f"{target!r} does not name a function: write FILE.py:FUNCTION")
    if not path.is_file():
        raise Refused(f"there is no file {file!r}")
    found: Any = _module(path)
    for part in name.split("."):
        if not hasattr(found, part):
            raise Refused(f"{file} has no {name!r}")
        found = getattr(found, part)
    return found


def _module(path: Path) -> Any:
    """Run the file once, as a module of its name, as ``import`` in its folder would."""
    known = sys.modules.get(path.stem)
    if known is not None and Path(getattr(known, "__file__", None) or "").resolve() == path.resolve():
        return known
    # a file may be named operator.py or a.b.py: an import would not find it, so it gets a name that nothing imports
    name = path.stem if path.stem not in sys.modules and "." not in path.stem else f"hovis.__main__.{path.stem}"
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        return files.run(path, name, listed=True)
    except SystemExit:
        raise Refused(f"{path} can't be imported: it exits while it is imported (put its main program under `if __name__ == \"__main__\":`)") from None
    except Exception as error:
        raise Refused(f"{path} can't be imported: {told(error)}") from None


_FOLDER: Final = os.path.dirname(__file__)
#: Files that contain no user code.
_OWN: Final = (_FOLDER + os.sep, os.path.join(os.path.dirname(_FOLDER), "__main__.py"), files.__file__, "<frozen")


def told(error: BaseException) -> str:
    """Describe an exception, with the line of user code that raised it."""
    seen = traceback.TracebackException.from_exception(error)
    said = ""
    with contextlib.suppress(Exception):  # the program may define the exception class, and str() of it may raise
        said = str(error)
    text = type(error).__name__ + (f": {said}" if said else "")
    if isinstance(error, SyntaxError):
        return text
    places = [f"{at.filename}, line {at.lineno}" for at in seen.stack if not at.filename.startswith(_OWN)]
    return f"{text} ({places[-1]})" if places else text

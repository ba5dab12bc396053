"""Load a residual that was written to a file."""

import os
from collections.abc import Callable
from typing import Any

from hovis.base import files, own_code
from hovis.errors import SpecError

own_code.leave_as_calls(__file__)


def load(path: "str | os.PathLike[str]") -> Callable[..., Any]:
    """Load the function that :meth:`Trace.save` (or ``python -m hovis specialize``) has written to a file.

    The file is Python, and its code is run: load only files that you trust.  Each call reads the current content of the file; nothing is cached.
    Raises OSError if the file can't be read, SpecError if it was not written by hovis, and anything that running it raises: ImportError if an object
    that it refers to does not exist any more.  The function belongs to no importable module, so it can't be pickled.

    >>> from hovis import Int, trace
    >>> import tempfile
    >>> def area(width, height): return width * height
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     trace(area, Int, 2).save(f"{folder}/area.py")
    ...     double = load(f"{folder}/area.py")
    ...     trace(area, Int, 3).save(f"{folder}/area.py")
    ...     double(7), load(f"{folder}/area.py")(7)
    (14, 21)
    """
    file = os.fspath(path)
    try:
        found = getattr(files.run(file, f"hovis_kept_{os.path.splitext(os.path.basename(file))[0]}"), "RESIDUAL", None)
    except SyntaxError as error:
        raise SpecError(f"{file!r} is not a Python file: {' '.join(str(error).split())}") from None
    if not callable(found):
        raise SpecError(f"{file!r} was not written by hovis: it has no RESIDUAL")
    return found  # type: ignore[no-any-return]

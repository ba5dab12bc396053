"""The command line.

    python -m hovis trace FILE.py:FUNCTION Int 3 n=4 --stage=ir
    python -m hovis explain FILE.py:FUNCTION Int 3
    python -m hovis specialize FILE.py:FUNCTION Int @program.json -o OUT.py
    python -m hovis --version

An argument is a literal or an expression of public spec names (``Int``, ``'float64[3, :]'``, ``'[Int, const(3)]'``,
``n=list``) and of type hints (``'int | None'``, ``'list[int]'``); nothing else is evaluated.  ``@FILE.json`` is what a
JSON file holds, ``@FILE`` the text of another file, ``@FILE.py:NAME`` a global of a Python file, each known as a whole.
With --annotations, a parameter that is given nothing is what it is annotated with.

specialize writes a module that imports without hovis: what is known is in it or imported from where it lives, and a
call that does not fit imports and runs the original (with --refuse it is a TypeError).  Without -o it is printed.
OUT.py is written whole or not at all, and never over a source of what was traced.

What can't be done is said in one line on standard error, and the exit status is 2.

Stages: bytecode (normalised), ir, passes, python (the residual), and those
that installed packages add: hlo comes with hovis_xla.
"""

import argparse
import ast
import contextlib
import os
import stat
import sys
import traceback
from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from typing import Any, Final, NoReturn

import hovis
from hovis.bytecode.normalize import normalize
from hovis.command_line.arguments import cut, parse_argument
from hovis.command_line.program_files import Refused, load, told
from hovis.errors import HovisError
from hovis.ir.naming import printable

# ------------------------------------------------------------------------------------------------- stages


def bytecode(fn: Any) -> str:
    """List the normalised instructions of fn: index, line, instruction, argument, and exception handler."""
    call = getattr(type(fn), "__call__", None)  # noqa: B004  # the method itself is needed, not whether it exists
    code = getattr(fn, "__code__", None) or getattr(call, "__code__", None)
    if code is None:
        raise Refused(f"{getattr(fn, '__qualname__', fn)} is not written in Python: it has no bytecode")
    return str(normalize(code))


STAGES: Final[dict[str, Callable[[hovis.Trace], str]]] = {
    "bytecode": lambda trace: bytecode(trace.fn),
    "ir": str,
    "passes": lambda trace: str(trace.passes("default")),
    "python": lambda trace: trace.source(),
}


def stage(name: str) -> Callable[[hovis.Trace], str]:
    """Return the function that shows a Trace at a stage: one of STAGES, or of the entry-point group ``hovis.stages``."""
    if name in STAGES:
        return STAGES[name]
    offered = {point.name: point for point in entry_points(group="hovis.stages")}
    if name not in offered:
        raise Refused(f"there is no stage {name!r}; there are {', '.join([*STAGES, *sorted(offered)])}")
    try:
        found: Callable[[hovis.Trace], str] = offered[name].load()
    except ImportError as error:
        raise Refused(f"the stage {name!r} is not installed here: {error} (pip install 'hovis[xla]')") from None
    return found


# ------------------------------------------------------------------------------------------------- main


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Refused(f"{message} ({self.prog} --help)")


def _parser() -> argparse.ArgumentParser:
    lines = (__doc__ or "").split("\n\n")
    parser = _Parser(
        prog="hovis", description="What is left of a function when some of its arguments are known.", epilog="\n\n".join(lines[1:]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("command", choices=("trace", "explain", "specialize"),
                        help="show the trace; say what was left for run time and why; write the residual as a module")
    parser.add_argument("target", metavar="FILE.py:FUNCTION")
    parser.add_argument("--stage", default="ir", help="bytecode, ir (the default), passes, python, or hlo")
    parser.add_argument("--locations", action="store_true", help="with the source line of each operation (ir)")
    parser.add_argument("--full", action="store_true", help="with nothing cut, as hovis.parse reads it (ir)")
    parser.add_argument("--guards", action="store_true", help="with what is checked on entry and taken for granted (ir)")
    parser.add_argument("--annotations", action="store_true", help="a parameter that is given nothing is what it is annotated with")
    parser.add_argument("-o", "--output", metavar="OUT.py", help="where to write the module (specialize)")
    parser.add_argument("--version", action="store_true", help="print the version of hovis")
    parser.add_argument("--refuse", action="store_true", help="calls that do not fit are errors, and the original is not needed (specialize)")
    return parser


def run(arguments: Sequence[str]) -> tuple[str, bool]:
    """Run the command; return the text to print, and whether it is a module."""
    if "-h" in arguments or "--help" in arguments:
        return _parser().format_help(), False
    if "--version" in arguments:
        return f"hovis {hovis.__version__}", False
    given, rest = _parser().parse_known_args(_protected(arguments))
    specs = [parse_argument(text) for text in map(_unprotected, rest) if text != "--"]
    show = stage(given.stage)
    fn = load(given.target)
    named = {name: spec for name, spec in specs if name is not None}
    if len(named) < sum(name is not None for name, _ in specs):
        raise Refused("a parameter is given twice")
    traced = hovis.options(annotations=given.annotations).trace(fn, *(spec for name, spec in specs if name is None), **named)
    if given.command == "explain":
        return str(hovis.explain(traced)), False
    if given.command == "specialize":
        if given.output is None or _is_standard_output(given.output):
            return traced.module(given.refuse), True
        try:
            traced.save(given.output, given.refuse)
        except OSError as error:
            raise Refused(f"{given.output!r} can't be written: {error.strerror}") from None
        except ValueError as error:
            raise Refused(f"{given.output!r} is not a valid file name: {error}") from None
        return printable(f"{given.output}: {traced.text().name}, {report_of(traced)}"), False
    if given.stage == "ir":
        return traced.show(locations=given.locations, full=given.full, guards=given.guards), False
    return show(traced), False


def report_of(traced: hovis.Trace) -> str:
    """Say how many operations and functions are left in the residual."""
    count = sum(1 for function in traced.functions for _ in function.ops())
    return f"{count} operation{'' if count == 1 else 's'} in {len(traced.functions)} function{'' if len(traced.functions) == 1 else 's'}"


def _protected(arguments: Sequence[str]) -> list[str]:
    """Protect negative numbers such as ``-3`` from argparse, which would take them for options."""
    return [f" {a}" if a.startswith("-") and not a.startswith("--") and a not in ("-h", "-o") else a for a in arguments]


def _unprotected(argument: str) -> str:
    if argument.startswith("--"):
        raise Refused(f"there is no option {cut(argument)}")
    return argument.strip()


def _is_standard_output(path: str) -> bool:
    """Does path name the file that standard output goes to? (``/dev/stdout``: the module and the report would overwrite each other there.)"""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        there, here = os.stat(path), os.fstat(sys.stdout.fileno())
        return os.path.samestat(there, here) and not (stat.S_ISCHR(here.st_mode) and here.st_rdev == os.stat(os.devnull).st_rdev)
    return False


def _print(text: str, exact: bool) -> None:
    """Print the result. exact: it is a program, in which characters may be escaped only where the meaning stays the same."""
    if sys.stdout is None:
        raise Refused("there is no standard output to print to")
    text = text.rstrip() + "\n"
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        escaped = text.encode(encoding, "backslashreplace").decode(encoding)
        if exact and not _is_same_program(escaped, text):
            raise Refused(f"the module can't be printed in {encoding}: with -o FILE it is written in UTF-8") from None
        text = escaped
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has closed the pipe, as `| head` does
        _forget_output()
    except (OSError, ValueError) as error:
        _forget_output()
        raise Refused(f"the result can't be printed: {getattr(error, 'strerror', None) or error}") from None


def _is_same_program(escaped: str, text: str) -> bool:
    """Is the program the same with its characters escaped? (It is if all of them are in strings and comments.)"""
    try:
        return ast.dump(ast.parse(escaped)) == ast.dump(ast.parse(text))
    except SyntaxError:
        return False


def _forget_output() -> None:
    """Discard what standard output still holds; Python would try to write it again at exit."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return 0, or 2 after a one-line message if the command can't be done, or 130 if it is interrupted."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        _print(*run(given))
    except (Refused, HovisError) as error:
        return _fails("; ".join(filter(None, map(str.strip, str(error).splitlines()))))
    except RecursionError:
        return _fails("an argument is nested too deep")
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        at = traceback.extract_tb(error.__traceback__)[-1]
        own = at.filename.startswith((os.path.dirname(hovis.__file__), os.path.dirname(hovis.__file__) + "_xla"))
        return _fails(f"an internal error of hovis, please report it: {told(error)}" if own else f"code of the program raised {told(error)}")
    return 0


def _fails(why: str) -> int:
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            print(printable(f"hovis: {why}"), file=sys.stderr, flush=True)
    return 2


if __name__ == "__main__":
    sys.exit(main())

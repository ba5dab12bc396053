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
import json
import os
import stat
import sys
import traceback
import typing
from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Final, NoReturn

import hovis
from hovis.arguments.spec_parts import is_spec
from hovis.base import files
from hovis.bytecode.normalize import normalize
from hovis.errors import HovisError
from hovis.ir.naming import printable
from hovis.lattice import Either

#: Names that an argument may use, besides literals.
SPECS: Final[dict[str, object]] = {
    name: getattr(hovis, name)
    for name in (
        "Any", "Array", "Bool", "Bytes", "Complex", "Float", "Instance", "Int", "NoneType", "OneOf", "Str", "const",
        "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "complex64", "complex128",
    )
}  # fmt: skip
SPECS.update((cls.__name__, cls) for cls in (int, float, bool, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset, range, slice, object, type))
SPECS.update((name, getattr(typing, name)) for name in ("Annotated", "Callable", "Iterable", "Iterator", "Literal", "Mapping", "Optional", "Sequence", "Union"))
#: Those of them that may be called.
MAKERS: Final = ("Array", "Instance", "OneOf", "const")


#: Of longer arguments an error shows the beginning and the end.
LONGEST: Final = 200


class Refused(Exception):
    """What the user asked for can't be done; the message is all that is printed."""


# ------------------------------------------------------------------------------------------------- arguments


def parse_argument(text: str) -> tuple[str | None, object]:
    """The name, if there is one, and the spec of an argument.

    >>> parse_argument("n=[Int, const(3)]")
    ('n', [Int, const(3)])
    """
    name, equals, rest = text.partition("=")
    if equals and name.isidentifier():
        return name, parse_spec(rest)
    return None, parse_spec(text)


def parse_spec(text: str) -> object:
    """A literal, an expression of public spec names, or ``@`` and a file that holds the value."""
    if text.strip().startswith("@"):
        return hovis.const(_held(text.strip()[1:]))
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        return _Reader(text).read(tree)
    except (SyntaxError, ValueError) as error:
        raise Refused(f"the argument {_cut(text)} is no Python expression: {error.args[0]}") from None
    except (RecursionError, MemoryError):
        raise Refused(f"the argument {_cut(text)} is nested too deep") from None


def _cut(text: str) -> str:
    """An argument in an error."""
    return repr(text) if len(text) <= LONGEST else repr(text[: LONGEST // 2]) + "…" + repr(text[-LONGEST // 4 :])


def _held(target: str) -> object:
    """What a file holds: JSON, a global of a Python file, or else its text."""
    if ".py:" in target:
        return _named(target)
    path = Path(target)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise Refused(f"there is no file {target!r}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise Refused(f"{target!r} is no text in UTF-8") from None
    except ValueError as error:
        raise Refused(f"{target!r} names no file: {error}") from None
    if path.suffix != ".json":
        return text
    try:
        return json.loads(text)
    except ValueError as error:
        raise Refused(f"{target!r} is not JSON: {error}") from None
    except RecursionError:
        raise Refused(f"{target!r} is nested too deep") from None


class _Reader:
    """A walk over one argument."""

    def __init__(self, text: str) -> None:
        self.text = text

    def read(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name) if name in SPECS:
                return SPECS[name]
            case ast.Tuple(elts=parts):
                return tuple(map(self.read, parts))
            case ast.List(elts=parts):
                return list(map(self.read, parts))
            case ast.Set(elts=parts):
                return self._made(lambda: set(map(self.read, parts)))
            case ast.Dict(keys=keys, values=values) if None not in keys:
                return self._made(lambda: {self.read(k): self.read(v) for k, v in zip(keys, values, strict=True) if k is not None})
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                return self._either(node, self.read(left), self.read(right))
            case ast.UnaryOp(op=ast.USub() | ast.UAdd()) | ast.BinOp():
                return self._number(node)
            case ast.Subscript(value=ast.Name(id=name), slice=inner) if name in SPECS:
                whole: Any = SPECS[name]
                return self._made(lambda: whole[self._shape(inner)])
            case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords) if name in MAKERS:
                return self._call(name, args, keywords)
        raise self._refusal(node)

    def _number(self, node: ast.expr) -> object:
        """``-1``, ``2 + 3j``; no other arithmetic."""
        try:
            return ast.literal_eval(node)
        except ValueError:
            raise self._refusal(node) from None

    def _either(self, node: ast.expr, left: Any, right: Any) -> object:
        """One of two kinds: of values there is OneOf."""
        if not is_spec(left) and not is_spec(right):
            raise self._refusal(node)
        try:
            return left | right
        except TypeError:  # lists, which Python itself refuses
            return Either((left, right))

    def _shape(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Tuple):
            return tuple(map(self._shape, node.elts))
        if isinstance(node, ast.Slice) and node.lower is node.upper is node.step is None:
            return slice(None)
        return self.read(node)

    def _call(self, name: str, args: Sequence[ast.expr], keywords: Sequence[ast.keyword]) -> object:
        maker: Any = SPECS[name]
        given = [self.read(a) for a in args]
        named = {k.arg: self.read(k.value) for k in keywords if k.arg is not None}
        return self._made(lambda: maker(*given, **named))

    def _made(self, make: Callable[[], object]) -> object:
        try:
            return make()
        except (Refused, RecursionError):
            raise
        except Exception as error:
            raise Refused(f"the argument {_cut(self.text)}: {error}") from None

    def _refusal(self, node: ast.expr) -> Refused:
        part = ast.get_source_segment(self.text.strip(), node) or self.text
        if isinstance(node, ast.Name):
            return Refused(f"the argument {_cut(self.text)}: {part!r} is no spec; a string is quoted for Python as well: \"'{part}'\"")
        return Refused(f"the argument {_cut(self.text)}: {_cut(part)} is neither a literal nor an expression of spec names, and nothing else is evaluated")


# ------------------------------------------------------------------------------------------------- the function


def load(target: str) -> Any:
    """The function that ``FILE.py:NAME`` names; a class's as ``FILE.py:Class.method``."""
    found = _named(target)
    if not callable(found):
        file, _, name = target.rpartition(":")
        raise Refused(f"{name!r} in {file} is no function: {type(found).__name__}")
    return found


def _named(target: str) -> Any:
    """What ``FILE.py:NAME`` names."""
    file, colon, name = target.rpartition(":")
    path = Path(file)
    if not colon or not name:
        raise Refused(f"{target!r} does not say which function: FILE.py:FUNCTION")
    if not path.is_file():
        raise Refused(f"there is no file {file!r}")
    found: Any = _module(path)
    for part in name.split("."):
        if not hasattr(found, part):
            raise Refused(f"{file} has no {name!r}")
        found = getattr(found, part)
    return found


def _module(path: Path) -> Any:
    """The file, run as a module of its name, as ``import`` in its folder would; once."""
    known = sys.modules.get(path.stem)
    if known is not None and Path(getattr(known, "__file__", None) or "").resolve() == path.resolve():
        return known
    # a file may be called operator.py, or a.b.py: no import would find it, and what is of this name is never imported
    name = path.stem if path.stem not in sys.modules and "." not in path.stem else f"hovis.__main__.{path.stem}"
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        return files.run(path, name, listed=True)
    except SystemExit:
        raise Refused(f"{path} does not run: it exits while it is imported (a main program stands behind `if __name__ == \"__main__\":`)") from None
    except Exception as error:
        raise Refused(f"{path} does not run: {_told(error)}") from None


def _told(error: BaseException) -> str:
    """An exception, and the line of the user's that has raised it."""
    seen = traceback.TracebackException.from_exception(error)
    said = ""
    with contextlib.suppress(Exception):  # it may be an exception of the program's own
        said = str(error)
    text = type(error).__name__ + (f": {said}" if said else "")
    if isinstance(error, SyntaxError):
        return text
    others = (__file__, files.__file__)
    places = [f"{at.filename}, line {at.lineno}" for at in seen.stack if at.filename not in others and not at.filename.startswith("<frozen")]
    return f"{text} ({places[-1]})" if places else text


# ------------------------------------------------------------------------------------------------- stages


def bytecode(fn: Any) -> str:
    """The normalised instructions of fn: index, line, instruction, argument, and where an exception goes."""
    call = getattr(type(fn), "__call__", None)  # noqa: B004  # the function is wanted, not the answer
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
    """What shows a Trace at a stage: one of STAGES, or of the entry-point group ``hovis.stages``."""
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
    """What to print; is it a module?"""
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
            raise Refused(f"{given.output!r} names no file: {error}") from None
        return printable(f"{given.output}: {traced.text().name}, {report_of(traced)}"), False
    if given.stage == "ir":
        return traced.show(locations=given.locations, full=given.full, guards=given.guards), False
    return show(traced), False


def report_of(traced: hovis.Trace) -> str:
    """How much is left."""
    count = sum(1 for function in traced.functions for _ in function.ops())
    return f"{count} operation{'' if count == 1 else 's'} in {len(traced.functions)} function{'' if len(traced.functions) == 1 else 's'}"


def _protected(arguments: Sequence[str]) -> list[str]:
    """argparse would take ``-3`` and the like for options."""
    return [f" {a}" if a.startswith("-") and not a.startswith("--") and a not in ("-h", "-o") else a for a in arguments]


def _unprotected(argument: str) -> str:
    if argument.startswith("--"):
        raise Refused(f"there is no option {_cut(argument)}")
    return argument.strip()


def _is_standard_output(path: str) -> bool:
    """Is what this names where results are printed to?  (``/dev/stdout``; what both would write there would lie one over the other.)"""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        there, here = os.stat(path), os.fstat(sys.stdout.fileno())
        return os.path.samestat(there, here) and not (stat.S_ISCHR(here.st_mode) and here.st_rdev == os.stat(os.devnull).st_rdev)
    return False


def _print(text: str, exact: bool) -> None:
    """Print the result; exact: it is a program, in which characters can be escaped only where that says the same."""
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
    except BrokenPipeError:  # `| head` has seen enough
        _forget_output()
    except (OSError, ValueError) as error:
        _forget_output()
        raise Refused(f"the result can't be printed: {getattr(error, 'strerror', None) or error}") from None


def _is_same_program(escaped: str, text: str) -> bool:
    """Are all characters that were escaped in strings and comments?"""
    try:
        return ast.dump(ast.parse(escaped)) == ast.dump(ast.parse(text))
    except SyntaxError:
        return False


def _forget_output() -> None:
    """What standard output still holds goes nowhere: Python would try again at the end."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; 0, or 2 with a message in one line where it can't be done, or 130 where it is interrupted."""
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
        return _fails(f"a fault of hovis itself, please report it: {_told(error)}" if own else f"what is asked of the program's objects raises {_told(error)}")
    return 0


def _fails(why: str) -> int:
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            print(printable(f"hovis: {why}"), file=sys.stderr, flush=True)
    return 2


if __name__ == "__main__":
    sys.exit(main())

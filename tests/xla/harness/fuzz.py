"""Random programs over arrays and numbers of all dtypes and shapes, compiled and compared with NumPy.

    python -m tests.xla.harness.fuzz --programs 10000 --seed 1

A program is a few statements; each is drawn with knowledge of the values so far, so that most of them are valid.  Results
must be equal in type, dtype and shape, integers and exact floats in value; floats that were rounded during computation may
differ as documented in docs/sharp-edges.md, and no discontinuous operation (a comparison, floor, a cast) is applied to them.
"""

import argparse
import copy
import random
import sys
import warnings

import numpy as np

import hovis_xla
from tests.xla.harness import fuzz_statements
from tests.xla.harness.checking import outcome

DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]
SHAPES = [(), (1,), (3,), (4,), (0,), (2, 3), (3, 1), (1, 4), (3, 4), (2, 0), (2, 3, 4), (1, 3, 1)]
#: Tolerance for results that were rounded during computation, by the size in bytes, relative to the largest number of the program.
ROUNDED = {2: 0.05, 4: 1e-3, 8: 1e-9}
#: The views of an array that may be passed.
VIEWS = ["[::-1]", ".T", "[1:]", "[::2]", ".T[::-1]", "[..., ::-1]", "[None]", "[:, 1:]", "[..., 0]"]
BINARY = ["+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>", "<", "<=", ">", ">=", "==", "!="]
JUMPS = {"//", "%", "<", "<=", ">", ">=", "==", "!=", "**"}
TWO = ["maximum", "minimum", "fmax", "fmin", "logical_and", "logical_or", "arctan2", "hypot", "copysign", "floor_divide", "remainder", "fmod", "power",
       "add", "subtract", "multiply", "gcd", "heaviside", "equal", "less", "left_shift", "bitwise_xor", "float_power", "true_divide"]  # fmt: skip
SMOOTH = ["sin", "cos", "tanh", "arctan", "square", "negative", "absolute", "conjugate", "real", "imag", "positive", "sinh", "exp", "degrees", "expm1", "arcsinh"]
ROUGH = ["floor", "ceil", "rint", "trunc", "sign", "isnan", "isfinite", "isinf", "signbit", "logical_not", "invert", "sqrt", "reciprocal", "cbrt", "log1p", "bitwise_count"]
REDUCE = ["sum", "prod", "max", "min", "mean", "any", "all", "std", "var", "ptp", "count_nonzero", "median"]
SCALARS = ["bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64", "complex64", "complex128"]


class Drawing:
    """One program: its arguments, its text, and the values that its variables have in NumPy."""

    def __init__(self, choose):
        self.choose = choose  # draws an int below n
        self.values, self.rounded, self.lines, self.args, self.views = {}, {}, [], [], []
        self.error = None
        self.largest = 1.0

    def pick(self, items):
        return items[self.choose(len(items))]

    def chance(self, n):
        return self.choose(n) == 0

    # ------------------------------------------------------------------------------------- arguments

    def number(self, dtype):
        kind = dtype.kind
        if kind == "b":
            return bool(self.choose(2))
        if kind in "iu":
            if self.chance(8):
                return self.pick([np.iinfo(dtype).min, np.iinfo(dtype).max, np.iinfo(dtype).max - 1])
            return self.choose(11) - (5 if kind == "i" else 0)
        if self.chance(10):
            return self.pick([np.nan, np.inf, -np.inf, -0.0])
        found = (self.choose(33) - 16) / 4
        return found if kind == "f" else complex(found, (self.choose(17) - 8) / 4)

    def array(self, dtype, shape):
        dtype = np.dtype(dtype)
        size = int(np.prod(shape))
        return np.array([self.number(dtype) for _ in range(size)], dtype).reshape(shape)

    def argument(self):
        """Draw an argument: a number, an array, or a view of an array; the program is called with that view of the array in ``args``."""
        name = f"x{len(self.args)}"
        how = self.choose(8)
        if how == 0:
            value = self.pick([0, 1, -1, 2, 3, 7, -5, 100, 300, 2**31, -(2**40)])
        elif how == 1:
            value = self.pick([0.0, -0.0, 0.5, -1.25, 3.0, 1e3, float("inf"), float("nan"), True, 2.5 + 1j])
        elif how == 2:
            value = self.array(self.pick(DTYPES), ())[()]
        else:
            value = self.array(self.pick(DTYPES), self.pick(SHAPES))
        self.args.append(copy.deepcopy(value))
        shown = self.pick(VIEWS) if isinstance(value, np.ndarray) and self.chance(3) else ""
        try:
            value = eval(f"value{shown}", {"value": value})
        except IndexError:
            shown = ""
        self.views.append(shown)
        self.keep(name, value, 0)
        return name

    # ------------------------------------------------------------------------------------- statements

    def keep(self, name, value, rounded, text=""):
        self.values[name] = value
        array = np.asarray(value)
        if array.dtype.kind in "fc" and array.size:
            with np.errstate(all="ignore"):
                size = np.abs(array.astype(np.complex128))
                finite = size[np.isfinite(size)]
                most = float(finite.max()) if finite.size else 0.0
                parts = np.concatenate([np.ravel(array.real), np.ravel(array.imag)]).astype(np.float64)
                parts = parts[np.isfinite(parts)]
                limit, steps = {2: (2**7, 4), 4: (2**14, 2**8), 8: (2**30, 2**20)}[array.real.dtype.itemsize]
                exact = most < limit and bool(np.all(parts * steps == np.floor(parts * steps)))
            self.largest = max(self.largest, most)
            # it is unspecified whether 0.0 or -0.0 is the greater
            tie = any(word in text for word in ("max", "min", "clip", "sort", "median")) and bool(np.any(array.real == 0))
            size = array.real.dtype.itemsize
            rounded = min(rounded or size, size) if rounded or not exact or tie else 0
        else:
            rounded = 0
        self.rounded[name] = rounded

    def variable(self, test=lambda v: True, exact=False):
        found = [n for n, v in self.values.items() if test(v) and not (exact and self.rounded[n])]
        return self.pick(found) if found else None

    def statement(self):
        if self.chance(8):
            self.store()
            return
        if self.chance(6):
            self.block()
            return
        made = self.pick(_STATEMENTS)(self)
        if made is None:
            return
        text, rounds = made
        name = f"v{len(self.lines)}"
        scope = {"np": np, **self.values}
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                value = eval(text, scope)
            except Exception as error:
                if not self.chance(12):
                    return  # most statements that raise are left out
                self.error = error
                value = None
        if value is not None:
            if not _is_kept(value):
                return
            taken = [n for n in self.values if n in _names(text)]
            if np.asarray(value).dtype.kind != "c" and any(n.startswith("v") and _has_no_number(self.values[n]) for n in taken):
                return
            used = [self.rounded[n] for n in taken if self.rounded[n]]
            self.keep(name, value, min(used) if used else 8 if rounds else 0, text)
        self.lines.append(f"{name} = {text}")

    def block(self):
        """Draw a statement of several lines; if it raises, it is mostly dropped, and its stores are undone."""
        name = f"v{len(self.lines)}"
        lines = self.pick(fuzz_statements.BLOCKS)(self, name)
        if lines is None:
            return
        before = {n: v.copy() for n, v in self.values.items() if isinstance(v, np.ndarray)}
        scope = {"np": np, **self.values}
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                exec("\n".join(lines), scope)
            except Exception as error:
                self.error = error
        value = scope.get(name)
        if self.error is not None and self.choose(3) or not (value is None or _is_kept(value)):
            self.error = None
            for n, v in before.items():
                if self.values[n].flags.writeable:
                    self.values[n][...] = v
            return
        for n in before:
            self.keep(n, self.values[n], self.rounded[n])
        if value is not None:
            used = [self.rounded[n] for n in self.values if n in _names(" ".join(lines)) and self.rounded[n]]
            self.keep(name, value, min(used) if used else 0, "max")
        self.lines.append("\n    ".join(lines))

    def store(self):
        """Draw ``a[i] = b`` or ``a += b``: arrays that share memory with a change as well."""
        a, b = self.variable(lambda v: isinstance(v, np.ndarray) and v.size > 0 and v.flags.writeable), self.variable() if self.choose(2) else _literal(self)
        if a is None or b is None:
            return
        array, given = self.values[a], np.asarray(eval(b, {"np": np, **self.values}))
        if self.chance(2) and array.ndim:
            text = f"{a}[{self.pick(['0', '-1', ':', '1:', '::-1', '...', '::2'])}] = {b}"
        else:
            text = f"{a} {self.pick(['+=', '-=', '*=', '|=', '&='])} {b}"
        if given.dtype.kind in "fc" and array.dtype.kind in "iu" and (given.dtype.kind == "c" or not np.all(np.abs(given) < 100)):
            return
        if array.dtype.kind in "fc" and self.rounded.get(b, 0):
            return
        before = array.copy()
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                exec(text, {"np": np, **self.values})
            except Exception:
                array[...] = before
                return
        for name, value in self.values.items():
            if isinstance(value, np.ndarray) and np.shares_memory(value, array):
                self.keep(name, value, self.rounded[name])
        self.lines.append(text)

    def program(self, statements):
        for _ in range(1 + self.choose(3)):
            self.argument()
        for _ in range(statements):
            if self.error is None:
                self.statement()
        results = [n for n in self.values if n.startswith("v")][-6:]
        names = [f"x{k}" for k in range(len(self.args))]
        body = "\n".join("    " + line for line in [*self.lines, *self.early(results), self.result(results)])
        return f"def f({', '.join(names)}):\n{body}\n", results

    def result(self, results):
        parts = [f"np.array({n})" if isinstance(self.values[n], np.ndarray) and self.chance(2) else n for n in results]
        return f"return [{', '.join(parts)}]"

    def early(self, results):
        """Draw a return in a branch, of values of the same kinds as the results: other arrays, or the same ones in another order."""
        test = self.variable(lambda v: np.ndim(v) < 2 and np.asarray(v).dtype.kind in "biuf", exact=True)
        if test is None or self.choose(3):
            return []
        alike = [[m for m in results if _kind(self.values[m]) == _kind(self.values[n]) and self.rounded[m] == self.rounded[n]] for n in results]
        return [f"if np.sum({test}) {self.pick(['>', '<', '!='])} 1:", "    " + self.result([self.pick(names) for names in alike])]


def _kind(value):
    return type(value), getattr(value, "dtype", None), np.shape(value)


def _names(text):
    return {t for t in "".join(c if c.isalnum() or c == "_" else " " for c in text).split()}


def _is_kept(value):
    """Is this a number or an array that later statements may use?"""
    if isinstance(value, (tuple, list)) or np.size(value) > 400 or np.asarray(value).dtype.kind not in "biufc" or np.asarray(value).dtype.itemsize > 16:
        return False
    return np.asarray(value).dtype.char not in "gG" and not (isinstance(value, int) and not -(2**63) <= value < 2**63)


def _is_array(v):
    return isinstance(v, np.ndarray)


def _is_numpy(v):
    return isinstance(v, (np.ndarray, np.generic))


def _literal(d):
    return d.pick(["2", "3", "-1", "0", "0.5", "2.0", "True", "1j", "np.float32(1.5)", "np.int8(3)", "np.uint64(2)", "200", "-0.0"])


def _binary(d):
    op = d.pick(BINARY)
    a = d.variable(exact=op in JUMPS)
    b = d.variable(exact=op in JUMPS) if d.choose(4) else _literal(d)
    if a is None or b is None:
        return None
    if op == "**":
        b = d.pick(["2", "3", "0", "1", "0.5", "-1"])
    if op in ("<<", ">>") and b in d.values:
        b = d.pick(["1", "3", "np.int16(9)"])
    return (f"{b} {op} {a}" if d.chance(4) and op != "**" else f"{a} {op} {b}"), op in ("/", "**", "//", "%")


def _two(d):
    fn = d.pick(TWO)
    a = d.variable(exact=True)
    b = d.variable(exact=True) if d.choose(4) else _literal(d)
    if a is None or b is None:
        return None
    if fn in ("power", "float_power"):
        b = d.pick(["2", "3", "1.5", "np.int64(2)"])
    if fn == "left_shift":
        b = d.pick(["1", "3", "70"])
    return f"np.{fn}({a}, {b})", fn in ("arctan2", "hypot", "power", "float_power", "true_divide", "floor_divide", "remainder", "fmod")


def _smooth(d):
    fn, a = d.pick(SMOOTH), d.variable(_is_numpy)
    if a is None:
        return None
    if fn in ("sinh", "exp", "expm1", "sin", "cos"):
        a = d.variable(lambda v: _is_numpy(v) and v.dtype.kind != "c" and not (v.size and np.nanmax(np.abs(np.where(np.isfinite(np.asarray(v, float)), v, 0))) > 40))
        if a is None:
            return None
    return f"np.{fn}({a})", fn not in ("square", "negative", "absolute", "conjugate", "real", "imag", "positive")


def _rough(d):
    fn, a = d.pick(ROUGH), d.variable(_is_numpy, exact=True)
    return None if a is None else (f"np.{fn}({a})", fn in ("sqrt", "reciprocal", "cbrt", "log1p"))


def _axis(d, v, tuples=True):
    rank = np.ndim(v)
    options = ["None", *map(str, range(-rank, rank))]
    if tuples and rank > 1:
        options.append("(0, 1)")
    return d.pick(options)


def _reduce(d):
    fn = d.pick(REDUCE)
    a = d.variable(_is_array, exact=fn in ("max", "min", "any", "all", "ptp", "count_nonzero", "median"))
    if a is None or (fn == "prod" and _overflows(d.values[a])):
        return None
    axis = _axis(d, d.values[a])
    options = d.pick(["", "", ", keepdims=True", ", where=True"]) if fn not in ("ptp", "count_nonzero", "median") else ""
    if fn in ("sum", "prod") and d.chance(5):
        options += d.pick([", initial=2", ", dtype=np.float64"])
    if fn in ("max", "min") and d.chance(5):
        options += ", initial=1"
    if fn in ("std", "var") and d.chance(3):
        options += ", ddof=1"
    return f"np.{fn}({a}, axis={axis}{options})", fn in ("mean", "std", "var", "prod", "median")


def _overflows(halves):
    """May an intermediate product of float16 numbers overflow?  It depends on when NumPy rounds to float16."""
    return halves.dtype == np.float16 and not np.prod(np.maximum(np.abs(halves.astype(float)), 1)) < np.finfo(np.float16).max


def _along(d):
    fn = d.pick(["cumsum", "cumprod", "sort", "argmax", "argmin", "diff", "argsort", "flip"])
    a = d.variable(_is_array, exact=True)
    if a is None:
        return None
    axis = _axis(d, d.values[a], tuples=False)
    if fn == "diff":
        axis = "-1"
    if fn == "cumprod" and _overflows(d.values[a]):
        return None
    stable = ", kind='stable'" if fn in ("sort", "argsort") and d.choose(3) else ""
    return f"np.{fn}({a}, axis={axis}{stable})", fn == "cumprod"


def _index(d):
    a = d.variable(lambda v: _is_array(v) and v.ndim > 0)
    if a is None:
        return None
    items = []
    for size in d.values[a].shape:
        items.append(d.pick(["0", "-1", str(d.choose(4)), ":", "1:", ":-1", "::-1", "::2", "None", "...", "1:1", "[0, -1]", ":"]))
        del size
    items = items[: 1 + d.choose(len(items))]
    while items.count("...") > 1:
        items.remove("...")
    return f"{a}[{', '.join(items)}]", False


def _cast(d):
    # conversion of floats that are out of the integer's range is undefined in C
    a = d.variable(lambda v: _is_numpy(v) and (v.dtype.kind not in "fc" or bool(np.all(np.abs(v) < 100))), exact=True)
    if a is None:
        return None
    if d.choose(2):
        return f"{a}.astype('{d.pick(DTYPES)}')", False
    return f"np.{d.pick(SCALARS)}({a})", False


def _shape(d):
    a = d.variable(_is_array)
    if a is None:
        return None
    v = d.values[a]
    texts = [f"{a}.T", f"np.ravel({a})", f"{a}.reshape(-1)", f"np.expand_dims({a}, 0)", f"np.repeat({a}, 2)", f"np.tile({a}, 2)", f"np.atleast_2d({a})",
             f"np.copy({a})", f"np.zeros_like({a})", f"np.full_like({a}, 3)", f"np.pad({a}, 1)", f"np.broadcast_to({a}, (2, *{a}.shape))"]  # fmt: skip
    if v.ndim:
        texts += [f"np.roll({a}, 1)", f"np.roll({a}, -1, axis=0)", f"np.repeat({a}, 3, axis=0)", f"np.stack([{a}, {a}])", f"np.concatenate([{a}, {a}])",
                  f"np.pad({a}, 1, mode='edge')", f"np.swapaxes({a}, 0, -1)", f"np.moveaxis({a}, 0, -1)", f"np.take({a}, [0, 0], axis=0)", f"np.trace({a})",
                  f"np.tril({a})", f"np.diagonal({a})", f"np.flip({a})", f"{a}.reshape(-1, 1)", f"{a}.reshape({a}.shape[::-1], order='F')"]  # fmt: skip
    return d.pick(texts), False


def _join(d):
    a, b = d.variable(_is_array), d.variable(_is_array)
    if a is None:
        return None
    return f"np.{d.pick(['concatenate', 'stack', 'hstack', 'vstack'])}([{a}, {b}])", False


def _where(d):
    c, a, b = d.variable(_is_numpy, exact=True), d.variable(), d.variable() if d.choose(3) else _literal(d)
    return None if c is None or a is None else (f"np.where({c}, {a}, {b})", False)


def _clip(d):
    a = d.variable(_is_numpy)
    low, high = d.pick([("-1", "2"), ("0", "None"), ("None", "1.5"), ("np.float32(-1)", "1"), ("0", "300")])
    return None if a is None else (f"np.clip({a}, {low}, {high})", False)


def _python(d):
    a = d.variable(lambda v: np.size(v) == 1, exact=True)
    return None if a is None else (f"{d.pick(['float', 'int', 'bool', 'complex', 'abs'])}({a})", False)


def _product(d):
    a, b = d.variable(_is_array), d.variable(_is_array)
    return None if a is None else (d.pick([f"{a} @ {b}", f"np.dot({a}, {b})", f"np.outer({a}, {b})", f"np.add.outer({a}, {b})"]), True)


def _compose(d):
    a = d.variable(lambda v: _is_array(v) and v.ndim == 1 and v.size > 1, exact=True)
    if a is None:
        return None
    return d.pick([
        (f"np.searchsorted(np.sort({a}), {a})", False), (f"np.convolve({a}, {a}[:2])", False), (f"np.gradient({a})", True), (f"np.quantile({a}, 0.3)", True),
        (f"np.interp({a}, np.arange(4.0), np.array([1.0, 3.0, -1.0, 2.0]))", True), (f"np.isclose({a}, {a})", False), (f"np.nan_to_num({a})", False),
        (f"np.nansum({a})", False), (f"np.nanmax({a})", False), (f"np.isin({a}, [0, 1, 2])", False), (f"np.vander({a}, 3)", True), (f"np.kron({a}, {a})", False),
        (f"np.digitize({a}, [-1.0, 0.0, 1.0])", False), (f"np.select([{a} > 0, {a} < 0], [{a}, {a} * 2], 7)", False), (f"np.ediff1d({a})", False),
        (f"np.average({a})", True), (f"np.array_equal({a}, {a})", False), (f"np.trapezoid({a})", True), (f"np.linspace({a}[0], {a}[1], 4)", True),
    ])  # fmt: skip


_STATEMENTS = [_binary, _binary, _binary, _two, _two, _smooth, _rough, _reduce, _reduce, _along, _index, _index, _cast, _cast, _shape, _shape, _join, _where,
               _clip, _python, _product, _compose, *fuzz_statements.EXPRESSIONS]  # fmt: skip


# ------------------------------------------------------------------------------------------------- comparing


def mismatch(drawing, results, wanted, seen):
    """Describe the difference between two outcomes, or return None if there is none."""
    if wanted[0] != "returned" or seen[0] != "returned":
        return None if wanted == seen else f"{seen} instead of {wanted}"
    for name, a, b in zip(results, seen[1], wanted[1], strict=True):
        found = _differ(a, b, drawing.rounded[name], drawing.largest)
        if found:
            return f"{name}: {a!r} instead of {b!r} ({found})"
    return None


def _differ(a, b, rounded, largest):
    if type(a) is not type(b):
        return "type"
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype or a.shape != b.shape:
        return "dtype or shape"
    if a.dtype.kind not in "fc" or not rounded:
        if a.dtype.kind == "c":
            finite = np.isfinite(a) | np.isfinite(b)
            a, b = a[finite], b[finite]
        return None if np.array_equal(a, b, equal_nan=a.dtype.kind in "fc") and _signs(a, b) else "value"
    if a.dtype.kind == "c":
        # products and quotients of complex numbers with a part that is inf or nan depend on the C implementation
        finite = np.isfinite(a) & np.isfinite(b)
        a, b = a[finite], b[finite]
        return _differ(a.real, b.real, rounded, largest) or _differ(a.imag, b.imag, rounded, largest)
    with np.errstate(all="ignore"):
        off = np.abs(a.astype(float) - b.astype(float))
        bound = ROUNDED[min(rounded, a.dtype.itemsize)] * np.maximum(np.abs(b.astype(float)), min(largest, 1e30))
        same = (a == b) | (np.isnan(a) & np.isnan(b)) | (off <= bound) | (np.abs(b.astype(float)) > _most(b.dtype))
    return None if np.all(same) else "value past rounding"


def _has_no_number(value):
    """Does value contain a complex number with a part that is inf or nan? In compiled code it may be the other part."""
    array = np.asarray(value)
    return array.dtype.kind == "c" and not np.all(np.isfinite(array))


def _most(dtype):
    """Return the bound beyond which rounding may overflow."""
    return {2: 6e4, 4: 1e38, 8: 1e300}[dtype.itemsize]


def _signs(a, b):
    """Do zeros have the same signs?"""
    if a.dtype.kind == "c":
        return _signs(a.real, b.real) and _signs(a.imag, b.imag)
    return a.dtype.kind != "f" or bool(np.all((a != 0) | (np.signbit(a) == np.signbit(b))))


def run(choose):
    """Draw a program and run it both ways: (the difference or None, its text, whether it was compiled)."""
    drawing = Drawing(choose)
    text, results = drawing.program(5 + choose(11))
    scope = {"np": np}
    exec(text, scope)
    f = scope["f"]
    passed = ", ".join(f"x{k}{view}" for k, view in enumerate(drawing.views))
    names = ", ".join(f"x{k}" for k in range(len(drawing.views)))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        jitted = hovis_xla.jit(f, target="xla")
        wanted, _, after, shared = outcome(eval(f"lambda {names}: f({passed})", {"f": f}), drawing.args)
        seen, _, left, shares = outcome(eval(f"lambda {names}: f({passed})", {"f": jitted}), drawing.args)
        found = mismatch(drawing, results, wanted, seen)
        names = [f"x{k}" for k, a in enumerate(drawing.args) if isinstance(a, np.ndarray)]
        for name, a, b in zip(names, left, after, strict=True):
            found = found or (_differ(a, b, drawing.rounded[name], drawing.largest) and f"{name} is left as {a!r} instead of {b!r}")
        found = found or (None if shared == shares else f"shared memory: {shares} instead of {shared}")
        compiled = "XLA executable" in jitted.explain()
    text = f"{text}args = {drawing.args!r}, called as f({passed})"
    return found, text, compiled


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    wrong = compiled = 0
    for k in range(options.programs):
        seed = options.seed * 1_000_003 + k
        try:
            found, text, whole = run(random.Random(seed).randrange)
        except Exception as error:
            found, text, whole = f"{type(error).__name__}: {error}", "", False
        compiled += whole
        if found:
            wrong += 1
            print(f"--- program {seed}: {found}\n{text}", flush=True)
    print(f"{options.programs} programs, {compiled} compiled as a whole, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

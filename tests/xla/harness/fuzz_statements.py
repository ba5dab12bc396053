"""More statements for random programs: control flow, masked stores, ufuncs with all their options, memory orders."""
import numpy as np

LITERALS = ["0", "1", "-1", "2", "0.5", "-0.0", "3", "np.int8(2)", "np.float32(0.25)", "True", "100"]
DTYPES = ["'i4'", "'f8'", "np.int64", "'f4'", "np.uint8", "bool", "'c16'", "'f2'", "float", "int"]


def _is_array(v):
    return isinstance(v, np.ndarray)


def _line(v):
    """Is v a vector that a loop may iterate over?"""
    return _is_array(v) and v.ndim == 1 and v.size > 0 and v.dtype.kind in "iuf"


def _mask(d, a):
    return d.variable(lambda v: _is_array(v) and v.dtype == bool and v.shape == d.values[a].shape)


# ------------------------------------------------------------------------------------------------- expressions


def method(d):
    """Draw a ufunc method: ``np.add.accumulate``, ``reduceat``, ``outer``, ``reduce`` with options."""
    a, b = d.variable(lambda v: _is_array(v) and v.ndim > 0, exact=True), d.variable(_is_array, exact=True)
    if a is None or b is None:
        return None
    axis = d.choose(d.values[a].ndim)
    u = d.pick(["add", "maximum", "minimum", "multiply", "logical_or", "bitwise_xor", "subtract"])
    mask = _mask(d, a) or "True"
    return d.pick([
        f"np.{u}.accumulate({a}, axis={axis})", f"np.{u}.accumulate({a})", f"np.{u}.outer({a}, {b})", f"np.add.reduceat({a}, [0, 1], axis={axis})",
        f"np.{u}.reduce({a}, axis={axis}, keepdims=True)", f"np.{u}.reduce({a}, axis=None, initial=1)", f"np.{u}.reduce({a}, initial=0, where={mask})",
    ]), u == "multiply"  # fmt: skip


def with_options(d):
    """Draw a ufunc with ``dtype=`` or ``casting=``, or a reduction over several axes with ``where=``."""
    a, b = d.variable(_is_array, exact=True), d.variable(exact=True)
    if a is None or b is None:
        return None
    mask = _mask(d, a) or "True"
    axes = d.pick(["(0, -1)", "()", "-1", "None", "(-1,)"])
    return d.pick([
        f"np.add({a}, {b}, dtype={d.pick(DTYPES)})", f"np.multiply({a}, {b}, casting='{d.pick(['no', 'safe', 'same_kind', 'unsafe', 'equiv'])}')",
        f"np.sum({a}, axis={axes}, where={mask}, initial={d.pick(LITERALS)}, keepdims=True)", f"np.prod({a}, axis={axes}, dtype={d.pick(DTYPES)})",
        f"np.max({a}, axis={axes}, where={mask}, initial=-3)", f"np.any({a}, axis={axes}, where={mask})", f"np.count_nonzero({a}, axis={axes}, keepdims=True)",
        f"np.mean({a}, axis={axes}, dtype='f8')", f"np.var({a}, axis={axes}, ddof={d.choose(3)})", f"np.cumsum({a}, dtype={d.pick(DTYPES)})",
    ]), True  # fmt: skip


def ordered(d):
    """Draw an expression whose value depends on the memory order."""
    a = d.variable(_is_array)
    return None if a is None else (d.pick([
        f"{a}.ravel(order='F')", f"np.asfortranarray({a}) * 1", f"{a}.copy(order='F').reshape(-1)", f"{a}.flatten('F')", f"{a}.reshape(-1, order='A')",
        f"np.array({a}, order='F').T.ravel()", f"np.ascontiguousarray({a}.T)", f"{a}.T.ravel(order='K')", f"np.require({a}, requirements=['C']) + 0",
    ]), False)  # fmt: skip


def chosen(d):
    """Draw a selection by a mask or by indices."""
    a = d.variable(lambda v: _is_array(v) and v.ndim > 0, exact=True)
    if a is None:
        return None
    m = _mask(d, a) or f"{a} == {a}"
    return d.pick([
        f"{a}[{m}]", f"np.nonzero({a})[0]", f"np.flatnonzero({a})", f"np.argwhere({a})", f"{a}[[0, -1, 0]]", f"{a}[np.array([0, 0])] * 1", f"np.sum({a}[{m}])",
        f"np.extract({m}, {a})", f"np.take_along_axis({a}, np.argsort({a}, axis=-1, kind='stable'), axis=-1)", f"np.where({m})[0]", f"{a}[..., [0]]", f"{a}[[]]",
        f"np.take({a}, [0, 5, -7], mode='wrap')", f"np.take({a}, [0, 5, -7], mode='clip')", f"np.unique({a})", f"np.unique({a}, return_counts=True)[1]",
        f"np.delete({a}, 0, axis=0)", f"np.insert({a}, 0, 1, axis=0)", f"np.append({a}, {a})", f"np.array_split({a}, 2)[0]", f"np.partition({a}, 0, axis=-1)[..., 0]",
    ]), False  # fmt: skip


def number(d):
    """Draw an expression that makes Python or NumPy scalars from arrays."""
    a, b = d.variable(lambda v: np.size(v) == 1, exact=True), d.variable(lambda v: np.ndim(v) == 0, exact=True) or "2"
    if a is None:
        return None
    return d.pick([
        f"np.asarray({a}).item()", f"divmod({a}, {b})[0]", f"divmod({a}, {b})[1]", f"round(np.asarray({a}).item(), 1)", f"max({a}, {b})", f"min({b}, {a}, 1)",
        f"({a} if {b} else {b})", f"({a} and {b})", f"({a} or {b})", f"not {a}", f"int(bool({a})) + {b}", f"[{a}, {b}][-1]", f"sum([{a}, {b}])", f"{a} < {b} <= 3",
        f"np.asarray({a}).tolist()", f"pow({a}, 2)", f"np.asarray({a}, dtype='f8')[()]", f"-np.asarray({a})", f"abs({b}) + {a}", f"({a}, {b})[{a} == {b}]",
    ]), False  # fmt: skip


# ------------------------------------------------------------------------------------------------- statements of several lines


def loop(d, name):
    """Draw a loop over a vector, with an exit."""
    a = d.variable(_line, exact=True)
    if a is None:
        return None
    size, kind = d.values[a].size, d.values[a].dtype.kind
    op = d.pick(["+", "-", "*"] if kind in "iu" else ["+", "-"])
    leave = d.pick(["break", "continue", "break", "raise ValueError('found', k)", f"{name} = {name} + 1"])
    lines = [
        f"{name} = {d.pick(['0', a + '[0]', '0', a + '[-1]'])}", f"for k in range({d.choose(9)}):", f"    if {a}[k % {size}] {d.pick(['>', '<', '==', '!='])} {d.pick(['0', '1', '2', '-1.5'])}:",
        f"        {leave}", f"    {name} = {name} {op} {a}[k % {size}]",
    ]  # fmt: skip
    if d.values[a].flags.writeable and d.choose(2):
        lines.append(f"    {a}[{d.pick(['k', '-k', '2 * k', 'k + 1'])} % {size}] {d.pick(['=', '+=', '-='])} {d.pick(['1', 'k', '0', name if kind == 'f' else '2'])}")
    if d.chance(3):
        lines += ["else:", f"    {name} = {name} - 1"]
    return lines


def search(d, name):
    a = d.variable(_line, exact=True)
    if a is None:
        return None
    size = d.values[a].size
    return [
        f"{name} = 0", f"while {name} < {size} and {a}[{name}] {d.pick(['<', '!=', '>='])} {d.pick(['0', '1', '0.5'])}:", f"    {name} += {d.pick(['1', '2'])}",
    ]  # fmt: skip


def branch(d, name):
    """Draw a branch; the values of its sides are sometimes of different kinds."""
    test = d.variable(lambda v: np.size(v) == 1, exact=True)
    a, b = d.variable(), d.variable()
    if test is None or a is None or b is None:
        return None
    return [f"if {test}{d.pick(['', ' > 0', ' == 1', ' != 2'])}:", f"    {name} = {a}", "else:", f"    {name} = {d.pick([b, b, b + ' * 2', '0'])}"]


def attempt(d, name):
    a = d.variable(lambda v: _is_array(v) and v.ndim > 0, exact=True)
    n = d.variable(lambda v: isinstance(v, (int, np.integer)) and not isinstance(v, bool)) or d.pick(["0", "2", "7", "-3"])
    if a is None:
        return None
    return ["try:", f"    {name} = {a}[{n}]", f"except {d.pick(['IndexError', 'LookupError', '(IndexError, ValueError)', 'KeyError'])}:", f"    {name} = {d.pick(['-1', a, '0.5'])}"]


def complain(d, name):
    a = d.variable(_is_array, exact=True)
    return None if a is None else [f"if np.any({a} {d.pick(['>', '==', '<'])} {d.pick(['3', '100', '-4'])}):", f"    raise {d.pick(['ValueError', 'KeyError'])}('{a}', 1)", f"{name} = np.sum({a} == 1)"]


def into(d, name):
    """Draw a ufunc call with ``out=``, sometimes with a mask."""
    a, b = d.variable(_is_array, exact=True), d.variable(exact=True)
    if a is None or b is None:
        return None
    # NumPy itself crashes in a masked comparison with an int that is out of the range of the dtype
    mask = _mask(d, a) if not isinstance(d.values[b], int) or 0 <= d.values[b] < 100 else None
    shape = np.broadcast_shapes(np.shape(d.values[a]), np.shape(d.values[b])) if _fit(d, a, b) else (2,)
    option = f", where={mask}" if mask else d.pick(["", "", ", casting='unsafe'"])
    dtype = d.pick(["'f8'", "'i8'", "'f4'", "bool", "'c16'", "'i1'"])
    return [f"{name} = np.full({shape}, 1, dtype={dtype})", f"np.{d.pick(['add', 'multiply', 'subtract', 'maximum', 'equal', 'logical_and', 'less'])}({a}, {b}, out={name}{option})"]


def _fit(d, a, b):
    try:
        np.broadcast_shapes(np.shape(d.values[a]), np.shape(d.values[b]))
    except ValueError:
        return False
    return True


def masked(d, name):
    """Draw a store through a mask or at indices, some of which are repeated."""
    a = d.variable(lambda v: _is_array(v) and v.ndim > 0 and v.size > 0 and v.flags.writeable, exact=True)
    if a is None:
        return None
    m = _mask(d, a)
    where = m or d.pick([f"{a} > 1", f"{a} == 0", f"{a} != {a}", "[0, -1, 0]", "[[0]]", "..., 0", "::-1", "slice(0, 1)", "[0, 0]"])
    value = d.pick(["1", "0", "-2", "7", f"{a}[0]", "True"])
    return [f"{name} = {a}[0]" if d.choose(2) else f"{name} = np.array({a})", d.pick([f"{a}[{where}] {d.pick(['=', '+=', '*='])} {value}", f"np.add.at({a}, [0, -1, 0], {d.pick(['1', '2'])})",
            f"np.putmask({a}, {a} == 1, 5)", f"np.copyto({a}, 1, where={a} == 0, casting='unsafe')", f"{a}.fill({d.pick(['1', '0'])})", f"{a}.sort()"])]  # fmt: skip


def view(d, name):
    """Draw a view of a view, and a store into it."""
    a = d.variable(lambda v: _is_array(v) and v.ndim > 0 and v.size > 0 and v.flags.writeable, exact=True)
    if a is None:
        return None
    return [f"{name} = {a}{d.pick(['[1:]', '[::-1]', '.T', '[::2]', '.reshape(-1)', '[None]', '[...]', '.ravel()'])}{d.pick(['', '[::-1]', '[:1]', '.T', '.reshape(-1)'])}",
            f"{name} {d.pick(['+=', '*=', '-='])} {d.pick(['1', '2', name, '0'])}"]  # fmt: skip


EXPRESSIONS = [method, with_options, with_options, ordered, chosen, chosen, number, number]
BLOCKS = [loop, loop, search, branch, attempt, complain, into, into, masked, masked, view]

"""One or several calls for every public name of NumPy that computes; the coverage table and its test run them.

A line is ``name: expression | expression``; the arguments are those of :data:`ARGUMENTS`, by name.
"""

import numpy as np

_rng = np.random.default_rng(20)

ARGUMENTS = {
    "a": _rng.normal(size=(4, 5)),
    "b": _rng.normal(size=(4, 5)),
    "p": _rng.uniform(0.1, 0.9, size=(4, 5)),
    "v": _rng.normal(size=5),
    "w": _rng.normal(size=5),
    "i": _rng.integers(-9, 10, size=(4, 5)),
    "j": _rng.integers(1, 10, size=(4, 5)),
    "n": np.array([3, 0, 2, 4, 1]),
    "u": np.array([0, 1, 200, 255, 7, 8, 100], np.uint8),
    "m": _rng.random((4, 5)) < 0.5,
    "r": np.array([True, False, True, True, False]),
    "f": _rng.normal(size=(3, 4)).astype(np.float32),
    "c": _rng.normal(size=4) + 1j * _rng.normal(size=4),
    "d": _rng.normal(size=4) + 1j * _rng.normal(size=4),
    "t": _rng.normal(size=(2, 3, 4)),
    "s": _rng.normal(size=(3, 3)) + 3 * np.eye(3),
    "h": np.array([[4.0, 1, 0], [1, 3, 1], [0, 1, 5]]),
    "e": _rng.normal(size=3),
    "g": np.array([-1.5, -0.5, 0.0, 0.4, 1.5, 2.0]),
    "o": np.array([1.0, np.nan, 3.0, -2.0, np.inf, np.nan]),
    "x": 1.5,
    "k": 3,
    "z": np.float64(0.25),
    "y": np.int32(7),
}

NUMPY = """
abs: np.abs(a) | np.abs(c)
absolute: np.absolute(i)
acos: np.acos(p)
acosh: np.acosh(1 + p)
add: np.add(a, i) | np.add(u, 3) | np.add.reduce(a, axis=1) | np.add.outer(v, n)
all: np.all(m, axis=0) | np.all(a)
allclose: np.allclose(a, a + 1e-12) | np.allclose(a, b, atol=0.5)
amax: np.amax(a, axis=1)
amin: np.amin(a, axis=1)
angle: np.angle(c) | np.angle(c, deg=True) | np.angle(v)
any: np.any(m, axis=1, keepdims=True)
append: np.append(v, w) | np.append(a, b, axis=0) | np.append(v, x)
apply_along_axis: np.apply_along_axis(np.sum, 0, a)
apply_over_axes: np.apply_over_axes(np.sum, t, (0, 2))
arange: np.arange(5) * x | np.arange(0.0, 2.0, 0.25) + x | np.arange(2, 11, 3) + k
arccos: np.arccos(p)
arccosh: np.arccosh(1 + p)
arcsin: np.arcsin(p)
arcsinh: np.arcsinh(a)
arctan: np.arctan(a)
arctan2: np.arctan2(a, b)
arctanh: np.arctanh(p)
argmax: np.argmax(a) | np.argmax(a, axis=1) | np.argmax(o)
argmin: np.argmin(a, axis=0, keepdims=True) | np.argmin(o)
argpartition: np.argpartition(v, 2)[2]
argsort: np.argsort(a, axis=0) | np.argsort(v, kind="stable")
argwhere: np.argwhere(m)
around: np.around(a, 1)
array: np.array([x, 2.0]) | np.array(a) | np.array([v, w])
array_equal: np.array_equal(a, b) | np.array_equal(v, v)
array_equiv: np.array_equiv(a, v)
array_split: [q + 0 for q in np.array_split(v, 3)]
asanyarray: np.asanyarray(a) + 1
asarray: np.asarray(a) + 1 | np.asarray(x)
asarray_chkfinite: np.asarray_chkfinite(a) + 1
ascontiguousarray: np.ascontiguousarray(a.T) + 1
asfortranarray: np.asfortranarray(a) + 1
asin: np.asin(p)
asinh: np.asinh(a)
astype: np.astype(a, np.float32)
atan: np.atan(a)
atan2: np.atan2(a, b)
atanh: np.atanh(p)
atleast_1d: np.atleast_1d(x) + 1
atleast_2d: np.atleast_2d(v) + 1
atleast_3d: np.atleast_3d(v) + 1
average: np.average(a, axis=0) | np.average(a, axis=1, weights=v) | np.average(v, weights=p[0])
bartlett: np.bartlett(5) * v
bincount: np.bincount(n, minlength=8) | np.bincount(n, weights=v, minlength=5) | np.bincount(n)
bitwise_and: np.bitwise_and(i, 7)
bitwise_count: np.bitwise_count(i)
bitwise_invert: np.bitwise_invert(i)
bitwise_left_shift: np.bitwise_left_shift(i, 2)
bitwise_not: np.bitwise_not(m)
bitwise_or: np.bitwise_or(i, 8)
bitwise_right_shift: np.bitwise_right_shift(i, 1)
bitwise_xor: np.bitwise_xor(i, i + 1)
blackman: np.blackman(5) * v
block: np.block([[a, b], [b, a]])
bool: np.bool(x)
bool_: np.bool_(a)
broadcast_arrays: np.broadcast_arrays(a, v)[1] + 1
broadcast_shapes: np.broadcast_shapes((4, 1), (5,))
broadcast_to: np.broadcast_to(v, (4, 5)) + 1
byte: np.byte(3)
c_: np.c_[v, w]
can_cast: np.can_cast(np.int32, np.float32)
cbrt: np.cbrt(a)
cdouble: np.cdouble(x)
ceil: np.ceil(a)
choose: np.choose(n, [v, w, v + 1, w + 1, v * w])
clip: np.clip(a, -0.5, 0.5) | np.clip(i, 0, None) | np.clip(u, 10, 200) | np.clip(a, p - 1, p)
column_stack: np.column_stack((v, w))
common_type: np.common_type(f, a)
complex128: np.complex128(x)
complex64: np.complex64(x)
compress: np.compress([True, False, True], a, axis=0)
concat: np.concat([a, b], axis=1)
concatenate: np.concatenate((a, i)) | np.concatenate((a, b), axis=None)
conj: np.conj(c)
conjugate: np.conjugate(c)
convolve: np.convolve(v, w) | np.convolve(v, e, mode="same") | np.convolve(e, v, mode="valid")
copy: np.copy(a)
copysign: np.copysign(a, b)
corrcoef: np.corrcoef(a)
correlate: np.correlate(v, e) | np.correlate(v, e, mode="full")
cos: np.cos(a)
cosh: np.cosh(a)
count_nonzero: np.count_nonzero(m) | np.count_nonzero(i, axis=0)
cov: np.cov(a) | np.cov(a, rowvar=False, bias=True)
cross: np.cross(t[0, :, :3], s)
csingle: np.csingle(x)
cumprod: np.cumprod(a, axis=0)
cumsum: np.cumsum(a) | np.cumsum(u)
cumulative_prod: np.cumulative_prod(v)
cumulative_sum: np.cumulative_sum(a, axis=1) | np.cumulative_sum(v, include_initial=True)
deg2rad: np.deg2rad(a)
degrees: np.degrees(a)
delete: np.delete(v, 1) | np.delete(a, [0, 2], axis=1)
diag: np.diag(v) | np.diag(s, 1) + 0
diag_indices: np.diag_indices(3)[0] + k
diag_indices_from: np.diag_indices_from(s)[0] + k
diagflat: np.diagflat(v, 1)
diagonal: np.diagonal(s) + 0 | np.diagonal(t, 1, 0, 2) + 0
diff: np.diff(a) | np.diff(a, n=2, axis=0) | np.diff(m)
digitize: np.digitize(a, g) | np.digitize(a, g[::-1], right=True)
divide: np.divide(a, b) | np.divide(i, j)
divmod: np.divmod(i, j) | np.divmod(a, b)
dot: np.dot(a, v)
double: np.double(x)
dsplit: [q + 0 for q in np.dsplit(t, 2)]
dstack: np.dstack((v, w))
dtype: a.astype(np.dtype("f4"))
ediff1d: np.ediff1d(v)
einsum: np.einsum("ij,j->i", a, v)
empty: np.empty(3).shape
empty_like: np.empty_like(a).shape
equal: np.equal(i, j)
exp: np.exp(a)
exp2: np.exp2(a)
expand_dims: np.expand_dims(v, (0, 2)) + 0
expm1: np.expm1(a)
extract: np.extract(r, v)
eye: np.eye(3) * s | np.eye(3, 4, k=1) + f
fabs: np.fabs(a)
finfo: x + np.finfo(np.float64).eps | v * np.finfo(v.dtype).max
fix: np.fix(a)
flatnonzero: np.flatnonzero(r)
flip: np.flip(a) + 0 | np.flip(a, (0, 1)) + 0
fliplr: np.fliplr(a) + 0
flipud: np.flipud(a) + 0
float16: np.float16(x)
float32: np.float32(a)
float64: np.float64(k)
float_power: np.float_power(p, 2)
floor: np.floor(a)
floor_divide: np.floor_divide(i, j) | np.floor_divide(a, b)
fmax: np.fmax(a, b)
fmin: np.fmin(a, b)
fmod: np.fmod(i, j) | np.fmod(a, b)
frexp: np.frexp(a)
fromfunction: np.fromfunction(lambda y, x: y * 10 + x, (3, 4)) + f
fromiter: np.fromiter([x, 2.0], float)
full: np.full((2, 3), x) | np.full(3, k)
full_like: np.full_like(a, x) | np.full_like(i, 3, dtype=float)
gcd: np.gcd(i, j)
geomspace: np.geomspace(1.0, 1000.0, 4) * x | np.geomspace(x, 100.0, 5)
gradient: np.gradient(v) | np.gradient(v, 0.5) | np.gradient(a, axis=1, edge_order=2) | np.gradient(a)
greater: np.greater(a, b)
greater_equal: np.greater_equal(i, 2)
half: np.half(x)
hamming: np.hamming(5) * v
hanning: np.hanning(5) * v
heaviside: np.heaviside(a, 0.5)
histogram: np.histogram(v, bins=4, range=(-2.0, 2.0)) | np.histogram(v, bins=3) | np.histogram(a, bins=g)
histogram2d: np.histogram2d(v, w, bins=3)
histogram_bin_edges: np.histogram_bin_edges(v, bins=4)
histogramdd: np.histogramdd(a, bins=2)
hsplit: [q + 0 for q in np.hsplit(a, [2, 3])]
hstack: np.hstack((v, w)) | np.hstack((a, i))
hypot: np.hypot(a, b)
i0: np.i0(a)
identity: np.identity(3) @ s
iinfo: k + np.iinfo(np.int32).max
imag: np.imag(c) + 0
indices: np.indices((2, 3)) + k
inner: np.inner(v, w)
insert: np.insert(v, 1, x) | np.insert(a, 0, v, axis=0)
int16: np.int16(i)
int32: np.int32(k)
int64: np.int64(a)
int8: np.int8(i)
int_: np.int_(x)
intc: np.intc(k)
interp: np.interp(a, g, np.arange(6.0)) | np.interp(x, g, g * 2)
intersect1d: np.intersect1d(i, j)
intp: np.intp(k)
invert: np.invert(i)
isclose: np.isclose(a, b, atol=0.5) | np.isclose(o, o, equal_nan=True)
iscomplex: np.iscomplex(c)
iscomplexobj: np.iscomplexobj(c)
isdtype: np.isdtype(a.dtype, "real floating")
isfinite: np.isfinite(o)
isfortran: np.isfortran(a)
isin: np.isin(i, n)
isinf: np.isinf(o)
isnan: np.isnan(o)
isneginf: np.isneginf(o)
isposinf: np.isposinf(o)
isreal: np.isreal(c)
isrealobj: np.isrealobj(a)
isscalar: np.isscalar(x)
issubdtype: np.issubdtype(a.dtype, np.floating)
iterable: np.iterable(a)
ix_: a[np.ix_([0, 2], [1, 3])]
kaiser: np.kaiser(5, 14.0) * v
kron: np.kron(v, e) | np.kron(s, f)
lcm: np.lcm(j, 4)
ldexp: np.ldexp(a, 3)
left_shift: np.left_shift(i, 3)
less: np.less(a, b)
less_equal: np.less_equal(a, 0)
lexsort: np.lexsort((v, n))
linspace: np.linspace(0.0, 1.0, 5) * x | np.linspace(0.0, x, 7) | np.linspace(x, 3.0, 4, endpoint=False)
log: np.log(p)
log10: np.log10(p)
log1p: np.log1p(p)
log2: np.log2(p)
logaddexp: np.logaddexp(a, b)
logaddexp2: np.logaddexp2(a, b)
logical_and: np.logical_and(a, m)
logical_not: np.logical_not(a)
logical_or: np.logical_or(m, i)
logical_xor: np.logical_xor(m, i)
logspace: np.logspace(0.0, 2.0, 5) * x | np.logspace(0.0, x, 4)
long: np.long(k)
longlong: np.longlong(k)
mask_indices: np.mask_indices(3, np.triu)[0] + k
matmul: np.matmul(a, v)
matrix_transpose: np.matrix_transpose(a) + 0
matvec: np.matvec(a, v)
max: np.max(a) | np.max(a, axis=(0, 1), keepdims=True) | np.max(a, initial=0.0, axis=0) | np.max(a, where=m, initial=-9.0)
maximum: np.maximum(a, 0) | np.maximum.accumulate(v)
may_share_memory: np.may_share_memory(a, b)
mean: np.mean(a) | np.mean(i, axis=0) | np.mean(a, axis=-1, keepdims=True) | np.mean(a, where=m) | np.mean(f, dtype=np.float64)
median: np.median(a) | np.median(a, axis=0) | np.median(o)
meshgrid: np.meshgrid(v, e) | np.meshgrid(v, e, indexing="ij", sparse=True)
mgrid: np.mgrid[0:3, 0:4] + f
min: np.min(a, axis=0) | np.min(i)
min_scalar_type: np.min_scalar_type(3)
minimum: np.minimum(a, b) | np.minimum.reduce(a, axis=0)
mod: np.mod(i, j) | np.mod(a, 0.3)
modf: np.modf(a)
moveaxis: np.moveaxis(t, 0, -1) + 0
multiply: np.multiply(a, b) | np.multiply.reduce(v) | np.multiply.accumulate(v)
nan_to_num: np.nan_to_num(o) | np.nan_to_num(o, nan=1.0, posinf=9.0)
nanargmax: np.nanargmax(o)
nanargmin: np.nanargmin(o)
nancumprod: np.nancumprod(o)
nancumsum: np.nancumsum(o)
nanmax: np.nanmax(o)
nanmean: np.nanmean(o[:4])
nanmedian: np.nanmedian(o)
nanmin: np.nanmin(o)
nanpercentile: np.nanpercentile(o, 30)
nanprod: np.nanprod(o[:4])
nanquantile: np.nanquantile(o, 0.3)
nanstd: np.nanstd(o[:4])
nansum: np.nansum(o[:4])
nanvar: np.nanvar(o[:4], ddof=1)
ndim: np.ndim(a)
negative: np.negative(a)
nextafter: np.nextafter(a, b)
nonzero: np.nonzero(m)
not_equal: np.not_equal(i, j)
ogrid: np.ogrid[0:3, 0:4][1] + f
ones: np.ones((3, 4)) + f
ones_like: np.ones_like(a) + x
outer: np.outer(v, e)
packbits: np.packbits(m) | np.packbits(m, axis=1, bitorder="little")
pad: np.pad(a, 1) | np.pad(v, (2, 1), mode="edge") | np.pad(v, 3, mode="reflect") | np.pad(a, ((1, 2), (0, 3)), mode="symmetric") | np.pad(v, 4, mode="wrap") | np.pad(a, 2, constant_values=x) | np.pad(v, 2, mode="mean") | np.pad(v, 2, mode="linear_ramp", end_values=1.0)
partition: np.partition(v, 2)[2]
percentile: np.percentile(a, 30) | np.percentile(a, [25, 75], axis=0)
permute_dims: np.permute_dims(t, (2, 0, 1)) + 0
piecewise: np.piecewise(v, [v < 0, v >= 0], [-1.0, 1.0])
polyadd: np.polyadd(v, e)
polyder: np.polyder(v)
polydiv: np.polydiv(v, e)
polyfit: np.polyfit(n, v, 2)
polyint: np.polyint(v)
polymul: np.polymul(v, e)
polysub: np.polysub(v, e)
polyval: np.polyval(v, a) | np.polyval(v, x)
positive: np.positive(a)
pow: np.pow(p, 2.5)
power: np.power(p, 3) | np.power(i, 2)
prod: np.prod(a, axis=0) | np.prod(u)
promote_types: np.promote_types(np.int32, np.float32)
ptp: np.ptp(a, axis=1)
quantile: np.quantile(a, 0.3) | np.quantile(a, 0.5, axis=1) | np.quantile(v, [0.1, 0.9], method="lower")
r_: np.r_[v, w]
rad2deg: np.rad2deg(a)
radians: np.radians(a)
ravel: np.ravel(a) + 0
ravel_multi_index: np.ravel_multi_index((n % 4, n), (4, 5))
real: np.real(c) + 0
real_if_close: np.real_if_close(v)
reciprocal: np.reciprocal(p) | np.reciprocal(j)
remainder: np.remainder(i, j)
repeat: np.repeat(v, 2) | np.repeat(a, 2, axis=0) | np.repeat(v, [1, 2, 0, 1, 1])
reshape: np.reshape(a, (2, 10)) + 0 | np.reshape(a, (10, 2), order="F") + 0
resize: np.resize(v, (2, 4))
result_type: np.result_type(a, f)
right_shift: np.right_shift(i, 1)
rint: np.rint(a)
roll: np.roll(v, 2) | np.roll(a, (1, -1), axis=(0, 1)) | np.roll(v, k)
rollaxis: np.rollaxis(t, 2) + 0
roots: np.roots(e)
rot90: np.rot90(a) + 0 | np.rot90(t, 2, axes=(1, 2)) + 0
round: np.round(a, 2) | np.round(i) | np.round(x, 1)
searchsorted: np.searchsorted(g, a) | np.searchsorted(g, v, side="right") | np.searchsorted(g, x)
select: np.select([v < 0, v < 0.5], [v, w], default=9.0)
setdiff1d: np.setdiff1d(i, j)
setxor1d: np.setxor1d(i, j)
shape: np.shape(a)
shares_memory: np.shares_memory(a, b)
short: np.short(k)
sign: np.sign(a) | np.sign(i) | np.sign(c)
signbit: np.signbit(a)
sin: np.sin(a)
sinc: np.sinc(a)
single: np.single(x)
sinh: np.sinh(a)
size: np.size(a)
sort: np.sort(a) | np.sort(a, axis=None) | np.sort(o) | np.sort(c)
sort_complex: np.sort_complex(c)
spacing: np.spacing(a)
split: [q + 0 for q in np.split(a, [1, 3])]
sqrt: np.sqrt(p)
square: np.square(a)
squeeze: np.squeeze(a[None]) + 0
stack: np.stack((v, w), axis=-1)
std: np.std(a) | np.std(a, axis=0, ddof=1) | np.std(i)
subtract: np.subtract(a, b) | np.subtract.outer(v, w)
sum: np.sum(a) | np.sum(i, axis=1) | np.sum(a, where=m) | np.sum(a, axis=0, initial=3.0) | np.sum(u, dtype=np.int32) | np.sum(m)
swapaxes: np.swapaxes(t, 0, 2) + 0
take: np.take(v, n) | np.take(a, n, axis=1) | np.take(v, n + 3, mode="wrap") | np.take(v, n + 3, mode="clip")
take_along_axis: np.take_along_axis(a, np.argmax(a, axis=1, keepdims=True), axis=1)
tan: np.tan(a)
tanh: np.tanh(a)
tensordot: np.tensordot(a, b, axes=([0], [0]))
tile: np.tile(v, 2) | np.tile(a, (2, 1, 2))
trace: np.trace(s) | np.trace(t, 1, 0, 2)
transpose: np.transpose(t, (1, 0, 2)) + 0
trapezoid: np.trapezoid(v) | np.trapezoid(a, dx=0.5, axis=0) | np.trapezoid(v, g[:5])
tri: np.tri(3, 4, 1) + f
tril: np.tril(s) | np.tril(t, -1)
tril_indices: s[np.tril_indices(3)]
tril_indices_from: s[np.tril_indices_from(s, -1)]
trim_zeros: np.trim_zeros(v)
triu: np.triu(s, 1) | np.triu(v)
triu_indices: s[np.triu_indices(3, 1)]
triu_indices_from: s[np.triu_indices_from(s)]
true_divide: np.true_divide(i, j)
trunc: np.trunc(a)
ubyte: np.ubyte(k)
uint: np.uint(k)
uint16: np.uint16(k)
uint32: np.uint32(j)
uint64: np.uint64(j)
uint8: np.uint8(k)
uintc: np.uintc(k)
uintp: np.uintp(k)
ulong: np.ulong(k)
ulonglong: np.ulonglong(k)
union1d: np.union1d(i, j)
unique: np.unique(i)
unpackbits: np.unpackbits(u) | np.unpackbits(u, bitorder="little")
unravel_index: np.unravel_index(n, (2, 3))
unstack: [q + 0 for q in np.unstack(a)]
unwrap: np.unwrap(g * 3) | np.unwrap(a, axis=0)
ushort: np.ushort(k)
vander: np.vander(v, 3) | np.vander(v, 3, increasing=True)
var: np.var(a) | np.var(a, axis=1, ddof=1) | np.var(c)
vdot: np.vdot(v, w)
vecdot: np.vecdot(a, b)
vecmat: np.vecmat(v, a.T)
vectorize: np.vectorize(lambda q: q * 2)(v)
vsplit: [q + 0 for q in np.vsplit(a, 2)]
vstack: np.vstack((v, w))
where: np.where(m, a, 0.0) | np.where(a > 0, 1, i)
zeros: np.zeros((3, 4)) + f
zeros_like: np.zeros_like(a) + x | np.zeros_like(a, dtype=int) + k
"""

METHODS = """
T: a.T + 0
all: m.all(axis=0)
any: m.any()
argmax: a.argmax(axis=1)
argmin: a.argmin()
argpartition: v.argpartition(2)[2]
argsort: v.argsort()
astype: a.astype("f4") | a.astype(np.int32) | m.astype(float) | i.astype(np.uint8) | a.astype(float, copy=False) + 0
choose: n.choose([v, w, v, w, v])
clip: a.clip(0, 1) | a.clip(max=0.5)
compress: v.compress([True, False, True])
conj: c.conj()
conjugate: c.conjugate()
copy: a.copy()
cumprod: v.cumprod()
cumsum: a.cumsum(axis=0)
diagonal: s.diagonal() + 0
dot: a.dot(v)
dtype: (a.dtype.name, a.dtype.kind, a.dtype.itemsize, a.dtype.type(k), a.dtype == np.float64)
fill: v.fill(0.0)
flat: list(v.flat)
flatten: a.flatten() | a.flatten("F")
imag: c.imag + 0 | a.imag
item: v[0].item() | v.item(2) | a.item(1, 2) | a.item(7)
itemsize: a.itemsize
mT: t.mT + 0
max: a.max() | a.max(axis=0)
mean: a.mean() | a.mean(axis=1)
min: a.min(axis=1, keepdims=True)
nbytes: a.nbytes
ndim: a.ndim
nonzero: m.nonzero()
prod: v.prod()
ravel: a.ravel() + 0 | a.ravel("F") + 0
real: c.real + 0 | a.real + 0
repeat: v.repeat(3)
reshape: a.reshape(5, 4) + 0 | a.reshape((2, -1), order="F") + 0
round: a.round(1)
searchsorted: g.searchsorted(a)
shape: a.shape
size: a.size
squeeze: a[None].squeeze(0) + 0
std: a.std(axis=0)
strides: a.strides
sum: a.sum() | i.sum(axis=0)
swapaxes: a.swapaxes(0, 1) + 0
take: v.take(n)
tolist: v.tolist() | a.sum().tolist()
trace: s.trace()
transpose: t.transpose(2, 0, 1) + 0
var: a.var()
view: v.view(np.int64) + 0
"""

LINALG = """
cholesky: np.linalg.cholesky(h)
cond: np.linalg.cond(s)
cross: np.linalg.cross(e, e * e)
det: np.linalg.det(s)
diagonal: np.linalg.diagonal(s) + 0
eig: np.linalg.eig(h)
eigh: np.linalg.eigh(h)
eigvals: np.linalg.eigvals(h)
eigvalsh: np.linalg.eigvalsh(h)
inv: np.linalg.inv(s)
lstsq: np.linalg.lstsq(a, a[:, 0])
matmul: np.linalg.matmul(a, v)
matrix_norm: np.linalg.matrix_norm(s)
matrix_power: np.linalg.matrix_power(s, 3)
matrix_rank: np.linalg.matrix_rank(s)
matrix_transpose: np.linalg.matrix_transpose(a) + 0
multi_dot: np.linalg.multi_dot([s, s, h])
norm: np.linalg.norm(a) | np.linalg.norm(a, axis=0)
outer: np.linalg.outer(v, e)
pinv: np.linalg.pinv(a)
qr: np.linalg.qr(s)
slogdet: np.linalg.slogdet(s)
solve: np.linalg.solve(s, e)
svd: np.linalg.svd(s)
svdvals: np.linalg.svdvals(s)
tensordot: np.linalg.tensordot(a, b, axes=([0], [0]))
tensorinv: np.linalg.tensorinv(s, ind=1)
tensorsolve: np.linalg.tensorsolve(s, e)
trace: np.linalg.trace(s)
vecdot: np.linalg.vecdot(a, b)
vector_norm: np.linalg.vector_norm(v)
"""

FFT = """
fft: np.fft.fft(v)
fft2: np.fft.fft2(a)
fftfreq: np.fft.fftfreq(8) * x
fftn: np.fft.fftn(t)
fftshift: np.fft.fftshift(v)
hfft: np.fft.hfft(c)
ifft: np.fft.ifft(c)
ifft2: np.fft.ifft2(a)
ifftn: np.fft.ifftn(t)
ifftshift: np.fft.ifftshift(v)
ihfft: np.fft.ihfft(v)
irfft: np.fft.irfft(c)
irfft2: np.fft.irfft2(a)
irfftn: np.fft.irfftn(t)
rfft: np.fft.rfft(v)
rfft2: np.fft.rfft2(a)
rfftfreq: np.fft.rfftfreq(8) * x
rfftn: np.fft.rfftn(t)
"""

RANDOM = """
integers: np.random.default_rng(k).integers(0, 10, 4)
normal: np.random.default_rng(k).normal(size=3)
permutation: np.random.default_rng(k).permutation(5)
random: np.random.default_rng(k).random(3)
shuffle: np.random.default_rng(k).shuffle(v)
standard_normal: np.random.default_rng(k).standard_normal(3)
uniform: np.random.default_rng(k).uniform(0, 1, 3)
choice: np.random.default_rng(k).choice(5, 3)
"""


#: Reasons why names stay in Python or are not covered: reason → names.
_WHY = {
    "a constant": "np.False_ np.True_ np.e np.euler_gamma np.inf np.nan np.newaxis np.pi np.little_endian np.__version__ np.ScalarType np.sctypeDict np.typecodes",
    "a class or a registry of types, which is known": "np.character np.complexfloating np.flexible np.floating np.generic np.inexact np.integer np.ndarray "
    "np.number np.object_ np.record np.recarray np.signedinteger np.unsignedinteger np.ufunc np.void np.bytes_ np.str_ np.flatiter np.matrix np.poly1d",
    "text": "np.array2string np.array_repr np.array_str np.base_repr np.binary_repr np.format_float_positional np.format_float_scientific np.typename np.info "
    "np.get_printoptions np.printoptions np.set_printoptions np.mintypecode",
    "files and buffers": "np.from_dlpack np.frombuffer np.fromfile np.fromregex np.fromstring np.genfromtxt np.load np.loadtxt np.memmap np.save np.savetxt np.savez "
    "np.savez_compressed ndarray.dump ndarray.dumps ndarray.tobytes ndarray.tofile ndarray.data ndarray.ctypes",
    "the installation": "np.get_include np.show_config np.show_runtime np.test np.__array_namespace_info__ np.getbufsize np.setbufsize",
    "the float status: under one that is watched nothing is compiled": "np.geterr np.geterrcall np.seterr np.seterrcall",
    "blocks that ask for nothing to be heard are compiled, others are Python": "np.errstate",
    "dates": "np.busday_count np.busday_offset np.busdaycalendar np.datetime64 np.datetime_as_string np.datetime_data np.is_busday np.isnat np.timedelta64",
    "wider than XLA's numbers": "np.clongdouble np.complex256 np.float128 np.longdouble",
    "another class for the dtype of int64 and uint64": "np.longlong np.ulonglong",
    "matrices, which are no plain arrays": "np.asmatrix np.bmat",
    "a store": "np.copyto np.fill_diagonal np.place np.put np.put_along_axis np.putmask ndarray.fill ndarray.put ndarray.sort ndarray.partition ndarray.setfield "
    "ndarray.byteswap ndarray.resize Generator.shuffle",
    "a view in another dtype": "ndarray.view",
    "how an array lies in memory": "np.isfortran np.may_share_memory np.shares_memory ndarray.base ndarray.flags ndarray.strides ndarray.setflags ndarray.getfield "
    "ndarray.device ndarray.to_device np.require",
    "of a real array it is one that cannot be written to": "ndarray.imag",
    "an iterator": "np.broadcast np.ndenumerate np.ndindex np.nditer np.nested_iters ndarray.flat",
    "it calls functions of its own choice": "np.apply_along_axis np.frompyfunc np.piecewise np.vectorize np.mask_indices",
    "the shape of the result depends on values": "np.nonzero ndarray.nonzero np.unique np.union1d np.intersect1d np.trim_zeros np.unique_all np.unique_counts "
    "np.unique_inverse np.unique_values np.bincount np.argwhere np.flatnonzero np.extract",
    "before NumPy 2.5 the dtype of the result depends on values": "np.linalg.eig np.linalg.eigvals",
    "the dtype of the result depends on values": "np.real_if_close np.roots np.poly",
    "an index expression, or a plan: it is known": "np.index_exp np.s_ np.einsum_path",
    "its checks are no operation of XLA": "np.asarray_chkfinite np.common_type np.fromiter np.mgrid np.histogram2d np.histogramdd",
    "its stream is NumPy's own, and stays there": "Generator.beta Generator.binomial Generator.bit_generator Generator.bytes Generator.chisquare Generator.choice "
    "Generator.dirichlet Generator.exponential Generator.f Generator.gamma Generator.geometric Generator.gumbel Generator.hypergeometric Generator.integers "
    "Generator.laplace Generator.logistic Generator.lognormal Generator.logseries Generator.multinomial Generator.multivariate_hypergeometric "
    "Generator.multivariate_normal Generator.negative_binomial Generator.noncentral_chisquare Generator.noncentral_f Generator.normal Generator.pareto "
    "Generator.permutation Generator.permuted Generator.poisson Generator.power Generator.random Generator.rayleigh Generator.spawn Generator.standard_cauchy "
    "Generator.standard_exponential Generator.standard_gamma Generator.standard_normal Generator.standard_t Generator.triangular Generator.uniform "
    "Generator.vonmises Generator.wald Generator.weibull Generator.zipf",
    "not lowered yet": " ".join(f"np.fft.{name}" for name in np.fft.__all__),
}

#: Names whose entry differs between versions of NumPy.
BY_VERSION = {"np.linalg.eig": "host or Python", "np.linalg.eigvals": "host or Python"}

REASONS = {name: why for why, names in _WHY.items() for name in names.split()}

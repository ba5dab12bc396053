"""The modules functools, itertools, operator, collections, and builtins that take functions."""

PRELUDE = '''\
def add(a, b=10):
    print("add", a, b)
    return a + b


@functools.lru_cache(maxsize=2)
def cached(x):
    print("miss", x)
    return x * 2


def by_tens(a, b):
    return a % 10 - b % 10


class Lazy:
    def __init__(self, v):
        self.v = v

    @functools.cached_property
    def double(self):
        print("lazy")
        return self.v * 2

    part = functools.partialmethod(lambda self, a, b: (self.v, a, b), 1)


Point3 = collections.namedtuple("Point3", "x y z")


'''
EXPRESSIONS = {
    "fn": ("functools.partial(add, $int)", "functools.partial(add, b=$int)", "operator.itemgetter(0)", "operator.add", "functools.cmp_to_key(by_tens)", "str", "lambda x_: -x_", "lambda x_, y_=1: (x_, y_)", "cached", "abs", "bool",
           "operator.neg", "int", "len", "lambda *a_: sum(a_)"),
    "list": ("list(map($fn, $:list))", "sorted($:list, key=functools.cmp_to_key(by_tens))", "list(filter($fn, $:list))", "list(itertools.accumulate($:list, $[operator.add | max | lambda a_, b_: a_ * 2 + b_]))", "list(itertools.chain.from_iterable([$:list, 'ab']))",
             "list(itertools.combinations($:list, 2))", "list(itertools.permutations($:list[:3], 2))", "list(itertools.islice($:list, $n, None))", "list(itertools.islice(itertools.count($int, 2), 3))", "list(itertools.islice(itertools.cycle($:list), 4))",
             "[list(g_) for k_, g_ in itertools.groupby($:list)]", "list(itertools.starmap(operator.sub, zip($:list, [1, 2, 3])))", "list(map(operator.mul, $:list, [2, 3]))", "sorted($:list, key=$fn)", "list(zip($:list, itertools.count()))",
             "list(itertools.filterfalse(lambda x_: x_ % 2, $:list))", "list(itertools.pairwise($:list))", "list(itertools.product($:list[:2], repeat=2))", "list(enumerate($:list, $n))", "list(reversed(range($n)))", "list(itertools.zip_longest($:list, 'ab', fillvalue=$int))",
             "list(itertools.takewhile(lambda x_: x_ < $int, $:list))", "list(itertools.compress('abc', $:list))", "list(itertools.combinations_with_replacement('ab', 2))"),
    "int": ("functools.reduce(operator.add, $:list, $int)", "functools.reduce(lambda a_, b_: a_ - b_, $:list)", "sum(map(abs, $:list))", "max($:list, key=lambda x_: -x_)", "min($:list, default=$int)", "sum($:list, $int)", "cached($n)", "Lazy($int).double", "math.gcd($int, 12)",
            "operator.mul($int, 2)", "operator.length_hint($:list)", "round($float)", "pow($int, 2, 7)", "math.prod($:list)", "int.bit_length($int)", "divmod($int, 7)[1]", "Point3($int, 2, 3).x", "math.isqrt(abs($int))", "id(1) * 0", "hash($int) % 5"),
    "float": ("math.sqrt(abs($float))", "sum([$float, 0.1, 1e16])", "math.fsum([0.1] * $n)", "float(round($float, 1))", "math.floor($float) / 2", "math.copysign(1, $float)", "abs($float)", "max($float, 0.0)", "min(-0.0, $float)", "$float ** 0.5", "$float % 3", "math.hypot($int, 1)"),
    "cond": ("all(map(bool, $:list))", "any($:list)", "operator.contains($:list, $int)", "callable($fn)", "math.isclose($float, 1.0)", "isinstance($int, (bool, float))", "math.isnan($float)", "operator.lt($int, $int)"),
    "tuple": ("Point3(1, $int, 3)", "Point3._make([1, 2, $int])", "divmod($int, 7)", "operator.itemgetter(0, 1)($:list)", "Lazy($int).part($int)", "math.modf($float)", "math.frexp($float)", "Point3(1, 2, 3)._replace(y=$int)", "(1.5).as_integer_ratio()"),
}
KINDS = ("list", "list", "int", "float", "fn", "str")
STATEMENTS = '''
l_ = $list
$block
kept.append(l_)

try:
    kept.append($fn($[$int | $:list | $int, $int | $str]))
except Exception as e_:
    print(type(e_).__name__, e_.args)

try:
    v_ = $[$int | $float | $tuple]
    kept.append(v_)
except (TypeError, ValueError, OverflowError, ZeroDivisionError) as e_:
    print(type(e_).__name__, e_.args)

it_ = $[map | filter]($fn, $:list)
kept.append(next(it_, None))
$block
kept.append(list(it_))

for k_, g_ in itertools.groupby(sorted($:list), key=lambda x: $[x % 2 | x > $int | bool(x)]):
    kept.append((k_, $[list(g_) | sum(g_) | next(g_) | None]))
    $block

for a_, b_ in $[zip($:list, itertools.count($n)) | itertools.product('ab', $:list[:2]) | itertools.combinations($:list[:3], 2) | itertools.pairwise($:list) | enumerate($:list)]:
    $[print(a_, b_) | kept.append(a_) | if b_: break]
    $block

@functools.wraps(add)
def wrap_(*args):
    print('wrap', args)
    return add(*args)
kept.append((wrap_($int), wrap_.__name__, wrap_.__wrapped__ is add))

p_ = functools.partial(add, $int)
kept.append((p_(), p_(b=$int), p_.func is add, p_.args, functools.partial(p_, 2).args))

@functools.lru_cache(maxsize=None)
def memo_(n):
    print('computing', n)
    return n if n < 2 else memo_(n - 1) + memo_(n - 2)
kept.append((memo_($n), memo_($n)))
kept.append(memo_.cache_info().misses)

o_ = Lazy($int)
kept.append((o_.double, o_.double, vars(o_), o_.part(2)))

cached($int)
cached($int)
kept.append(cached.cache_info()[:2])
cached.cache_clear()

c_ = itertools.count($int, $[1 | -1 | 0.5 | $n])
kept.append((next(c_), next(c_), c_))

a_, b_ = itertools.tee($:list)
kept.append((next(a_, 0), list(b_), list(a_)))

r_ = sorted($:list, key=lambda x: (x % 3, -x))
r_.sort(key=$[str | abs | None | lambda x: $int | operator.neg], reverse=$cond)
kept.append(r_)

pt_ = Point3($int, *$[[1, 2] | $:list])
kept.append((pt_._asdict(), pt_ == (1, 1, 2), pt_[1:], pt_._fields))

x_ = $float
kept.append((round(x_, $n), x_ // 1, int(x_), x_ == int(x_)))

kept.append(list(map(lambda a, b: (a, b), $:list, $str)))

print(max($:list, key=$fn), min($:list, $:list, key=len))

print(functools.reduce(lambda acc, x: {**acc, x: len(acc)}, $:list, {}))

s_ = sum((x for x in $:list if $cond), $int)
kept.append(s_)

d_ = dict(map(lambda x: (x, x % 2), $:list))
inv_ = {}
for k_, v_ in d_.items():
    inv_.setdefault(v_, []).append(k_)
kept.append(inv_)

h_ = [x % 50 for x in $:list]
while len(h_) > 1:
    h_.append(h_.pop(0) - h_.pop(0))
    $block
print(h_)
'''

"""Generators and iterators: advanced explicitly, shared, partly consumed, closed, escaping."""

PRELUDE = '''\
def counter(n):
    total = 0
    for i in range(n):
        got = yield i
        if got is not None:
            total += got
    return total


def chained(n):
    result = yield from counter(n)
    yield ("result", result)


def stubborn():
    while True:
        try:
            yield 1
        except ValueError as e:
            yield e.args
        except GeneratorExit:
            print("exit")
            raise


def walk(tree):
    if isinstance(tree, list):
        for part in tree:
            yield from walk(part)
    else:
        yield tree


class Steps:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return self

    def __next__(self):
        if self.n <= 0:
            raise StopIteration
        self.n -= 1
        return self.n


class Boxed:
    def __init__(self, items):
        self.items = items

    def __iter__(self):
        for item in self.items:
            print("item", item)
            yield item

    def __reversed__(self):
        return iter(self.items[::-1])


class Indexed:
    def __getitem__(self, k):
        if k > 3:
            raise IndexError(k)
        return k * 2


'''
EXPRESSIONS = {
    "it": ("counter($int % 5)", "chained($n)", "Steps($n)", "iter($:list)", "(q_ * 2 for q_ in $:list if $cond)", "map(bump, $:list)", "Boxed($:list)", "Indexed()",
           "zip($:list, counter($n))", "enumerate(Steps($n), $int)", "filter(None, $:list)", "reversed($:list)", "itertools.chain($:list, counter($n))",
           "itertools.islice(counter(5), $n)", "itertools.takewhile(lambda q: q < $int, $:list)", "itertools.accumulate($:list)", "walk([1, [$int, [2]], $:list])",
           "itertools.pairwise($:list)", "itertools.zip_longest($:list, Steps($n))", "itertools.product($:list[:2], 'ab')", "itertools.starmap(max, [(1, $int), (2, 0)])",
           "itertools.groupby($:list)", "itertools.tee($:list)[1]", "itertools.compress($:list, [1, 0, $int])", "itertools.dropwhile(bool, $:list)", "itertools.repeat($int, $n)"),
    "list": ("list($it)", "[*$it]", "sorted($it, key=repr)", "[q_ for q_ in $it]", "list(zip($it, $it))"),
    "int": ("sum(1 for _ in $it)", "next(iter($it), -1)", "len(list($it))", "max($it, default=$int, key=repr)"),
    "tuple": ("tuple($it)", "(*$it, $int)"),
    "cond": ("any($it)", "all($it)", "$int in $it"),
}
KINDS = ("int", "int", "list", "list", "tuple")
STATEMENTS = '''
g_ = counter($int % 5)
i_ = next(g_, -1)
$block
kept.append($[list(g_) | next(g_, None) | sum(g_) | g_.send(2) | g_.close()])

g_ = chained($n)
try:
    next(g_)
    kept.append(g_.send($int))
    $block
    kept.append($[g_.throw(ValueError(1)) | g_.throw(StopIteration) | list(g_) | g_.close()])
except $[ValueError | StopIteration | Exception] as e_:
    print(type(e_).__name__, e_.args)

g_ = stubborn()
next(g_)
try:
    print(g_.throw(ValueError($int)), next(g_))
    $[g_.close() | del g_ | kept.append(g_.throw($[KeyError | TypeError('x')])) | pass]
except Exception as e_:
    print(repr(e_))

for i_ in $it:
    $block

for i_ in $it:
    if $cond:
        $[break | continue | return i_]
    $block
else:
    print('else')

it_ = iter($it)
for x_ in it_:
    kept.append((x_, next(it_, 'end')))
    $block

l_ = $[list($it) | sorted($it, key=str) | [*$it, *$it] | [x for x in $it for y in $it]]

def gen_(k):
    try:
        $yields
        yield k
        x = yield $int
        print('got', x)
        $[yield x | return x | raise ValueError(k) | yield from range(2)]
    $[finally | except ValueError]:
        print('cleanup', k)
g_ = gen_($int)
i_ = $[next(g_) | sum(x for x in g_ if type(x) is int) | len([*g_])]
$block
$[kept.append(g_) | g_.close() | kept.append(list(g_)) | del g_ | kept.append(next(g_, 0))]

def gen_():
    for a in $:list:
        if a $[> | == | <] $int:
            $[return | continue | break | yield -a]
        yield a
    else:
        yield 'all'
l_ = list(gen_())
l_ += gen_()

a_, *rest_ = $it
kept.append(rest_)

a_, b_ = $it
print(a_)

def outer_():
    r = yield from $[counter($n) | stubborn() | gen2_() | [1, 2] | Boxed([3])]
    print('r', r)
    return r
def gen2_():
    try:
        yield 1
        yield 2
    finally:
        kept.append('fin')
    return 'ret'
g_ = outer_()
kept.append(next(g_))
try:
    kept.append($[next(g_) | g_.send(None) | g_.send(1) | g_.throw(KeyError('k')) | g_.close()])
except (KeyError, StopIteration) as e_:
    print(repr(e_), getattr(e_, 'value', None))
except AttributeError as e_:
    print(e_.name)

s_ = Steps($n)
kept.append([list(s_), list(s_), s_.n])

pairs_ = list(zip(s2_ := iter($:list), s2_))
kept.append(pairs_)

x_, y_ = itertools.tee($it)
next(x_, None)
kept.append([*y_])
kept.append([*x_])

for k_, group_ in itertools.groupby($list, key=lambda q: $[q % 2 | q > $int | str(q)]):
    kept.append((k_, list(group_)))

kept.append((x for x in $it))

kept.append($it)

l_ = []
for i_, x_ in enumerate($:list):
    if len($:list) < 6:
        $[$:list.append(x_) | l_.append(x_) | $:list.pop() | del $:list[0] | $:list.insert(0, 1)]

d_ = dict.fromkeys($it)
try:
    for k_ in d_:
        $[d_[0] = 1 | del d_[k_] | d_['new'] = 2 | d_[k_] = 3 | d_.pop(k_)]
except RuntimeError as e_:
    print(e_.args)

def lazy_():
    print('start')
    yield from (q for q in $:list)
    print('end')
g_ = lazy_()
i_ = functools.reduce(lambda a, b: a + b, g_, $int)

if (first_ := next((q for q in $:list if $cond), None)) is not None:
    kept.append(first_)
'''

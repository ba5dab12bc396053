"""Closures and state: cells, late binding, defaults, globals, deleted variables, recursion, kinds of calls; and decorators."""

PRELUDE = '''\
def make_counter(start=0):
    count = start

    def step(by=1):
        nonlocal count
        count += by
        return count

    def peek():
        return count
    return step, peek


def remember(x, seen=[]):
    seen.append(x)
    return len(seen), seen


def show(*args, sep="-", **kwargs):
    print(*args, sep=sep)
    return len(args), sorted(kwargs.items())


def strict(a, b, /, c, *, d=4):
    return a, b, c, d


def set_global(x):
    global G
    G = x
    return G


def traced(fn):
    @functools.wraps(fn)
    def inner(*args, **kwargs):
        print("call", fn.__name__, args, kwargs)
        return fn(*args, **kwargs)
    return inner


def repeat(n):
    def decorate(fn):
        def inner(*args):
            return [fn(*args) for _ in range(n)]
        return inner
    return decorate


@traced
def fact(n):
    return 1 if n <= 1 else n * fact(n - 1)


@functools.lru_cache(maxsize=None)
def fib(n):
    LOG.append(n)
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def compose(*fs):
    return functools.reduce(lambda f, g: lambda x: g(f(x)), fs, lambda x: x)


'''
EXPRESSIONS = {
    "fn": ("(lambda q_: q_ + $int)", "(lambda *a_, **k_: (a_, k_))", "functools.partial(strict, $int, d=$int)", "traced(bump)", "repeat(2)(loud)", "compose(bump, str)", "make_counter($int)[0]",
           "operator.itemgetter(0)", "functools.partial(show, sep=$str)", "operator.attrgetter('real')", "operator.methodcaller('upper')"),
    "int": ("(lambda: $int)()", "fact($int % 5)", "fib($n)", "make_counter($int)[1]()", "(lambda a_, b_=$int: a_ - b_)($int)", "G", "functools.reduce(operator.add, $list, 0)"),
    "list": ("[f_(1) for f_ in [lambda x, k=k: x + k for k in range($n)]]", "[f_() for f_ in [lambda: k for k in range($n)]]", "list(map($:fn, $list))", "sorted($list, key=$:fn)", "remember($int)[1]"),
    "tuple": ("strict($int, 2, c=$int)", "show($int, *$list, a=1, **TABLE)", "($int, *$tuple)"),
    "cond": ("(w_ := $int) > 2 and w_ != $int", "0 <= $int < $int", "any(map($:fn, $list))", "$int == G"),
}
KINDS = ("int", "int", "list", "fn", "fn", "str", "dict")
CHANGES = '''
G = 50

TABLE['a'] = 9

bump = lambda x: x - 1

def loud(x): return 'quiet'

TABLE = {'z': 1}

make_counter.__defaults__ = (5,)

LOG.append(1); G += 1

strict = show

falsy = bump; G = 'text'

show.__kwdefaults__ = {'sep': '+'}

del TABLE['x']

abs = lambda x: 'shadowed'

bump.__code__ = falsy.__code__
'''
STATEMENTS = '''
step_, peek_ = make_counter($int)
i_ = step_($int) + step_()
$block
kept.append((i_, peek_(), step_.__name__))

def outer_(a):
    total = a
    def add(x):
        nonlocal total
        total += x
        $[return total | return add | print(total)]
    $body
    add($int)
    add(2)
    return $[total | add | (add, lambda: total)]
r_ = outer_($int)
kept.append(r_)

fs_ = []
for k_ in range($n):
    fs_.append($[lambda: k_ | lambda k=k_: k | lambda x=1: (x, k_)])
    $block
kept.append([f() for f in fs_])

def default_(x, acc=[], *, opt={}):
    acc.append(x)
    opt[x] = len(acc)
    return acc, opt
default_($int)
kept.append(default_($int))
kept.append(default_.__defaults__)

kept.append(remember($int))

global G
G = $int
print(G, set_global($int), G)

kept.append((set_global($int), G))

global G
G $[+= | -= | *=] $int
$block
kept.append(G)

TABLE[$str] = $int
LOG.append($:name)
kept.append((len(TABLE), LOG))

try:
    kept.append($[strict($int) | strict(1, 2, 3, d=$int) | strict(1, b=2, c=3) | show($:name, sep='/') | strict(*$list, c=1) | strict(*$list[:2], **$dict) | show(**$dict) | show(sep=1) | bump() | bump(1, 2)])
except TypeError as e_:
    print(e_.args)

x_ = $int
def read_():
    return x_
$[del x_ | x_ = 5 | x_ += 1 | pass]
try:
    print(read_())
except NameError as e_:
    print(type(e_).__name__, e_.args)

def late_():
    return later_ + $int
try:
    print(late_())
except NameError as e_:
    print(e_.args)
later_ = $int
print(late_())

if $cond:
    maybe_ = $int
try:
    print(maybe_)
except UnboundLocalError as e_:
    print(e_.args)

@traced
def deco_(a, b=$int):
    $body
    return a
kept.append((deco_($int), deco_(a=1), deco_.__name__))

@repeat($n)
def rep_(a):
    print('rep', a)
    return a
kept.append(rep_($int))

def rec_(n, acc=()):
    if n <= 0:
        return acc
    $body
    return rec_(n - 1, (*acc, n))
kept.append(rec_($int % 4))

def even_(n):
    return True if n <= 0 else odd_(n - 1)
def odd_(n):
    return False if n <= 0 else even_(n - 1)
print(even_($int % 6))

i_ = $:fn($int)
print(type(i_).__name__)

try:
    v_ = $:fn($:name)
    kept.append(v_)
except Exception as e_:
    print(type(e_).__name__, e_.args)

if (m_ := $int) > $n and (k_ := m_ * 2):
    print(m_, k_)
    $block

fn_ = $fn
kept.append([fn_(i) for i in range($n)] if fn_ is not None else 0)

p_ = functools.partial(show, $int, k=$:name)
print(p_(1), p_.args, p_.keywords)

try:
    print(len($:name), abs($int), max($list))
except (TypeError, ValueError) as e_:
    print(e_.args)

def shadow_(len=$fn, sum=sum):
    print = LOG.append
    print($int)
    return len($:list), sum([1, 2])
try:
    kept.append(shadow_())
except Exception as e_:
    LOG.append(type(e_))

def varied_(a, b=2, *args, c, d=4, **kw):
    $[a, b = b, a | kw['new'] = a | args += (1,) | c = args]
    return a, b, args, c, d, kw
kept.append($[varied_($int, c=$int) | varied_(1, 2, 3, c=$int, e=5) | varied_(*$list, 7, c=1, **{'z': $int})])

class State_:
    value = $int
    def method(self):
        value = 1
        def inner():
            nonlocal value
            value += self.value
            return value
        return inner(), value, __class__.__name__
kept.append(State_().method())

kept.append(eval('$n + G'))

l_ = [(lambda v: lambda: v)(x) for x in $list]
kept.append([f() for f in l_])

exec('kept.append(1)')

kept.append(sorted(locals()) if $cond else 0)

fact_ = lambda n: 1 if n < 2 else n * fact_(n - 1)
print(fact_($n))
'''

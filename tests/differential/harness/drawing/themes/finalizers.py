"""Finalizers, weak reference callbacks and gc callbacks that write to state that the program reads: globals, functions, classes, dicts, cells."""

#: They write to state that `specialize` treats as constant: these programs are for `jit` only, with a change between the calls.
MUTATED = True
#: First and last statement of `f`: finalizers act only in between, since remaining parts of the arguments are finalized when the test releases them.
FIRST, LAST = "RUNS.append(1)", "RUNS.clear()"
#: Without const: known values are kept alive by the residual.
HOW = ("type", "Any", "partial")
KINDS = ("list", "dict", "list", "int")
VALUES = {
    "list": ["[Writes(1), Writes(2)]", "[watched(1), 3, watched(2)]", "[[Writes(3)], Writes(4)]", "[]", "[1, 2, Writes(5)]"],
    "dict": ["{'a': Writes(1), 'b': 2}", "{'a': watched(1)}", "{'a': [Writes(2)], 'k': Writes(3)}", "{'a': 1}"],
}
PRELUDE = '''\
import gc
import weakref

G = 0
RUNS = []
TABLE = {'n': 0}
REFS = []


class Rule:
    n = 0

    def __init__(self, k=0):
        self.k = k

    def at(self):
        return self.n + self.k


def plain():
    return G


def other():
    return -G


read = plain


def written(n, *_):
    global G, read
    if not RUNS:
        return
    G += n
    TABLE['n'] = G
    Rule.n += n
    read = other if read is plain else plain


class Writes:
    def __init__(self, n):
        self.n = n

    def __del__(self):
        written(self.n)


class Seen:
    pass


class Holder:
    def __init__(self, x):
        self.x = x

    def give(self):
        x, self.x = self.x, None
        return x


class Slot:
    __slots__ = ('x',)


def watched(n):
    seen = Seen()
    REFS.append(weakref.ref(seen, lambda _: written(n)))
    return seen


def told():
    return G, TABLE['n'], Rule(1).at(), read()


'''
CHANGES = '''
G = 50

TABLE['n'] = 9

Rule.n = 7

def other(): return 'quiet'

read = other

Rule.at = lambda self: 'changed'

TABLE = {'n': 'new'}

Writes.__del__ = lambda self: written(100)

def told(): return read()
'''
STATEMENTS = '''
kept.append(told())
$:list$[.clear() | [:] = [] | [:1] = [0, 1] | *= 0 | .append(Writes(7)) | .reverse()]
kept.append(told())

print(G)
$:dict$[.clear() | ['a'] = 1 | .update(a=2) | .pop('a', None) | .setdefault('z', Writes(8)) | ['z'] = Writes(9)]
print(read())

kept.append(G)
if $:list:
    $:list.pop()
kept.append(G)

if $:list:
    x_ = $:list.pop()
    print(told())
    $block
    $[x_ = None | del x_ | x_ = 3 | x_ = [x_]; x_ = 0]
kept.append(told())

h_ = Holder(Writes($n))
print(told())
$[h_.x = 1 | del h_.x | h_ = None | h_.give() | x_ = h_.give(); h_ = 0; print(G); x_ = 0]
print(told())

h_ = Holder($[Writes(1) | watched(2) | [Writes(3), Writes(4)] | $:list])
print(TABLE['n'])
$[h_.x = 1 | h_.give() | x_ = h_.give(); print(G); x_ = 0 | h_.y = Writes(1); h_.y = 2 | h_.__dict__['x'] = 0]
print(TABLE['n'], G)

s_ = Slot()
s_.x = $[Writes(2) | watched(3) | [Writes(4)]]
print(told())
$[s_.x = 0 | del s_.x | s_ = None]
print(told())

def helper_(x):
    y = $[Writes(5) | watched(6)]
    kept.append(G)
    return x
print(helper_(read()), read())

kept.append(told())
watched($n)
kept.append(told())

def gen_():
    x = Writes(1)
    yield read()
    yield read()
    $[x = None | pass]
    yield read()
for v_ in gen_():
    print(v_, read())
    $[pass | if $cond: break]
print(told())

l_ = [Writes(1), watched(2), 3]
d_ = {'k': Writes(3)}
for k_ in range(3):
    l_[k_] = k_
    kept.append(G)
d_['k'] = $[0 | Writes(4)]
kept.append(told())

for k_ in range($n):
    $:dict['a'] = $[k_ | Writes(k_)]
    print(read())

n_ = 0
def count_(*_):
    nonlocal n_
    n_ += 1
class Counted:
    def __del__(self):
        count_()
l_ = [Counted()]
print(n_)
$[l_.clear() | l_ = [] | l_[0] = 1 | l_ += [2]]
print(n_)

gc.callbacks.append(written_ := lambda phase, info: written(1))
print(G > 0, Rule.n)
gc.collect()
gc.callbacks.remove(written_)
print(told())

r_ = Rule($n)
print(r_.at())
$:list$[[:] = [r_] | .clear() | .insert(0, Writes(1))]
$:dict['a'] = r_
print(r_.at(), told())

x_ = Writes($n) if $cond else 1
$block
x_ = 0
print(told())

t_ = (Writes(1), watched(2))
print(told())
$[t_ = 0 | x_, y_ = t_; t_ = 0; print(G); x_ = y_ = 0]
print(told())
'''

"""Finalizers: the output when an object is freed, and its time."""

PRELUDE = '''\
class Dies:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        print("del", self.name)


class Holder:
    def __init__(self, *held):
        self.held = held

    def take(self):
        held, self.held = self.held, ()
        return held


def open_one(name):
    print("open", name)
    d = Dies(name)
    return name


def give(name):
    return Dies(name)


def gen(name):
    d = Dies(name)
    try:
        yield d.name
        yield 2
    finally:
        print("gen end", name)


'''
STATEMENTS = '''
x_ = Dies('$n')
$block
$[del x_ | x_ = None | x_ = Dies('other') | pass]
print('after')

open_one($str)
print('opened')

give('g')
print('gave')

kept.append(give($str))
$[kept.pop() | kept.clear() | pass | del kept[-1]]
print('popped')

h_ = Holder(Dies('a'), Dies('b'))
$[h_.take() | t = h_.take() | h_.held = () | del h_.held | del h_]
print('taken')

for x_ in [give('f'), give('s')]:
    print(x_.name)
    $[break | pass | x_ = None | continue]
print('loop over')

g_ = gen('n')
next(g_)
$block
$[del g_ | g_ = 1 | g_.close() | pass]
print('gen gone')

for v_ in gen('loop'):
    $[break | print(v_) | if $cond: break]
print('for gone')

try:
    d_ = Dies('try')
    $[raise ValueError(1) | print(d_.name) | del d_ | 1 // $int]
except (ValueError, ZeroDivisionError) as e_:
    print('caught')
print('left')

def inner_(k):
    d = Dies(k)
    $[return d.name | return d | raise KeyError(k) | yield d.name | return lambda: d]
try:
    r_ = inner_('i')
    print('returned')
    r_ = None
except KeyError:
    print('raised')
print('inner done')

if $cond:
    y_ = Dies('branch')
    $block
y_ = 0
print('joined')

Dies('temp').name
print(Dies('arg').name, 'printed')

d_ = {'k': Dies('old')}
d_['k'] = $[Dies('new') | 1]
$[del d_ | d_.pop('k') | d_.clear()]
print('dict done')

l_ = [Dies(str(i)) for i in range($n)]
l_[:1] = []
print(len(l_))
del l_

a_ = b_ = Dies('shared')
a_ = None
print('one')
b_ = $int
print('two')
'''

"""Processes that fork in the middle of their work: the state of the child must be right, and the parent continues unaffected."""

PRELUDE = '''\
import os
import pickle
import signal

G = 3
TABLE = {'a': 1, 'b': [2, 3]}


class Counter:
    made = 0

    def __init__(self, n=0):
        Counter.made += 1
        self.n = n

    def up(self, k=1):
        self.n += k
        return self.n


def fork():
    """As os.fork; a child that hangs is ended."""
    child = os.fork()
    if not child:
        signal.alarm(60)
    return child


def wait(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def code(*values):
    """What an exit status has room for of it."""
    total = 0
    for value in values:
        for c in repr(value).partition(' at 0x')[0]:
            total = (total * 31 + ord(c)) % 251
    return total


def leave(*values):
    """End the child."""
    status = 252
    try:
        status = code(*values)
    finally:
        os._exit(status)


def forked(fn, *args):
    """What a child gives, or what it raises."""
    end, mine = os.pipe()
    child = fork()
    if not child:
        found = 'nothing'
        try:
            found = fn(*args)
        except BaseException as error:
            found = type(error).__name__, error.args
        finally:
            try:
                os.write(mine, repr(found).partition(' at 0x')[0].encode())
            finally:
                os._exit(0)
    os.close(mine)
    with open(end, 'rb') as file:
        found = file.read().decode()
    return wait(child), found


def worked(n, xs=()):
    total = G
    for k in range(n):
        total += k * G
    return total, [x for x in xs if x], Counter.made


def later(n):
    try:
        for k in range(n):
            yield k + G
    finally:
        TABLE['b'].append(n)


'''
CHANGES = '''
G = 50

TABLE = {'b': [], 'a': None}

Counter.up = lambda self, k=1: 'changed'

def worked(n, xs=()): return G, xs

def code(*values): return len(repr(values)) % 200
'''
EXPRESSIONS = {"cond": ("Counter.made > $n", "TABLE['b']", "G % 2")}
STATEMENTS = '''
i_ = $int
l_ = [i_, $int]
p_ = fork()
if not p_:
    try:
        $block
        l_.append(G)
    except Exception as e_:
        l_.append(type(e_).__name__)
    finally:
        leave(i_, l_, G, TABLE)
print(wait(p_), l_)

print(forked(worked, $n, $list), G)

print(forked(lambda: ($int, $list, G, TABLE)))

c_ = Counter($int)
c_.up($n)
v_ = forked(c_.up, $int)
kept.append((v_, c_.n, Counter.made))

def inner_(k):
    nonlocal kept
    kept = [*kept, k]
    $[raise ValueError(kept) | return kept | return k // $int | TABLE['a'] = k; return TABLE]
print(forked(inner_, $int))
$[inner_(1) | print(kept) | kept.append(TABLE)]

g_ = later($n + 1)
print(next(g_))
v_ = forked(list, g_)
print(v_, $[list(g_) | next(g_, None) | g_.close()])
print(TABLE)

for k_ in range($n):
    p_ = os.fork()
    if not p_:
        leave(k_, G)
    kept.append(wait(p_))
    $[pass | if $cond: break | if $cond: continue]

d_ = {'k': $int, 'l': $list}
p_ = fork()
try:
    if not p_:
        d_['k'] = $[0 | G | worked(3)]
        $[raise ValueError | pass | 1 // 0]
finally:
    if not p_:
        leave(d_)
    d_['k'] = wait(p_)
print(d_)

with contextlib.suppress(ValueError):
    $block
    print(forked($fn, $int))
    $[raise ValueError(G) | pass]

def recur_(n):
    return forked(recur_, n - 1) if n else (G, $int)
print(recur_($[0 | 1 | 2]))

p_ = [fork() for _ in range(2)] if $cond else [fork()]
if not all(p_):
    leave(p_.count(0), G)
kept.append([wait(c) for c in p_])
'''

"""Threads that change state that the program reads, one after the other or in turns, so that CPython defines the right outcome."""

#: They write to state that `specialize` treats as constant: these programs are for `jit` only, with a change between the calls.
MUTATED = True
HOW = ("type", "Any", "partial")
KINDS = ("int", "int", "list", "dict", "str")
PRELUDE = '''\
import concurrent.futures
import queue
import threading

G = 0
STOP = False
TABLE = {'n': 0}
SEEN = []
LOCK = threading.RLock()


class Local(threading.local):
    n = 'main'


LOCAL = Local()


class Rule:
    n = 0
    log = ()

    def at(self):
        return self.n + G


RULE = Rule()


def plain():
    return G


def other():
    return -G


read = plain


def write(n=1):
    global G, STOP, read
    with LOCK:
        G += n
        STOP = G > 3
        TABLE['n'] = G
        Rule.n += n
        RULE.own = n
        SEEN.append(n)
        read = other if read is plain else plain
    return G


def fails(n):
    write(n)
    raise ValueError(n)


def elsewhere(fn, *args):
    """Let a thread of its own call it."""
    found = []
    def run():
        try:
            found.append(fn(*args))
        except Exception as error:
            found.append((type(error).__name__, error.args))
    thread = threading.Thread(target=run)
    thread.start()
    thread.join(60)
    return found[0]


class Turns:
    """Two threads in turns: the other one takes a step whenever this one asks."""
    def __init__(self, step):
        self.step, self.mine, self.theirs, self.more = step, threading.Semaphore(0), threading.Semaphore(0), True
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while self.theirs.acquire(timeout=60) and self.more:
            try:
                self.step()
            except Exception as error:
                SEEN.append(type(error).__name__)
            self.mine.release()

    def turn(self):
        self.theirs.release()
        return self.mine.acquire(timeout=60)

    def __enter__(self):
        return self

    def __exit__(self, *info):
        self.more = False
        self.theirs.release()
        self.thread.join(60)


def told():
    return G, STOP, TABLE['n'], RULE.at(), read(), len(SEEN), LOCAL.n


'''
CHANGES = '''
G = 50

STOP = 'no'

TABLE = {'n': 'new'}

Rule.n = 7

def other(): return 'quiet'

read = other

Rule.at = lambda self: self.n

def write(n=1): TABLE['n'] += n; Rule.log += (n,); return n

def told(): return read(), Rule.log
'''
EXPRESSIONS = {"cond": ("STOP", "G % 2", "not SEEN", "RULE.at() > 3", "TABLE['n'] > $int", "read() < 0")}
STATEMENTS = '''
kept.append(told())
$[elsewhere(write, $n) | v_ = elsewhere(write); print(v_, G)]
kept.append(told())

print(G)
t_ = threading.Thread(target=write, args=($n,))
t_.start()
t_.join()
print(read(), TABLE['n'], RULE.at())

with Turns($[write | lambda: write(2)]) as turns_:
    k_ = 0
    while not $[STOP | G > 4 | TABLE['n'] > 3 | Rule.n > 9 | len(SEEN) > 5]:
        k_ += 1
        $[turns_.turn() | if k_ % 2: turns_.turn() | print(G); turns_.turn()]
        if k_ > 12:
            break
print(k_, told())

n_ = 0
def count_():
    nonlocal n_
    n_ += $[1 | $int | G]
    $[kept.append(n_) | return n_ | global G; G += 1]
with Turns(count_) as turns_:
    print(n_)
    for _ in range($n):
        turns_.turn()
        $[print(n_) | kept.append((n_, G)) | if $cond: break]
    $block
    turns_.turn()
print(n_, told())

def gen_(turns):
    k = 0
    try:
        while not STOP and k < 5:
            turns.turn()
            yield k, G, read()
            k += 1
    finally:
        print('closed', G)
with Turns(write) as turns_:
    for v_ in gen_(turns_):
        print(v_)
        $[pass | if $cond: break | turns_.turn()]
print(told())

with LOCK:
    $:list$[.append(G) | [:] = [G] | .clear()]
    $[pass | raise ValueError(G) | $:dict['a'] = G]
elsewhere(write, $n)
print(told())

try:
    with Turns($[write | SEEN.clear]) as turns_:
        turns_.turn()
        $block
        $[raise KeyError(G) | print(read()) | turns_.turn()]
except KeyError as e_:
    print(e_.args, told())

with concurrent.futures.ThreadPoolExecutor(1) as pool_:
    f_ = pool_.submit($[write, $n | fails, $n | lambda: $int | abs, $int])
    try:
        print(f_.result(60), G)
    except Exception as e_:
        print(type(e_).__name__, e_.args, G)
    print(list(pool_.map(write, $list)) if $cond else told())
print(told())

def local_(x):
    LOCAL.n = x
    return LOCAL.n, read()
print(LOCAL.n, elsewhere(local_, $int), LOCAL.n)

o_ = Rule()
o_.n = $int
def change_():
    o_.n = $int
    $[RULE.own = 5 | pass | Rule.n = 3]
print(o_.at(), $[elsewhere(o_.at) | elsewhere(write) | o_.n], o_.at())

$:list.append($int)
elsewhere($:list.$[clear | reverse | sort])
print(len($:list))

e_ = threading.Event()
t_ = threading.Thread(target=lambda: (write($n), e_.set()))
t_.start()
k_ = 0
while not e_.is_set():
    k_ += 1
t_.join()
print(told())

q_ = queue.Queue()
with Turns(lambda: q_.put(write())) as turns_:
    turns_.turn()
    kept.append(q_.get(timeout=60))
    $[turns_.turn(); kept.append(q_.get(timeout=60)) | pass | print(q_.empty())]
kept.append(told())

def again_(k):
    write(k)
    return G, read(), k and elsewhere(again_, k - 1)
print(again_($[0 | 1 | 2]), G)
'''

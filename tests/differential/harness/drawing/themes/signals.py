"""Signal handlers that write to state that the program reads, or raise; signals are sent at fixed places, so that CPython defines the right outcome."""

#: They write to state that `specialize` treats as constant: these programs are for `jit` only, with a change between the calls.
MUTATED = True
FIRST, LAST = "arm(SENT)", "signal.signal(signal.SIGUSR1, signal.SIG_IGN)"
HOW = ("type", "Any", "partial")
KINDS = ("int", "int", "list", "dict", "str")
PRELUDE = '''\
import os
import signal

G = 0
STOP = False
SENT = 0
TABLE = {'n': 0}
SEEN = []


class Alarm(BaseException):
    pass


class Late(ValueError):
    pass


class Stop(KeyboardInterrupt):
    pass


class Flag:
    up = False
    count = 0

    def __init__(self):
        self.own = 0


FLAG = Flag()


def arm(n):
    global SENT, STOP
    SENT, STOP, Flag.up = n, False, False
    signal.signal(signal.SIGUSR1, counts)
    signal.signal(signal.SIGUSR2, raises)


def plain():
    return G


def other():
    return -G


read = plain


def counts(signum, frame):
    global G, STOP, SENT, read
    G += 1
    SENT += 1
    STOP = SENT > 2
    TABLE['n'] = G
    Flag.up = STOP
    Flag.count += 1
    FLAG.own += 2
    SEEN.append(G)
    read = other if read is plain else plain


def raises(signum, frame):
    global G, SENT
    G += 10
    SENT += 1
    raise (Late, Alarm, Stop, KeyError)[SENT % 4](SENT)


def send(signum=signal.SIGUSR1):
    signal.raise_signal(signum)


def sends(signum):
    os.kill(os.getpid(), signum)
    return G


class Sends:
    def __init__(self, signum=signal.SIGUSR1):
        self.signum = signum

    def __enter__(self):
        send(self.signum)
        return G

    def __exit__(self, kind, error, trace):
        send()
        return kind is not None and issubclass(kind, (Alarm, Late))

    def __iter__(self):
        for k in range(4):
            send(self.signum) if k == 2 else send()
            yield G


def told():
    return G, STOP, TABLE['n'], Flag.up, Flag.count, FLAG.own, read(), len(SEEN)


'''
CHANGES = '''
G = 50

SENT = 1

SENT = 3

TABLE = {'n': 'new'}

Flag.count = 100

def other(): return 'quiet'

read = other

def counts(signum, frame): Flag.count -= 1; SENT = 0; TABLE['n'] = 7

def send(signum=signal.SIGUSR2): signal.raise_signal(signum)

def told(): return read(), G
'''
EXPRESSIONS = {"cond": ("STOP", "Flag.up", "not SEEN", "G % 2", "TABLE['n'] > G", "FLAG.own > $int", "read() < 0", "SENT > 1")}
STATEMENTS = '''
kept.append(told())
$[send() | sends(signal.SIGUSR1) | signal.raise_signal(signal.SIGUSR1) | sends(signal.SIGUSR1); send()]
kept.append(told())

print(G, STOP)
i_ = $int
$[send() | sends(signal.SIGUSR1) | signal.raise_signal(signal.SIGUSR1)]
print(read(), TABLE['n'], i_)

try:
    i_ = 1
    $block
    i_ = 2
    $[send(signal.SIGUSR2) | sends(signal.SIGUSR2) | signal.raise_signal(signal.SIGUSR2) | send() | Sends(signal.SIGUSR2).__enter__()]
    i_ = 3
except $[Late | Alarm | (Late, Alarm) | BaseException | KeyboardInterrupt | Exception] as e_:
    print(type(e_).__name__, e_.args, i_)
    kept.append(told())

try:
    $[send(signal.SIGUSR2) | send() | sends(signal.SIGUSR2)]
except BaseException as e_:
    kept.append(type(e_).__name__)
    $[raise | raise ValueError(G) from e_ | pass | return told() | send(signal.SIGUSR2) | send()]
finally:
    kept.append(told())
    $[pass | send() | STOP_ = STOP; print(STOP_)]

k_ = 0
while not $[STOP | Flag.up | TABLE['n'] > 60 | SENT > 2 | len(SEEN) > 2]:
    k_ += 1
    $[send() | sends(signal.SIGUSR1) | if k_ % 2: send()]
    if k_ > 9:
        break
print(k_, told())

i_ = 0
try:
    for i_ in range($n + 1):
        $[send() | if i_ == 1: send(signal.SIGUSR2) | if $cond: send(signal.SIGUSR2) | if STOP: send(signal.SIGUSR2)]
        $[kept.append(i_) | pass | if $cond: continue]
except $[Late | Alarm | BaseException | (KeyError, Late)]:
    kept.append((i_, told()))
finally:
    print(i_)

for v_ in Sends($[signal.SIGUSR1 | signal.SIGUSR2]):
    print(v_, read())
    $[pass | if STOP: break | if $cond: break]
kept.append(told())

with Sends($[signal.SIGUSR1 | signal.SIGUSR2]) as v_:
    $block
    $[send(signal.SIGUSR2) | print(v_, G) | send()]
kept.append(told())

def gen_():
    k = 0
    try:
        while not STOP:
            k += 1
            $[send() | yield G]
            yield k, $[G | read() | STOP]
            if k > 4: return
    $[except Late: yield 'late' | except BaseException as e: yield type(e).__name__ | finally: print('closed', G)]
for v_ in gen_():
    print(v_)
    $[send() | if $cond: break | send() if v_ else None]
print(told())

g_ = (($[send() | sends(signal.SIGUSR1)], G) for _ in range(3))
print($[next(g_) | list(g_) | next(g_), told(), next(g_) | max(g_)])

n_ = 0
def handler_(signum, frame):
    nonlocal n_
    n_ += 1
    $[kept.append(n_) | if n_ > 1: raise Late(n_) | STOP_ = n_ | print('here', n_)]
before_ = signal.signal(signal.SIGUSR2, handler_)
try:
    send(signal.SIGUSR2)
    print(n_)
    send(signal.SIGUSR2)
    kept.append(n_)
except $[Late | Alarm | Exception] as e_:
    print(e_.args, n_)
finally:
    signal.signal(signal.SIGUSR2, before_)
print(n_)

def helper_(x):
    kept.append(G)
    try:
        $[send() | send(signal.SIGUSR2) | return send() | return sends(signal.SIGUSR2)]
        return x, G
    finally:
        kept.append(G)
try:
    print(helper_($int), read())
except $[Late | BaseException] as e_:
    print(type(e_).__name__, told())

l_ = [($[send() | sends(signal.SIGUSR1)], G)[1] for _ in range($n)]
print(l_, G)

print(G, $[send() | sends(signal.SIGUSR1)], G, read())

i_ = $[G if send() else G + 1 | G + (sends(signal.SIGUSR1) or 0) + G | (send() or read()) | [G, send(), G][2]]
print(i_)

FLAG.own = $int
$[send() | sends(signal.SIGUSR1) | FLAG.extra = send(); print(vars(FLAG))]
kept.append((FLAG.own, TABLE))

$:list$[.append(send()) | [:] = [G, send(), G] | .append([send(), G]) | .extend(v for v in Sends())]
print(told())

$:dict['a'] = $[send() | sends(signal.SIGUSR1) | G, send(), G]
print(told())

v_ = sorted([3, 1, 2], key=lambda v: $[send() or v | sends(signal.SIGUSR1) * v | (G if v % 2 else send() or v)])
print(v_, told())

signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
send()
kept.append(told())
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1])
kept.append(told())
'''

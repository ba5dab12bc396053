"""The with statement: managers that are classes, generators or stacks; the exceptions that they suppress."""

PRELUDE = '''\
class Held:
    opened = 0

    def __init__(self, name, eats=()):
        self.name, self.eats, self.log = name, eats, []

    def __enter__(self):
        Held.opened += 1
        self.log.append("in")
        return self

    def __exit__(self, kind, error, trace):
        Held.opened -= 1
        self.log.append(kind.__name__ if kind else "out")
        print("exit", self.name, error and error.args)
        return kind is not None and issubclass(kind, self.eats)


@contextlib.contextmanager
def tagged(name, log):
    log.append("<" + name)
    try:
        yield name * 2
    except KeyError as e:
        log.append(e.args)
    finally:
        log.append(name + ">")


@contextlib.contextmanager
def bare(x):
    print("before")
    yield x
    print("after")


class Fails:
    def __init__(self, when):
        self.when = when

    def __enter__(self):
        if self.when == 0:
            raise ValueError("enter")
        return self.when

    def __exit__(self, *info):
        if self.when == 1:
            raise ValueError("exit")
        return self.when == 2


'''
STATEMENTS = '''
with Held($str, $[ValueError | (KeyError, TypeError) | () | Exception]) as h_:
    $block
kept.append(h_.log)

with tagged($str, kept) as s_:
    $[kept.append(s_) | raise KeyError(s_) | $:list[5] | print(s_)]
    $block

with bare($int) as i_:
    $block

with Held('a', ZeroDivisionError) as a_, Held('b', $[ValueError | ()]) as b_:
    $[kept.append(10 // $int) | raise ValueError($int) | return a_.name | print(a_.name, b_.name)]

with Fails($n) as v_:
    $block
    kept.append(v_)

with contextlib.suppress($[ValueError | KeyError, IndexError | Exception | ZeroDivisionError]):
    $block
    $[int($str) | $:list[$int] | 1 // $int | kept.append(0)]

for i_ in range($n):
    with Held(str(i_), ValueError) as h_:
        if $cond:
            $[break | continue | raise ValueError | return h_]
        $block

try:
    with Held('t'):
        with tagged('u', kept):
            $[raise KeyError($int) | raise ValueError($int) | return 5 | 1 // 0 | kept.append(1)]
        $block
except $[ValueError | Exception] as e_:
    print(type(e_).__name__, e_.args, type(e_.__context__).__name__)

with contextlib.ExitStack() as stack_:
    a_ = stack_.enter_context(Held('s1', $[ValueError | ()]))
    stack_.callback(print, 'cb', $int)
    stack_.push(lambda *info: $[True | False | None])
    $block
    $[raise ValueError(1) | pass | kept.append(a_.name)]

with contextlib.ExitStack() as stack_:
    for i_ in range($n):
        stack_.enter_context($[Held(str(i_)) | tagged(str(i_), kept) | bare(i_)])
    $[raise KeyError($int) | print('in') | stack_.pop_all().close()]

with contextlib.nullcontext($int) as i_:
    $block

with contextlib.closing(x for x in $:list) as g_:
    v_ = next(g_, None)
    print(v_)

def inner_(k):
    with Held('i', KeyError) as h:
        $[return k | raise KeyError(k) | if k: return h.name | 1 // k]
    return h.log
v_ = inner_($int)
print(v_)

with $fn($int):
    pass

with contextlib.redirect_stdout(None) if False else Held('x', TypeError):
    print($:str + $[$int | $str])

@contextlib.contextmanager
def local_(k):
    kept.append(k)
    try:
        yield
    except ValueError:
        $[raise | print('swallow') | raise TypeError(k) from None | return]
    else:
        kept.append(-k)
with local_($int):
    $[raise ValueError(3) | $block2 | kept.append(0) | return kept]
'''.replace("$block2", "print(2)")

"""The try statement in all its forms; exceptions with their causes and contexts."""

PRELUDE = '''\
class Trouble(ValueError):
    def __init__(self, code, *rest):
        super().__init__(code, *rest)
        self.code = code


class Deep(Trouble):
    def __str__(self):
        return f"deep {self.code}"


def checked(x):
    if x > 2:
        raise Trouble(x)
    return x


def cleanup(x, log):
    try:
        return 10 // x
    finally:
        log.append("done")


'''
STATEMENTS = '''
try:
    $block
except $[ValueError | TypeError | (KeyError, IndexError) | Trouble | ArithmeticError | Exception] as e_:
    print(type(e_).__name__, e_.args, e_.__context__ is None)
    $block

try:
    i_ = $[checked($int) | 10 // $int | int($str) | $list[$int] | {'a': 1}[$str]]
except $[ValueError | LookupError | ZeroDivisionError | Exception]:
    i_ = $int
else:
    $block
finally:
    kept.append($n)

def guarded_(x):
    try:
        $body
        return checked(x)
    except $[Trouble | (TypeError, ValueError)] as e:
        $[raise | raise Deep(x) from e | raise KeyError(x) | raise Deep(x) from None | return e.code]
    finally:
        $[print('finally', x) | return -1 | kept.append(x) | pass]
try:
    v_ = guarded_($int)
    print(v_)
except Exception as err_:
    print(type(err_), err_.args, repr(err_.__cause__), repr(err_.__context__), err_.__suppress_context__)

for i_ in range($n):
    try:
        if $cond:
            $[continue | break | raise Trouble(i_) | kept.append(i_)]
        $block
    except Trouble as e_:
        kept.append(e_.code)
        $[break | continue | pass]
    finally:
        print('end', i_)
        $[pass | pass | if $cond: break | kept.append(2)]

try:
    try:
        $[checked(5) | $:list[9] | raise Deep($int)]
    except Trouble as e_:
        $[{}['gone'] | 1 / 0 | raise TypeError('inner') from e_ | raise | checked($int)]
    finally:
        $[print('mid') | int('x') | checked($int) | pass]
except Exception as outer_:
    c_ = outer_
    while c_ is not None:
        print(type(c_).__name__, c_.args)
        c_ = c_.__cause__ or c_.__context__

def first_(xs):
    for x in xs:
        try:
            return 10 // x
        except ZeroDivisionError:
            continue
        finally:
            kept.append(x)
    else:
        return None
v_ = first_($:list[:4])
print(v_)

e_ = None
try:
    $[checked($int) | raise Deep(1, 2) | $:list.index($int)]
except (Trouble, ValueError) as err_:
    e_ = err_
if e_:
    kept.append(e_)
    $[raise e_ | print(str(e_)) | raise Trouble(9) from e_ | pass]

try:
    raise ExceptionGroup('g', [ValueError($int), TypeError('t'), $[KeyError(1) | OSError(2) | ExceptionGroup('h', [ValueError(3)])]])
except* ValueError as eg_:
    print('v', [type(x).__name__ for x in eg_.exceptions])
    $[pass | raise KeyError('in') | kept.append(1)]
except* $[TypeError | (TypeError, KeyError) | Exception] as eg2_:
    print('t', len(eg2_.exceptions))

try:
    $block
except* $[ValueError | Exception] as eg_:
    print(type(eg_), eg_.args, eg_.exceptions)

assert $cond, $[$str | ($int, $int) | 'no']

try:
    v_ = cleanup($int, kept)
except ZeroDivisionError as e_:
    print(e_, e_.__traceback__ is not None, e_.__traceback__.tb_lineno - e_.__traceback__.tb_frame.f_code.co_firstlineno if False else '')
    v_ = 0

try:
    try:
        $block
    finally:
        $[raise Trouble(7) | print('f') | kept.append('f')]
except Trouble as e_:
    print(e_.code, type(e_.__context__).__name__)

def again_(k):
    try:
        if k > 0:
            return again_(k - 1)
        raise Trouble(k)
    except Trouble as e:
        e.code += 1
        $[raise | e.add_note('n') ; raise | return e.code | raise Deep(e.code) from e]
try:
    v_ = again_($n)
    kept.append(v_)
except Trouble as e_:
    kept.append((e_.code, getattr(e_, '__notes__', None)))

try:
    del e_
    print(e_)
except NameError as n_:
    print(type(n_).__name__, n_.args, n_.name)

try:
    $[p.missing | (1).x | None.a | setattr(1, 'a', 2) | [].y]
except AttributeError as e_:
    print(e_.args, e_.name)

raise $[Trouble($int) | Deep($int, $str) | KeyError | KeyError() | StopIteration(3) | TypeError from ValueError(1) | ValueError from None]

if $cond:
    raise $[Trouble($int) | Deep | ValueError($str) | 3 | None]

try:
    fn_ = $fn
    v_ = fn_($[$int | $:list | $str])
    print(type(v_).__name__)
except $[ValueError | TypeError | Exception] as e_:
    print('caught', e_.args)
    $block

def gen_():
    try:
        yield $int
        yield checked($int)
    except Trouble as e:
        yield e.code
    finally:
        print('closed')
try:
    for x_ in gen_():
        $[kept.append(x_) | if x_ > 2: break | 10 // x_]
        $block
except ZeroDivisionError:
    print('zero')
'''

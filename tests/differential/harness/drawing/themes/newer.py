"""Syntax and builtins that came with the Pythons after 3.10, each part on the versions that have it."""
import sys

PRELUDE = '''\
class Meant:
    def __init__(self, name, swallow=False):
        self.name, self.swallow = name, swallow

    def __enter__(self):
        print("enter", self.name)
        return self.name

    def __exit__(self, kind, error, trace):
        print("exit", self.name, kind and kind.__name__)
        return self.swallow


def fails(x):
    print("fails", x)
    raise (ValueError, KeyError, TypeError, OSError)[len(str(x)) % 4](x)


def group(*errors):
    return ExceptionGroup("some", [kind(k) for k, kind in enumerate(errors)])


def tree(error):
    return [tree(e) for e in error.exceptions] if isinstance(error, BaseExceptionGroup) else (type(error).__name__, error.args)


'''
EXPRESSIONS: dict[str, tuple[str, ...]] = {
    "int": ("sum(x_ for x_ in $list if isinstance(x_, int))", "[y_ := $int, y_ + 1][-1]", "len([*$list, *$tuple])"),
    "list": ("[x_ for x_ in $list]", "[(x_, z_) for x_ in $:list for z_ in range($n)]", "[k_ for k_ in {str(x_): $int for x_ in $:list}]", "list(zip($list, range($n)))"),
    "tuple": ("($int, *$list)", "tuple(x_ for x_ in $list)"),
    "cond": ("any(x_ == $int for x_ in $:list)", "all(x_ for x_ in $:list)", "$int in {x_ for x_ in range($n)}"),
}
KINDS: tuple[str, ...] = ("int", "list", "str", "dict", "float")
VALUES: dict[str, list[str]] = {}
STATEMENTS = '''
try:
    raise group($[ValueError, KeyError | TypeError | OSError, ValueError, KeyError])
except* ValueError as e_:
    kept.append(tree(e_))
    $block
except* $[KeyError | (TypeError, OSError) | Exception] as e_:
    print(tree(e_))

try:
    try:
        fails($str)
    except* $[ValueError | KeyError | OSError] as e_:
        print(tree(e_))
        $[pass | raise | raise RuntimeError('again')]
except BaseException as e2_:
    print(type(e2_).__name__, getattr(e2_, 'exceptions', None) and tree(e2_))

try:
    fails($int)
except Exception as e_:
    e_.add_note('seen')
    kept.append(e_.__notes__)

with Meant('a'), Meant('b', $cond) as w_:
    $block
    $[print(w_) | fails($str) | kept.append(w_)]

with (
    Meant($str, True) as a_,
    Meant(a_) as b_,
):
    print(a_, b_)
    $[fails($int) | pass]

for x_ in *$list, *$tuple:
    print(x_)
    $block

def starred_(*args_, **named_):
    return *args_, *named_.items()
kept.append(starred_(*$list, k=$int))

try:
    kept.append([fails(x_) for x_ in $:list])
except (ValueError, KeyError, TypeError, OSError) as e_:
    print(type(e_).__name__, e_.args)

x_ = 'outer'
l_ = [x_ for x_ in $:list]
print(x_, [lambda: x_ for x_ in $:list] and $n)

f2_ = [lambda k_=k_: (k_, x2_) for k_ in range($n) for x2_ in $:list[:2]]
kept.append([g_() for g_ in f2_])
'''
_SINCE: dict[tuple[int, int], tuple[str, dict[str, tuple[str, ...]], str]] = {}
_SINCE[3, 12] = '', {
    "str": ("f'{'a' + $str}'", "f'{f'{$int}':>5}'", "f\"{'\\n'.join(['a', $str])}\""),
}, '''
def typed_[T, *Ts](a_: T, *rest_: *Ts) -> T:
    kept.append([p_.__name__ for p_ in typed_.__type_params__])
    return a_
print(typed_($int, $str))

class Box_[T]:
    held: T
    def __init__(self, x): self.held = x
    def get(self) -> T: return self.held
kept.append((Box_($int).get(), [p_.__name__ for p_ in Box_.__type_params__]))

type Alias_ = list[$[int | str | missing_]]
print(Alias_.__name__)
try:
    print(Alias_.__value__)
except NameError as e_:
    print(e_.name)
'''
_SINCE[3, 13] = '', {}, '''
def defaults_[T = int](x_: T) -> T:
    l_ = sorted(locals())
    return x_, l_, [p_.__default__ for p_ in defaults_.__type_params__]
print(defaults_($int))
'''
_SINCE[3, 14] = '''\
def shown(t):
    return t.strings, [(i.value, i.expression, i.conversion, i.format_spec) for i in t.interpolations]


def rendered(t):
    return "".join(part if isinstance(part, str) else format(part.value, part.format_spec) for part in t)


''', {
    "template": ("t'a{$int}b'", "t'{$str!r}'", "t'{$int:{$n}}|'", "t''", "t'{$:list}' t'c'", "$:template + t'{$int}'", "t'{$int=}'", "t'{t'{$int}'}'", "t'{$:name:>{$n}}'"),
    "str": ("rendered($:template)", "$:template.strings[0]"),
    "tuple": ("shown($template)", "$:template.values", "$:template.strings"),
    "list": ("list(map(lambda a_, b_: (a_, b_), $list, $:list, strict=$[True | False]))", "[type(x_).__name__ for x_ in $:template]"),
}, '''
t_ = t'{$int!$[r | s | a]:$[5 | > | ^9]}{$str}'
kept.append(shown(t_))
$block

print(shown($template))

try:
    kept.append(rendered($template))
except (ValueError, TypeError) as e_:
    print(type(e_).__name__, e_.args)

for part_ in $template:
    match part_:
        case str():
            print('text', part_)
        case object(value=v_, expression=x_):
            print(v_, x_)
            $block

parts_ = t''
for x_ in $:list:
    parts_ += t'<{x_}>'
kept.append(shown(parts_))

try:
    $template + $[$str | t'z' | None]
except TypeError as e_:
    print(e_)

try:
    $[fails($str) | kept.append($int // $n) | pass]
except ValueError, KeyError:
    print('either')
except ZeroDivisionError, TypeError, OSError:
    print('other')
    $block

def swallows_(x):
    for k_ in range(2):
        try:
            $[fails(x) | print(k_) | return 'early']
        finally:
            $[return k_ | break | continue | print('kept')]
    return 'end'
try:
    kept.append(swallows_($int))
except Exception as e_:
    print(type(e_).__name__)

def annotated_(a: $[int | later_ | list[later_]], b: $[str | 'x' | missing_] = $n):
    return a
try:
    print(annotated_.__annotations__)
except NameError as e_:
    print(e_.name)
later_ = int
kept.append(annotated_($int))

class Noted_:
    a: $[int | missing_ | Noted_]
    b: str = $str
    if $cond:
        c: float
try:
    kept.append(sorted(Noted_.__annotations__))
except NameError as e_:
    print(e_.name)

try:
    kept.append(list(map(bump, $list, $[$:list | range($n)], strict=True)))
except (ValueError, TypeError) as e_:
    print(type(e_).__name__, e_.args)
'''
_SINCE[3, 15] = '''\
lazy import json
lazy from collections import OrderedDict as Ordered

MARK = sentinel("MARK")


''', {
    "frozen": ("frozendict(a=$int)", "frozendict($dict)", "$:frozen | {'k': $int}", "frozendict.fromkeys($list, $int)", "frozendict({**$:frozen, 'z': $n})", "frozendict()"),
    "dict": ("dict($frozen)", "{**$frozen, 'a': 1}", "{**d_ for d_ in [$dict, $frozen]}"),
    "list": ("[*x_ for x_ in [$list, $tuple]]", "[*r_ for r_ in (range(k_) for k_ in range($n))]", "list($frozen.items())", "sorted({*x_ for x_ in [range($n), [$int]]})"),
    "tuple": ("tuple(*x_ for x_ in [$list, $list])", "(MARK, $int)"),
    "int": ("len($frozen)", "$:frozen.get('a', $int)", "hash($:frozen) * 0"),
    "cond": ("'a' in $frozen", "$frozen == $:frozen", "MARK is MARK", "$:frozen == {'a': $int}"),
    "str": ("repr($frozen)", "repr(MARK)", "json.dumps($int)"),
}, '''
try:
    $:frozen$[['a'] = $int | .pop('a') | .update(b=1) | ['nothing']]
except (TypeError, AttributeError, KeyError) as e_:
    print(type(e_).__name__, e_.args)

for k_, v_ in $frozen.items():
    print(k_, v_)
    $block

f2_ = $:frozen
f2_ |= {'new': $int}
kept.append((f2_, f2_ is $:frozen))

def marked_(x=MARK):
    return 'none' if x is MARK else x
print(marked_(), marked_($int), marked_(MARK))

try:
    kept.append([*x_ for x_ in [$list, $int]])
except TypeError as e_:
    print(e_)

g_ = (*x_ for x_ in [$list, $tuple, range($n)])
print(next(g_, 'empty'))
$block
kept.append(list(g_))

kept.append({*x_ for x_ in [$list, range($n)] if $cond} == set())

print({**d_ for d_ in [$dict, {'q': $int}, $frozen]})

kept.append(json.loads(json.dumps([$int, $n])))

o_ = Ordered(a=$int)
o_['b'] = $str
print(list(o_.items()))

match $frozen:
    case {'a': x_, **rest_}:
        print(x_, type(rest_).__name__)
    case _:
        $block
'''
for _version, (_prelude, _expressions, _statements) in _SINCE.items():
    if sys.version_info >= _version:
        PRELUDE += _prelude
        STATEMENTS += _statements
        for _kind, _texts in _expressions.items():
            EXPRESSIONS[_kind] = EXPRESSIONS.get(_kind, ()) + _texts
if "template" in EXPRESSIONS:
    KINDS += ("template",)
    VALUES["template"] = ["t''", "t'a{1}'", "t'{'x'!r:>5}|{2.5}'"]
if "frozen" in EXPRESSIONS:
    KINDS += ("frozen",)
    VALUES["frozen"] = ["frozendict()", "frozendict(a=1)", "frozendict({'x': [1], 'a': 'b'})"]

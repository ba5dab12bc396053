"""Strings: formatting in all its forms, methods, bytes; with and without constant folding."""

EXPRESSIONS = {
    "spec": ("5", "<6", ">8", "^7", "05d", "+", ".2f", "x", "#b", ",", "e", "s", "*^9", "10.3", "{$n}", ".{$n}", "c", "%", "g", "_", "=+8"),
    "str": ("f'{$:name}'", "f'{$:name!r:>{$n}}'", "f'{$int:05d}|{$float:.2f}'", "f'{$:name!s}{$str}'", "f'{$int=}'", "'%s-%r' % ($:name, $:str)", "'%d %5.1f' % ($int, $float)", "'{} {}'.format($:name, $:name)",
            "'{0!r:>10} {k}'.format($:name, k=$int)", "'{:{}}'.format($str, $n)", "$str.join([$:str, 'q'])", "$:str.replace('a', $str)", "$:str.$[upper() | lower() | title() | strip() | swapcase() | capitalize() | casefold()]",
            "$:str.$[center(9, '*') | ljust(5) | rjust(6, '0') | zfill(4) | expandtabs(2)]", "$:str[$n:]", "$:str[::-1]", "$:str * $n", "$:str + $str", "str($:name)", "repr($:name)", "ascii($:str)", "chr(97 + $n)",
            "format($int, '$spec')", "hex($int)", "bin($int)", "oct($n)", "$:str.translate({97: 'zz', 98: None})", "$:str.removeprefix('a')", "''.join(sorted($:str))", "''.join(c_ + '.' for c_ in $:str)", "str($:bytes, 'latin1')",
            "$:bytes.decode('latin1')", "'%(a)s %(a)r' % {'a': $:name}", "$:str.format_map({'a': $int})", "'\\n'.join(['a', $:str])", "str(b'a')", "f'{$:list}'", "f'{{}}{$n}'", "f\"{'x' if $cond else $str}\""),
    "int": ("len($:str)", "$:str.find($str)", "$:str.count('a')", "ord($:str[0])", "int($:str)", "int('0x1f', 16)", "$:str.index('a')", "int('$n')", "$:bytes[0]", "int($:str, 36)", "int(float('$n'))", "hash($:str) * 0", "$:str.rfind('a')"),
    "list": ("$:str.split()", "$:str.split($str)", "$:str.splitlines()", "list($:str)", "$:str.rsplit('a', 1)", "list($:bytes)", "[c_ for c_ in $:str]", "sorted($:str)", "list(enumerate($:str))", "list(map(ord, $:str))"),
    "tuple": ("$:str.partition($str)", "$:str.rpartition('a')", "tuple($:str)", "$:str.$[isdigit() | isalpha() | isspace()], 1"),
    "bytes": ("$:str.encode()", "b'ab' + $:bytes", "$:bytes * $n", "bytes([$n, 65])", "b'%d' % $int", "$:bytes.upper()", "$:bytes[$n:]", "bytes.fromhex('61')", "$int.to_bytes(8, 'big', signed=True)"),
    "cond": ("$:str.startswith(($str, 'a'))", "$str in $:str", "$:str < $str", "$:str == $str", "$:str.isdigit()", "$:str.endswith($str)", "$:bytes == b'ab'", "$:str.isidentifier()", "$:str is $:str", "not $:str"),
}
KINDS = ("str", "str", "int", "float", "list", "bytes")
VALUES = {"str": ["''", "'a'", "'abc'", "'aXb c'", "'12'", "' x '", "'é'", "'a\\nb'", "'{a}'", "'%s'", "'\\x00'", "'\\U0001f600'", "'-7'"]}
STATEMENTS = '''
s_ = $str
$block
kept.append(s_)

s_ = f'{$:name:$spec}'
print(s_)

print($str, $str, sep=$str, end='|\\n')

try:
    s_ = format($:name, '$spec')
    kept.append(s_)
except (ValueError, TypeError) as e_:
    print(type(e_).__name__, e_.args)

try:
    s_ = $['%d' % $:name | '%s %s' % $:tuple | '{} {}'.format($:name) | '{x}'.format(y=1) | $str + $int | $str.join($list) | int($str) | float($str) | chr($int) | $:bytes.decode() | $str.encode('ascii') | $str.index('z') | $str[$int] | '%c' % $int | '{.real}'.format($int) | '{[0]}'.format($:list)]
    kept.append(s_)
except Exception as e_:
    print(type(e_).__name__, e_.args)

out_ = ''
for c_ in $:str:
    out_ += $[c_ | c_.upper() | f'<{c_}>' | str(ord(c_))]
    $block
kept.append(out_)

w_ = {}
for c_ in $:str.$[split() | lower() | strip()]:
    w_[c_] = w_.get(c_, 0) + 1
print(w_)

class Fmt_:
    def __format__(self, spec):
        print('fmt', repr(spec))
        return spec * 2 $[ | or $int]
    def __str__(self):
        return $['str' | $str | 3]
    def __repr__(self):
        return 'R'
try:
    kept.append($[f'{Fmt_()}' | f'{Fmt_():>5}' | f'{Fmt_()!r:>5}' | f'{Fmt_()!s}' | '%s' % Fmt_() | '{:a}'.format(Fmt_()) | str(Fmt_()) | f'{[Fmt_()]}'])
except Exception as e_:
    print(type(e_).__name__, e_.args)

i_ = 0
while i_ < len($:str) and $:str[i_] != $str:
    i_ += 1
    $block
print(i_)

match $:str.split():
    case [a, b]:
        kept.append(a + b)
    case ['a', *rest]:
        kept.append(rest)
    case [] | [_]:
        print('short')

print(*$:list, sep=$[', ' | $str | ''])

kept.append([$str, $str])

kept.append(($:str.encode(), $bytes))

a_, b_, c_ = $str.partition($str)
kept.append(c_ + a_)

if $cond:
    s_ = $str
else:
    s_ = $str * 2
print(len(s_), s_)

x_ = $float
print(x_, repr(x_), f'{x_:.3g}', round(x_, 1), str(x_)[:5])

t_ = $str.$[isupper() | istitle() | isprintable() | isnumeric()], $str.casefold() == $str
kept.append(t_)
'''

"""The match statement with all patterns, chained comparisons, boolean operators with side effects, loops with else."""

PRELUDE = '''\
class Dot:
    __match_args__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y


class Dot3(Dot):
    __match_args__ = ("x", "y", "z")
    z = 9


class Odd:
    @property
    def x(self):
        print("x read")
        return 1

    def __eq__(self, other):
        print("eq", other)
        return other == 2

    __hash__ = None


class Kind(enum.Enum):
    A = 1
    B = 2


def noisy(x):
    print("noisy", x)
    return x


class Cmp:
    def __init__(self, v):
        self.v = v

    def __lt__(self, other):
        print("lt", self.v)
        return [] if self.v else "yes"

    def __gt__(self, other):
        print("gt", self.v)
        return NotImplemented

    def __contains__(self, k):
        return k


'''
EXPRESSIONS = {
    "subject": ("$int", "$str", "$list", "$tuple", "$dict", "Dot($int, $int)", "Dot3(1, $int)", "Odd()", "Kind.A", "None", "$float", "True", "($int, $list)", "{'k': $int, 'm': [1, $int]}", "[Dot($int, 2), $int]", "b'ab'", "range($n)", "{1, 2}"),
    "pattern": ("$n", "'a'", "None", "True", "0.0", "-1", "[]", "[x_]", "[x_, *rest_]", "[*_, last_]", "[1, *mid_, 2]", "(x_, y_)", "{'a': v_}", "{'a': 1, **more_}", "{}", "{'k': int(), 'm': [_, m_]}", "int()", "int(v_)", "str(s_)",
                "Dot()", "Dot(0)", "Dot(x=1)", "Dot(a_, b_)", "Dot3(x=a_, z=z_)", "Odd(x=v_)", "Kind.A", "1 | 2 | 'x'", "[1 | 2 as w_, _]", "int() | float() as num_", "(list() | tuple()) as seq_", "[[x_, *_], *_]", "{'k': {'a': v_}}",
                "Dot(Dot(), _)", "[Dot(x=p_), *_]", "bytes()", "bool()", "x_", "_", "dict(d_)", "float(f_)", "object(x=o_)"),
    "cond": ("noisy($int) < noisy($int) < noisy($int)", "noisy($int) and noisy($int)", "noisy($:list) or noisy($int)", "not noisy($str)", "$int == $int == $float", "Cmp($n) < 2", "1 > Cmp($n)", "$int in Cmp($n)", "0 < $int < 10 > $int",
             "noisy(1) if noisy($int) else noisy('')", "(y_ := noisy($int)) and y_ > 1", "$int != $int in $:list", "$int is not None is not True"),
    "int": ("(noisy($int) or $int)", "(noisy($int) and 3)", "(1 if $cond else 2)", "[noisy($int), noisy($n)][$n % 2]", "{noisy('k'): noisy($int)}['k']", "max(noisy($int), key=None) if False else 1", "noisy($int) + noisy($int)"),
}
KINDS = ("subject", "subject", "int", "list", "str")
VALUES = {"subject": ["0", "1", "'a'", "[1, 2]", "[]", "(1, 2)", "{'a': 1}", "{'k': 2, 'm': [1, 3]}", "Dot(0, 1)", "Dot3(1, 2)", "Odd()", "Kind.A", "None", "1.0", "True", "[Dot(1, 2)]", "b'a'"]}
STATEMENTS = '''
match $[$:subject | $subject]:
    case $pattern:
        print(1)
        $block
    case $pattern if $cond:
        print(2)
        $block
    case _:
        $block

match $[$:subject | $subject]:
    case $pattern:
        r_ = 1
    case $pattern:
        r_ = 2
    case $pattern:
        r_ = 3
print(r_)

match $:subject, $subject:
    case ($pattern, 1):
        print('first')
    case [a_, b_] if a_ == b_:
        print('same')
    case (_, $pattern):
        print('second')

for x_ in $[$:list | range($n) | [$:subject, 1]]:
    match x_:
        case 0:
            continue
        case $pattern if noisy($cond):
            break
        case _:
            $block
else:
    print('else')

v_ = $cond
kept.append(v_)

if $cond:
    $block
elif $cond:
    $block
else:
    $block

while (k_ := noisy(len(kept))) < $n:
    kept.append($int)
    if $cond:
        $[break | continue | kept.append(k_)]
    $block
else:
    print('no break')

def pick_(s):
    match s:
        case $pattern:
            return 'one'
        case $pattern:
            $body
            return 'two'
kept.append([pick_($:subject), pick_($subject), pick_($int)])

for i_ in range($n):
    for j_ in $:list[:3]:
        if $cond:
            $[break | continue | return i_]
        kept.append((i_, j_))
    else:
        $[continue | print('inner') | break]
    $block
else:
    print('outer')

x_ = noisy($int) $[if $cond else | or | and] noisy($int)
print(x_)

assert noisy($int) $[< | == | in] $[noisy(9) | $:list], noisy('message')

kept.append([noisy(i) for i in range($n) if noisy(i) $[% 2 | > 1 | and $cond]])

d_ = {noisy(k): noisy(v) for k, v in zip($str, $:list)}
print(d_)

noisy(kept).append(noisy($int) + noisy(2) * noisy($int) - -noisy(1))

kept[noisy(len(kept)) - 1:] = [noisy($int)]

print(*[noisy(1)], **{noisy('end'): noisy('!')})
'''

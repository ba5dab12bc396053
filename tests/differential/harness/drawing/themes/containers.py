"""Lists, dicts, sets, tuples, bytes, slices: every method, on known and unknown contents, aliased, changed while iterated over."""

EXPRESSIONS = {
    "key": ("$int", "$str", "$float", "True", "None", "($int, 1)", "1.0", "-0.0", "frozenset({1})", "2**70", "b'a'"),
    "slice": ("$n:$n", ":$n", "-2:", "::2", "::-1", "$int:$int", "1:-1", "::$n", ":", "slice(None, $n)"),
    "dict": ("{$key: $int, $key: $str}", "dict.fromkeys($list, $int)", "dict(zip($str, $list))", "{k_: v_ for k_, v_ in $:dict.items() if v_ is not None}", "{**$:dict, $key: $int}",
             "dict($:dict, z=$int)", "$:dict | {$key: 1}", "copy.copy($:dict)", "collections.defaultdict(list, a=[$int])", "collections.Counter($list)", "collections.OrderedDict(a=1, b=$int)"),
    "set": ("{$key, $key, $int}", "set($list)", "{*$list, $int}", "$:set | {$int}", "$:set & {$int, 1}", "$:set ^ $:set", "$:set - {$int}", "frozenset($list)", "{q_ % 3 for q_ in $list}"),
    "list": ("$:list[$slice]", "[[]] * $n", "[$int] * $n", "list($:dict)", "list($:dict.items())", "sorted($:set, key=repr)", "[$:list, $:list]", "[*$:dict.values()]", "[[x_] for x_ in $:list]",
             "$:list.copy()", "[x_ for y_ in [$:list, [1]] for x_ in y_]", "list(reversed($:list))", "list(bytes([$n, 255]))", "sorted($:list, reverse=$cond)", "list(collections.deque($:list, maxlen=2))"),
    "int": ("$:list.count($key)", "$:tuple.index($int)", "len($:dict)", "$:dict[$key]", "max(len($:list), $int)", "$:list[$int]", "sum($:list)", "b'abc'[$int]", "range(10)[$int]", "hash(($int, $str)) % 7",
            "len($:set)", "len({1: 0, True: 1, 1.0: $int})"),
    "tuple": ("$:tuple[$slice]", "tuple($:list)", "($:list, $:list)", "$:tuple * 2", "$:tuple + ($int,)", "tuple($:dict.items())", "(1, *$:list)", "$str.partition('a')", "divmod($int, 3)"),
    "cond": ("$key in $:dict", "$key in $:list", "$:list == $:list", "$:tuple < ($int, 2)", "$:set <= {1, $int}", "$:dict == {'a': $int}", "$:list is $:list", "$:set.isdisjoint($list)", "$:dict.keys() == {'a'}",
             "not $:list", "$int in range($int)", "$:list > [1]", "$key == $key", "[float('nan')] == [$float]", "any(x_ is None for x_ in $:list)"),
}
KINDS = ("list", "list", "dict", "tuple", "set", "int", "str")
STATEMENTS = '''
$:list.$[append($key) | extend($list) | insert($int, $int) | pop() | pop($int) | remove($int) | reverse() | sort() | clear() | sort(key=lambda q: -q) | sort(key=str, reverse=True) | extend($:list) | append($:list[:1]) | index($int) | __setitem__(0, $key)]

$:list[$[$slice | $int | 0 | -1]] = $[$list | [] | $tuple | $int | 'ab' | $:list]

del $:list[$[$slice | $int | 0 | -1]]

$:list $[+= $list | *= $n | += $str | += ($int,) | += $:dict]

$:list[$[0 | -1 | $int]] $[+= $int | *= 2 | -= 1 | |= 3]

try:
    t_ = ($list, $int)
    t_[0] += [$int]
except TypeError as e_:
    kept.append((e_.args, t_))

$:dict[$key] = $[$int | $:list | $str]

$:dict.$[update($dict) | update(a=$int) | pop($key) | pop($key, None) | popitem() | setdefault($key, []) | clear() | get($key) | update([($key, 1)]) | setdefault($str, $int) | move_to_end('a') | __setitem__($key, 2)]

del $:dict[$key]

$:dict[$key] += $int

$:dict |= $dict

$:set.$[add($key) | discard($key) | remove($int) | update($list) | pop() | clear() | intersection_update($list) | difference_update($:set) | symmetric_difference_update([$int])]

$:set $[|= {$key} | &= $set | -= {$int} | ^= $set]

l_ = $:list
l_.append($int)
$block
kept.append((l_ is $:list, l_))

l2_ = [[]] * $n
if l2_:
    l2_[0].append($int)
kept.append(l2_)

d_ = $dict
for k_ in $[d_ | list(d_) | d_.items() | d_.values() | sorted(d_, key=repr)]:
    kept.append(k_)
    $[d_['n'] = 1 | d_.pop('a', 0) | print(k_) | d_.update(z=1) | break]

for x_ in $:list:
    kept.append(x_)
    if len(kept) > 6:
        break
    $[$:list.append(1) | $:list.remove(x_) | $:list.insert(0, x_) | $:list.clear() | print(x_) | $:list[:] = []]

s_ = $:set
for x_ in $[s_ | sorted(s_, key=repr)]:
    $[s_.add(100) | s_.discard(x_) | print(repr(x_)) | pass]

a_, *b_ = $list
kept.append((a_, b_))

*a_, b_ = $tuple
kept.append((a_, b_))

(a_, b_), c_ = $tuple, $int
kept.append(a_)

$:list[0], $:list[-1] = $:list[-1], $:list[0]

i_, $:list[i_] = $n, $int

x_ = y_ = $list
x_ += [$int]
print(x_ is y_, y_)

x_ = y_ = $tuple
x_ += (1,)
print(x_ is y_, y_)

kept.append($[$:dict | list($:dict) | $:dict.copy() | $:set | $:tuple | $:list])

kept.append([*zip($:list, $:tuple, strict=$cond)])

try:
    kept.append($[$:list.index($key) | $:dict[$key] | $:tuple[$int] | next(iter($:set)) | min($:list) | $:list + $:tuple | sorted([$key, $key]) | {$list: 1} | set($:list) | dict($:list) | sum([$key, 1])])
except Exception as e_:
    print(type(e_).__name__, e_.args)

n_ = {'a': {'b': [$int]}}
n_['a']['b'].append($int)
n_['a']['c'] = n_['a']['b']
$block
kept.append(n_)

g_ = [[0] * 2 for _ in range(2)]
g_[$n % 2][$n % 3] = $int
kept.append(g_)
print(list(zip(*g_)))

c_ = collections.Counter($list)
c_.update($[$list | 'aab' | {'a': 2} | a=1])
kept.append($[c_.most_common(2) | c_ | c_ + c_ | c_['zz'] | c_ - collections.Counter($list) | list(c_.elements()) | c_.total()])

q_ = collections.deque($list, maxlen=$[None | 3])
q_.$[appendleft($int) | append(1) | rotate($n) | extend([1, 2]) | extendleft($list) | insert(0, 5) | reverse()]
kept.append($[q_ | list(q_) | q_.popleft() | q_.pop() | q_[0] | len(q_) | q_ == collections.deque([1])])

w_ = collections.defaultdict($[list | int | lambda: [0] | dict])
for x_ in $:list:
    w_[x_ % 2]$[ | .append(x_) |  += 1]
kept.append(dict(w_))

m_ = collections.ChainMap({}, $:dict, {'z': $int})
m_[$key] = $int
kept.append((len(m_), m_.get('z'), list(m_), m_.maps[0]))

b_ = bytearray(b'abc')
b_$[[0] = $n | .append($int) | .extend(b'z') | [1:2] = b'xyz' |  += b'q' | .reverse()]
kept.append((b_, bytes(b_).hex(), b_.find(b'c')))

x_ = $:list
x_.append(x_)
print(len(x_), x_[-1] is x_)
x_.pop()

print($[$:list | $:dict | $:tuple | sorted($:set, key=repr) | {1: $:list} | ($:tuple, [$:list])])

fs_ = frozenset($list)
kept.append((fs_ | {$int}, fs_ == set($list), hash(fs_) == hash(frozenset($list)), {fs_: 1}))

r_ = range($int % 9, $int % 9, $[1 | -1 | 2])
kept.append((len(r_), r_[:2], list(r_), $int in r_, r_ == range(0), r_.start))
'''

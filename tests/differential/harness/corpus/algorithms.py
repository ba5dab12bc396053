"""Small idiomatic functions with example calls, which `drawing/mutation.py` mutates and recombines."""
import collections
import itertools
import math

from tests.differential.harness.drawing.corpus import calls


@calls("12, 18", "7, 0", "-4, 6")
def gcd(a, b):
    while b:
        a, b = b, a % b
    return a


@calls("10", "1", "0")
def fibonacci(n):
    a, b = 0, 1
    for _ in range(n % 30):
        a, b = b, a + b
    return a


@calls("[3, 1, 2]", "[]", "[5, 5, -1, 0]")
def bubble(xs):
    xs = list(xs)
    for i in range(len(xs)):
        done = True
        for j in range(len(xs) - 1 - i):
            if xs[j] > xs[j + 1]:
                xs[j], xs[j + 1] = xs[j + 1], xs[j]
                done = False
        if done:
            break
    return xs


@calls("[1, 3, 5, 7], 5", "[], 1", "[2], 3")
def bisect(xs, x):
    low, high = 0, len(xs)
    while low < high:
        mid = (low + high) // 2
        if xs[mid] < x:
            low = mid + 1
        else:
            high = mid
    return low


@calls("30", "2", "1")
def primes(n):
    found = []
    for k in range(2, n % 40):
        for p in found:
            if k % p == 0:
                break
        else:
            found.append(k)
    return found


@calls("'hello'", "''", "'abcabc'")
def letters(text):
    counts = {}
    for c in text:
        counts[c] = counts.get(c, 0) + 1
    best = max(counts.values(), default=0)
    return sorted(c for c, n in counts.items() if n == best), counts


@calls("'aaabcc'", "''", "'x'")
def run_lengths(text):
    out = []
    for c in text:
        if out and out[-1][0] == c:
            out[-1][1] += 1
        else:
            out.append([c, 1])
    return "".join(f"{c}{n}" if n > 1 else c for c, n in out)


@calls("'(a[b]{c})'", "'(]'", "'(('")
def balanced(text):
    pairs, stack = {")": "(", "]": "[", "}": "{"}, []
    for at, c in enumerate(text):
        if c in pairs.values():
            stack.append(c)
        elif c in pairs:
            if not stack or stack.pop() != pairs[c]:
                return at
    return not stack


@calls("'3 4 + 2 *'", "'1 +'", "'5 0 /'")
def polish(text):
    stack = []
    for token in text.split():
        if token.isdigit():
            stack.append(int(token))
            continue
        b, a = stack.pop(), stack.pop()
        match token:
            case "+":
                stack.append(a + b)
            case "*":
                stack.append(a * b)
            case "/":
                stack.append(a / b)
            case _:
                raise ValueError(token)
    return stack[0]


@calls("{'a': ['b', 'c'], 'b': ['c'], 'c': []}", "{'a': ['a']}", "{}")
def ordered(graph):
    done, order, path = set(), [], []

    def visit(node):
        if node in path:
            raise ValueError("cycle", node)
        if node in done:
            return
        path.append(node)
        for other in graph[node]:
            visit(other)
        path.pop()
        done.add(node)
        order.append(node)
    for node in graph:
        visit(node)
    return order


@calls("[[1, 2], [3, 4]], [[0, 1], [1, 0]]", "[], []", "[[2]], [[3]]")
def product(a, b):
    return [[sum(x * y for x, y in zip(row, column)) for column in zip(*b)] for row in a]


@calls("[1, [2, [3, []], 4]]", "[]", "5")
def flatten(tree):
    if not isinstance(tree, list):
        return [tree]
    out = []
    for part in tree:
        out += flatten(part)
    return out


@calls("'kitten', 'sitting'", "'', 'a'", "'ab', 'ab'")
def distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1]


@calls("255, 16", "0, 2", "10, 1")
def in_base(n, base):
    digits = []
    while True:
        n, d = divmod(n, base)
        digits.append("0123456789abcdef"[d])
        if n <= 0 or len(digits) > 20:
            break
    return "".join(reversed(digits))


@calls("[3, -2, 5, -1], 2", "[], 1", "[1], 5")
def windows(xs, k):
    return [sum(xs[i:i + k]) for i in range(len(xs) - k + 1)]


@calls("[5, 3, 8]", "[]", "[1, 1]")
def heap_sorted(xs):
    import heapq
    heap = []
    for x in xs:
        heapq.heappush(heap, x)
    return [heapq.heappop(heap) for _ in range(len(heap))]


@calls("4", "1", "0")
def pascal(n):
    row = [1]
    for _ in range(n):
        yield row
        row = [a + b for a, b in zip([0, *row], [*row, 0])]


@calls("3", "0")
def hanoi(n):
    moves = []

    def move(k, a, b, c):
        if k:
            move(k - 1, a, c, b)
            moves.append((a, c))
            move(k - 1, b, a, c)
    move(n % 5, "a", "b", "c")
    return len(moves), moves[:3]


@calls("[1, 2, 3]", "['a']", "[]")
def subsets(xs):
    if not xs:
        return [[]]
    rest = subsets(xs[1:])
    return rest + [[xs[0], *s] for s in rest]


@calls("2.0", "0.0", "-1.0")
def root(x):
    if x < 0:
        raise ValueError("negative", x)
    guess = x or 1.0
    for _ in range(20):
        better = (guess + x / guess) / 2
        if math.isclose(better, guess):
            return round(better, 9)
        guess = better
    return guess


@calls("[('a', 1), ('b', 2), ('a', 3)]", "[]", "[(1, 2, 3)]")
def grouped(pairs):
    groups = collections.defaultdict(list)
    for key, value in pairs:
        groups[key].append(value)
    return {k: sum(v) for k, v in groups.items()}, len(groups)


@calls("[1, 2, 3, 4]", "[7]", "[]")
def statistics(xs):
    if not xs:
        return None
    mean = sum(xs) / len(xs)
    variance = sum((x - mean) ** 2 for x in xs) / len(xs)
    ordered_ = sorted(xs)
    middle = len(xs) // 2
    return mean, variance, ordered_[middle] if len(xs) % 2 else (ordered_[middle - 1] + ordered_[middle]) / 2


@calls("[1, 2, 2, 3, 1]", "[]", "[True, 1, 1.0]")
def distinct(xs):
    seen, out = set(), []
    for x in xs:
        if x not in seen:
            seen.add(x)
            out.append(x)
    return out


@calls("'a=1;b=2;=3;c'", "''")
def parsed(text):
    found, bad = {}, []
    for part in text.split(";"):
        key, sign, value = part.partition("=")
        if not sign or not key:
            bad.append(part)
            continue
        found[key.strip()] = int(value)
    return found, bad


@calls("[[0, 1, 0], [1, 1, 1], [0, 0, 1]]", "[[1]]", "[]")
def lives(grid):
    out = []
    for y, row in enumerate(grid):
        line = []
        for x, cell in enumerate(row):
            n = sum(grid[j][i] for j in range(max(0, y - 1), min(len(grid), y + 2)) for i in range(max(0, x - 1), min(len(row), x + 2))) - cell
            line.append(int(n == 3 or (cell and n == 2)))
        out.append(line)
    return out


@calls("3, 2", "4, 0", "2, 3")
def chosen(n, k):
    return list(itertools.combinations(range(n % 6), k)), math.comb(n, k)


@calls("27", "1", "6")
def collatz(n):
    steps = []
    while n != 1 and len(steps) < 25:
        n = 3 * n + 1 if n & 1 else n >> 1
        steps.append(n)
    else:
        steps.append("end")
    return steps


@calls("'XIV'", "'MCMXC'", "'A'")
def roman(text):
    values, total = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}, 0
    for a, b in itertools.zip_longest(text, text[1:]):
        total += -values[a] if b and values[a] < values[b] else values[a]
    return total


@calls("'abc', 2", "'xyz', -1", "'', 5")
def caesar(text, k):
    return "".join(chr((ord(c) - 97 + k) % 26 + 97) if c.islower() else c for c in text)


@calls("[1, 2, 3, 4, 5], 2", "[], 1", "[1], 0")
def rotated(xs, k):
    if not xs:
        return xs
    k %= len(xs)
    xs[:] = xs[-k:] + xs[:-k]
    return xs


@calls("10, 3", "5, 0", "-7, 2")
def divided(a, b):
    try:
        q, r = divmod(a, b)
    except ZeroDivisionError as error:
        print("no", error)
        return None
    else:
        print("yes")
    finally:
        print("over")
    return q, r


@calls("[4, 2, 9]", "[]")
def extremes(xs):
    low = high = None
    for x in xs:
        if low is None or x < low:
            low = x
        if high is None or x > high:
            high = x
    return low, high

"""More of the standard library's pure Python beside itself: an expression a case, and the values of x that it is tried on."""
from __future__ import annotations

import argparse
import calendar
import collections
import configparser
import csv
import html.parser
import importlib
import io
import os
import sched

import pytest

import hovis
from hovis import Any
from tests.differential.harness.compare import fresh, observe, same
from tests.differential.stdlib.test_stdlib import pure

#: What the texts of the cases speak of.
MODULES = """
ast base64 binascii bisect calendar codecs colorsys contextlib copy dataclasses datetime decimal difflib email.message email.utils
enum fnmatch fractions functools glob graphlib hashlib heapq html inspect ipaddress itertools json keyword linecache locale
mimetypes ntpath numbers operator pathlib plistlib posixpath pprint queue quopri random re reprlib shlex stat statistics string
struct textwrap token tokenize traceback types typing urllib.parse uuid warnings weakref xml.sax.saxutils
""".split()
for _name in MODULES:
    importlib.import_module(_name)
_pydecimal = importlib.import_module("_pydecimal")
pure_functools = pure("functools", "_functools")
pure_operator = pure("operator", "_operator")
Point = collections.namedtuple("Point", "x y", defaults=[0])


class Shouting(dict):
    def __missing__(self, key):
        return key.upper()


class Titles(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, attrs))

    def handle_data(self, data):
        self.found.append(data)


def fed(parser, text):
    parser.feed(text)
    parser.close()
    return parser.found


def parsed(words):
    parser = argparse.ArgumentParser(prog="prog", exit_on_error=False)
    parser.add_argument("name")
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("-v", action="store_true")
    return vars(parser.parse_args(words))


def configured(text):
    config = configparser.ConfigParser()
    config.read_string(text)
    return {name: dict(config[name]) for name in config.sections()}


def written(rows):
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def calculated(a, b):
    with _pydecimal.localcontext() as context:
        context.prec = 8
        return str(_pydecimal.Decimal(a) + _pydecimal.Decimal(b)), str(_pydecimal.Decimal(a) / _pydecimal.Decimal(b)), str(_pydecimal.Decimal(a).sqrt())


def in_order(delays):
    ran = []
    clock = iter(range(100))
    scheduler = sched.scheduler(lambda: next(clock), lambda _: None)
    for delay in delays:
        scheduler.enter(delay, 1, ran.append, (delay,))
    scheduler.run()
    return ran


#: One expression a line, then the values of x.
CASES = """
collections.ChainMap({"a": x}, {"b": 2})["b"]                                       | 1
collections.Counter(x).most_common(1)                                               | "abca" | [1, 1, 2] | 3
collections.OrderedDict(a=x).popitem()                                              | 1
collections.UserList([x, 1]) + [2]                                                  | 5
collections.UserString(x).upper()                                                   | "ab" | 3
collections.namedtuple("P", "a b")(x, 2)._asdict()                                  | 1
Point(x)._replace(y=2), Point._make([x, 1]), Point(x) == (x, 0), Point(x).y         | 1 | "a"
collections.defaultdict(list, {1: [x]})[2]                                          | 1
list(itertools.batched(range(x), 2)) if hasattr(itertools, "batched") else 0        | 3
pure_functools.reduce(lambda a, b: a + b, [1, x, 3])                                | 2 | "s"
pure_functools.partial(pow, 2)(x), pure_functools.cmp_to_key(lambda a, b: b - a)(1) < pure_functools.cmp_to_key(lambda a, b: b - a)(x) | 3 | "s"
pure_functools.lru_cache(2)(lambda y: y + 1)(x)                                     | 1 | "s"
pure_operator.itemgetter(0, x)("ab"), pure_operator.attrgetter("real.imag")(x), pure_operator.methodcaller("bit_length")(x) | 1
pure_operator.countOf([1, x, 1], 1), pure_operator.indexOf([1, x], x), pure_operator.concat([x], [1])  | 1 | 2
calendar.isleap(x), calendar.leapdays(2000, x), calendar.monthrange(x, 2)           | 2024 | 1900
calendar.TextCalendar().formatmonth(x, 2)                                           | 2023
calendar.month_name[x], calendar.day_abbr[x % 7]                                    | 3 | 13
shlex.split(x)                                                                      | "a 'b c' d" | "'" | 3
shlex.join(["a b", x])                                                              | "c" | "it's"
urllib.parse.urlsplit(x).hostname, urllib.parse.urlparse(x).path                    | "http://u@h.de:80/p?q#f" | "" | 3
urllib.parse.parse_qs(x), urllib.parse.parse_qsl(x, keep_blank_values=True)         | "a=1&b=2&a=3&c=" | ""
urllib.parse.quote_plus(x), urllib.parse.unquote_plus(x)                            | "a b&c" | "é"
urllib.parse.urlunsplit(("http", x, "/p", "", ""))                                  | "h"
html.unescape(x), html.escape(x)                                                    | "&lt;a&#33;&amp;" | "plain"
fed(Titles(), x)                                                                    | "<a href='b'>c</a>" | "plain"
list(csv.reader([x])), list(csv.DictReader([x, "1,2"]))                             | "a,b" | '"q,r",s'
written([[x, 1], ["a,b", None]])                                                    | "q"
parsed(["n", "--count", x])                                                         | "3" | "z"
configured(x)                                                                       | "[s]\\na = 1\\nb: %(a)s2\\n" | "bad"
string.Formatter().format("{0}-{x}", 1, x=x)                                        | 2
string.Template("$a ${b}").safe_substitute(a=x)                                     | 1
string.capwords(x), x.translate(str.maketrans("ab", "ba"))                          | "ab cd"
copy.copy([x, [x]]), copy.copy({"a": x}), copy.deepcopy({"a": (x, [1])})            | 1 | "s"
copy.copy(Point(x)), copy.deepcopy(Point([x]))                                      | 1
pprint.pformat({"a": [x] * 3}, width=10)                                            | 1 | "s"
reprlib.repr([x] * 10), reprlib.Repr().repr({"a": x})                               | 1 | "s"
random.Random(x).randrange(10), random.Random(x).choice("abc"), random.Random(x).sample(range(9), 3)  | 1 | "s"
random.Random(3).shuffle(x), x                                                      | [1, 2, 3, 4]
random.Random(3).gauss(x, 1), random.Random(3).choices([x, 2], k=2), random.Random(3).uniform(0, x)  | 1
str(_pydecimal.Decimal(x) + 1)                                                      | "1.10" | 3
calculated(x, "3")                                                                  | "2" | "1e3"
_pydecimal.Decimal(x).quantize(_pydecimal.Decimal("0.1")).as_tuple()                | "2.25"
[type(n).__name__ for n in ast.walk(ast.parse(x))]                                  | "a = b + 1" | "("
ast.dump(ast.parse(x, mode="eval")), ast.unparse(ast.parse(x))                      | "f(a)[1:2]"
[t.string for t in tokenize.generate_tokens(io.StringIO(x).readline)]               | "a = 1 + b\\n"
base64.b64encode(x), base64.b32encode(x), base64.b16encode(x), base64.a85encode(x), base64.b85encode(x) | b"hello" | "s"
base64.b64decode(x), base64.urlsafe_b64decode(x)                                    | b"aGVsbG8=" | "aGVsbG8=" | b"a"
tuple(graphlib.TopologicalSorter({x: [1], 1: [0]}).static_order())                  | 2 | 0
email.utils.formataddr(("A B", x)), email.utils.parsedate_tz(x)                     | "a@b.c"
email.utils.quote(x), email.utils.unquote(x), email.utils.format_datetime(datetime.datetime(2020, 1, 2))  | 'a"b'
email.message.Message().get(x, 3)                                                   | "Subject"
fnmatch.fnmatch("a.py", x), fnmatch.filter(["a", "b"], x)                           | "*.py" | "[ab]"
glob.translate(x) if hasattr(glob, "translate") else glob.escape(x)                 | "*.py" | "a[1]"
posixpath.join("/a", x), posixpath.normpath(x), posixpath.splitext(x), posixpath.isabs(x), posixpath.dirname(x)  | "b/../c.d" | "/e"
posixpath.expandvars(x), posixpath.commonprefix([x, "a"])                           | "a/$NOTHING"
ntpath.join("c:\\\\a", x), ntpath.splitdrive(x), ntpath.normpath(x)                 | "b" | "d:/e/../f"
str(pathlib.PurePosixPath("/a") / x), pathlib.PurePosixPath(x).suffix, pathlib.PurePosixPath(x).parts | "b/c.d"
uuid.UUID(x).hex, uuid.UUID(x).version                                              | "12345678123456781234567812345678" | "z"
uuid.uuid5(uuid.NAMESPACE_DNS, x)                                                   | "python.org"
heapq.nsmallest(2, [3, x, 1]), heapq.nlargest(1, [3, x], key=lambda v: -v)          | 2
list(heapq.merge([1, x], [2]))                                                      | 3
bisect.bisect([1, 2, 3], x), bisect.bisect_left([1, 2, 3], x, key=lambda v: v)      | 2 | "s"
statistics.median([x, 1, 5]), statistics.mean([x, 1]), statistics.variance([x, 1])  | 2 | 2.5
statistics.NormalDist(x, 2).cdf(1), statistics.harmonic_mean([x, 2])                | 1
fractions.Fraction(x).limit_denominator(10), fractions.Fraction(x) ** 2             | 0.3333 | 2 | "1/3"
colorsys.rgb_to_hsv(*colorsys.hls_to_rgb(x, 0.5, 0.5))                              | 0.25
difflib.SequenceMatcher(None, x, "abd").get_opcodes()                               | "abc"
list(difflib.context_diff([x], ["b"], lineterm=""))                                 | "a"
textwrap.wrap(x, 5), textwrap.indent(x, "> "), textwrap.shorten(x, 6)               | "aa bb cc dd"
json.dumps({"a": [x, None, True]}, indent=1, sort_keys=True), json.loads(json.dumps([x])) | 1 | "é" | 1.5
json.dumps(x, default=str)                                                          | {1} | Point
str(ipaddress.ip_address(x)), ipaddress.ip_network("10.0.0.0/8").overlaps(ipaddress.ip_network("10.1.0.0/16")) | "10.0.0.1" | "::1" | "bad"
ipaddress.IPv4Address(x).is_private, int(ipaddress.IPv4Address(x)) + 1              | "10.0.0.1"
keyword.iskeyword(x), stat.filemode(0o100644), token.tok_name[1]                    | "if" | "of"
struct.unpack("<h", struct.pack("<h", x))                                           | 3 | 100000
binascii.hexlify(x), codecs.encode(x, "hex"), hashlib.md5(x).hexdigest(), quopri.encodestring(x)  | b"ab=c"
codecs.encode(x, "rot13"), codecs.lookup("utf-8").name                              | "abc"
isinstance(x, numbers.Integral), isinstance(x, collections.abc.Iterable), isinstance(x, typing.SupportsInt) | 1 | "s" | 1.5
typing.get_type_hints(parsed), typing.get_args(dict[str, int]), typing.cast(int, x) | 1
inspect.signature(parsed).parameters, inspect.getdoc(calculated), inspect.isfunction(x)  | 1 | len
types.SimpleNamespace(a=x), types.SimpleNamespace(a=x) == types.SimpleNamespace(a=x) | 1
in_order([x, 1, 2])                                                                 | 3
queue.SimpleQueue().empty(), x                                                      | 1
list(mimetypes.MimeTypes().guess_type(x))                                           | "a.html" | "a.tar.gz"
xml.sax.saxutils.escape(x, {"a": "b"}), xml.sax.saxutils.quoteattr(x)               | "a<b"
plistlib.dumps({"a": x})                                                            | 1 | "s"
contextlib.nullcontext(x).__enter__()                                               | 1
locale.delocalize(x)                                                                | "1.5"
linecache.getline(x, 1), traceback.format_exception_only(ValueError, ValueError(x)) | "nowhere"
weakref.ref(parsed)() is parsed, x                                                  | 1
Shouting(a=x)["b"], Shouting(a=x)["a"], "%(a)s %(c)s" % Shouting(a=x)               | 1
warnings.warn(x), x                                                                 | "careful"
datetime.date(2024, 1, x).isoformat(), (datetime.date(2024, 1, x) - datetime.date(2023, 1, 1)).days | 5 | 40
datetime.datetime(2024, 1, 1, x).strftime("%H:%M"), datetime.timedelta(hours=x).total_seconds() | 5
decimal.Decimal(x) * 2, decimal.Decimal(x).is_nan()                                 | "1.5" | 3
operator.itemgetter(x)([5, 6]), operator.attrgetter("real")(x)                      | 1
dataclasses.make_dataclass("D", ["a"])(x)                                           | 1
enum.Enum("E", "A B")["A"].value + x                                                | 1
list(itertools.accumulate([x, 2, 3], operator.mul)), list(itertools.pairwise([x, 1, 2])), list(itertools.groupby([x, x, 1])) != [] | 2
functools.reduce(operator.add, [x, 1]), functools.partial(divmod, x)(2)             | 7
re.fullmatch("(a+)(b)?", x), re.split("[,;]", x), re.sub("a", "b", x), re.escape(x) | "aab" | "a,b;c"
os.path.basename(x), os.fspath(x)                                                   | "a/b"
""".strip().splitlines()

FUEL = 250_000 if "HOVIS_EXAMPLES" in os.environ else 20_000


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("line", CASES, ids=lambda line: line.split("|")[0].strip()[:60])
def test_beside_itself(line):
    text, *values = (part.strip() for part in line.split(" | "))
    scope = {**{name.partition(".")[0]: importlib.import_module(name.partition(".")[0]) for name in MODULES}, **globals()}
    exec(f"def case(x): return {text}", scope)
    fn = scope["case"]
    jitted, unknown = hovis.jit(fn, fuel=FUEL), hovis.options(fuel=FUEL).specialize(fn, Any)
    for value in values:
        x = eval(value, scope)
        expected = observe(fn, (fresh(x),))
        by_type = hovis.options(fuel=FUEL).specialize(fn, type(x))
        for call in (jitted, jitted, unknown, by_type):
            same(expected, observe(call, (fresh(x),)), f"{text} for {value}")


def test_an_iterator_ends_where_its_end_is_one_of_many_values():
    """The end arrives first where what may arrive is no longer told apart."""
    def days(year):
        return list(calendar.TextCalendar().itermonthdays2(year, 2))

    residual = hovis.specialize(days, int)
    for year in (2023, 2024, 1900):
        same(observe(days, (year,)), observe(residual, (year,), seconds=5))

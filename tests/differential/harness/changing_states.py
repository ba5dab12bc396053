"""Functions of the standard library and NumPy on known arguments, and changes of the state that they read. Run in its own process: most of it is global state.

Prints a line for each difference between a jitted function and the function itself, and ``done``.
"""
import copy
import os
import random
import sys
import warnings
import zlib

import hovis

SETUP = """
import array, base64, calendar, codecs, collections, copy, datetime, decimal, enum, fractions, html, io, ipaddress, json, locale, math, numbers, operator
import os, random, re, statistics, string, struct, sys, textwrap, time, uuid, warnings, zlib, zoneinfo
import numpy as np
from decimal import Decimal
from fractions import Fraction
"""
#: An expression with known arguments, and changes of the state that it reads.
CASES = [
    ("Decimal(1)/Decimal(3)", ["decimal.getcontext().prec=5", "decimal.getcontext().rounding=decimal.ROUND_UP"]),
    ("Decimal('1.005').quantize(Decimal('0.01'))", ["decimal.getcontext().rounding=decimal.ROUND_UP"]),
    ("+Decimal('1.23456789')", ["decimal.getcontext().prec=3"]),
    ("str(Decimal('1E+10'))", ["decimal.getcontext().capitals=0"]),
    ("Decimal('10').sqrt()", ["decimal.getcontext().prec=3"]),
    ("Decimal(1)+Decimal(2)", ["decimal.getcontext().prec=1","decimal.setcontext(decimal.Context(prec=2))"]),
    ("round(Decimal('1.255'),2)", ["decimal.getcontext().rounding=decimal.ROUND_UP"]),
    ("f\"{Decimal('1.2345'):.2f}\"", ["decimal.getcontext().rounding=decimal.ROUND_UP"]),
    ("Decimal('1')/Decimal('0') if False else Decimal('NaN')+1", ["decimal.getcontext().traps[decimal.Inexact]=True"]),
    ("Decimal(2)**Decimal('0.5')", ["decimal.getcontext().prec=4"]),
    ("int(Decimal('3.7'))", ["decimal.getcontext().prec=1"]),
    ("Decimal('1.1') == 1.1", ["decimal.getcontext().traps[decimal.FloatOperation]=True"]),
    ("Decimal(1.1)", ["decimal.getcontext().traps[decimal.FloatOperation]=True"]),
    ("datetime.datetime.fromtimestamp(0).isoformat()", ["os.environ['TZ']='Asia/Tokyo';time.tzset()"]),
    ("datetime.datetime(2020,1,1).timestamp()", ["os.environ['TZ']='Asia/Tokyo';time.tzset()"]),
    ("datetime.datetime(2020,1,1).astimezone().isoformat()", ["os.environ['TZ']='Asia/Tokyo';time.tzset()"]),
    ("time.strftime('%Z', time.localtime(0))", ["os.environ['TZ']='Asia/Tokyo';time.tzset()"]),
    ("time.localtime(0).tm_hour", ["os.environ['TZ']='Asia/Tokyo';time.tzset()"]),
    ("time.mktime((2020,1,1,0,0,0,0,0,0))", ["os.environ['TZ']='Asia/Tokyo';time.tzset()"]),
    ("time.ctime(0)", ["os.environ['TZ']='Asia/Tokyo';time.tzset()"]),
    ("time.tzname", ["os.environ['TZ']='Asia/Tokyo';time.tzset()"]),
    ("time.timezone", ["os.environ['TZ']='Asia/Tokyo';time.tzset()"]),
    ("datetime.date.fromtimestamp(0).isoformat()", ["os.environ['TZ']='Pacific/Honolulu';time.tzset()"]),
    ("datetime.datetime(2020,1,1).strftime('%Z %A')", ["os.environ['TZ']='Asia/Tokyo';time.tzset()"]),
    ("'a\\u00e9'.encode('ascii','myerr')", ["codecs.register_error('myerr', lambda e: ('!', e.end))"]),
    ("b'a\\xff'.decode('ascii','myerr2')", ["codecs.register_error('myerr2', lambda e: ('!', e.end))"]),
    ("b'a\\xff'.decode('utf-8','replace')", ["codecs.register_error('replace', lambda e: ('!', e.end))"]),
    ("'a\\u00e9'.encode('ascii','replace')", ["codecs.register_error('replace', lambda e: ('!', e.end))"]),
    ("'a\\u00e9'.encode('ascii','backslashreplace')", ["codecs.register_error('backslashreplace', lambda e: ('!', e.end))"]),
    ("'a\\u00e9'.encode('latin1','xmlcharrefreplace')", ["codecs.register_error('xmlcharrefreplace', lambda e: ('!', e.end))"]),
    ("'a'.encode('mycodec')", ["codecs.register(lambda n: codecs.CodecInfo(lambda s,e='strict': (b'X',len(s)), lambda b,e='strict': ('X',len(b)), name='mycodec') if n=='mycodec' else None)"]),
    ("str(b'a\\xff','ascii','replace')", ["codecs.register_error('replace', lambda e: ('!', e.end))"]),
    ("bytes('a\\u00e9','ascii','ignore')", ["codecs.register_error('ignore', lambda e: ('!', e.end))"]),
    ("f'{1234567:n}'", ["locale.setlocale(locale.LC_ALL,'C.UTF-8')"]),
    ("'%d' % 5", ["locale.setlocale(locale.LC_ALL,'C.UTF-8')"]),
    ("float('1.5')", ["locale.setlocale(locale.LC_ALL,'C.UTF-8')"]),
    ("locale.str(1.5)", ["locale.format_string=lambda *a,**k:'patched'","locale._override_localeconv={'decimal_point':','}"]),
    ("locale.localeconv()['decimal_point']", ["locale._override_localeconv={'decimal_point':','}"]),
    ("random.Random(3).random()", ["random.Random.random=lambda s: 5.0"]),
    ("random.Random(3).randint(1,10)", ["random.Random.randrange=lambda *a: 77"]),
    ("random.random()", ["random.seed(5)"]),
    ("struct.pack('<i',3)", ["struct.pack=lambda *a: b'P'"]),
    ("struct.Struct('<i').pack(3)", ["struct.Struct=lambda *a: None"]),
    ("array.array('i',[1,2]).tolist()", ["array.array=lambda *a: None"]),
    ("base64.b64encode(b'ab',b'-_')", ["base64.binascii.b2a_base64=lambda *a,**k: b'P'"]),
    ("string.Template('$a b').substitute(a=1)", ["string.Template.delimiter='%'", "string.Template.pattern=re.compile('x')","string.Template.substitute=lambda *a,**k:'P'"]),
    ("string.Formatter().format('{0}',1)", ["string.Formatter.convert_field=lambda *a:'P'","string.Formatter.format_field=lambda *a:'P'"]),
    ("string.capwords('a b')", ["string.capwords=lambda *a:'P'"]),
    ("Fraction(1,3)+Fraction(1,6)", ["Fraction._add=lambda a,b: 5","Fraction.__add__=lambda a,b: 5"]),
    ("str(Fraction(2,4))", ["Fraction.__str__=lambda s:'P'", "math.gcd=lambda a,b: 1"]),
    ("Fraction('1/3')", ["import fractions; fractions._RATIONAL_FORMAT=re.compile('x')"]),
    ("float(Fraction(1,3))", ["numbers.Rational.__float__=lambda s: 9.0"]),
    ("statistics.mean([1,2,4])", ["statistics._sum=lambda d: (int,5,1)","statistics._convert=lambda v,T: 77"]),
    ("statistics.median([3,1,2])", ["statistics.sorted=lambda d:[9,9,9]"]),
    ("statistics.NormalDist(0,1).cdf(0.5)", ["statistics.erf=lambda x: 0.0","statistics.NormalDist.cdf=lambda s,x: 7"]),
    ("str(ipaddress.ip_address('10.0.0.1'))", ["ipaddress.IPv4Address=lambda a: 'P'","ipaddress.IPv4Address._string_from_ip_int=classmethod(lambda c,i: 'P')"]),
    ("ipaddress.ip_network('10.0.0.0/30').num_addresses", ["ipaddress.IPv4Network.prefixlen=5","ipaddress._BaseNetwork.num_addresses=3"]),
    ("ipaddress.ip_address('10.0.0.1').is_private", ["ipaddress.IPv4Address._constants._private_networks.clear()"]),
    ("str(uuid.UUID(int=5))", ["uuid.UUID.__str__=lambda s:'P'"]),
    ("uuid.uuid5(uuid.NAMESPACE_DNS,'a').hex", ["uuid.NAMESPACE_DNS=uuid.UUID(int=3)","uuid.UUID.hex=property(lambda s:'P')"]),
    ("uuid.UUID('12345678123456781234567812345678').version", ["uuid.RFC_4122='q'"]),
    ("calendar.day_name[0]", ["calendar.day_name=['x']*7"]),
    ("calendar.TextCalendar().formatmonth(2020,1)", ["calendar.TextCalendar.formatday=lambda *a:'P'"]),
    ("calendar.month(2020,1)", ["calendar.setfirstweekday(6)"]),
    ("calendar.monthcalendar(2020,1)", ["calendar.setfirstweekday(6)"]),
    ("calendar.weekheader(3)", ["calendar.setfirstweekday(6)"]),
    ("str(np.float64(1)/3)", ["np.set_printoptions(precision=2)"]),
    ("repr(np.array([1.23456789]))", ["np.set_printoptions(precision=2)"]),
    ("str(np.array([1.23456789,2]))", ["np.set_printoptions(precision=2)","np.set_printoptions(legacy='1.13')"]),
    ("np.array2string(np.array([1.23456789]))", ["np.set_printoptions(precision=2)"]),
    ("re.sub('a','b','aXa')", ["re.sub=lambda *a:'P'"]),
    ("json.dumps({'a':1.5})", ["json.encoder.FLOAT_REPR=str","json.encoder.c_make_encoder=None;json.encoder.encode_basestring_ascii=lambda s:'P'"]),
    ("int('1'*50)", ["sys.set_int_max_str_digits(0)"]),
    ("len(str(10**800))", ["sys.set_int_max_str_digits(640)"]),
    ("f'{10**800:d}'[:3]", ["sys.set_int_max_str_digits(640)"]),
    ("'%d' % (10**800)", ["sys.set_int_max_str_digits(640)"]),
    ("int('9'*700) % 7", ["sys.set_int_max_str_digits(640)"]),
    ("sys.getrecursionlimit()", ["sys.setrecursionlimit(1234)"]),
    ("sys.getswitchinterval()", ["sys.setswitchinterval(0.01)"]),
    ("os.environ.get('QQ')", ["os.environ['QQ']='1'"]),
    ("os.getenv('QQ')", ["os.environ['QQ']='2'"]),
    ("os.path.expanduser('~/a')", ["os.environ['HOME']='/q'"]),
    ("os.path.expandvars('$QQ/a')", ["os.environ['QQ']='3'"]),
    ("os.path.abspath('a')", ["os.chdir('/usr')"]),
    ("os.getcwd()", ["os.chdir('/usr')"]),
    ("locale.getpreferredencoding(False)", ["locale.setlocale(locale.LC_ALL,'C')"]),
    ("sys.getdefaultencoding()", []),
    ("'ß'.upper(), 'İ'.lower()", ["locale.setlocale(locale.LC_ALL,'C.UTF-8')"]),
    ("zoneinfo.ZoneInfo('UTC').key", ["zoneinfo.ZoneInfo.clear_cache()","zoneinfo.reset_tzpath(to=[])"]),
    ("warnings.filters[0] if warnings.filters else 0", ["warnings.simplefilter('error')"]),
    ("[warnings.warn('x', UserWarning), 3][1]", ["warnings.simplefilter('error')"]),
    ("np.float64(1)/np.float64(0)", ["np.seterr(divide='raise')"]),
    ("np.log(np.zeros(2))[0]", ["np.seterr(divide='raise')"]),
    ("np.sqrt(-1.0)", ["np.seterr(invalid='raise')"]),
    ("np.geterr()['divide']", ["np.seterr(divide='raise')"]),
    ("np.random.default_rng(3).random()", ["np.random.default_rng=lambda *a: None"]),
    ("np.random.rand()", ["np.random.seed(3)"]),
    ("html.escape('<')", ["html.escape=lambda *a:'P'"]),
    ("hash('a')==hash('a')", []),
    ("operator.itemgetter(1)([1,2])", ["operator.itemgetter=lambda *a: None"]),
    *([("copy.copy([1])", ["copy._copy_dispatch[list]=lambda x: 'P'"])] if hasattr(copy, "_copy_dispatch") else []),
    ("copy.deepcopy({'a':[1]})", ["copy._deepcopy_dispatch[list]=lambda x,m: 'P'", "copy._deepcopy_dispatch[dict]=lambda x,m: 'P'"]),
    ("textwrap.fill('aaa bb cc',5)", ["textwrap.TextWrapper.wordsep_re=re.compile('x')","textwrap.TextWrapper.fill=lambda *a:'P'"]),
    ("collections.Counter('aab').most_common(1)", ["collections.Counter.most_common=lambda *a:'P'","import heapq; heapq.nlargest=lambda *a,**k:'P'"]),
    ("collections.namedtuple('A','x')(1)", ["collections._iskeyword=lambda s: True"]),
    ("datetime.datetime.strptime('2020','%Y').year", ["import _strptime; _strptime._strptime_datetime=lambda *a: 'P'"]),
    ("datetime.timedelta(1)+datetime.timedelta(2)", []),
    ("datetime.datetime.now().year > 2000", ["datetime.datetime=None"]),
    ("io.StringIO('a').read()", ["io.StringIO=lambda a: None"]),
]  # fmt: skip


def told(fn):
    import numpy as np

    before, numpys = random.getstate(), np.random.get_state()
    try:
        return repr(fn(1))
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        random.setstate(before)
        np.random.set_state(numpys)


def differences(expression, change):
    space = {"__name__": "changed"}
    exec(SETUP, space)
    exec(f"def program(x): return x, {expression}", space)
    jitted, plain = hovis.jit(space["program"]), space["program"]
    for when in ("before", "again", change):
        if when is change:
            exec(change, space)
        found, expected = told(jitted), told(plain)
        if found != expected:
            yield f"{expression} after {when}: {found}, not {expected}"


def main(share):
    for expression, changes in CASES:
        for change in changes or ["pass"]:
            if zlib.crc32(f"{expression} {change}".encode()) % share:
                continue
            child = os.fork()
            if not child:
                warnings.simplefilter("default" if "warn" in expression else "ignore")
                for line in differences(expression, change):
                    print(line, flush=True)
                os._exit(0)
            _, status = os.waitpid(child, 0)
            if status:
                print(f"{expression} after {change}: the process ended with {status}", flush=True)
    print("done", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))

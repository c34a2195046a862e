"""Errors of programs for Python 2 and old NumPy: the lines and the changes that they need."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple


class Finding(NamedTuple):
    """A line written for Python 2."""

    line: int
    text: str
    change: str


_CODE = r"^(?P<head>\s*(?:(?:if|elif|while|for|else|try|except|finally|with)\b.*?:\s*)?)"
SYNTAX: list[tuple[str, str]] = [
    (_CODE + r"print\s*>>\s*(?P<file>[^,]+),\s*(?P<rest>.+)$",
     r"\g<head>print(\g<rest>, file=\g<file>)"),
    (_CODE + r"print\s+(?P<rest>[^=(\s].*?),\s*$", r"\g<head>print(\g<rest>, end=' ')"),
    (_CODE + r"print\s+(?P<rest>[^=\s].*)$", r"\g<head>print(\g<rest>)"),
    (_CODE + r"print\s*$", r"\g<head>print()"),
    (r"^(\s*except\s+)([^,:]+|\([^)]*\))\s*,\s*(\w+)\s*:", r"\1\2 as \3:"),
    (_CODE + r"raise\s+(?P<kind>[\w.]+)\s*,\s*(?P<what>[^,]+)$",
     r"\g<head>raise \g<kind>(\g<what>)"),
    (_CODE + r"exec\s+(?P<what>[^(\s].*?)(?:\s+in\s+(?P<where>.+))?$", r"\g<head>exec(\g<what>)"),
    (r"`([^`]+)`", r"repr(\1)"),
    (r"<>", "!="),
    (r"\b(\d+)[lL]\b", r"\1"),
    (r"(?<![\w.])0([0-7]+)\b(?!\.)", r"0o\1"),
    (r"\b[uU][rR](['\"])", r"r\1"),
    (r"\blambda\s*\(([^)]*)\)\s*:(.*)$", r"lambda pair:\2  # pair[0], pair[1] for \1"),
    (r"^(\s*def\s+\w+\()([^()]*?)\(([\w,\s]+)\)(.*\).*:)\s*$",
     r"\1\2pair\4  # then \3 = pair"),
]  # fmt: skip
"""Regular expressions of Python 2's syntax, and their replacements in Python 3."""

_BUILTINS = {
    "xrange": "range", "unicode": "str", "basestring": "str", "raw_input": "input",
    "long": "int", "unichr": "chr", "reduce": "functools.reduce", "reload": "importlib.reload",
    "execfile": "exec(open(...).read())", "cmp": "(a > b) - (a < b)", "file": "open",
    "apply": "f(*arguments)", "buffer": "memoryview", "intern": "sys.intern",
}  # fmt: skip
_MODULES = {
    "cPickle": "pickle", "Queue": "queue", "urllib2": "urllib.request", "StringIO": "io.StringIO",
    "cStringIO": "io.StringIO", "ConfigParser": "configparser", "Tkinter": "tkinter",
    "urlparse": "urllib.parse", "commands": "subprocess", "thread": "_thread", "md5": "hashlib.md5",
    "sets": "set", "exceptions": "builtins", "Image": "from PIL import Image",
    "SocketServer": "socketserver", "HTMLParser": "html.parser", "__builtin__": "builtins",
    "copy_reg": "copyreg", "anydbm": "dbm", "cookielib": "http.cookiejar", "httplib": "http.client",
}  # fmt: skip
_ATTRIBUTES = {
    "iteritems": "items", "itervalues": "values", "iterkeys": "keys", "has_key": "key in d",
    "viewitems": "items", "viewvalues": "values", "viewkeys": "keys",
    "izip": "zip", "imap": "map", "ifilter": "filter", "izip_longest": "itertools.zip_longest",
    "maxint": "sys.maxsize", "setdefaultencoding": "leave it out, strings are Unicode",
    "getcwdu": "os.getcwd", "func_name": "__name__", "func_code": "__code__",
    "func_defaults": "__defaults__", "im_func": "__func__", "im_self": "__self__",
    "maketrans": "str.maketrans", "urlretrieve": "urllib.request.urlretrieve",
    "urlopen": "urllib.request.urlopen", "urlencode": "urllib.parse.urlencode",
    "next": "next(iterator)", "letters": "string.ascii_letters", "atoi": "int", "atof": "float",
    "lowercase": "string.ascii_lowercase", "uppercase": "string.ascii_uppercase",
    "StringType": "str", "UnicodeType": "str", "IntType": "int", "FloatType": "float",
    "ListType": "list", "TupleType": "tuple", "DictType": "dict", "isCallable": "callable",
}  # fmt: skip
NAMES: list[tuple[type[Exception], dict[str, str]]] = [
    (NameError, _BUILTINS), (ModuleNotFoundError, _MODULES),
    (ImportError, _ATTRIBUTES), (AttributeError, _ATTRIBUTES),
]  # fmt: skip
"""Names of Python 2 and their successors, by the error of Python 3."""

_LAZY = r"(map|zip|filter|dict_keys|dict_values|dict_items)"
MESSAGES: list[tuple[str, str]] = [
    (rf"'{_LAZY}' object (is not subscriptable|has no attribute)|type '{_LAZY}' has no len"
     rf"|not '{_LAZY}'|: '{_LAZY}' and",
     "map, zip, filter, and keys, values and items of a dict were lists in Python 2; in Python 3: "
     "list(map(...))"),
    (r"'range' object does not support item assignment|\+: '(range' and 'list|list' and 'range)'",
     "range(n) was a list in Python 2; in Python 3: list(range(n))"),
    (r"'float' object cannot be interpreted as an integer|integers.*not float"
     r"|slice indices must be integers|^only integers, slices|single integer, got '[\d.]+'",
     "a quotient of integers, a / b, was an integer in Python 2; in Python 3: a // b"),
    (r"not supported between instances of '(\w+)' and '(?!\1')\w+'",
     "Python 2 compared values of any types; Python 3 needs a key for sort, or values of one type"),
    (r"'cmp'.* keyword|keyword.* 'cmp'", "cmp is Python 2; in Python 3: "
     "key=functools.cmp_to_key(function)"),
    (r"'str' object has no attribute 'decode'",
     "str is Unicode in Python 3: leave decode out; bytes come from open(path, 'rb')"),
    (r"a bytes-like object is required, not 'str'",
     "'wb' and 'rb' are for bytes in Python 3; for text: open(path, 'w') and open(path)"),
    (r"'ascii' codec can't decode",
     "pickles of Python 2 need pickle.load(file, encoding='latin1'), as np.load does; text files "
     "open(path, encoding='utf-8')"),
    (r"Object arrays cannot be loaded when allow_pickle=False",
     "np.load(path, allow_pickle=True) was the default before NumPy 1.16.3; a pickle can run any "
     "code, so use it only for files that you trust"),
    (r"for %: 'NoneType' and", "print is a function in Python 3: print('%d' % n)"),
    (r"only 0-dimensional arrays can be converted|real number is required, not numpy.ndarray",
     "arrays of one element were numbers before NumPy 2.4: a.item() of such an array"),
    (r"Python integer -?\d+ out of bounds for u?int\d+",
     "before NumPy 2 the type grew (uint8 + 300) or the number wrapped (np.uint8(-1)): "
     "np.array(number).astype(type), or a wider type"),
    (r"No module named '(distutils|pkg_resources)\b",
     "it comes with setuptools from Python 3.12 on: pip install 'setuptools<81'"),
]  # fmt: skip
"""Regular expressions of messages of Python 3 and NumPy 2, and the changes that programs need."""


def findings(source: str) -> list[Finding]:
    """The lines of Python 2's syntax in a file, by regular expressions.

    >>> findings("print 'a'")
    [Finding(line=1, text="print 'a'", change="print('a')")]
    """
    found, text = [], ""
    for number, line in enumerate(source.splitlines(), 1):
        inside, text = text, _open_text(text, line)
        if inside or text:
            continue
        code, *_ = re.split(r"(?<!['\"])#", line, maxsplit=1)
        changed = code.rstrip()
        for pattern, replacement in SYNTAX:
            if not _in_string(changed, pattern):
                changed = re.sub(pattern, replacement, changed)
        if changed != code.rstrip():
            found.append(Finding(number, line.strip(), changed.strip()))
    return found


def _open_text(delimiter: str, line: str) -> str:
    """The delimiter of a text of several lines that is open after ``line``, or nothing."""
    for mark in re.findall(r"\"\"\"|'''", line):
        delimiter = "" if delimiter == mark else delimiter or mark
    return delimiter


def _in_string(code: str, pattern: str) -> bool:
    """Whether every match of an operator lies inside quotes."""
    matches = list(re.finditer(pattern, code))
    return bool(matches) and all(_quotes(code[: m.start()]) for m in matches)


def _quotes(text: str) -> bool:
    """Whether a string literal is open at the end of a piece of code."""
    rest = re.sub(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"", "", text)
    return "'" in rest or '"' in rest


def explanation(error: BaseException) -> str:
    """The change that a program needs after an error of Python 3 or NumPy 2; empty for others."""
    if isinstance(error, SyntaxError):
        path = error.filename
        return _syntax(path, error) if path and Path(path).is_file() else ""
    imported = re.match(r"cannot import name '(\w+)'", str(error))
    name = imported[1] if imported else getattr(error, "name", None)
    for kind, names in NAMES:
        if isinstance(error, kind) and name in names:
            return f"{name} is Python 2; in Python 3: {names[name]}"
    return next((advice for message, advice in MESSAGES if re.search(message, str(error))), "")


def _syntax(path: str, error: SyntaxError) -> str:
    if isinstance(error, TabError):
        return (
            f"{path}:{error.lineno}: tabs and spaces are mixed, which Python 2 allowed: "
            f"expand the tabs to 8 columns: expand -t 8 {path}"
        )
    found = findings(Path(path).read_text(encoding="utf-8", errors="replace"))
    if not any(each.line == error.lineno for each in found):
        return ""
    lines = [f"  {each.line}: {each.text}\n      now {each.change}" for each in found[:10]]
    more = [f"  and {len(found) - 10} more"] if len(found) > 10 else []
    return "\n".join([f"{path} is written for Python 2; Python 3 needs:", *lines, *more])

"""Python 2 in a program: the lines that Python 3 refuses, with the change that each needs."""

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

NAMES = {
    "xrange": "range", "unicode": "str", "basestring": "str", "raw_input": "input",
    "long": "int", "unichr": "chr", "reduce": "functools.reduce", "reload": "importlib.reload",
    "execfile": "exec(open(...).read())", "cmp": "(a > b) - (a < b)", "file": "open",
    "iteritems": "items", "itervalues": "values", "iterkeys": "keys", "has_key": "key in d",
    "izip": "zip", "imap": "map", "ifilter": "filter", "maxint": "sys.maxsize",
    "cPickle": "pickle", "Queue": "queue", "urllib2": "urllib.request", "StringIO": "io.StringIO",
    "cStringIO": "io.StringIO", "ConfigParser": "configparser", "Tkinter": "tkinter",
    "urlparse": "urllib.parse", "commands": "subprocess", "thread": "_thread",
    "SocketServer": "socketserver", "HTMLParser": "html.parser", "__builtin__": "builtins",
    "copy_reg": "copyreg", "anydbm": "dbm", "cookielib": "http.cookiejar", "httplib": "http.client",
    "maketrans": "str.maketrans", "urlretrieve": "urllib.request.urlretrieve",
    "urlopen": "urllib.request.urlopen", "urlencode": "urllib.parse.urlencode",
    "next": "next(iterator)", "letters": "string.ascii_letters",
}  # fmt: skip
"""Names of Python 2, and their successors."""


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
    """The lines or the name of Python 2 after an error; empty for other errors."""
    match error:
        case SyntaxError(filename=str(path)) if Path(path).is_file():
            return _syntax(path, error)
        case NameError(name=str(name)) | ModuleNotFoundError(name=str(name)) if name in NAMES:
            return f"{name} is Python 2; in Python 3: {NAMES[name]}"
        case AttributeError(name=str(name)) | ImportError(name_from=str(name)) if name in NAMES:
            return f"{name} is Python 2; in Python 3: {NAMES[name]}"
    return ""


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

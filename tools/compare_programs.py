"""Compare random programs with Apache MXNet 1.9.1, line by line, beside each other.

    MODKIT_REFERENCE=/path/to/python tools/compare_programs.py module --count 200 --seed 3
    MODKIT_REFERENCE=/path/to/python tools/compare_programs.py module --seed 3 --only 17
    MODKIT_REFERENCE=/path/to/python tools/compare_programs.py module --seed 3 --broken

A kind of program is a file `programs_KIND.py` beside this one. Its ``draw(random)`` returns the
lines of one program, each of which is a statement that uses ``mx``, ``np`` and the names that
lines before have made. Its ``EXCUSED`` lists differences that are meant or defects of the
reference, as ``(pattern of the line, pattern of the difference, reason)``.

Both sides run each line and describe the value of an expression or of the names that it assigns,
or the error that it raises; later lines run after an error, too. A program is compared up to its
first difference, or to a block that both sides refuse, as one side may get further in it. A kind's
``ENDS``, ``(pattern of the line, pattern of modkit's error, reason)``, lists refused lines after
which the reference is half changed. Lines that a difference does not need are left out before it is
printed. The exit status is 1 if a program differs.

With ``--broken`` each program has one mistake more: a line that is left out, or stands elsewhere, a
number, a text or an argument that is another or is not there. What follows the error shows that
nothing is lost.

Each side has a folder of its own. At the line `EXCHANGE` each takes the other's, so that lines
after it read files that the other library wrote.
"""

import argparse
import ast
import importlib
import logging
import os
import pickle
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parent))
ENVIRONMENT = importlib.import_module("reference").ENVIRONMENT
operators = importlib.import_module("compare_ops")
packed, unpacked = operators.packed, operators.unpacked
EXCHANGE = "exchange_folders()"
LIMIT_S = 60
"""A program that takes longer ends its process."""


def main():
    """Draw programs, run both sides, and print what differs."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("kind", help="a file programs_KIND.py beside this one")
    parser.add_argument("--count", type=int, default=200, help="number of programs")
    parser.add_argument("--seed", type=int, default=0, help="what the programs are drawn from")
    parser.add_argument("--only", type=int, help="the program of this number alone, in full")
    parser.add_argument("--broken", action="store_true", help="one mistake in each program")
    parser.add_argument("--excused", action="store_true", help="print what is excused, too")
    given = parser.parse_args()
    reference = os.environ.get("MODKIT_REFERENCE")
    if not reference:
        sys.exit("MODKIT_REFERENCE: not set, expected the python of an environment with mxnet")
    kind = importlib.import_module("programs_" + given.kind)
    sides = Side(sys.executable, "modkit"), Side(reference, "mxnet")
    numbers = range(given.count) if given.only is None else [given.only]
    found, excused, lines_run, refused, left = 0, 0, 0, 0, 0
    for number in numbers:
        drawn = random.Random(f"{given.seed} {number}")
        lines, excuses = kind.draw(drawn), kind.EXCUSED
        if given.broken:
            lines, excuses = broken(drawn, lines), [*excuses, *OF_MISTAKES]
        mine, theirs = run(sides, lines)
        if given.only is not None:
            for line, value in zip(lines, theirs):  # noqa: B905 - Python 3.8
                print(line, "\n   ", str(value)[:300])
        lines_run += len(theirs)
        refused += sum(_is_error(value) for value in theirs)
        at, what = first_difference(lines, mine, theirs, kind)
        left += len(lines) - at - (what is not None)
        if what is None:
            continue
        reason = _excuse(excuses, lines[at], what)
        excused += reason is not None
        if given.excused and reason is not None:
            print(f"── program {number}, excused: {reason}: {lines[at]}\n{what}", flush=True)
        if reason is None:
            found += 1
            short = shrink(sides, lines[: at + 1], kind, excuses)
            print(f"── program {number}: {what}")
            print("\n".join(short), flush=True)
    print(
        f"{len(numbers)} programs of {lines_run} lines ({refused} refused by the reference, "
        f"{left} behind the end of a comparison): {found} differ, {excused} excused"
    )
    return 1 if found else 0


def run(sides, lines):
    """Results of both sides, at the same time."""
    results, both = [None, None], threading.Barrier(2)

    def one(at, *folders):
        results[at] = sides[at].run(lines, folders, both)

    with tempfile.TemporaryDirectory() as a, tempfile.TemporaryDirectory() as b:
        threads = [threading.Thread(target=one, args=args) for args in ((0, a, b), (1, b, a))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return results


def shrink(sides, lines, kind, excuses):
    """The program without the lines that the difference of its last line does not need."""
    at = len(lines) - 2
    while at >= 0:
        fewer = lines[:at] + lines[at + 1 :]
        place, what = first_difference(fewer, *run(sides, fewer), kind)
        last = what is not None and place == len(fewer) - 1
        if last and _excuse(excuses, fewer[-1], what) is None:
            lines = fewer
        at -= 1
    return lines


def _excuse(excused, line, what):
    for of_line, of_difference, reason in excused:
        if re.search(of_line, line) and re.search(of_difference, what):
            return reason
    return None


# ── Mistakes ────────────────────────────────────────────────────────────────────────────────

WRONG = (0, -1, 1, 2, 7, 2.5, "nothing", "", None, True, (), (2, 3), [], {})


OF_MISTAKES = (
    (
        r"",
        r"^got (?!(Attribute|Index|Key|Name|Type|UnboundLocal|Value)Error)\w+Error: .*"
        r"expected (Attribute|Index|Key|Type|UnboundLocal|ZeroDivision)Error",
        "an accident of MXNet's code, where ours says what to do",
    ),
)


def broken(drawn, lines):
    """The program with one mistake in a line that defines nothing."""
    lines = list(lines)
    places = [at for at, line in enumerate(lines) if not line.startswith(("def ", "class ", "@"))]
    at = drawn.choice(places)
    line = lines[at]
    kind = drawn.randrange(12)
    if line == EXCHANGE or kind == 0:
        del lines[at]
    elif kind == 1:
        lines.insert(drawn.choice(places), lines.pop(at))
    elif kind == 2:
        lines.insert(at, line)
    else:
        lines[at] = _other_value(drawn, line, lines[:at])
    return lines


def _other_value(drawn, line, before):
    """The line with another value somewhere, or an argument less or more."""
    nodes, holders = _nodes(line), []
    for node in nodes:
        for _, field in ast.iter_fields(node):
            if isinstance(field, list):
                holders += [(field, i) for i, each in enumerate(field) if _is_value(each)]
    if not holders:
        return line
    field, i = drawn.choice(holders)
    old = field[i]
    kept = old if isinstance(old, ast.keyword) else None
    names = [n.id for text in before for n in _nodes(text) if _is_array(n)]
    kind = drawn.randrange(5)
    if kind == 0:
        del field[i]
    elif kind == 1 and kept is None:
        field.insert(i, old)
    elif kind == 2 and kept is not None:
        kept.arg = f"{kept.arg}_"
    else:
        new = ast.Name(drawn.choice(names)) if kind == 3 and names else _near(drawn, old)
        if kept is None:
            field[i] = new
        else:
            kept.value = new
    try:
        text = ast.unparse(nodes[0])
        ast.parse(text)
    except (SyntaxError, ValueError):
        return line
    return text


def _nodes(line):
    """The nodes of a line, the module first; none of a line that is no Python."""
    try:
        return list(ast.walk(ast.parse(line)))
    except SyntaxError:
        return []


def _is_value(node):
    """Whether a node is an argument or an element that a mistake replaces."""
    return isinstance(node, (ast.expr, ast.keyword)) and not isinstance(
        getattr(node, "ctx", None), ast.Store
    )


def _is_array(node):
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def _near(drawn, old):
    """A value that is nearly the old one, or none like it."""
    old = old.value if isinstance(old, ast.keyword) else old
    if isinstance(old, ast.Constant) and drawn.randrange(2):
        value = old.value
        if isinstance(value, (int, float)) and value is not True and value is not False:
            return ast.Constant(drawn.choice([value + 1, value - 1, -value, str(value)]))
        if isinstance(value, str):
            return ast.Constant(drawn.choice([value + "_", value[:-1], value.upper()]))
    if isinstance(old, (ast.Tuple, ast.List)) and drawn.randrange(2):
        elements = drawn.choice([old.elts[1:], old.elts[::-1], old.elts + old.elts[:1]])
        return type(old)(elements, ast.Load())
    return ast.parse(repr(drawn.choice(WRONG)), mode="eval").body


# ── One side ────────────────────────────────────────────────────────────────────────────────


class Side:
    """A process that runs programs, started again after one that ends it."""

    def __init__(self, python, package):
        """Keep what starts the process."""
        self.command = [python, __file__, "--side", package]
        self.process = None

    def run(self, lines, folders, both):
        """The description of each line's value; the last is a crash if the process has ended.

        Args:
            lines: the program.
            folders: where it runs, and where it runs after `EXCHANGE`.
            both: the barrier at which both sides wait before they exchange folders.
        """
        if self.process is None or self.process.poll() is not None:
            pipe, environment = subprocess.PIPE, dict(os.environ, **ENVIRONMENT)
            environment.update(XLA_FLAGS=operators.QUICK, MODKIT_CACHE="off")
            self.process = subprocess.Popen(
                self.command, env=environment, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL
            )
        values = []
        try:
            self._send((folders[0], lines))
            for line in lines:
                if line == EXCHANGE:
                    folders = folders[::-1]
                    both.wait()
                    self._send(folders[0])
                values.append(pickle.load(self.process.stdout))
        except threading.BrokenBarrierError:  # the other side's process has ended
            self.process.kill()
            self.process.wait()
        except (EOFError, BrokenPipeError, pickle.UnpicklingError):
            both.abort()
            values.append(("crash", self.process.wait()))
        return values

    def _send(self, value):
        pickle.dump(value, self.process.stdin, 4)
        self.process.stdin.flush()


def side(package):
    """Run programs from standard input, each line's value goes to what was standard output."""
    results = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    mx = importlib.import_module(package)
    while True:
        try:
            folder, lines = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        os.chdir(folder)
        signal.alarm(LIMIT_S)
        mx.autograd.set_recording(False)
        mx.autograd.set_training(False)
        mx.util.set_np_shape(False)
        logging.root.handlers[:] = []
        logging.root.setLevel(logging.WARNING)
        mx.random.seed(1)
        np.random.seed(1)  # noqa: NPY002 - what programs of that time use
        random.seed(1)
        names = {"mx": mx, "np": np, "exchange_folders": _exchange_folders}
        with mx.name.NameManager():
            for line in lines:
                pickle.dump(_value(mx, line, names), results, 4)
                results.flush()  # the next line may end the process
        signal.alarm(0)
        os.chdir("/")


def _exchange_folders():
    os.chdir(pickle.load(sys.stdin.buffer))


def _value(mx, line, names):
    """The description of a line's value, run with the names of the lines before."""
    try:
        (statement,) = ast.parse(line).body
        if isinstance(statement, ast.Expr):
            return described(mx, eval(line, names))
        exec(line, names)
        if isinstance(statement, ast.Assign):
            assigned = [ast.walk(target) for target in statement.targets]
            nodes = [n for walk in assigned for n in walk if isinstance(n, ast.Name)]
            found = [n.id for n in nodes if n.id in names]  # no functions of Python's own
            return described(mx, [names[name] for name in found])
        return None
    except Exception as error:  # any: what the other side does decides what it means
        kinds = [c.__name__ for c in type(error).__mro__ if c.__module__ == "builtins"]
        return "error", kinds, type(error).__name__, " ".join(str(error).split())[:600]


def described(mx, value):
    """A value as numbers, words, bytes and tuples that both sides write alike."""
    if isinstance(value, mx.nd.NDArray):
        return "array", value.stype, str(value.context), packed(value.asnumpy())
    if isinstance(value, np.ndarray) and value.dtype != object:
        return "numpy", "", "", packed(value)
    if isinstance(value, mx.sym.Symbol):
        lists = value.list_arguments(), value.list_outputs(), value.list_auxiliary_states()
        return ("symbol", value.name, *lists)
    if isinstance(value, dict):
        return type(value).__name__, [described(mx, item) for item in value.items()]
    if isinstance(value, (set, frozenset)):
        return type(value).__name__, sorted(map(repr, value))
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [described(mx, item) for item in value]
    return _plain(mx, value)


def _plain(mx, value):
    """A value that holds no others."""
    if isinstance(value, np.generic):
        return "scalar", value.dtype.name, value.item()
    if isinstance(value, (str, mx.Context)):
        return str(value).replace("modkit", "mxnet")
    if value is None or isinstance(value, (bool, int, float, bytes)):
        return value
    if isinstance(value, type):
        return "class", value.__name__
    return "object", type(value).__name__


# ── Comparison ──────────────────────────────────────────────────────────────────────────────


def first_difference(lines, mine, theirs, kind):
    """``(line, words)`` of the first line whose values differ.

    Without one the number of lines that were compared, and ``None``.
    """
    ends = getattr(kind, "ENDS", ())
    for at, (line, a, b) in enumerate(zip(lines, mine, theirs)):  # noqa: B905 - Python 3.8
        if isinstance(b, tuple) and b[:1] == ("crash",):
            return at, None  # the reference's end of a process is no answer
        what = difference(a, b)
        if what:
            return at, what
        if _is_error(a) and (line.startswith("with ") or _excuse(ends, line, a[3])):
            return at + 1, None
    return min(map(len, (lines, mine, theirs))), None


def _is_error(value):
    return isinstance(value, tuple) and value[:1] == ("error",)


def difference(mine, theirs):
    """In words, what differs between two described values; empty if nothing does."""
    if _is_error(mine) or _is_error(theirs):
        return _error_difference(mine, theirs)
    if isinstance(theirs, float) and isinstance(mine, float):
        near = np.isclose(mine, theirs, 1e-3, 1e-4, equal_nan=True)
        return "" if near else _got(mine, theirs)
    if type(mine) is not type(theirs):
        return _got(mine, theirs)
    if isinstance(theirs, (list, tuple)):
        if theirs[:1] in (("array",), ("numpy",)) and mine[:1] == theirs[:1]:
            return _array_difference(mine, theirs)
        if len(mine) != len(theirs):
            return _got(mine, theirs)
        for a, b in zip(mine, theirs):  # noqa: B905 - Python 3.8
            what = difference(a, b)
            if what:
                return what
        return ""
    return "" if mine == theirs else _got(mine, theirs)


def _error_difference(mine, theirs):
    if not _is_error(mine):
        return f"only modkit runs: {theirs[2]}: {theirs[3]}"
    if not _is_error(theirs):
        return f"only the reference runs: {mine[2]}: {mine[3]}"
    if theirs[1][0] in mine[1]:
        return ""
    return f"got {mine[2]}: {mine[3]}; expected {theirs[2]}: {theirs[3]}"


def _array_difference(mine, theirs):
    if mine[1:3] != theirs[1:3]:
        return _got(mine[1:3], theirs[1:3])
    return operators.values_differ([unpacked(mine[3])], [unpacked(theirs[3])])


def _got(mine, theirs):
    return f"got {repr(mine)[:200]}, expected {repr(theirs)[:200]}"


if __name__ == "__main__":
    if sys.argv[1:2] == ["--side"]:
        sys.exit(side(*sys.argv[2:]))
    sys.exit(main())

"""Compare operators with Apache MXNet 1.9.1 on random cases, beside each other.

    MODKIT_REFERENCE=/path/to/python tools/compare_ops.py --count 1000 --seed 3
    MODKIT_REFERENCE=/path/to/python tools/compare_ops.py --ops dot,batch_dot --seed 7
    MODKIT_REFERENCE=/path/to/python tools/compare_ops.py --count 1000 --seed 3 --cases 17,401

With ``--forms`` modkit is compared with itself: each case is run in an executor, eagerly, and as
the training step of a module, by NumPy where modkit does so, and by XLA alone.

``MODKIT_REFERENCE`` is the python of an environment that has mxnet. `operator_cases.py` draws the
cases. Both sides infer shapes (of outputs, and of all from the first input alone) and types,
compute outputs, gradients written and added, and gradients of gradients, or refuse
(`operator_runs.py`); of samplers the distributions of many calls are compared. Each side runs in
one process, started again after a case that ends it. `reference_defects.py` lists the reference's
defects, each with its reason. Everything else that differs is printed as it is found, and the exit
status is 1.
"""

import argparse
import collections
import importlib
import os
import pickle
import queue
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "ops"), str(ROOT / "tools")]

_runs = importlib.import_module("operator_runs")
BEFORE, packed, unpacked = _runs.BEFORE, _runs.packed, _runs.unpacked

QUICK = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
ENVIRONMENT = dict(importlib.import_module("record_ops").ENVIRONMENT, XLA_FLAGS=QUICK)
TOLERANCE = {"float16": 2e-2, "float32": 1e-3, "float64": 1e-6}
FIRST = "gradient (write)"
UNDIFFERENTIABLE = "is non-differentiable because"
LIMIT_S = 60
"""A case that takes longer ends its process."""
LIMIT_BYTES = 10 * 2**30
"""Memory of a process; the reference sometimes reads sizes from where there are none."""


def main():
    """Make the cases, run both sides, and print what differs."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--count", type=int, default=400, help="number of cases")
    parser.add_argument("--seed", type=int, default=0, help="what the cases are drawn from")
    parser.add_argument("--ops", default="*", help="patterns of operators, with commas between")
    parser.add_argument("--cases", default="", help="of these cases those of these numbers alone")
    parser.add_argument(
        "--excused", action="store_true", help="print excused differences, uses of rows"
    )
    parser.add_argument(
        "--forms", action="store_true", help="compare modkit's ways to run a case, each other"
    )
    given = parser.parse_args()
    reference = os.environ.get("MODKIT_REFERENCE")
    if not reference and not given.forms:
        sys.exit("MODKIT_REFERENCE: not set, expected the python of an environment with mxnet")
    drawing = importlib.import_module("operator_cases")
    cases = drawing.draw(given.count, given.seed, given.ops.split(","))
    if given.cases:
        cases = [cases[int(n)] for n in given.cases.split(",")]
    cases.sort(key=lambda case: case["onednn"])
    if not cases:
        sys.exit(f"no operator of the tables fits {given.ops!r}")
    if given.forms:
        return _compare_forms(drawing.spell, cases)
    defects = importlib.import_module("reference_defects")
    found, excused, refused, uses = 0, 0, 0, collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        sides = {"modkit": sys.executable, "mxnet": reference}
        both = [_ahead(answers(python, p, cases, Path(folder))) for p, python in sides.items()]
        for case, a, b in zip(cases, *both):  # noqa: B905 - Python 3.8
            refused += a[0] == b[0] == "refused"
            rows = {what: defects.row_of(case, what) for what in differences(a, b)}
            excused += bool(rows) and None not in rows.values()
            found += None in rows.values()
            uses.update(rows.values())
            for what, at in rows.items():
                if given.excused or at is None:
                    reason = "" if at is None else f" ({defects.DEFECTS[at][2]})"
                    print(f"{drawing.spell(case)}: {what}{reason}", flush=True)
    if given.excused:
        for at, (name, kind, reason, *_) in enumerate(defects.DEFECTS):
            print(f"{uses[at]} uses of the row {name!r}, {kind!r}: {reason}")
    print(
        f"{len(cases)} cases: {found} differ, {excused} by defects of the reference, "
        f"{refused} refused by both"
    )
    return 1 if found else 0


FORMS = (("modkit", "graph"), ("modkit", "recorded"), ("modkit", "step"))
FORMS += (("xla", "graph"), ("xla", "recorded"))
PLAIN = {"passes": False, "in_place": False, "reshaped": False, "predicting": False, "storage": ()}


def _compare_forms(spell, cases):
    """Run cases in all forms, and print what differs."""
    cases = [{**c, **PLAIN} for c in cases if _has_forms(c)]
    found = 0
    with tempfile.TemporaryDirectory() as folder:
        made = [
            _ahead(answers(sys.executable, p, [{**c, "manner": m} for c in cases], Path(folder), m))
            for p, m in FORMS
        ]
        for case, first, *others in zip(cases, *made):  # noqa: B905 - Python 3.8
            wrong = [
                f"{package} {manner}: {what}"
                for (package, manner), other in zip(FORMS[1:], others)  # noqa: B905 - as above
                for what in _form_differences(case, other, first)
            ]
            found += bool(wrong)
            for what in wrong:
                print(f"{spell(case)}: {what}", flush=True)
    print(f"{len(cases)} cases in {len(FORMS)} forms: {found} differ")
    return 1 if found else 0


def _has_forms(case):
    """Whether forms of a case agree.

    Eager calls of ``_cond`` record one branch alone, the size of a masked array is known to eager
    calls alone, and a quantized BatchNorm has states that are not its last inputs.
    """
    others = ("_cond", "_contrib_boolean_mask", "_contrib_quantized_batch_norm")
    plain = case["manner"] in ("graph", "recorded") and case["op"] not in others
    return plain and not case["random"] and not case["invalid"]


def _form_differences(case, other, first):
    """In words, what differs between a form and the first one, in the parts of both."""
    if (other[0], first[0]) != ("ran", "ran"):
        refused = first[0] == "ran" and isinstance(first[1].get(FIRST), str)
        if refused and "weights" not in other[1]:  # a step is refused as a whole
            return []
        words = [side[0] if side[0] == "ran" else side[1] for side in (other, first)]
        return [] if other[0] == first[0] else ["{}; in an executor: {}".format(*words)]
    want, got = dict(first[1]), other[1]
    if FIRST not in got and FIRST in want:  # a step
        slopes = want[FIRST]
        with np.errstate(over="ignore", invalid="ignore"):
            want["weights"] = (
                slopes
                if isinstance(slopes, str)
                else [w - g for w, g in zip(want["weights"], slopes)]  # noqa: B905 - Python 3.8
            )
    shared = [n for n in got if n in want and not n.startswith(("inferred", "names"))]
    parts = (_compared(n, got, want, want[n]) for n in shared)
    return [what for what in parts if what]


def _ahead(items):
    """The same items, made by a thread that does not wait for their reader."""
    ready = queue.SimpleQueue()

    def run():
        try:
            for item in items:
                ready.put((item, None))
            ready.put((None, StopIteration()))
        except Exception as error:  # any: it is raised again where the items are read
            ready.put((None, error))

    threading.Thread(target=run, daemon=True).start()
    for item, error in iter(ready.get, None):
        if isinstance(error, StopIteration):
            return
        if error is not None:
            raise error
        yield item


# ── One side ────────────────────────────────────────────────────────────────────────────────


def answers(python, package, cases, folder, name=""):
    """The results of a package for each case; ``("crash", status)`` for one that ends a process.

    It ends one that runs nothing before it, as an earlier case may have written other memory.
    Cases for which the reference needs oneDNN stand last, and have processes of their own.
    """
    questions = folder / f"{package}{name}.cases"
    packed_cases = [dict(case, arrays=[packed(a) for a in case["arrays"]]) for case in cases]
    questions.write_bytes(pickle.dumps(packed_cases, 4))
    done, plain = 0, sum(not case["onednn"] for case in cases)
    while done < len(cases):
        end = plain if done < plain else len(cases)
        command = [python, __file__, "--side", package, str(questions), str(done), str(end)]
        environment = dict(os.environ, **ENVIRONMENT)
        if done >= plain:
            environment["MXNET_MKLDNN_ENABLED"] = "1"
        pipe, started = subprocess.PIPE, done
        with tempfile.TemporaryFile("w+") as errors:
            with subprocess.Popen(command, env=environment, stdout=pipe, stderr=errors) as process:
                ready = process.stdout.readline()
                while done < end:
                    try:
                        answer = _opened(pickle.load(process.stdout))
                    except (EOFError, pickle.UnpicklingError):
                        break
                    done += 1
                    yield answer
            if not ready:
                errors.seek(0)
                raise RuntimeError(f"{package} did not start:\n{errors.read()[-2000:]}")
        if done == started:
            yield "crash", f"status {process.returncode}"
            done += 1


def side(package, questions, start, end):
    """Run the cases from ``start`` to ``end``, each answer goes to what was standard output."""
    results = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    mx = importlib.import_module("modkit" if package == "xla" else package)
    if package == "xla":
        for name in ("invoke", "node_by_node"):
            importlib.import_module(f"modkit.ndarray.{name}").program_of = lambda _: None
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT_BYTES, LIMIT_BYTES))
    cases = pickle.loads(Path(questions).read_bytes())
    results.write(b"ready\n")
    results.flush()  # the first case may end the process
    for case in cases[int(start) : int(end)]:
        case["arrays"] = [unpacked(a) for a in case["arrays"]]
        signal.alarm(LIMIT_S)
        answer = _runs.answer(mx, case)
        signal.alarm(0)
        pickle.dump(answer, results, 4)
        results.flush()


def _opened(answer):
    """An answer with its arrays unpacked."""
    if answer[0] != "ran":
        return answer
    opened = {}
    for name, value in answer[1].items():
        arrays = not name.startswith("inferred") and not isinstance(value, str)
        opened[name] = [unpacked(a) for a in value] if arrays else value
    return "ran", opened


# ── Comparison ──────────────────────────────────────────────────────────────────────────────


def differences(mine, theirs):
    """In words, what differs between two answers, part by part."""
    kinds = mine[0], theirs[0]
    if kinds[0] == "refused" and mine[1].split(":")[0].endswith(("Error", "Exception")):
        return [f"no error of modkit's: {mine[1]}"]
    if "crash" in kinds:
        return ["the reference crashes" if theirs[0] == "crash" else f"modkit crashes: {mine[1]}"]
    if kinds == ("ran", "refused"):
        made = mine[1].get(FIRST)
        if made is not None and UNDIFFERENTIABLE in theirs[1]:  # there no executor is bound
            return [] if isinstance(made, str) else [_only_mine(FIRST, made, theirs[1])]
        return [f"only modkit runs: {theirs[1]}"]
    if kinds == ("refused", "ran"):
        return [f"only the reference runs: {mine[1]}"]
    if kinds == ("refused", "refused"):
        return []
    parts = (_compared(name, mine[1], theirs[1], want) for name, want in theirs[1].items())
    return [what for what in parts if what]


def _compared(name, mine, theirs, want):
    """The difference of one part of the answers."""
    if name not in mine:  # too few draws have been made in time
        return "" if "drawn" in name else f"{name}: missing"
    got = mine[name]
    first = re.sub("^(second pass|reshaped) (?=gradient)", "", name)
    if first != name and first in theirs and _compared(first, mine, theirs, theirs[first]):
        return ""
    if name in ("storage types", "names"):
        return "" if got == want else f"{name}: got {got}, expected {want}"
    if isinstance(want, str) or isinstance(got, str):
        if not isinstance(got, str):
            return "" if name.startswith("inferred") else _only_mine(name, got, want)
        return "" if isinstance(want, str) else f"only the reference runs: {name}: {got}"
    if name == "inferred from one":
        return _less_known(got, want)
    if name.startswith("inferred"):
        return "" if got == want else f"{name}: got {got}, expected {want}"
    if "drawn" in name:
        return _otherwise_distributed(name, got[0], want[0])
    what = values_differ(got, want)
    return what and (_own_fault(name, mine, theirs) or f"{name}: {what}")


def _only_mine(name, got, refusal):
    start = BEFORE if name == "gradient (add)" else 0
    zeros = " of zeros" if all(np.all(a == start) for a in got) else ""
    return f"only modkit runs: {name}{zeros}: {refusal}"


def _less_known(got, want):
    """The first shape that the reference knows and modkit does not, or knows otherwise."""
    for a, b in zip(got, want):  # noqa: B905 - Python 3.8
        if b and 0 not in b and -1 not in b and tuple(a) != tuple(b):
            return f"inferred from one: got {got}, expected {want}"
    return ""


def _own_fault(name, mine, theirs):
    """In words, how the reference contradicts itself in gradients."""
    sides = [side.get(FIRST, "") for side in (mine, theirs)]
    if name not in (FIRST, "gradient (add)") or str in map(type, sides):
        return ""
    wrong = [
        i for i, (a, b) in enumerate(_pairs(mine[name], theirs[name])) if values_differ([a], [b])
    ]
    ours, written = ([side[i] for i in wrong] for side in sides)
    found = [theirs[name][i] for i in wrong]
    kept = all((a == BEFORE).all() for a in found)
    if name == FIRST:
        zeros = kept and not any(a.any() for a in ours)
        return "the reference does not write a gradient of 0" if zeros else ""
    if values_differ([a + BEFORE for a in ours], [mine[name][i] for i in wrong]):
        return ""
    if any(not values_differ([a + BEFORE], [b]) for a, b in zip(written, found)):  # noqa: B905
        return ""
    how = (
        "adds nothing" if kept else "adds otherwise" if values_differ(found, written) else "writes"
    )
    return f"the reference {how} where it is to add"


def _otherwise_distributed(name, got, want):
    """The Kolmogorov-Smirnov distance of two samples, where equal laws have it once in 1e9 cases.

    By Massart's bound for each of them, at any seed.
    """
    count = min(len(got), len(want))
    got, want = (np.nan_to_num(a, nan=1e300, posinf=1e299, neginf=-1e299) for a in (got, want))
    both = np.union1d(got, want)
    near = 1e-3 * np.maximum(abs(both), 1)
    distance, bound = 0.0, 2 * np.sqrt(np.log(4e9) / (2 * count))
    for a, b in ((got, want), (want, got)):
        below = np.searchsorted(a, both - near, "right") / len(a)
        upto = np.searchsorted(b, both + near, "right") / len(b)
        distance = max(distance, (below - upto).max())
    if distance <= bound:
        return ""
    return f"{name}: distance of the samples {distance:.3f}, expected at most {bound:.3f}"


def _pairs(got, want):
    return zip(got, want) if len(got) == len(want) else ()  # noqa: B905 - Python 3.8


def values_differ(got, want):
    """In words, what differs between two lists of arrays; empty if nothing does."""
    if len(got) != len(want):
        return f"got {len(got)} arrays, expected {len(want)}"
    for a, b in zip(got, want):  # noqa: B905 - the reference has Python 3.8
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            return f"got {a.dtype}{list(a.shape)}, expected {b.dtype}{list(b.shape)}"
        close = TOLERANCE.get(b.dtype.name, 0)
        x, y = a.astype(np.float64), b.astype(np.float64)
        scale = np.abs(y[np.isfinite(y)]).max(initial=1)
        if not np.allclose(x, y, close, close * scale, equal_nan=True):
            close_by = np.isclose(x, y, close, close * scale, equal_nan=True)
            worst = np.unravel_index(np.argmax(np.where(close_by, -1, _distance(x, y))), x.shape)
            return f"got {x[worst]:.6g} at {tuple(map(int, worst))}, expected {y[worst]:.6g}"
    return ""


def _distance(x, y):
    """Distances of elements, infinite from a number to what is none."""
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(np.abs(x - y), nan=np.inf)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--side"]:
        sys.exit(side(*sys.argv[2:]))
    sys.exit(main())

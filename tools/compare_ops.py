"""Compare operators with Apache MXNet 1.9.1 on random cases, beside each other.

    MODKIT_REFERENCE=/path/to/python tools/compare_ops.py --count 1000 --seed 3
    MODKIT_REFERENCE=/path/to/python tools/compare_ops.py --ops dot,batch_dot --seed 7

``MODKIT_REFERENCE`` is the python of an environment that has mxnet. A case is a row of
``tests/ops/cases/`` changed at random: other sizes (equal ones stay equal), another element type,
other values of its parameters, and now and then a shape that does not fit. Both sides compute the
shapes that they infer, outputs, and gradients written and added, or refuse; each runs in a process
of its own, which is started again where a case ends it. `DEFECTS` lists the reference's defects,
each with its reason. Everything else that differs is printed, and the exit status is 1.
"""

import argparse
import fnmatch
import importlib
import os
import pickle
import re
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "ops"), str(ROOT / "tools")]

DEFECTS = [
    ("*", "only modkit runs", "the reference has no kernel for the type or shape, and says so"),
    ("*", "the reference crashes", "it ends the process"),
    (
        "*",
        "the reference does not add",
        "its added gradients are not its written ones and what was there",
    ),
    ("*", "the reference does not write", "it leaves the gradient of a label or length as it was"),
    ("ctc_loss", "outputs", "labels that are no class: it reads other memory"),
    ("slice*", "only the reference runs: 'NoneType'", "an empty result: a size of 0 is not known"),
    ("_contrib_allclose", "gradient", "it has no gradient there, and zeros here"),
]
"""Operator, difference and reason; the first two by patterns of `fnmatch`."""

ENVIRONMENT = importlib.import_module("record_ops").ENVIRONMENT
TOLERANCE = {"float16": 2e-2, "float32": 1e-3, "float64": 1e-6}
TYPES = ("float32", "float32", "float64", "float16", "int32")


def main():
    """Make the cases, run both sides, and print what differs."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--count", type=int, default=300, help="number of cases")
    parser.add_argument("--seed", type=int, default=0, help="what the cases are drawn from")
    parser.add_argument("--ops", default="*", help="patterns of operators, with commas between")
    given = parser.parse_args()
    reference = os.environ.get("MODKIT_REFERENCE")
    if not reference:
        sys.exit("MODKIT_REFERENCE: not set, expected the python of an environment with mxnet")
    cases = make_cases(given.count, given.seed, given.ops.split(","))
    with tempfile.TemporaryDirectory() as folder:
        theirs = answers(reference, "mxnet", cases, Path(folder))
        mine = answers(sys.executable, "modkit", cases, Path(folder))
    found, excused = 0, 0
    for case, a, b in zip(cases, mine, theirs):  # noqa: B905 - the reference has Python 3.8
        what = difference(a, b)
        if what and excuse(case["op"], what):
            excused += 1
        elif what:
            found += 1
            print(f"{case['op']} {spell(case)}: {what}")
    print(f"{len(cases)} cases, {found} differ, {excused} by defects of the reference")
    return 1 if found else 0


# ── Cases ───────────────────────────────────────────────────────────────────────────────────


def make_cases(count, seed, patterns):
    """Random cases, the same for the same seed: operator, arrays, parameters, auxiliary states."""
    rows = importlib.import_module("case")
    tables = [c for cases in rows.load().values() for c in cases]
    usable = [
        c
        for c in tables
        if not c.random
        and "_update" not in c.op
        and any(fnmatch.fnmatch(c.op, p) for p in patterns)
    ]
    by_op = {}
    for case in usable:
        by_op.setdefault(case.op, []).append(case)
    if not by_op:
        sys.exit(f"no operator of the tables fits {patterns}")
    stream = np.random.RandomState(seed)
    names = sorted(by_op)
    found = []
    for i in range(count):
        choices = by_op[names[stream.randint(len(names))]]
        found.append(_changed(choices[stream.randint(len(choices))], stream, i))
    return found


def _changed(case, stream, at):
    """A row with other sizes, types and parameters."""
    sizes = {}
    whole = stream.rand() < 0.5  # sizes that parameters speak of are kept in half of the cases
    kind = TYPES[stream.randint(len(TYPES))]
    arrays = []
    for i, spec in enumerate(case.specs):
        shape = tuple(spec.sizes)
        if spec.values is None and not whole:
            shape = tuple(sizes.setdefault(n, int(stream.randint(1, 6))) for n in shape)
        if spec.values is not None:
            arrays.append(spec.make(0))
            continue
        dtype = kind if spec.dtype == "float32" and spec.kind == "float" else spec.dtype
        made = type(spec)(shape, spec.low, spec.high, spec.kind, spec.dtype).make(at * 31 + i)
        arrays.append((made * 4 if dtype == "int32" != spec.dtype else made).astype(dtype))
    if arrays and stream.rand() < 0.08:  # a shape that may not fit
        j = stream.randint(len(arrays))
        arrays[j] = np.concatenate([arrays[j].reshape(-1)] * 2)[:5]
    attrs = {n: _parameter(v, stream) for n, v in case.attrs.items()}
    return {"op": case.op, "arrays": arrays, "attrs": attrs, "aux": case.aux}


def _parameter(value, stream):
    """The value of the row, or one near it of its type."""
    if stream.rand() < 0.7:
        return value
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + int(stream.randint(-1, 2))
    if isinstance(value, float):
        return value * float(stream.choice([0.5, 1, 2]))
    return value


def spell(case):
    """A case in short."""
    shapes = ", ".join(f"{a.dtype}{list(a.shape)}" for a in case["arrays"])
    return f"({shapes}) {case['attrs']}"


# ── One side ────────────────────────────────────────────────────────────────────────────────


def answers(python, package, cases, folder):
    """The results of a package for each case; ``("crash", "")`` for one that ends the process."""
    questions, results = folder / f"{package}.cases", folder / f"{package}.answers"
    packed = [dict(case, arrays=[_packed(a) for a in case["arrays"]]) for case in cases]
    questions.write_bytes(pickle.dumps(packed, 4))
    found = []
    while len(found) < len(cases):
        command = [python, __file__, "--side", package, questions, results, len(found)]
        environment = dict(os.environ, **ENVIRONMENT)
        results.unlink(missing_ok=True)
        ran = subprocess.run(
            list(map(str, command)),
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        if not results.exists():
            sys.exit(f"{package} did not start:\n{ran.stderr[-2000:]}")
        before = len(found)
        with results.open("rb") as file:
            while len(found) < len(cases):
                try:
                    found.append(_opened(pickle.load(file)))
                except (EOFError, pickle.UnpicklingError):
                    break
        if len(found) < len(cases):
            found.append(("crash", f"after {len(found) - before} cases"))
    return found


def side(package, questions, results, start):
    """Run the cases from ``start`` on, and write each answer at once."""
    mx = importlib.import_module(package)
    recorder = importlib.import_module("record_ops")
    cases = pickle.loads(Path(questions).read_bytes())
    for case in cases:
        case["arrays"] = [_unpacked(a) for a in case["arrays"]]
    with Path(results).open("wb") as file:
        for case in cases[int(start) :]:
            try:
                answer = "ran", _run(mx, recorder._function(mx, case["op"]), case)
            except Exception as error:  # any: what the other side does decides what it means
                answer = "refused", str(error)[:300]
            pickle.dump(answer, file, 4)
            file.flush()


def _packed(array):
    """An array as what any version of NumPy reads."""
    return str(array.dtype), array.shape, array.tobytes()


def _unpacked(packed):
    dtype, shape, data = packed
    return np.frombuffer(data, dtype).reshape(shape).copy()


def _opened(answer):
    """An answer with its arrays unpacked."""
    if answer[0] != "ran":
        return answer
    opened = {}
    for name, value in answer[1].items():
        arrays = name != "inferred" and not isinstance(value, str)
        opened[name] = [_unpacked(a) for a in value] if arrays else value
    return "ran", opened


def _run(mx, function, case):
    """Inferred shapes, outputs and gradients by name."""
    arrays, first = case["arrays"], len(case["arrays"]) - case["aux"]
    names = [f"in{i}" for i in range(first)]
    symbol = function(*[mx.sym.Variable(n) for n in names], **case["attrs"])
    names += symbol.list_auxiliary_states()
    values = {
        n: mx.nd.array(a, dtype=a.dtype)
        for n, a in zip(names, arrays)  # noqa: B905 - the reference has Python 3.8
    }
    shapes = symbol.infer_shape(**{n: arrays[i].shape for i, n in enumerate(names[:first])})
    floats = [n for n in names[:first] if values[n].dtype in (np.float16, np.float32, np.float64)]
    found = {"inferred": [tuple(s) for s in shapes[1]]}
    for req in ("write", "add"):
        gradients = {n: mx.nd.ones(values[n].shape, dtype=values[n].dtype) for n in floats}
        bound = symbol.bind(
            mx.cpu(),
            {n: values[n].copy() for n in names[:first]},
            args_grad=gradients or None,
            grad_req={n: req if n in floats else "null" for n in names[:first]},
            aux_states={n: values[n].copy() for n in names[first:]} or None,
        )
        outputs = bound.forward(is_train=bool(floats))
        found["outputs"] = [_packed(o.asnumpy()) for o in outputs]
        if floats:
            heads = [mx.nd.array(_head(o.asnumpy()), dtype=o.dtype) for o in outputs]
            try:
                bound.backward(heads)
                found[f"gradient ({req})"] = [_packed(gradients[n].asnumpy()) for n in floats]
            except Exception as error:  # as above
                found[f"gradient ({req})"] = str(error)[:300]
    return found


def _head(output):
    stream = np.random.RandomState(zlib.crc32(repr(output.shape).encode()))
    return stream.uniform(-1, 1, output.shape)


# ── Comparison ──────────────────────────────────────────────────────────────────────────────


def difference(mine, theirs):
    """In words, what differs between two answers; ``""`` for nothing."""
    kinds = mine[0], theirs[0]
    if "crash" in kinds:
        return "the reference crashes" if theirs[0] == "crash" else "modkit crashes"
    if kinds == ("ran", "refused"):
        return "only modkit runs"
    if kinds == ("refused", "ran"):
        return f"only the reference runs: {mine[1].splitlines()[0]}"
    if kinds == ("refused", "refused"):
        return ""
    for name, want in theirs[1].items():
        got = mine[1][name]
        if isinstance(want, str) or isinstance(got, str):
            if not isinstance(got, str):
                return "only modkit runs: " + name
            if not isinstance(want, str):
                return f"only the reference runs: {name}: {got.splitlines()[0]}"
        elif name == "inferred":
            if got != want:
                return f"inferred: got {got}, expected {want}"
        elif what := _values(got, want):
            return _own_fault(name, mine[1], theirs[1]) or f"{name}: {what}"
    return ""


def _own_fault(name, mine, theirs):
    """In words, how the reference contradicts itself in gradients, which start as ones."""
    written = theirs.get("gradient (write)")
    if name == "gradient (write)":
        pairs = zip(mine[name], written)  # noqa: B905 - as above
        wrong = [(a, b) for a, b in pairs if _values([a], [b])]
        if all((b == 1).all() and not a.any() for a, b in wrong):
            return "the reference does not write"
    elif name == "gradient (add)" and not isinstance(written, str):
        both = _values([w + 1 for w in written], theirs[name])
        if both and not _values([w + 1 for w in mine["gradient (write)"]], mine[name]):
            return "the reference does not add"
    return ""


def _values(got, want):
    if len(got) != len(want):
        return f"got {len(got)} arrays, expected {len(want)}"
    for a, b in zip(got, want):  # noqa: B905 - the reference has Python 3.8
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            return f"got {a.dtype}{list(a.shape)}, expected {b.dtype}{list(b.shape)}"
        close = TOLERANCE.get(b.dtype.name, 0)
        x, y = a.astype(np.float64), b.astype(np.float64)
        scale = np.abs(y[np.isfinite(y)]).max(initial=1)
        if not np.allclose(x, y, close, close * scale, equal_nan=True):
            worst = np.unravel_index(np.argmax(~np.isclose(x, y, close, close * scale)), x.shape)
            return f"got {x[worst]:.6g} at {tuple(map(int, worst))}, expected {y[worst]:.6g}"
    return ""


def excuse(op, what):
    """The reason why a difference is the reference's defect; ``""`` if it is none that is known."""
    for name, kind, reason in DEFECTS:
        if fnmatch.fnmatch(op, name) and re.match(fnmatch.translate(kind + "*"), what):
            return reason
    return ""


if __name__ == "__main__":
    if sys.argv[1:2] == ["--side"]:
        sys.exit(side(*sys.argv[2:]))
    sys.exit(main())

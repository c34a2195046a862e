"""Compare operators with Apache MXNet 1.9.1 on random cases, beside each other.

    MODKIT_REFERENCE=/path/to/python tools/compare_ops.py --count 1000 --seed 3
    MODKIT_REFERENCE=/path/to/python tools/compare_ops.py --ops dot,batch_dot --seed 7
    MODKIT_REFERENCE=/path/to/python tools/compare_ops.py --count 1000 --seed 3 --cases 17,401

``MODKIT_REFERENCE`` is the python of an environment that has mxnet. `operator_cases.py` draws the
cases. Both sides infer shapes (of outputs, and of all from the first input alone) and types,
compute outputs, and gradients written and added, or refuse; operators that update weights run
eagerly. Each side runs in one process, started again after a case that ends it.
`reference_defects.py` lists the reference's defects, each with its reason. Everything else that
differs is printed as it is found, and the exit status is 1.
"""

import argparse
import importlib
import os
import pickle
import queue
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import zlib
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "ops"), str(ROOT / "tools")]

QUICK = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
ENVIRONMENT = dict(importlib.import_module("record_ops").ENVIRONMENT, XLA_FLAGS=QUICK)
TOLERANCE = {"float16": 2e-2, "float32": 1e-3, "float64": 1e-6}
BEFORE = 0.625
"""Initial value of gradients, exact in each type; no operator writes it."""
EAGER = ("reset_arrays", "fill_element_0index", "_contrib_SparseEmbedding")
"""Operators, besides those that update weights or take sparse arrays, that change arrays, that
graphs do not run, or whose gradient is sparse."""
LIMIT_S = 120
"""A case that takes longer ends its process."""
LIMIT_BYTES = 24 * 2**30
"""Memory of a process; the reference sometimes reads sizes from where there are none."""


def main():
    """Make the cases, run both sides, and print what differs."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--count", type=int, default=400, help="number of cases")
    parser.add_argument("--seed", type=int, default=0, help="what the cases are drawn from")
    parser.add_argument("--ops", default="*", help="patterns of operators, with commas between")
    parser.add_argument("--cases", default="", help="of these cases those of these numbers alone")
    parser.add_argument("--excused", action="store_true", help="print excused differences too")
    given = parser.parse_args()
    reference = os.environ.get("MODKIT_REFERENCE")
    if not reference:
        sys.exit("MODKIT_REFERENCE: not set, expected the python of an environment with mxnet")
    drawing = importlib.import_module("operator_cases")
    cases = drawing.draw(given.count, given.seed, given.ops.split(","))
    if given.cases:
        cases = [cases[int(n)] for n in given.cases.split(",")]
    if not cases:
        sys.exit(f"no operator of the tables fits {given.ops!r}")
    excuse = importlib.import_module("reference_defects").excuse
    found, excused, refused = 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        sides = {"modkit": sys.executable, "mxnet": reference}
        both = [_ahead(answers(python, p, cases, Path(folder))) for p, python in sides.items()]
        for case, a, b in zip(cases, *both):  # noqa: B905 - Python 3.8
            refused += a[0] == b[0] == "refused"
            reasons = {what: excuse(case, what) for what in differences(a, b)}
            excused += bool(reasons) and all(reasons.values())
            found += not all(reasons.values())
            for what, reason in reasons.items():
                if given.excused or not reason:
                    line = f"{drawing.spell(case)}: {what}" + (f" ({reason})" if reason else "")
                    print(line, flush=True)
    print(
        f"{len(cases)} cases: {found} differ, {excused} by defects of the reference, "
        f"{refused} refused by both"
    )
    return 1 if found else 0


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


def answers(python, package, cases, folder):
    """The results of a package for each case; ``("crash", "")`` for one that ends the process."""
    questions = folder / f"{package}.cases"
    packed = [dict(case, arrays=[_packed(a) for a in case["arrays"]]) for case in cases]
    questions.write_bytes(pickle.dumps(packed, 4))
    done = 0
    while done < len(cases):
        command = [python, __file__, "--side", package, str(questions), str(done)]
        environment = dict(os.environ, **ENVIRONMENT)
        pipe, started = subprocess.PIPE, done
        with tempfile.TemporaryFile("w+") as errors:
            with subprocess.Popen(command, env=environment, stdout=pipe, stderr=errors) as process:
                ready = process.stdout.readline()
                while done < len(cases):
                    try:
                        answer = _opened(pickle.load(process.stdout))
                    except (EOFError, pickle.UnpicklingError):
                        break
                    done += 1
                    yield answer
            if not ready:
                errors.seek(0)
                raise RuntimeError(f"{package} did not start:\n{errors.read()[-2000:]}")
        if done < len(cases):
            yield "crash", f"status {process.returncode} after {done - started} cases"
            done += 1


def side(package, questions, start):
    """Run the cases from ``start`` on, and write each answer to what was standard output."""
    results = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    mx = importlib.import_module(package)
    recorder = importlib.import_module("record_ops")
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT_BYTES, LIMIT_BYTES))
    cases = pickle.loads(Path(questions).read_bytes())
    results.write(b"ready\n")
    results.flush()  # the first case may end the process
    for case in cases[int(start) :]:
        case["arrays"] = [_unpacked(a) for a in case["arrays"]]
        signal.alarm(LIMIT_S)
        mx.random.seed(1)
        eager = "_update" in case["op"] or case["op"] in EAGER or bool(case["storage"])
        try:
            function = recorder._function(mx, case["op"], mx.nd if eager else mx.sym)
            answer = "ran", (_run_eagerly if eager else _run)(mx, function, case)
        except Exception as error:  # any: what the other side does decides what it means
            answer = "refused", _words(mx, error)
        signal.alarm(0)
        pickle.dump(answer, results, 4)
        results.flush()


def _words(mx, error):
    """An error's first words; ahead of them its class, where it is not one of the package's own."""
    text = " ".join(str(error).split())[:300]
    return text if isinstance(error, mx.base.MXNetError) else f"{type(error).__name__}: {text}"


def _packed(array):
    """An array as what any version of NumPy reads."""
    return _name(array.dtype), array.shape, array.tobytes()


def _unpacked(packed):
    dtype, shape, data = packed
    if dtype == "bfloat16":
        data, dtype = b"".join(b"\0\0" + data[i : i + 2] for i in range(0, len(data), 2)), "float32"
    return np.frombuffer(data, dtype).reshape(shape).copy()


def _name(dtype):
    """The name of an element type; the reference's bfloat16 is a structure."""
    return "bfloat16" if "bfloat16" in str(dtype) else np.dtype(dtype).name


def _opened(answer):
    """An answer with its arrays unpacked."""
    if answer[0] != "ran":
        return answer
    opened = {}
    for name, value in answer[1].items():
        arrays = not name.startswith("inferred") and not isinstance(value, str)
        opened[name] = [_unpacked(a) for a in value] if arrays else value
    return "ran", opened


def _run_eagerly(mx, function, case):
    """Outputs, and the arrays after the call: an operator that updates weights changes them."""
    values = [mx.nd.array(a, dtype=a.dtype) for a in case["arrays"]]
    for at, kind in enumerate(case["storage"][: len(values)]):
        values[at] = values[at].tostype(kind)
    out = {"out": _weights(case["op"], values)} if "multi_" in case["op"] else {}
    if case["op"] == "_sparse_adagrad_update":
        out = {"out": values[0]}
    made = function(*values, **out, **case["attrs"])
    outputs = [o.asnumpy() for o in (made if isinstance(made, list) else [made])]
    return {
        "outputs": [_packed(o) for o in outputs],
        "arrays": [_packed(v.asnumpy()) for v in values],
    }


def _weights(name, arrays):
    """The two weights among the arrays of an operator for several, where the rows have two."""
    shared = 2 if name.startswith("preloaded") else int("adamw" in name)
    each = (len(arrays) - shared) // 2
    return [arrays[0], arrays[each]]


def _run(mx, function, case):
    """Inferred shapes and types, outputs and gradients by name."""
    arrays, first = case["arrays"], len(case["arrays"]) - case["aux"]
    names = [f"in{i}" for i in range(first)]
    inputs = [mx.sym.Variable(n) for n in names]
    if case["repeated"]:
        inputs[1] = inputs[0]
        del names[1], arrays[1]
    symbol = function(*inputs, **case["attrs"])
    if case["output"] is not None:
        symbol = symbol[case["output"] % len(symbol.list_outputs())]
    found = _inferred(mx, symbol, dict(zip(names, arrays)))  # noqa: B905 - Python 3.8
    first = len(names)
    names += symbol.list_auxiliary_states()
    values = {
        n: mx.nd.array(a, dtype=a.dtype)
        for n, a in zip(names, arrays)  # noqa: B905 - Python 3.8
    }
    floats = [n for n in names[:first] if values[n].dtype in (np.float16, np.float32, np.float64)]
    floats = floats[case["frozen"] and len(floats) > 1 :]
    for req in ("write", "add"):
        gradients = {n: mx.nd.full(values[n].shape, BEFORE, dtype=values[n].dtype) for n in floats}
        bound = symbol.bind(
            mx.cpu(),
            {n: values[n].copy() for n in names[:first]},
            args_grad=gradients or None,
            grad_req={n: req if n in floats else "null" for n in names[:first]},
            aux_states={n: values[n].copy() for n in names[first:]} or None,
        )
        outputs = [o.asnumpy() for o in bound.forward(is_train=bool(floats))]
        if case["random"]:
            return dict(found, outputs=[_packed(np.zeros_like(o)) for o in outputs])
        found["outputs"] = [_packed(o) for o in outputs]
        if floats:
            heads = [mx.nd.array(_head(o), dtype=o.dtype) for o in outputs]
            try:
                bound.backward(heads)
                found[f"gradient ({req})"] = [_packed(gradients[n].asnumpy()) for n in floats]
            except Exception as error:  # as above
                found[f"gradient ({req})"] = _words(mx, error)
    return found


def _inferred(mx, symbol, given):
    """Shapes and types: of outputs, and of everything from the first input alone."""
    shapes = symbol.infer_shape(**{n: a.shape for n, a in given.items()})
    if shapes[1] is None:
        raise mx.base.MXNetError("shapes cannot be inferred")
    kinds = symbol.infer_type(**{n: a.dtype for n, a in given.items()})
    found = {
        "inferred shapes": [tuple(s) for s in shapes[1]],
        "inferred types": [None if t is None else _name(t) for t in kinds[1] or ()],
    }
    if given:
        one = {n: a.shape for n, a in given.items() if n == "in0"}
        try:
            inputs, outputs, _ = symbol.infer_shape_partial(**one)
            found["inferred from one"] = [tuple(s or ()) for s in [*inputs, *outputs]]
        except Exception as error:  # as above
            found["inferred from one"] = str(error)[:300]
    return found


def _head(output):
    stream = np.random.RandomState(zlib.crc32(repr(output.shape).encode()))
    return stream.uniform(-1, 1, output.shape)


# ── Comparison ──────────────────────────────────────────────────────────────────────────────


def differences(mine, theirs):
    """In words, what differs between two answers, part by part."""
    kinds = mine[0], theirs[0]
    if kinds[0] == "refused" and mine[1].split(":")[0].endswith(("Error", "Exception")):
        return [f"no error of modkit's: {mine[1]}"]
    if "crash" in kinds:
        return ["the reference crashes" if theirs[0] == "crash" else "modkit crashes"]
    if kinds == ("ran", "refused"):
        return [f"only modkit runs: {theirs[1]}"]
    if kinds == ("refused", "ran"):
        return [f"only the reference runs: {mine[1]}"]
    if kinds == ("refused", "refused"):
        return []
    parts = (_compared(name, mine[1], theirs[1], want) for name, want in theirs[1].items())
    return [what for what in parts if what]


def _compared(name, mine, theirs, want):
    """The difference of one part of the answers."""
    if name not in mine:
        return f"{name}: missing"
    got = mine[name]
    if isinstance(want, str) or isinstance(got, str):
        if not isinstance(got, str):
            return "" if name.startswith("inferred") else f"only modkit runs: {name}: {want}"
        return "" if isinstance(want, str) else f"only the reference runs: {name}: {got}"
    if name == "inferred from one":
        return _less_known(got, want)
    if name.startswith("inferred"):
        return "" if got == want else f"{name}: got {got}, expected {want}"
    what = _values(got, want)
    return what and (_own_fault(name, mine, theirs) or f"{name}: {what}")


def _less_known(got, want):
    """The first shape that the reference knows and modkit does not, or knows otherwise."""
    for a, b in zip(got, want):  # noqa: B905 - Python 3.8
        if b and 0 not in b and tuple(a) != tuple(b):
            return f"inferred from one: got {got}, expected {want}"
    return ""


def _own_fault(name, mine, theirs):
    """In words, how the reference contradicts itself in gradients."""
    written = theirs.get("gradient (write)")
    if name == "gradient (write)":
        pairs = zip(mine[name], written)  # noqa: B905 - as above
        wrong = [(a, b) for a, b in pairs if _values([a], [b])]
        if all((b == BEFORE).all() and not a.any() for a, b in wrong):
            return "the reference does not write"
    elif name == "gradient (add)" and not isinstance(written, str):
        both = _values([w + BEFORE for w in written], theirs[name])
        if both and not _values([w + BEFORE for w in mine["gradient (write)"]], mine[name]):
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

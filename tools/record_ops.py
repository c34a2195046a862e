"""Record operators of Apache MXNet 1.9.1 for `tests/ops/test_ops.py`.

It runs under the reference's python, never under this project's::

    REFERENCE_PYTHON tools/record_ops.py [family ...]

and writes, for each table in `tests/ops/cases/`, `tests/reference/ops/<family>.npz`: outputs,
gradients for a fixed head gradient, and auxiliary states of every row. Families not named are
left as they are; without names, or for the name `schema`, `tests/reference/ops/schema.json` is
written too: every operator's names and arguments, with their types.

Each family runs in a process of its own, with the environment that the figures need.
"""

import ctypes
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

ONEDNN_FAMILIES = ("norm_relu", "quantized", "rnn")
"""BatchNormWithReLU is oneDNN's; the fused RNN operator and most quantized ones fail without it."""

ROOT = Path(__file__).resolve().parents[1]
PREFIXES = ("_contrib_", "_linalg_", "linalg_", "_sparse_", "_image_", "_random_")
SCHEMA = "schema"
OF_OTHERS = ("_backward", "_np", "_broadcast_backward", "_sg_")
"""Beginnings of names of operators that no symbol of a user has."""

sys.path.append(str(ROOT / "tests" / "ops"))
sys.path.append(str(ROOT / "tools"))
rows = importlib.import_module("case")
added = importlib.import_module("operator_rows")
_environment = importlib.import_module("reference").ENVIRONMENT
ENVIRONMENT = dict(_environment, MXNET_STORAGE_FALLBACK_LOG_VERBOSE="0")


def main(families):
    """Record the named families, or all of them and the schema; returns how many failed."""
    known = [*rows.load(), SCHEMA]
    unknown = [name for name in families if name not in known]
    if unknown:
        sys.exit(f"no table {unknown}; there are: {', '.join(known)}")
    failed = 0
    for name in families or known:
        environment = dict(os.environ, **ENVIRONMENT)
        if name in ONEDNN_FAMILIES:
            environment["MXNET_MKLDNN_ENABLED"] = "1"
        command = [sys.executable, __file__, "--here", name]
        failed += subprocess.call(command, env=environment) != 0
    return failed


def here(family):
    """Record one family in this process; returns how many rows failed."""
    mx = importlib.import_module("mxnet")
    rows.RECORDED.mkdir(parents=True, exist_ok=True)
    if family == SCHEMA:
        return _record_schema(mx, rows.RECORDED / "schema.json")
    return _record_family(mx, rows.RECORDED / f"{family}.npz", rows.load()[family])


def _record_family(mx, path, cases):
    index, chunks, failed, offset = {}, [], 0, 0
    for case in cases:
        try:
            arrays, entry = _run(mx, case)
        except Exception as error:  # any failure: the other rows are recorded all the same
            failed += 1
            print(f"{case.id}: {str(error).splitlines()[-1][:300]}", file=sys.stderr)
            continue
        for kind, value in arrays:
            array = np.ascontiguousarray(value)
            entry["arrays"].append([kind, str(array.dtype), list(np.shape(value)), offset])
            chunks.append(array.tobytes())
            offset += array.nbytes
        index[case.id] = entry
    text = np.frombuffer(json.dumps(index, sort_keys=True).encode(), np.uint8)
    np.savez_compressed(str(path), index=text, data=np.frombuffer(b"".join(chunks), np.uint8))
    print(f"{path.name}: {len(index)} rows, {failed} failed, {path.stat().st_size} bytes")
    return failed


def _run(mx, case):
    """All arrays to keep, as (kind, array), and the entry that will say where they are."""
    inputs = case.arrays()
    if "_update" in case.op:
        return _run_eagerly(mx, case, inputs)
    mx.random.seed(1)
    first = len(inputs) - case.aux
    names = [f"in{i}" for i in range(first)]
    symbol = _function(mx, case.op)(*[mx.sym.Variable(n) for n in names], **case.attrs)
    names += symbol.list_auxiliary_states()
    pairs = zip(names, inputs)  # noqa: B905 - Python 3.8 has no strict=
    values = {n: mx.nd.array(a, dtype=a.dtype) for n, a in pairs}
    wanted = case.differentiated(inputs)
    gradients = {names[i]: mx.nd.zeros(inputs[i].shape, dtype=inputs[i].dtype) for i in wanted}
    executor = symbol.bind(
        mx.cpu(),
        {n: values[n] for n in names[:first]},
        args_grad=gradients or None,
        grad_req={n: "write" if n in gradients else "null" for n in names[:first]},
        aux_states={n: values[n] for n in names[first:]} or None,
    )
    outputs = [o.asnumpy() for o in executor.forward(is_train=case.train)]
    shapes = [[str(o.dtype), list(o.shape)] for o in outputs]
    entry = {"inputs": rows.checksum(inputs), "arrays": [], "shapes": shapes}
    if case.random:
        return [], entry
    arrays = [("out", o) for o in outputs]
    states = [executor.aux_dict[n].asnumpy() for n in names[first:]]
    if wanted:
        heads = [mx.nd.array(h, dtype=h.dtype) for h in case.heads(outputs)]
        executor.forward(is_train=True)
        executor.backward(heads)
        if case.train:  # the reference moves auxiliary states in its backward pass
            states = [executor.aux_dict[n].asnumpy() for n in names[first:]]
        arrays += [("grad", gradients[names[i]].asnumpy()) for i in wanted]
    return arrays + [("aux", s) for s in states], entry


def _run_eagerly(mx, case, inputs):
    """The same for an update operator, which MXNet cannot put into a symbol."""
    values = [mx.nd.array(a, dtype=a.dtype) for a in inputs]
    made = _function(mx, case.op, mx.nd)(*values, **case.attrs)
    outputs = [o.asnumpy() for o in (made if isinstance(made, list) else [made])]
    states = [v.asnumpy() for v in values[len(values) - case.aux :]]
    shapes = [[str(o.dtype), list(o.shape)] for o in outputs]
    entry = {"inputs": rows.checksum(inputs), "arrays": [], "shapes": shapes}
    return [("out", o) for o in outputs] + [("aux", s) for s in states], entry


def _function(mx, name, library=None):
    """The function of that name for symbols (or arrays), wherever MXNet puts it."""
    library = library or mx.sym
    for space in (library.op, library._internal, library):
        if name in vars(space):
            return getattr(space, name)
    for prefix in PREFIXES:
        space = getattr(library, prefix.strip("_"), None)
        if name.startswith(prefix) and hasattr(space, name[len(prefix) :]):
            return getattr(space, name[len(prefix) :])
    raise ValueError("the reference has no operator of that name")


def _record_schema(mx, path):
    """Names and arguments, with types, of every operator that symbols have.

    ``differentiable`` is there where it is not true: false, or null where no call says it.
    """
    schema, groups, cases = {}, {}, {}
    for case in [c for table in [*rows.load().values(), added.ROWS] for c in table]:
        cases.setdefault(case.op, []).append(case)
    for name in sorted(mx.operator.get_all_registered_operators()):
        groups.setdefault(_handle(mx, name), []).append(name)
    for names in groups.values():
        own = names != ["_backward_gather_nd"]  # which `mx.nd._internal` has
        if own and all(n.startswith(OF_OTHERS) for n in names):
            continue
        arguments = mx.operator.get_operator_arguments(names[0])
        pairs = [list(p) for p in zip(arguments.names, arguments.types)]  # noqa: B905 - 3.8
        schema[names[0]] = {"names": names, "arguments": pairs}
        found = {_forked(mx, case) for name in names for case in cases.get(name, ())}
        known = found & {True, False}
        if known != {True} and cases.keys() & set(names):
            schema[names[0]]["differentiable"] = False if known else None
    lines = [f"{json.dumps(name)}: {json.dumps(schema[name])}" for name in sorted(schema)]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{path.name}: {len(schema)} operators")
    return 0


def _forked(mx, case):
    """`_differentiable` from another process: some calls end it."""
    ends = os.pipe()
    if not os.fork():
        os.write(ends[1], json.dumps(_differentiable(mx, case)).encode())
        os._exit(0)
    os.close(ends[1])
    with os.fdopen(ends[0]) as pipe:
        answer = pipe.read()
    os.wait()
    return json.loads(answer or "null")


def _differentiable(mx, case):
    """Whether a row's gradients can be bound, or computed eagerly; ``None`` where no call says."""
    values = [mx.nd.array(a, dtype=a.dtype) for a in case.arrays()]
    floats = [i for i, v in enumerate(values) if v.dtype in (np.float16, np.float32, np.float64)]

    def bound():
        names = [f"in{i}" for i in range(len(values))]
        symbol = _function(mx, case.op)(*[mx.sym.Variable(n) for n in names], **case.attrs)
        given = dict(zip(names, values))  # noqa: B905 - Python 3.8 has no strict=
        states = {n: given.pop(n) for n in symbol.list_auxiliary_states()}
        gradients = {n: v for n, v in given.items() if names.index(n) in floats}
        symbol.bind(mx.cpu(), given, args_grad=gradients, aux_states=states)

    def called():
        for i in floats:
            values[i].attach_grad()
        with mx.autograd.record():
            made = _function(mx, case.op, mx.nd)(*values, **case.attrs)
        mx.autograd.backward(made)

    found = None
    for ask in (bound, called) if floats else ():
        try:
            ask()
        except Exception as error:  # any: other words say nothing
            if "is non-differentiable because" in str(error):
                return False
        else:
            found = True
    return found


def _handle(mx, name):
    """The facts that all names of an operator share."""
    handle = ctypes.c_void_p()
    mx.base.check_call(mx.base._LIB.NNGetOpHandle(name.encode(), ctypes.byref(handle)))
    return handle.value


if __name__ == "__main__":
    if sys.argv[1:2] == ["--here"]:
        sys.exit(1 if here(sys.argv[2]) else 0)
    sys.exit(1 if main(sys.argv[1:]) else 0)

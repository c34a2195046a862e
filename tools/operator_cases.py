"""Random calls of operators, drawn from their schemas; `compare_ops.py` runs them.

A case starts from a row of ``tests/ops/cases/``, whose arrays and required parameters fit each
other. Its arrays then change size (equal sizes stay equal; some are large), number and element
type, and its parameters take values of the domain that the reference's schema
(``tests/reference/ops/schema.json``) gives them, those that the row leaves at their defaults too.
One case in six is invalid on purpose: a shape, type, parameter or number of inputs that does not
fit, or an array without elements. Some have equal elements, NaN and infinities, arrays without
elements or axes under ``np_shape``, sparse arrays, one variable as two inputs, gradients of one
output, or none of the first input; some run eagerly, on views of arrays and in place too, others
as graphs that have been written as JSON. Some are one link of a chain of operators, whose
gradients are sums, some run a second pass, and some calls spell their arguments otherwise. Some
executors are reshaped, and some eager calls are recorded in inference mode. Loops and branches
have random bodies, too (``drawn_foreach``).

Two cases in five (``RARE``) draw more of what those seldom have: operators of several outputs,
recurrent networks of any mode and size, quantized ones, float16 and bytes, arrays without
elements, tuples of other lengths, and parameters such as ``out_type`` and ``layout``.
"""

import fnmatch
import functools
import json
import re

import case as rows
import numpy as np
import operator_calls
import operator_rows

from modkit.ops.registry import OPS

TYPES = ("float32",) * 6 + ("float64",) * 2
TYPES += ("float16", "int32", "int64", "uint8", "int8", "bool")
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e30, 1e-40)
EXTREME = (1e30, -1e30, 1e-30, float("inf"), float("nan"))
"""Rates and other numbers of updates."""
LARGE = 400_000
"""No array has more elements."""
INDEX_TYPES = ("int32", "int64", "uint8", "float16", "float32", "float64")
PRODUCTS = ("khatri_rao", "*dot", "*linalg_gemm*", "*linalg_make*", "*linalg_syrk", "diag")
PRODUCTS += ("_contrib_interleaved_*", "BilinearSampler")
"""Operators whose results may have the product of two sizes; they stay small."""
RARE = 0.4
"""Share of the cases that draw more of what others seldom have."""
SELDOM = ("RNN",) * 4 + ("*quantize*", "*Norm*", "*split*", "SliceChannel", "topk", "moments")
SELDOM += ("*Pooling*", "*onvolution*", "*linalg_*", "*MultiBox*", "*arg*", "*cast*", "one_hot")
SELDOM += ("amp_*", "_histogram", "*svm*", "RegressionOutput", "softmin", "log_softmax", "softmax")
"""Patterns of the operators of half of these."""
SELDOM_TYPES = ("float16", "float16", "int8", "uint8", "float64")
SELDOM_PARAMETERS = ("*type", "layout", "ret_typ", "mode", "*_mode", "ctx", "*_format", "act_type")
LISTS = {
    "num_args": ("Concat", "concat", "stack", "khatri_rao", "add_n", "ElementWiseSum", "*_sum"),
    "num_arrays": ("multi_all_finite", "multi_sum_sq", "reset_arrays"),
    "num_outputs": ("amp_multicast",),
}
"""Numbers of inputs and the operators that take as many arrays, all alike."""
CHAINS = ("before", "after", "shared", "twice")
"""Places of other operators: ``before`` the first input, or ``after`` the outputs. In ``shared``
those after the outputs read the first input, too; ``twice`` sums two equal calls."""
SPELLINGS = ("strings", "keywords", "positional")
"""Parameters as strings, inputs by keyword, parameters by position."""
INVALID = ("size", "rank", "empty", "type", "fewer", "parameter", "unknown")
INPUTS = ("NDArray", "Symbol", "ptr")


def draw(count, seed, patterns):
    """Cases, each a function of seed and position: dictionaries that pickle can write.

    Args:
        count: how many; operators take turns.
        seed: what they are drawn from.
        patterns: `fnmatch` patterns of operators' names.
    """
    schema = _schema()
    by_op = {}
    loops = [rows.Case(name) for name in operator_calls.DRAWN]
    for table in [*rows.load().values(), operator_rows.ROWS, loops]:
        for row in table:
            if any(fnmatch.fnmatch(row.op, p) for p in patterns):
                by_op.setdefault(row.op, []).append(row)
    names = sorted(by_op)
    seldom = [found for p in SELDOM if (found := fnmatch.filter(names, p))]
    cases = []
    for i in range(count if names else 0):
        stream = _Stream([seed, i])
        stream.rare = stream.rand() < RARE
        name = names[i % len(names)]
        if stream.rare and seldom and stream.rand() < 0.5:
            name = stream.choice(seldom[stream.randint(len(seldom))])
        cases.append(_case(by_op[name], schema, stream, i))
    return cases


class _Stream(np.random.RandomState):
    """The random stream of one case."""

    rare = False

    def often(self, usual, rare):
        """Whether something is drawn that has the one share, or the other in rare cases."""
        return self.rand() < (rare if self.rare else usual)


def spell(case):
    """A case in short: its arrays and parameters."""
    shapes = ", ".join(f"{a.dtype}{list(a.shape)}" for a in case["arrays"])
    made = f" [{case['invalid']}]" if case["invalid"] else ""
    made += f" [{case['manner']}]" if case["manner"] == "recorded" else ""
    marks = ("values", "storage", "np_shape", "views", "repeated", "output", "frozen", "saved")
    marks += ("chained", "spelling", "passes", "in_place", "reshaped", "predicting")
    made += "".join(f" [{n}: {case[n]}]" for n in marks if case[n])
    return f"#{case['at']} {case['op']}({shapes}) {case['attrs']}{made}"


def _schema():
    """Parameters of every operator by each of its names: a list of (name, kind)."""
    found = {}
    for entry in _recorded():
        arguments = [(n, k) for n, k in entry["arguments"] if not k.startswith(INPUTS)]
        found.update(dict.fromkeys(entry["names"], arguments))
    return {**found, **operator_calls.PARAMETERS}


def _inputs():
    """Names of the inputs of every operator that takes no list of them."""
    found = {}
    for entry in _recorded():
        inputs = [(n, k) for n, k in entry["arguments"] if k.startswith(INPUTS)]
        if not any("[]" in k for _, k in inputs):
            found.update({name: [n for n, _ in inputs] for name in entry["names"]})
    return {n: inputs for n, inputs in found.items() if n not in operator_calls.PARAMETERS}


@functools.cache
def _recorded():
    """The reference's operators: names, inputs and parameters."""
    return list(json.loads((rows.RECORDED / "schema.json").read_text()).values())


def _case(choices, schema, stream, at):
    row = choices[stream.randint(len(choices))]
    if row.op == "RNN" and stream.rare:
        row = _recurrent(row, stream)
    if row.op in operator_calls.DRAWN:
        row = _loop(row.op, stream)
    manner = _manner(row.op, stream)
    without = manner != "changing" and stream.often(0.04, 0.12)
    whole = row.op not in operator_calls.DRAWN  # their inputs are used, and sums have axes
    without = without and whole
    arrays = _arrays(row, stream, without)
    attrs = dict(row.attrs)
    if stream.rand() < 0.25:
        _lengthen(row.op, arrays, attrs, stream)
    axes = arrays[0].ndim if arrays else 1
    _vary(row.op, attrs, schema, axes, stream)
    invalid = INVALID[stream.randint(len(INVALID))] if stream.rand() < 1 / 6 else ""
    if row.op in operator_calls.PARAMETERS and invalid in ("fewer", "parameter", "unknown"):
        invalid = ""  # those are parameters of Python's functions
    first, made = len(arrays) - row.aux, ""
    if invalid:
        arrays, attrs = _spoilt(invalid, arrays, attrs, stream, first)
    elif stream.rand() < 0.2:
        made = ("rounded", "special")[stream.randint(2)]
        change = {"rounded": _rounded, "special": _special}[made]
        arrays[:first] = [
            change(a, stream) if a.dtype.kind == "f" and spec.values is None else a
            for a, spec in zip(arrays, row.specs, strict=False)
        ][:first]
    storage = _storage(row.op, manner, arrays[:first], stream) if whole else ()
    if stream.rand() < 0.7:
        arrays = [
            _thinned(a, stream) if kind != "default" else a
            for a, kind in zip(arrays, [*storage, *["default"] * len(arrays)], strict=False)
        ]
    case = {
        "at": at,
        "op": row.op,
        "manner": manner,
        "arrays": arrays,
        "attrs": attrs,
        "aux": row.aux,
        "onednn": any(fnmatch.fnmatch(row.op, p) for p in operator_rows.ONEDNN),
        "storage": storage,
        "random": row.random or _is_random(row.op, attrs),
        "invalid": invalid,
        "values": made,
        "np_shape": without,
        "views": manner == "recorded" and stream.rand() < 0.3,
        "repeated": whole and not invalid and _repeats(arrays[:first], stream),
        "output": int(stream.randint(8)) if whole and stream.rand() < 0.3 else None,
        "frozen": stream.rand() < 0.1 and (whole or manner == "graph"),
        "saved": manner in ("graph", "inferred") and stream.rand() < 0.3,
    }
    return {**case, **_use(case, schema, stream)}


def _vary(op, attrs, schema, axes, stream):
    """Give some parameters other values."""
    for name, kind in schema.get(op, ()):
        seldom = any(fnmatch.fnmatch(name, p) for p in SELDOM_PARAMETERS)
        if stream.often(0.3 if name in attrs else 0.15, 0.6 if seldom else 0.25):
            value = _value(kind, attrs.get(name), stream, axes if name in AXES else 0)
            if isinstance(value, float) and "_update" in op and stream.rand() < 0.1:
                value = EXTREME[stream.randint(len(EXTREME))]
            if value is None or name == "ndev":  # the reference waits for the other devices
                continue
            if not (name in LISTS and value < 0):  # reads of 2**32 arrays
                attrs[name] = value


def _use(case, schema, stream):
    """The rest of a case: what stands around the call, and in which form its arguments are."""
    arrays, manner = case["arrays"], case["manner"]
    plain = manner in ("graph", "recorded") and case["op"] not in operator_calls.PARAMETERS
    plain = plain and not case["invalid"] and not case["random"] and not any(case["storage"])
    alike = bool(arrays) and {a.dtype for a in arrays} <= {np.dtype("float32"), np.dtype("float64")}
    alike = alike and len({a.dtype for a in arrays}) == 1
    chained = plain and alike and stream.rand() < CHAINED
    spelling = SPELLINGS[stream.randint(3)] if plain and stream.rand() < SPELLED else ""
    named = _named(case, [n for n, _ in schema.get(case["op"], ())]).get(spelling, [])
    chained = CHAINS[stream.randint(len(CHAINS) - bool(case["aux"]))] if chained else ""
    in_place = plain and manner == "recorded" and case["op"] in OPS and OPS[case["op"]].elementwise
    return {
        "chained": chained,
        "spelling": spelling if named or spelling == "strings" else "",
        "named": named,
        "passes": plain and manner == "graph" and stream.rand() < PASSES,
        "in_place": in_place and stream.rand() < IN_PLACE,
        "reshaped": plain and bool(arrays) and manner == "graph" and stream.rand() < RESHAPED,
        "predicting": manner == "recorded" and stream.rand() < PREDICTING,
    }


CHAINED, SPELLED, PASSES, IN_PLACE, RESHAPED, PREDICTING = 0.12, 0.2, 0.2, 0.3, 0.15, 0.2
"""Shares of the cases that can be so."""


def _named(case, order):
    """By spelling the names of inputs that have keywords, and of parameters that have places."""
    inputs, attrs = _inputs().get(case["op"], []), case["attrs"]
    count = len(case["arrays"]) - case["aux"]
    given = order[: len(attrs)]
    return {
        "keywords": inputs[:count] if len(inputs) >= count else [],
        "positional": given if set(given) == set(attrs) and len(inputs) == count else [],
    }


def _manner(name, stream):
    """A way to run a case: as a graph, eagerly with gradients or changes, or shapes alone."""
    for manner in ("changing", "recorded", "inferred"):
        if any(fnmatch.fnmatch(name, p) for p in getattr(operator_rows, manner.upper())):
            return manner
    # The reference's eager calls of these take no moving statistics.
    eager = name not in ("BatchNorm_v1", "IdentityAttachKLSparseReg")
    return "recorded" if eager and stream.rand() < 0.2 else "graph"


def _storage(name, manner, arrays, stream):
    """Storage types of the inputs; of most cases none is sparse."""
    kinds = operator_rows.SPARSE_INPUTS.get(name, ())
    if kinds or manner != "recorded" or stream.rand() < 0.6:
        return kinds
    one = ("csr", "row_sparse")[stream.randint(2)]
    return tuple(
        one if a.ndim == 2 or (one == "row_sparse" and a.ndim) else "default"
        for a in arrays
        if stream.rand() < 0.8
    )


def _thinned(array, stream):
    """Zeros in some rows, and in some places of others: a sparse array stores neither."""
    places, rows = stream.rand(*array.shape), stream.rand(*array.shape[:1], *[1] * (array.ndim - 1))
    kept = (places < 0.6) & (rows < 0.7)
    return np.where(kept, array, np.zeros_like(array))


def _rounded(array, stream):
    """Equal elements, and zeros."""
    del stream
    return np.asarray(np.round(2 * array) / 2, array.dtype)


def _special(array, stream):
    """Some elements NaN, infinite, zeros, or large or small."""
    made = np.array(array)
    at = np.asarray(stream.rand(*made.shape) < 0.3)
    with np.errstate(over="ignore", under="ignore"):
        made[at] = np.asarray(SPECIAL)[stream.randint(len(SPECIAL), size=int(at.sum()))]
    return made


def _repeats(arrays, stream):
    """Whether the second input is the first one again."""
    kinds = [(a.shape, a.dtype) for a in arrays[:2]]
    return len(kinds) == 2 and kinds[0] == kinds[1] and stream.rand() < 0.15


def _is_random(name, attrs):
    """Whether parameters make an operator random whose row is not."""
    if name.startswith("_image_random"):
        return attrs.get("min_factor") != attrs.get("max_factor")
    if name == "RNN":
        return attrs.get("p", 0) != 0
    return name == "Dropout" or attrs.get("act_type") == "rrelu"


# ── Arrays ──────────────────────────────────────────────────────────────────────────────────


def _arrays(row, stream, without):
    """The row's inputs with other sizes, or with those that its parameters fit, and other types.

    Args:
        row: the row.
        stream: what they are drawn from.
        without: whether one size is 0, or none of the arrays has an axis.
    """
    kept = not without and (stream.rand() < 0.6 or row.note == FITTED)
    sizes = {} if kept else _sizes(row, stream, without)
    kinds = SELDOM_TYPES if stream.often(0, 0.6) else TYPES
    kind = kinds[stream.randint(len(kinds))]
    mixed = stream.rand() < 0.05
    if "mp_" in row.op and not mixed:
        kind = "float32"  # mixed precision: the row's types fit each other
    arrays = []
    for spec in row.specs:
        seed = stream.randint(2**31)
        if spec.values is not None:
            arrays.append(spec.make(0))
            continue
        shape = tuple(spec.sizes)
        if sizes is None:
            shape = ()
        elif not kept:
            shape = tuple(sizes.setdefault(n, int(stream.randint(1, 6))) for n in shape)
        made = type(spec)(shape, spec.low, spec.high, spec.kind, spec.dtype).make(seed)
        if spec.dtype == "float32" and spec.kind == "float":
            dtype = TYPES[stream.randint(len(TYPES))] if mixed else kind
            low = 0 if dtype.startswith("u") else -np.inf
            scale = 4 if "int" in dtype else 1
            made = np.maximum(made * scale, low).astype(dtype)
        elif spec.kind == "int" and stream.rand() < 0.15:
            made = made.astype(INDEX_TYPES[stream.randint(len(INDEX_TYPES))])
        arrays.append(made)
    return arrays


FITTED = "sizes fit parameters"


def _recurrent(row, stream):
    """A row of ``RNN`` of any mode and size, whose arrays fit."""
    mode = ("rnn_relu", "rnn_tanh", "lstm", "gru")[stream.randint(4)]
    steps, batch, inputs, hidden, layers, directions = (
        int(stream.randint(1, n)) for n in (7, 5, 6, 6, 4, 3)
    )
    given = hidden if mode != "lstm" or stream.rand() < 0.7 else int(stream.randint(1, hidden + 1))
    gates = {"lstm": 4, "gru": 3}.get(mode, 1)
    count = 0
    for layer in range(layers):
        width = given * directions if layer else inputs
        count += directions * gates * hidden * (width + given + 2)
        count += directions * given * hidden * (given != hidden)
    attrs = {"mode": mode, "state_size": hidden, "num_layers": layers}
    attrs |= {"bidirectional": True} if directions == 2 else {}
    attrs |= {"projection_size": given} if given != hidden else {}
    attrs |= {"state_outputs": bool(stream.randint(2))} if stream.rand() < 0.7 else {}
    arrays = [(steps, batch, inputs), (count,), (layers * directions, batch, given)]
    if mode == "lstm":
        arrays.append((layers * directions, batch, hidden))
        if stream.rand() < 0.3:  # the reference's CPUs do not clip
            attrs |= {"lstm_state_clip_min": -9.0, "lstm_state_clip_max": 9.0}
            attrs |= {"lstm_state_clip_nan": bool(stream.randint(2))}
    if stream.rand() < 0.2:  # nor do they look at lengths
        arrays.append(rows.Input(values=[steps] * batch))
        attrs["use_sequence_length"] = True
    return type(row)("RNN", arrays, attrs, note=FITTED)


def _loop(name, stream):
    """A row of a loop or branch with a random body: square matrices, and stacks of them."""
    steps, size = int(stream.randint(1, 5)), int(stream.randint(1, 5))
    data = int(stream.randint(1, 3)) if name == "drawn_foreach" else 0
    states = int(stream.randint(name != "drawn_foreach", 4))
    dtype = ("float32", "float32", "float64", "float16")[stream.randint(4)]
    shapes = [(steps, size, size)] * data + [(size, size)] * (states + stream.randint(4))
    arrays = [rows.Input(values=stream.uniform(-1, 1, s), dtype=dtype) for s in shapes]
    attrs = {
        "seed": int(stream.randint(2**31)),
        "data": data,
        "states": states,
        "outputs": int(stream.randint(states == 0 or name == "drawn_cond", 4)),
        "steps": steps,
        "limit": int(stream.randint(1, 6)),
        "unrolled": bool(stream.randint(2)),
    }
    return rows.Case(name, arrays, attrs, note=FITTED)


def _sizes(row, stream, without):
    """Sizes for those of the row: one of 0, or a large one, or all as they come; None: no axes."""
    drawn = [spec.sizes for spec in row.specs if spec.values is None]
    known = sorted({n for sizes in drawn for n in sizes})
    if without and len(set(drawn)) == 1 and stream.rand() < 0.4:
        return None
    small = any(fnmatch.fnmatch(row.op, p) for p in PRODUCTS)
    if not known or not (without or (stream.rand() < 0.12 and not small)):
        return {}
    one = known[stream.randint(len(known))]
    if without:
        return {one: 0}
    sizes = {n: int(stream.randint(1, 6)) for n in known}
    sizes[one] = int(stream.randint(1000, 12_000))
    return sizes if all(np.prod([sizes[n] for n in s]) <= LARGE for s in drawn) else {}


def _lengthen(name, arrays, attrs, stream):
    """Another number of inputs, for an operator that takes a list of them."""
    for number, names in LISTS.items():
        if any(fnmatch.fnmatch(name, n) for n in names):
            count = stream.randint(1, 6)
            arrays[:] = [arrays[i % len(arrays)] for i in range(count)]
            if number in attrs or number != "num_args":
                attrs[number] = count


def _spoilt(invalid, arrays, attrs, stream, first):
    """Arrays and parameters of which one does not fit."""
    arrays, attrs = list(arrays), dict(attrs)
    if invalid == "parameter" and attrs:
        name = sorted(attrs)[stream.randint(len(attrs))]
        attrs[name] = [-1, 0, 1000, -0.5, "x", "()", (0,), (1, -1, 2), None][stream.randint(9)]
        return arrays, attrs
    if invalid in ("parameter", "unknown") or not first:
        return arrays, dict(attrs, **{["axes", "dim", "kernal", "out"][stream.randint(3)]: 1})
    j = stream.randint(first)
    if invalid == "fewer":
        del arrays[j]
    elif invalid == "type":
        with np.errstate(invalid="ignore"):
            arrays[j] = arrays[j].astype(TYPES[stream.randint(len(TYPES))])
    elif invalid == "rank":
        a = arrays[j]
        arrays[j] = a[None] if a.ndim == 0 or stream.rand() < 0.5 else a.reshape(-1)
    elif arrays[j].ndim:
        axis = stream.randint(arrays[j].ndim)
        size = 0 if invalid == "empty" else arrays[j].shape[axis] + 1
        arrays[j] = np.resize(
            arrays[j], [*arrays[j].shape[:axis], size, *arrays[j].shape[axis + 1 :]]
        )
    return arrays, attrs


# ── Parameters ──────────────────────────────────────────────────────────────────────────────


AXES = ("axis", "axes", "axis1", "axis2", "dim", "dim1", "dim2", "lhs_axes", "rhs_axes")


def _value(kind, now, stream, axes=0):
    """A value of a parameter's domain, near the present one where there is one; None: leave it.

    Args:
        kind: the domain, in the schema's words.
        now: the present value.
        stream: what it is drawn from.
        axes: for numbers of axes the number of those that there are.
    """
    if kind.startswith("{"):
        choices = re.findall(r"'([^']*)'", kind.split("}")[0])
        choices += ["None"] if "{None" in kind else []
        return choices[stream.randint(len(choices))]
    head = kind.split(",")[0]
    if head == "string":
        return ("cpu(0)", "cpu", "cpu_pinned(0)")[stream.randint(3)]
    if "or None" in head and stream.rand() < 0.2:
        return "None"
    if head.startswith("boolean"):
        return bool(stream.randint(2))
    if axes and stream.rand() < 0.7:
        several = "tuple" in head.lower() or head.startswith("Shape")
        drawn = stream.permutation(axes)[: stream.randint(1, axes + 1) if several else 1]
        drawn = tuple(int(a) - axes * int(stream.randint(2)) for a in drawn)
        return drawn if several else drawn[0]
    if "tuple" in head.lower() or head.startswith("Shape"):
        return _tuple(head, now, stream)
    if head.startswith(("int", "long")):
        return _whole(now, stream, "non-negative" in head)
    if head.startswith(("float", "double", "real")):
        return _real(now, stream)
    return None


def _whole(now, stream, unsigned):
    if isinstance(now, int) and stream.rand() < 0.7:
        return max(int(now) + int(stream.randint(-1, 3)), 0 if unsigned else -1)
    values = [0, 1, 2, 3, 7] if unsigned else [-3, -2, -1, 0, 1, 2, 3, 7]
    return values[stream.randint(len(values))]


def _real(now, stream):
    if isinstance(now, int | float) and not isinstance(now, bool) and stream.rand() < 0.7:
        return float(now) * float([0.5, 1, 2, -1][stream.randint(4)])
    return float([-1, 0, 0.1, 0.5, 0.9, 1, 2, 1e-3][stream.randint(8)])


def _tuple(head, now, stream):
    one = _real if "float" in head or "double" in head else lambda v, s: _whole(v, s, False)
    if isinstance(now, tuple | list) and len(now):
        given = [one(v, stream) if stream.rand() < 0.5 else v for v in now]
        if stream.often(0.1, 0.3):
            given = given[:-1] if stream.rand() < 0.5 else [*given, given[-1]]
        return tuple(given)
    if now is not None and not stream.often(0, 0.5):
        return None
    return tuple(one(1, stream) for _ in range(stream.randint(1, 4)))

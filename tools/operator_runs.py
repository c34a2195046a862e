"""A case of `operator_cases.py`, run by modkit or by the reference; `compare_ops.py` compares them.

It runs under the reference's Python 3.8, too.

A case is run in one of five manners: as a graph in an executor, eagerly and recorded for its
gradients, eagerly with the arrays that the call changes, no further than shapes and types, or as
the training step of a module.
"""

import functools
import importlib
import sys
import time
import zlib
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parent))
calls = importlib.import_module("operator_calls")
recorder = importlib.import_module("record_ops")

BEFORE = 0.625
"""Initial value of gradients, exact in each type; no operator writes it."""
FLOATS = (np.float16, np.float32, np.float64)


def answer(mx, case):
    """``("ran", parts by name)`` or ``("refused", words)``."""
    mx.random.seed(1)
    mx.autograd.set_recording(False)  # the reference's gradients of gradients leave it on
    manner = case["manner"]
    library = mx.sym if manner in ("graph", "inferred", "step") else mx.nd
    runs = {"graph": _run, "inferred": _infer, "recorded": _record, "changing": _change}
    run = {**runs, "step": _step}[manner]
    try:
        function = calls.function(mx, case["op"], library) or recorder._function(
            mx, case["op"], library
        )
        with mx.util.np_shape(case["np_shape"]):
            found = run(mx, function, case)
        if case["attrs"].get("unrolled"):  # the inputs of that graph have another order
            found = {n: v for n, v in found.items() if n not in ("names", "inferred from one")}
        return "ran", found
    except Exception as error:  # any: what the other side does decides what it means
        return "refused", _words(mx, error)


def _words(mx, error):
    """An error's first words; ahead of them its class, where it is not one of the package's own."""
    text = " ".join(str(error).split())[:300]
    return text if isinstance(error, mx.base.MXNetError) else f"{type(error).__name__}: {text}"


# ── Arrays ──────────────────────────────────────────────────────────────────────────────────


def packed(array):
    """An array as what any version of NumPy reads."""
    return _name(array.dtype), array.shape, array.tobytes()


def unpacked(values):
    """The array again."""
    dtype, shape, data = values
    if dtype == "bfloat16":
        data, dtype = b"".join(b"\0\0" + data[i : i + 2] for i in range(0, len(data), 2)), "float32"
    return np.frombuffer(data, dtype).reshape(shape).copy()


def _name(dtype):
    """The name of an element type; the reference's bfloat16 is a structure."""
    return "bfloat16" if "bfloat16" in str(dtype) else np.dtype(dtype).name


def _arrays(mx, case):
    """The case's arrays: views of larger ones, or sparse, where it says so."""
    made = []
    for at, a in enumerate(case["arrays"]):
        made.append(_array(mx, a, case))
        kind = case["storage"][at] if at < len(case["storage"]) else "default"
        if kind != "default":
            made[-1] = made[-1].tostype(kind)
    return made


def _array(mx, value, case):
    """The array; where the case says so, a view of a larger one."""
    if not case["views"] or not value.ndim:
        return mx.nd.array(value, dtype=value.dtype)
    whole = mx.nd.array(np.concatenate([value, value, value]), dtype=value.dtype)
    return whole[len(value) : 2 * len(value)]


def _called(library, function, inputs, case, **more):
    """The call with its arguments in the case's form, and the case's operators around it."""
    attrs, named, chained = dict(case["attrs"]), case["named"], case["chained"]
    if case["spelling"] == "strings":
        attrs = {n: str(v) for n, v in attrs.items()}
    if case["spelling"] == "positional":
        inputs = [*inputs, *(attrs.pop(n) for n in named)]

    def call():
        if case["spelling"] == "keywords":
            return function(**dict(zip(named, inputs)), **attrs, **more)  # noqa: B905 - 3.8
        return function(*inputs, **attrs, **more)

    if chained == "before":
        first = inputs[0] * 0.75 + inputs[0] * 0.25
        inputs = [first if each is inputs[0] else each for each in inputs]
    made = call()
    if "out" in more or chained in ("", "before"):
        return made
    outputs = _parts(made)
    if chained == "twice":
        return [a + b for a, b in zip(outputs, _parts(call()))]  # noqa: B905 - Python 3.8
    if chained == "after":
        return [o * o + o for o in outputs]
    total = library.reshape(library.sum(inputs[0]), shape=(1,))
    return [library.broadcast_mul(library.reshape(o, shape=(-1,)), total) for o in outputs]


def _parts(made):
    """The outputs of a call, of arrays or of a symbol, as a list."""
    if isinstance(made, list):
        return made
    return [made[i] for i in range(len(made.list_outputs()))] if _is_symbol(made) else [made]


def _is_symbol(made):
    return hasattr(made, "list_outputs")


def _head(output):
    stream = np.random.RandomState(zlib.crc32(repr(output.shape).encode()))
    return stream.uniform(-1, 1, output.shape)


# ── Manners ─────────────────────────────────────────────────────────────────────────────────


def _change(mx, function, case):
    """Outputs, and the arrays after the call: an operator that updates weights changes them."""
    values = _arrays(mx, case)
    out = {}
    if "multi_" in case["op"]:
        out = {"out": _weights(case["op"], values)}
    elif case["op"] in ("_sparse_adagrad_update", "_contrib_group_adagrad_update"):
        out = {"out": values[0]}
    made = function(*values, **out, **case["attrs"])
    outputs = [o.asnumpy() for o in (made if isinstance(made, list) else [made])]
    return {
        "outputs": [packed(o) for o in outputs],
        "arrays": [packed(v.asnumpy()) for v in values],
    }


def _weights(name, arrays):
    """The two weights among the arrays of an operator for several, where the rows have two."""
    shared = 2 if name.startswith("preloaded") else int("adamw" in name)
    each = (len(arrays) - shared) // 2
    return [arrays[0], arrays[each]]


def _record(mx, function, case):
    """Outputs, gradients, and gradients of gradients of an eager call, and what ``out`` holds."""
    values = _arrays(mx, case)
    if case["repeated"]:
        values[1] = values[0]
    first = len(values) - case["aux"]
    floats = [v for v in values[:first] if v.stype == "default" and v.dtype in FLOATS]
    floats = floats[int(case["repeated"] and len(floats) > 1) :]
    floats = floats[case["frozen"] and len(floats) > 1 :]
    found = {}

    def called(**given):
        made = _parts(_called(mx.nd, function, values, case, **given))
        one = case["output"]
        return made if one is None or given else [made[one % len(made)]]

    for req in ("write", "add"):
        for v in floats:
            v.attach_grad(req)
            v.grad[:] = BEFORE
        with mx.autograd.record(train_mode=not case["predicting"]):
            outputs = called()
        if case["random"]:
            return _random(mx, called, floats, case)
        found["outputs"] = [packed(o.asnumpy()) for o in outputs]
        found["storage types"] = " ".join(o.stype for o in outputs)
        if not floats:
            break
        heads = [mx.nd.array(_head(o), dtype=o.dtype) for o in outputs]
        try:
            mx.autograd.backward(outputs, heads)
            found[f"gradient ({req})"] = [packed(v.grad.asnumpy()) for v in floats]
        except Exception as error:  # as above
            found[f"gradient ({req})"] = _words(mx, error)
    if floats:
        try:
            found["second gradient"] = _second(mx, case, called, floats, heads)
        except Exception as error:  # as above
            found["second gradient"] = _words(mx, error)
    dense = set(found["storage types"].split()) == {"default"}
    whole = case["output"] is None and case["chained"] in ("", "before")
    if dense and whole and case["op"] not in calls.PARAMETERS:
        targets = [_array(mx, np.ones(o.shape, o.dtype), case) for o in outputs]
        called(out=targets if len(targets) > 1 else targets[0])
        found["out"] = [packed(o.asnumpy()) for o in targets]
    if case["in_place"]:
        values = _arrays(mx, case)
        _called(mx.nd, function, values, case, out=values[0])
        found["in place"] = [packed(values[0].asnumpy())]
    return found


def _random(mx, called, floats, case):
    """Shapes and types of a random call's outputs and gradients, and their distribution."""
    add = bool(case["at"] % 2)
    for v in floats:
        v.attach_grad("add" if add else "write")

    def draw():
        for v in floats:
            v.grad[:] = BEFORE
        with mx.autograd.record(train_mode=not case["predicting"]):
            outputs = called()
        if floats:
            heads = [mx.nd.array(_head(o), dtype=o.dtype) for o in outputs]
            mx.autograd.backward(outputs, heads)
        return [a.asnumpy() for a in [*outputs, *(v.grad for v in floats)]]

    try:
        made = draw()
    except Exception:  # as above: it has no gradients
        floats = []
        made = draw()
    outputs = len(made) - len(floats)
    return dict(_draws(draw, outputs), outputs=[packed(np.zeros_like(o)) for o in made])


def _forward(bound):
    return [o.asnumpy() for o in bound.forward(is_train=True)]


def _draws(draw, outputs=None):
    """Distributions of random arrays, each as sorted numbers.

    Those of all elements, and of the arrays' products with a fixed one, which depend on positions
    and on what elements have to do with each other, without and with gradients.

    Args:
        draw: returns outputs and gradients.
        outputs: the number of outputs; all.
    """
    made, end = [draw()], time.process_time() + DRAWN_S
    size, whole = (sum(a.size for a in made[0][:n]) for n in (outputs, None))
    count = min(DRAWS, LARGEST // max(whole, 1))
    while len(made) < count and time.process_time() < end:
        made.append(draw())
    if not size or len(made) < FEWEST:
        return {}
    made = np.stack([np.concatenate([a.astype(np.float64).ravel() for a in m]) for m in made])
    weights = np.random.RandomState(size).uniform(-1, 1, whole)
    with np.errstate(invalid="ignore", over="ignore"):
        found = {
            "drawn elements": np.sort(made[:, :size], None)[size // 2 :: size],
            "drawn sums": made[:, :size] @ weights[:size],
        }
        if whole > size:
            found["gradient drawn"] = made @ weights
    return {n: [packed(np.sort(v))] for n, v in found.items()}


DRAWS, FEWEST, LARGEST, DRAWN_S = 2000, 100, 10**6, 0.3
"""Numbers of draws, and of their elements, and their processor time."""


def _second(mx, case, called, floats, heads):
    """Gradients of a weighted sum of the gradients."""
    for v in floats:
        v.attach_grad()
    with mx.autograd.record(train_mode=not case["predicting"]):
        made = called()
        firsts = mx.autograd.grad(made, floats, heads, create_graph=True, retain_graph=True)
        total = sum((g * mx.nd.array(_head(g), dtype=g.dtype)).sum() for g in firsts)
    total.backward()
    return [packed(v.grad.asnumpy()) for v in floats]


def _symbol(mx, function, inputs, case):
    """The graph of the call; where the case says so, as its JSON has it."""
    inner = case["op"].startswith("_") and case["op"] not in calls.PARAMETERS
    with mx.name.NameManager():  # automatic names are numbered anew
        name = {"name": "made"} if inner else {}
        symbol = _called(mx.sym, function, inputs, case, **name)
        symbol = mx.sym.Group(symbol) if isinstance(symbol, list) else symbol
    return mx.sym.load_json(symbol.tojson()) if case["saved"] else symbol


def _infer(mx, function, case):
    """Inferred shapes and types."""
    names = [f"in{i}" for i in range(len(case["arrays"]) - case["aux"])]
    symbol = _symbol(mx, function, [mx.sym.Variable(n) for n in names], case)
    return _inferred(mx, symbol, dict(zip(names, case["arrays"])))  # noqa: B905 - Python 3.8


def _run(mx, function, case):
    """Inferred shapes and types, outputs and gradients by name."""
    arrays, first = case["arrays"], len(case["arrays"]) - case["aux"]
    names = [f"in{i}" for i in range(first)]
    inputs = [mx.sym.Variable(n) for n in names]
    if case["repeated"]:
        inputs[1] = inputs[0]
        del names[1], arrays[1]
    symbol = _symbol(mx, function, inputs, case)
    if case["output"] is not None:
        symbol = symbol[case["output"] % len(symbol.list_outputs())]
    found = _inferred(mx, symbol, dict(zip(names, arrays)))  # noqa: B905 - Python 3.8
    first = len(names)
    names += symbol.list_auxiliary_states()
    values = dict(zip(names, _arrays(mx, case)))  # noqa: B905 - Python 3.8
    floats = [n for n in names[:first] if values[n].dtype in FLOATS]
    floats = [] if case["random"] else floats[case["frozen"] and len(floats) > 1 :]
    for req in ("write", "add"):
        gradients = {n: mx.nd.full(values[n].shape, BEFORE, dtype=values[n].dtype) for n in floats}
        bound = symbol.bind(
            mx.cpu(),
            {n: values[n].copy() for n in names[:first]},
            args_grad=gradients or None,
            grad_req={n: req if n in floats else "null" for n in names[:first]},
            aux_states={n: values[n].copy() for n in names[first:]} or None,
        )
        if floats and req == "write":
            found["inference"] = [packed(o.asnumpy()) for o in bound.forward(is_train=False)]
        outputs = [o.asnumpy() for o in bound.forward(is_train=bool(floats or case["random"]))]
        if case["random"]:
            outputs = [packed(np.zeros_like(o)) for o in outputs]
            return dict(found, outputs=outputs, **_draws(functools.partial(_forward, bound)))
        found["outputs"] = [packed(o) for o in outputs]
        if floats:
            heads = [mx.nd.array(_head(o), dtype=o.dtype) for o in outputs]
            try:
                bound.backward(heads)
                found["states"] = [packed(bound.aux_dict[n].asnumpy()) for n in names[first:]]
                found[f"gradient ({req})"] = [packed(gradients[n].asnumpy()) for n in floats]
                found["weights"] = [packed(bound.arg_dict[n].asnumpy()) for n in floats]
                if case["passes"]:
                    made = _again(bound, values[names[0]], heads)
                    found[f"second pass ({req})"], found[f"second pass gradient ({req})"] = made
            except Exception as error:  # as above
                found[f"gradient ({req})"] = _words(mx, error)
        if case["reshaped"] and req == "write":
            try:
                found["reshaped"], found[f"reshaped gradient ({req})"] = _reshaped(mx, bound)
            except Exception as error:  # as above
                found["reshaped"] = _words(mx, error)
    return found


def _step(mx, function, case):
    """Outputs of a step, and the weights after it: inputs without their gradients."""
    arrays, first = _arrays(mx, case), len(case["arrays"]) - case["aux"]
    names = [f"in{i}" for i in range(first)]
    given = dict(zip(names, arrays))  # noqa: B905 - Python 3.8
    inputs = [mx.sym.Variable(n, shape=a.shape, dtype=a.dtype) for n, a in given.items()]
    if case["repeated"]:
        inputs[1] = inputs[0]
        del given["in1"]
    symbol = _symbol(mx, function, inputs, case)
    if case["output"] is not None:
        symbol = symbol[case["output"] % len(symbol.list_outputs())]
    weights = [n for n, a in given.items() if a.dtype in FLOATS]
    weights = weights[case["frozen"] and len(weights) > 1 :]
    states = dict(zip(symbol.list_auxiliary_states(), arrays[first:]))  # noqa: B905 - as above
    fixed = [n for n in given if n not in weights]
    whole = mx.sym.Group([symbol, mx.sym.BlockGrad(mx.sym.Variable("data"))])
    module = mx.mod.Module(whole, label_names=None, fixed_param_names=fixed, context=mx.cpu())
    module.bind([("data", (1,))])
    module.init_params(arg_params=given, aux_params=states)
    module.init_optimizer(optimizer_params={"learning_rate": 1.0, "rescale_grad": 1.0, "wd": 0.0})
    module.forward(mx.io.DataBatch([mx.nd.ones((1,))]), is_train=True)
    shapes = symbol.infer_shape()[1]
    kinds = symbol.infer_type()[1]
    heads = [mx.nd.array(_head(np.empty(s)), dtype=t) for s, t in zip(shapes, kinds)]  # noqa: B905
    module.backward([*heads, mx.nd.zeros((1,))])
    module.update()
    outputs = module.get_outputs()[:-1]
    after = module.get_params()[0]
    found = {"outputs": [packed(o.asnumpy()) for o in outputs]}
    return dict(found, weights=[packed(after[n].asnumpy()) for n in weights])


def _reshaped(mx, bound):
    """Outputs and gradients of the executor with one row more of its first input."""
    first, old = next(iter(bound.arg_dict.items()))
    shapes = {first: (old.shape[0] + 1, *old.shape[1:])}
    larger = bound.reshape(partial_shaping=True, allow_up_sizing=True, **shapes)
    for name, array in larger.arg_dict.items():
        array[:] = mx.nd.array(np.resize(bound.arg_dict[name].asnumpy(), array.shape))
    gradients = [g for g in larger.grad_arrays if g is not None]
    for gradient in gradients:
        gradient[:] = BEFORE
    outputs = larger.forward(is_train=True)
    larger.backward([mx.nd.array(_head(o), dtype=o.dtype) for o in outputs])
    return [[packed(a.asnumpy()) for a in each] for each in (outputs, gradients)]


def _again(bound, first, heads):
    """A second pass over other values, inference after it included, and its gradients."""
    bound.arg_arrays[0][:] = first * 0.5
    outputs = [packed(o.asnumpy()) for o in bound.forward(is_train=True)]
    bound.backward(heads)
    gradients = [packed(g.asnumpy()) for g in bound.grad_arrays if g is not None]
    after = [*bound.aux_arrays, *bound.forward(is_train=False)]
    return outputs + [packed(a.asnumpy()) for a in after], gradients


def _inferred(mx, symbol, given):
    """Shapes and types: of outputs, and of everything from the first input alone."""
    shapes = symbol.infer_shape(**{n: a.shape for n, a in given.items()})
    kinds = symbol.infer_type(**{n: a.dtype for n, a in given.items()})
    named = symbol.list_arguments() + symbol.list_outputs() + symbol.list_auxiliary_states()
    found = {
        "names": " ".join(named),
        "inferred shapes": "unknown" if shapes[1] is None else [tuple(s) for s in shapes[1]],
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

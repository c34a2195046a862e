"""Expressions over sparse arrays that MXNet and modkit both evaluate.

Names in them: ``D``, ``E`` dense; ``C``, ``K`` csr; ``R``, ``S`` row-sparse; all (4, 5), with ``Z``
a csr and ``Y`` a row-sparse array of zeros, ``W`` a dense (5, 3) matrix and ``V`` a row-sparse
one, ``U`` a dense (4, 3) matrix, ``T`` a row-sparse (4, 3) matrix.
"""

import base64
import itertools
from pathlib import Path

import numpy as np


def arrays(mx):
    """The arrays by name."""
    random = np.random.RandomState(7)

    def dense(*shape):
        return random.randint(1, 9, shape).astype("float32") / 4

    def some(kept):
        return dense(*kept.shape) * kept

    def rows(count, size, *kept):
        return some(np.isin(np.arange(count), kept)[:, None] * np.ones((count, size)))

    cells = [random.rand(4, 5) < 0.4 for _ in range(2)]
    cells[0][2] = False
    nd = mx.nd
    made = {
        "D": nd.array(dense(4, 5)),
        "E": nd.array(dense(4, 5)),
        "C": nd.array(some(cells[0])).tostype("csr"),
        "K": nd.array(-some(cells[1])).tostype("csr"),
        "R": nd.array(rows(4, 5, 0, 3)).tostype("row_sparse"),
        "S": nd.array(-rows(4, 5, 1, 3)).tostype("row_sparse"),
        "Z": nd.zeros((4, 5), stype="csr"),
        "Y": nd.zeros((4, 5), stype="row_sparse"),
        "F": nd.array(rows(4, 5, 0, 1, 2, 3)).tostype("row_sparse"),
        "W": nd.array(dense(5, 3)),
        "V": nd.array(rows(5, 3, 1, 4)).tostype("row_sparse"),
        "U": nd.array(dense(4, 3)),
        "T": nd.array(rows(4, 3, 0, 2)).tostype("row_sparse"),
        "X": nd.array(dense(3, 4)),
    }
    return {**made, "mx": mx, "nd": nd, "np": np}


UNARY = """
abs sign sqrt square negative relu sin sinh tan tanh arcsin arcsinh arctan arctanh floor ceil round
rint fix trunc expm1 log1p degrees radians cbrt zeros_like BlockGrad make_loss cos exp log sigmoid
rsqrt reciprocal ones_like gamma softsign _internal._copy
"""

OF_ONE = """
{a} + 2
{a} - 2
{a} * 2
2 * {a}
{a} / 2
2 - {a}
2 + {a}
{a} + 0
{a} - 0
{a} ** 2
{a} > 1
-{a}
abs({a})
{a}.sum()
nd.sum({a}, axis=0)
nd.sum({a}, axis=1)
nd.sum({a}, axis=0, keepdims=True)
nd.sum({a}, axis=1, keepdims=True)
nd.sum({a}, axis=(0, 1))
nd.sum({a}, axis=0, exclude=True)
nd.mean({a}, axis=0)
nd.mean({a}, axis=1)
nd.mean({a})
nd.max({a})
nd.norm({a})
nd.norm({a}, ord=2)
nd.norm({a}, axis=0)
nd.norm({a}, ord=1)
nd._internal._square_sum({a}, axis=1)
nd._internal._square_sum({a}, axis=0)
nd._internal._square_sum({a}, axis=1, keepdims=True)
nd._internal._square_sum({a}, axis=0, keepdims=True)
nd.clip({a}, 0, 1)
nd.clip({a}, 1, 2)
nd.clip({a}, -1, 1)
nd.reshape({a}, (2, 10))
{a}.T
nd.slice({a}, begin=(1,), end=(3,))
nd.slice({a}, begin=(1, 1), end=(4, 3))
{a}.slice(begin=(None, 2), end=(3, 5))
nd.slice({a}, begin=(1,), end=(3,), step=(1,))
nd.slice({a}, begin=(1, 1), end=(4, 3), step=(1, 1))
nd.slice_axis({a}, axis=0, begin=1, end=3)
{a}[1:3]
nd.cast_storage({a}, 'default')
{a}.copyto(nd.zeros((4, 5)))
{a}.copyto(nd.zeros((4, 5), stype={a}.stype))
{a}.astype('float64')
{a}.copy()
nd.Cast({a}, 'float16')
nd.where({a}, D, E)
nd.where(D, {a}, E)
nd.concat({a}, {a}, dim=0)
nd.concat({a}, {a}, dim=1)
nd.stack({a}, {a})
nd.add_n({a}, {a})
nd.add_n({a}, D)
nd.add_n(D, {a}, D)
nd.ElementWiseSum({a}, {a}, {a})
nd.take({a}, nd.array([0, 3]))
nd.take({a}, nd.array([[0, 3], [2, 7]]), mode='clip')
nd.FullyConnected({a}, nd.array(W.asnumpy().T), num_hidden=3, no_bias=True)
nd.broadcast_add({a}, nd.array([[1], [2], [3], [4]]))
nd.broadcast_mul({a}, nd.array([[1], [2], [3], [4]]))
nd.broadcast_mul({a}, nd.array([[1, 2, 3, 4, 5]]))
nd.broadcast_div({a}, nd.array([[1, 2, 3, 4, 5]]))
nd.broadcast_div({a}, nd.array([[1], [2], [3], [4]]))
{a} * nd.array([[1], [2], [3], [4]])
nd.slice({a}, begin=(1,), end=(2,)) / nd.full((1, 5), 2)
nd.zeros_like({a})
nd.ones_like({a})
nd.contrib.getnnz({a})
nd.contrib.getnnz({a}, axis=0)
nd.contrib.getnnz({a}, axis=1)
nd.contrib.edge_id({a}, nd.array([0, 1, 3]), nd.array([1, 1, 4]))
nd.LogisticRegressionOutput(D, {a})
nd.LinearRegressionOutput(D, {a})
nd.elemwise_add({a}, {a}, out=nd.zeros((4, 5)))
nd._internal._scatter_plus_scalar({a}, scalar=2.0)
nd._internal._scatter_minus_scalar({a}, scalar=2.0)
nd._internal._scatter_elemwise_div({a}, D)
nd.contrib.gradientmultiplier({a}, scalar=3)
nd.contrib.quadratic({a}, a=1, b=2)
nd.contrib.quadratic({a}, a=1, b=2, c=3)
nd.contrib.round_ste({a})
nd.contrib.sign_ste({a})
nd._internal._identity_with_attr_like_rhs({a}, D)
nd._internal._identity_with_attr_like_rhs(D, {a})
"""

OTHERS = """
C / D
R / D
nd.sparse.divide(C, D)
nd.sparse.divide(R, D)
D + D.tostype('csr')
nd.dot(C, nd.array([1, 2, 3, 4, 5]))
nd.dot(C, nd.array([1, 2, 3, 4]), transpose_a=True)
nd.dot(C, K.T)
nd.dot(C, K, transpose_b=True)
nd.dot(Z, W)
nd.dot(Z, U, transpose_a=True)
nd.dot(Z, U, transpose_a=True, forward_stype='row_sparse')
nd.sparse.retain(R, nd.array([0, 1]))
nd.sparse.retain(R, nd.array([3]))
nd._internal._sparse_retain(F, nd.array([1, 3]))
nd.sparse.retain(Y, nd.array([1, 3]))
R.retain(nd.array([0]))
nd.where(C, D, E)
nd.where(C, R, E)
nd.add_n(R, S)
nd.add_n(R, S, F)
nd.add_n(C, K)
nd.add_n(D, C, E)
nd.add_n(R, C)
nd.add_n(D, R, E)
nd.concat(C, K, dim=0)
nd.concat(C, Z, K, dim=0)
nd.concat(C, D, dim=0)
nd.concat(C, K, dim=1)
nd.Embedding(nd.array([1, 4, 1]), W, input_dim=5, output_dim=3, sparse_grad=True)
nd.Embedding(nd.array([1, 4, 1]), V, input_dim=5, output_dim=3, sparse_grad=True)
nd.contrib.SparseEmbedding(nd.array([1, 4, 1]), V, input_dim=5, output_dim=3)
nd.cast_storage(D, 'csr')
nd.cast_storage(D, 'row_sparse')
nd.cast_storage(C, 'row_sparse')
nd.cast_storage(R, 'csr')
nd.cast_storage(R, 'row_sparse')
nd.cast_storage(C, 'csr')
nd.maximum(R, S)
nd._internal._identity_with_attr_like_rhs(R, S)
nd._internal._identity_with_attr_like_rhs(C, S)
nd.maximum(C, 0)
nd.broadcast_maximum(C, K)
R == S
R - R
R + -R
R * 0 + S
nd.add_n(R, -R)
C - C
C + -C
C * 0 - K
C == K
C == 0
C != 0
nd.square(R).sum(axis=1)
nd.sparse.sqrt(nd.sparse.square(C))
nd.sparse.array(C)
nd.array(C)
nd.sparse.zeros('csr', (2, 3))
nd.sparse.empty('row_sparse', (2, 3))
nd.elemwise_add(D, E, out=nd.zeros((4, 5), stype='row_sparse'))
nd.elemwise_mul(R, S, out=nd.zeros((4, 5), stype='row_sparse'))
nd.abs(C, out=nd.zeros((4, 5), stype='csr'))
nd.elemwise_add(C, C, out=nd.zeros((4, 5), stype='row_sparse'))
nd.elemwise_add(R, R, out=nd.zeros((4, 5), stype='csr'))
nd.broadcast_div(C, nd.zeros((4, 1)), out=nd.zeros((4, 5)))
nd.elemwise_mul(R, D / 0, out=nd.zeros((4, 5), stype='csr'))
nd._internal._div_scalar(R, scalar=0, out=nd.zeros((4, 5)))
nd.slice(C, begin=(1,), end=(3,), out=nd.zeros((2, 5)))
"""


def _elementwise():
    kinds = ("C", "K", "R", "S", "D", "Z", "Y", "F")
    for a, b in itertools.permutations(kinds, 2):
        for name in ("add", "sub", "mul", *(["div"] if b == "D" else [])):
            yield f"nd.elemwise_{name}({a}, {b})"
    for a, b in ("CK", "RS", "CD", "DC", "RD", "DR", "CR"):
        yield from (f"{a} {sign} {b}" for sign in "+-*")
        yield from (f"nd.sparse.{name}({a}, {b})" for name in ("add", "subtract", "multiply"))
        others = ("_maximum", "_minimum", "_hypot", "_grad_add")
        yield from (f"nd._internal.{name}({a}, {b})" for name in others)


def _products():
    for left, right in itertools.product((False, True), repeat=2):
        dense, rows = ("U", "T") if left else ("W", "V")
        before = "X.T" if left else "X"
        after = "nd.array(C.asnumpy().T).tostype('csr')" if right else "C"
        pairs = [f"C, nd.array({dense}.asnumpy().T)" if right else f"C, {dense}"]
        pairs += [f"{before}, {after}", pairs[0].replace("C", "R", 1)]
        pairs += [] if right else [f"C, {rows}"]
        for pair, wish in itertools.product(pairs, (None, "row_sparse", "csr", "default")):
            stype = f", forward_stype='{wish}'" if wish else ""
            yield f"nd.dot({pair}, transpose_a={left}, transpose_b={right}{stype})"


def _expressions():
    for array in "CR":
        yield from (f"nd.{name}({array} / 4)" for name in UNARY.split())
        yield from (each.replace("{a}", array) for each in OF_ONE.strip().splitlines())
    yield from _elementwise()
    yield from _products()
    yield from OTHERS.strip().splitlines()


EXPRESSIONS = list(dict.fromkeys(_expressions()))


def found(mx, expression):
    """The result of an expression: storage type, element type, values and stored places."""
    return described(eval(expression, arrays(mx)))


def described(made):
    if made is None:
        return ["None"]
    values = made.asnumpy()
    kind = np.dtype(made.dtype).name
    return [made.stype, kind, values.astype(float).round(5).tolist(), _places(made)]


def _places(made):
    """The stored rows, or the stored columns of each row: MXNet leaves their order open."""
    if made.stype == "default":
        return None
    numbers = made.indices.asnumpy()
    if made.stype == "row_sparse":
        return numbers.tolist()
    starts = made.indptr.asnumpy()
    return [sorted(row.tolist()) for row in np.split(numbers[: starts[-1]], starts[1:-1])]


# ── Programs ────────────────────────────────────────────────────────────────────────────────

PROGRAMS = {}
"""By name: ``program(mx, arrays) -> arrays``."""


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def gradient(mx, variable, compute, **kwargs):
    """The gradient of a variable after ``compute``; one more time where it is added to."""
    variable.attach_grad(**kwargs)
    for _ in range(2 if kwargs.get("grad_req") == "add" else 1):
        with mx.autograd.record():
            y = compute(variable)
        y.backward()
    return [y, variable.grad]


@program
def dot_of_dense_weight(mx, a):
    return gradient(mx, a["W"], lambda w: mx.nd.dot(a["C"], w))


@program
def dot_of_dense_weight_with_rows(mx, a):
    return gradient(mx, a["W"], lambda w: mx.nd.sparse.dot(a["C"], w), stype="row_sparse")


@program
def dot_of_rows(mx, a):
    return gradient(mx, a["V"], lambda w: mx.nd.sparse.dot(a["C"], w))


@program
def dot_of_rows_added(mx, a):
    return gradient(mx, a["V"], lambda w: mx.nd.sparse.dot(a["C"], w), grad_req="add")


@program
def dot_transposed(mx, a):
    return gradient(mx, a["U"], lambda u: mx.nd.dot(a["C"], u, transpose_a=True))


@program
def dot_twice(mx, a):
    def both(w):
        return mx.nd.dot(a["C"], w) + mx.nd.dot(a["K"], w) * 2

    return gradient(mx, a["W"], both, stype="row_sparse")


@program
def dot_and_square(mx, a):
    def compute(w):
        return (
            mx.nd.square(mx.nd.dot(a["C"], w)).sum()
            - mx.nd.dot(mx.nd.square(a["C"]), mx.nd.square(w)).sum()
        )

    return gradient(mx, a["W"], compute)


@program
def embedding(mx, a):
    ids = mx.nd.array([[1, 4], [1, 0]])
    return gradient(
        mx,
        a["W"],
        lambda w: mx.nd.Embedding(ids, w, input_dim=5, output_dim=3, sparse_grad=True) * 2,
        stype="row_sparse",
    )


@program
def embedding_added(mx, a):
    ids = mx.nd.array([[1, 4], [1, 4]])
    return gradient(
        mx,
        a["W"],
        lambda w: mx.nd.Embedding(ids, w, input_dim=5, output_dim=3, sparse_grad=True),
        stype="row_sparse",
        grad_req="add",
    )


@program
def sparse_embedding(mx, a):
    ids = mx.nd.array([1, 4, 1])
    return gradient(
        mx,
        a["V"],
        lambda w: mx.nd.contrib.SparseEmbedding(ids, w, input_dim=5, output_dim=3),
    )


@program
def embedding_to_dense(mx, a):
    ids = mx.nd.array([1, 4])
    return gradient(mx, a["W"], lambda w: mx.nd.Embedding(ids, w, input_dim=5, output_dim=3))


@program
def product_with_rows(mx, a):
    return gradient(mx, a["R"], lambda r: r * 3)


@program
def cast(mx, a):
    return gradient(mx, a["D"], lambda d: (d * 2).tostype("csr"))


@program
def write_rows(mx, a):
    made = mx.nd.zeros((4, 5), stype="row_sparse")
    made[:] = a["R"]
    again = mx.nd.zeros((4, 5), stype="row_sparse")
    again[:] = a["E"]
    dense = mx.nd.zeros((4, 5))
    dense[:] = a["C"]
    return [made, again, dense]


@program
def in_place(mx, a):
    a["C"] *= 2
    a["R"] += a["S"]
    a["D"] += a["C"]
    a["E"] -= a["R"]
    return [a[name] for name in "CRDE"]


@program
def updates_of_stored_states(mx, a):
    made = []
    for name, count in (("sgd_mom_update", 1), ("adam_update", 2), ("ftrl_update", 2)):
        for weight, state in itertools.product("DF", "EY"):
            arrays = [a[weight].copy(), *(a[state] * 0 for _ in range(count))]
            options = {"lr": 0.1, "wd": 0.1, **({"momentum": 0.9} if count == 1 else {})}
            for grad in "RS":
                getattr(mx.nd, name)(arrays[0], a[grad], *arrays[1:], out=arrays[0], **options)
            made += arrays
    return [*made, mx.nd.sgd_update(a["F"], a["D"], lr=0.1)]


# ── Training ────────────────────────────────────────────────────────────────────────────────

OPTIMIZERS = {
    "sgd": {"learning_rate": 0.1},
    "sgd-decay": {"learning_rate": 0.1, "wd": 0.1},
    "sgd-momentum": {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.1},
    "sgd-eager": {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.1, "lazy_update": False},
    "adam": {"learning_rate": 0.1, "wd": 0.1},
    "adam-eager": {"learning_rate": 0.1, "wd": 0.1, "lazy_update": False},
    "adagrad": {"learning_rate": 0.1},
    "ftrl": {"learning_rate": 0.1, "wd": 0.1},
    "groupadagrad": {"learning_rate": 0.1},
    "rmsprop": {"learning_rate": 0.1, "wd": 0.1},
    "nag": {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.1},
    "lars": {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.1, "eta": 0.5},
    "lars-eager": {"learning_rate": 0.1, "wd": 0.1, "eta": 0.5, "lazy_update": False},
    "lbsgd": {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.1, "warmup_strategy": "lars"},
    "lbsgd-several": {
        "learning_rate": 0.1, "momentum": 0.9, "wd": 0.1, "batch_scale": 2, "updates_per_epoch": 2,
    },
}  # fmt: skip
FEATURES, SAMPLES = 12, 4


def factorization_machine(mx, features=FEATURES, factors=3, stype="row_sparse"):
    """Rendle, Factorization Machines (2010), as a logistic model."""
    x = mx.sym.Variable("data", stype="csr")
    v = mx.sym.Variable("v_weight", shape=(features, factors), stype=stype)
    w = mx.sym.Variable("w_weight", shape=(features, 1), stype=stype)
    linear = mx.sym.broadcast_add(mx.sym.dot(x, w), mx.sym.Variable("bias", shape=(1,)))
    squares = mx.sym.dot(mx.sym.square(x), mx.sym._internal._square_sum(v, axis=1, keepdims=True))
    pairs = mx.sym.sum(mx.sym.square(mx.sym.dot(x, v)), axis=1, keepdims=True)
    score = linear + 0.5 * (pairs - squares)
    return mx.sym.LogisticRegressionOutput(score, mx.sym.Variable("label"), name="out")


def embedding_model(mx, stype="row_sparse", rows=None):
    weight = mx.sym.Variable("v_weight", shape=(FEATURES, 3), stype=stype)
    rows = mx.sym.Variable("data") if rows is None else rows
    picked = mx.sym.Embedding(rows, weight, input_dim=FEATURES, output_dim=3, sparse_grad=True)
    score = mx.sym.sum(picked, axis=(1, 2)).reshape((-1, 1))
    return mx.sym.LogisticRegressionOutput(score, mx.sym.Variable("label"), name="out")


def drawn_model(mx):
    """Row numbers that depend on a random operator, which moves them by less than one."""
    by = mx.sym.random.uniform(0.1, 0.9, shape=(1, 1))
    return embedding_model(mx, rows=mx.sym.floor(mx.sym.broadcast_add(mx.sym.Variable("data"), by)))


def lookups_model(mx):
    """Two lookups in one weight, by row numbers that the graph computes."""
    weight = mx.sym.Variable("v_weight", shape=(FEATURES, 3), stype="row_sparse")
    first = mx.sym.slice_axis(mx.sym.Variable("data"), axis=1, begin=0, end=1)
    score = 0
    for rows in (first, mx.sym.Cast(mx.sym.clip(2 * first + 1, 0, FEATURES - 1), dtype="int32")):
        picked = mx.sym.contrib.SparseEmbedding(
            rows, weight=weight, input_dim=FEATURES, output_dim=3
        )
        score = mx.sym.sum(picked, axis=(1, 2)).reshape((-1, 1)) + score
    return mx.sym.LogisticRegressionOutput(score, mx.sym.Variable("label"), name="out")


MODELS = {
    "machine": factorization_machine,
    "embedding": embedding_model,
    "lookups": lookups_model,
    "drawn": drawn_model,
    "dense embedding": lambda mx: embedding_model(mx, "default"),
}


def batches(mx, sparse=True):
    random = np.random.RandomState(3)
    made = []
    for _ in range(4):
        x = random.randint(1, 5, (SAMPLES, FEATURES)) * (random.rand(SAMPLES, FEATURES) < 0.3)
        if not sparse:
            x = random.randint(0, FEATURES, (SAMPLES, 3))
        x = mx.nd.array(x / 2 if sparse else x)
        y = mx.nd.array(random.randint(0, 2, (SAMPLES, 1)))
        made.append(mx.io.DataBatch([x.tostype("csr") if sparse else x], [y]))
    return made


def weights():
    random = np.random.RandomState(5)
    v, w = random.randint(-8, 8, (FEATURES, 3)) / 8, random.randint(-8, 8, (FEATURES, 1)) / 8
    return {"v_weight": v, "w_weight": w, "bias": np.array([0.25])}


def trained(mx, name, model="machine", apart=False, kvstore="local", **where):
    """The weights after some steps of a module.

    Args:
        mx: the package.
        name: of the optimizer.
        model: of the network.
        apart: whether outputs are read before each update.
        kvstore: the store.
        where: contexts of the module and their shares.
    """
    module, given, names = prepared(mx, name, model, kvstore, **where)
    row_ids = None
    if module._update_on_kvstore and not model.startswith("dense"):  # MXNet has to pull them

        def row_ids(batch):
            every = mx.nd.arange(FEATURES)
            return {n: every for n in names if n != "bias"}

    for batch in given:
        module.prepare(batch, sparse_row_id_fn=row_ids)
        step(module, batch, apart)
    args, _ = module.get_params()
    return [args[n].tostype("default") for n in names]


def step(module, batch, apart=False):
    module.forward(batch, is_train=True)
    module.backward()
    if apart:
        module.get_outputs()[0].asnumpy()
    module.update()


def prepared(mx, name, model, kvstore="local", start=None, options=(), **where):
    """A module with its optimizer, its batches, and the names of its weights."""
    symbol = MODELS[model](mx)
    module = mx.mod.Module(symbol, data_names=["data"], label_names=["label"], **where)
    given = batches(mx, model == "machine")
    module.bind([("data", given[0].data[0].shape)], [("label", (SAMPLES, 1))])
    names = [n for n in symbol.list_arguments() if n not in ("data", "label")]
    values = {n: mx.nd.array((start or weights())[n]) for n in names}
    if not model.startswith("dense"):
        values = {n: a if n == "bias" else a.tostype("row_sparse") for n, a in values.items()}
    module.init_params(mx.init.Zero(), values, {})
    options = {"rescale_grad": 1.0, **OPTIMIZERS[name], **dict(options)}
    module.init_optimizer(kvstore, name.split("-")[0], options)
    return module, given, names


HALF = ("sgd-momentum", "adam", "adagrad", "ftrl", "rmsprop")


def half_trained(mx, name, folder):
    """The optimizer's states in a file, as text, and the weights after two of four batches."""
    module, given, names = prepared(mx, name, "embedding")
    for batch in given[:2]:
        step(module, batch)
    path = Path(str(folder)) / "half.states"
    module.save_optimizer_states(str(path))
    states = base64.b64encode(path.read_bytes()).decode()
    return states, {n: module.get_params()[0][n].asnumpy().tolist() for n in names}


# MXNet adds up one batch twice: its stores write the next gradient into the kept array.
_ONE_BATCH = [n for n in OPTIMIZERS if "batch_scale" not in OPTIMIZERS[n]]
TRAINED = [(n, m) for m in ("machine", "embedding") for n in _ONE_BATCH]
TRAINED.remove(("groupadagrad", "machine"))  # its bias has one axis
TRAINED += [("adam", "lookups"), ("sgd-momentum", "lookups"), ("sgd-momentum", "drawn")]
TRAINED += [("ftrl", "dense embedding"), ("lars", "dense embedding")]
SHARES = {"even": [1, 1], "uneven": [1, 3]}
SEVERAL = [
    ("sgd-momentum", "machine", "device", "even"),
    ("adam", "embedding", "local", "even"),
    ("adam", "lookups", "local", "even"),
    ("sgd-momentum", "drawn", "local", "even"),
    ("adam", "machine", "local", "uneven"),
    ("sgd-momentum", "dense embedding", "local", "uneven"),
    ("ftrl", "dense embedding", "device", "even"),
    ("adagrad", "embedding", None, "even"),
    ("sgd-momentum", "machine", None, "even"),
    ("ftrl", "embedding", None, "uneven"),
]
"""Optimizer, model, store and shares of two contexts."""


def trained_on_two(mx, contexts, row, apart=False):
    """The weights of a row of `SEVERAL`."""
    name, model, kvstore, shares = row
    where = {"context": contexts, "work_load_list": SHARES[shares]}
    return trained(mx, name, model, apart, kvstore, **where)


# ── Updates and stores ──────────────────────────────────────────────────────────────────────


def some_rows(mx, rows, value):
    values = np.full((len(rows), 2), value, "float32")
    return mx.nd.sparse.row_sparse_array((values, rows), shape=(5, 2))


def _add_updates():
    for name, options in OPTIMIZERS.items():
        for stype in ("default", "row_sparse"):
            if (name, stype) == ("ftrl", "default"):
                continue  # not lazy there
            PROGRAMS[f"update {name} {stype}"] = _updating(name.split("-")[0], options, stype)
    for name, states in (
        ("sgd_update", 0), ("sgd_mom_update", 1), ("adam_update", 2), ("ftrl_update", 2),
        ("adagrad_update", 1),
    ):  # fmt: skip
        for stype in ("default", "row_sparse"):
            PROGRAMS[f"{name} {stype}"] = _operator(name, states, stype)


@program
def updates_of_all_rows(mx, _):
    """A dense gradient, or an operator without a sparse form, changes all rows of the states."""
    made = []
    for name, states, options in (
        ("sgd_mom_update", 1, {"momentum": 0.5}), ("adam_update", 2, {}), ("rmsprop_update", 1, {}),
        ("signum_update", 1, {"momentum": 0.5}),
    ):  # fmt: skip
        arrays = [mx.nd.full((3, 2), v) for v in (1.5, 0.5, *[0.25] * states)]
        arrays = [a if i == 1 else a.tostype("row_sparse") for i, a in enumerate(arrays)]
        getattr(mx.nd, name)(*arrays, out=arrays[0], lr=0.1, wd=0.1, **options)
        made += [a.tostype("default") for a in (arrays[0], *arrays[2:])]
    weights, momenta = ([mx.nd.ones((2, 2)).tostype("row_sparse") for _ in "ab"] for _ in "cd")
    mine = [a for w, m in zip(weights, momenta) for a in (w, mx.nd.ones((2, 2)), m)]  # noqa: B905
    options = {"lrs": (0.1, 0.2), "wds": (0, 0.5), "momentum": 0.5, "num_weights": 2}
    mx.nd.multi_sgd_mom_update(*mine, out=weights, **options)
    return [*made, *(a.tostype("default") for a in (*weights, *momenta))]


def _updating(name, options, stype):
    def run(mx, _):
        weight = mx.nd.ones((5, 2)).tostype(stype)
        update = mx.optimizer.get_updater(mx.optimizer.create(name, **options))
        for rows, value in (([1, 3], 7), ([0], 5), ([3, 4], -2)):
            update(0, some_rows(mx, rows, value), weight)
        return [weight]

    return run


def _operator(name, states, stype):
    def run(mx, _):
        weight = mx.nd.ones((5, 2)).tostype(stype)
        kept = [mx.nd.zeros((5, 2), stype=stype) for _ in range(states)]
        wd = 0 if name == "adagrad_update" else 0.1
        function = getattr(mx.nd.sparse, name)
        for rows in ([1, 3], [0, 1]):
            function(weight, some_rows(mx, rows, 7), *kept, out=weight, lr=0.1, wd=wd)
        return [weight, *(state.tostype("default") for state in kept)]

    return run


_add_updates()


@program
def store_of_rows(mx, _):
    kv = mx.kv.create("local")
    kv.init("a", mx.nd.ones((5, 2)).tostype("row_sparse"))
    made = []
    for pushed, ids in (
        (None, [3, 1, 1]),
        ([some_rows(mx, [1, 3], 7)], [0, 1, 2, 3, 4]),
        ([some_rows(mx, [1, 3], 7), some_rows(mx, [3, 4], 9)], [0, 1, 3, 4]),
    ):
        if pushed:
            kv.push("a", pushed)
        made.append(mx.nd.sparse.zeros("row_sparse", (5, 2)))
        kv.row_sparse_pull("a", out=made[-1], row_ids=mx.nd.array(ids, dtype="int64"))
    kv.init("b", mx.nd.sparse.zeros("row_sparse", (5, 2)))
    made.append(mx.nd.sparse.zeros("row_sparse", (5, 2)))
    kv.row_sparse_pull("b", out=made[-1], row_ids=mx.nd.array([1, 3]))
    made.append(mx.nd.zeros((5, 2)))
    kv.pull("a", made[-1], ignore_sparse=False)
    return made


def _store_with(name):
    def run(mx, _):
        kv = mx.kv.create("local")
        kv.init("a", mx.nd.ones((5, 2)).tostype("row_sparse"))
        kv.set_optimizer(mx.optimizer.create(name.split("-")[0], **OPTIMIZERS[name]))
        for rows in ([1, 3], [0, 1]):
            kv.push("a", [some_rows(mx, rows, 7), some_rows(mx, [1], 1)])
        out = mx.nd.zeros((5, 2))
        kv.pull("a", out, ignore_sparse=False)
        return [out]

    return run


PROGRAMS.update(
    {f"store with {name}": _store_with(name) for name in ("sgd-momentum", "nag", "ftrl")}
)


@program
def store_with_an_updater(mx, _):
    """It gets the row-sparse weight, and writes it."""
    kv, seen = mx.kv.create("local"), []
    kv.init("a", mx.nd.ones((5, 2)).tostype("row_sparse"))

    def update(key, grad, weight):
        seen.extend([grad.copy(), weight.copy()])
        weight[:] = grad

    kv._set_updater(update)
    kv.push("a", [some_rows(mx, [1, 3], 7), some_rows(mx, [1], 1)])
    out = mx.nd.zeros((5, 2))
    kv.pull("a", out, ignore_sparse=False)
    return [*seen, out]

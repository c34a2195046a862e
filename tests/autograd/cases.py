"""Programs over ``mx.autograd`` that MXNet and modkit both run: each returns its arrays."""

import contextlib
import importlib
import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1] / "ops"))
rows = importlib.import_module("case")

PROGRAMS = {}
"""By name: ``program(mx) -> arrays``."""

REFUSED = {}
"""Programs that MXNet refuses, by name."""


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def refused(function):
    REFUSED[function.__name__] = function
    return function


def variable(mx, value=(1.0, 2.0, 3.0), **kwargs):
    made = mx.nd.array(value)
    made.attach_grad(**kwargs)
    return made


# ── Heads and requests ──────────────────────────────────────────────────────────────────────


@program
def square(mx):
    x = variable(mx)
    with mx.autograd.record():
        y = x * x
    y.backward()
    return y, x.grad


@program
def head_of_a_variable(mx):
    x = variable(mx)
    x.backward()
    return [x.grad]


@program
def retained(mx):
    x = variable(mx)
    with mx.autograd.record():
        y = x * x
    y.backward(retain_graph=True)
    y.backward()
    return [x.grad]


@program
def head_gradient(mx):
    x = variable(mx)
    with mx.autograd.record():
        y = x * x
    y.backward(mx.nd.array([1, 10, 100]))
    return [x.grad]


@program
def head_gradient_that_a_loss_ignores(mx):
    x = variable(mx, [[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]])
    with mx.autograd.record():
        y = mx.nd.SoftmaxOutput(x, mx.nd.array([0, 1]))
    y.backward(mx.nd.array([5, 6, 7]))
    return [x.grad]


@program
def two_heads(mx):
    x = variable(mx)
    with mx.autograd.record():
        y, z = x * x, x * 3
    mx.autograd.backward([y, z], [mx.nd.array([1, 2, 3]), None])
    return [x.grad]


@program
def one_head_of_a_call_with_two(mx):
    x = variable(mx)
    with mx.autograd.record():
        _, b = mx.nd.split(mx.nd.concat(x * 2, x, dim=0), num_outputs=2, axis=0)
    b.backward()
    return [x.grad]


@program
def add_request(mx):
    x = variable(mx, grad_req="add")
    for _ in range(3):
        with mx.autograd.record():
            y = x * x
        y.backward()
    return [x.grad]


@program
def null_request_beside_another(mx):
    x, y = variable(mx), variable(mx, grad_req="null")
    with mx.autograd.record():
        z = x * y
    z.backward()
    return [x.grad]


@program
def gradient_handle_stays(mx):
    x = variable(mx)
    kept = x.grad
    with mx.autograd.record():
        y = x * x
    y.backward()
    return [kept]


@program
def attached_again(mx):
    x = variable(mx)
    with mx.autograd.record():
        y = x * x
    y.backward()
    before = x.grad
    x.attach_grad()
    return before, x.grad


@program
def attached_after_recording(mx):
    x = variable(mx)
    with mx.autograd.record():
        y = x * x
    x.attach_grad()
    y.backward()
    return [x.grad]


@program
def intermediate_attached(mx):
    x = variable(mx)
    with mx.autograd.record():
        y = x * 2
        y.attach_grad()
        z = y * y
    z.backward()
    return y.grad, x.grad


@program
def marked(mx):
    x, y = mx.nd.array([1.0, 2.0]), mx.nd.array([3.0, 4.0])
    grads = [mx.nd.zeros(2), mx.nd.ones(2)]
    mx.autograd.mark_variables([x, y], grads, ["write", "add"])
    with mx.autograd.record():
        z = x * y
    z.backward()
    return grads


@program
def result_used_after_its_tape_was_freed(mx):
    x = variable(mx)
    with mx.autograd.record():
        y = x * x
    y.backward()
    with mx.autograd.record():
        z = y * x
    z.backward()
    return [x.grad]


@program
def backward_while_recording(mx):
    x = variable(mx)
    with mx.autograd.record():
        y = x * 2
        y.backward()
        z = x * 3
    z.backward()
    return [x.grad]


# ── Scopes ──────────────────────────────────────────────────────────────────────────────────


@program
def modes(mx):
    auto = mx.autograd
    seen = []

    def look():
        seen.append([auto.is_recording(), auto.is_training()])

    look()
    with auto.record():
        look()
        for scope in (auto.predict_mode(), auto.pause(), auto.pause(True), auto.train_mode()):
            with scope:
                look()
        look()
    with auto.record(train_mode=False):
        look()
    with auto.train_mode():
        look()
    with contextlib.suppress(ZeroDivisionError), auto.record():
        raise ZeroDivisionError
    look()
    switched = [auto.set_recording(True), auto.set_recording(False), auto.set_recording(False)]
    trained = [auto.set_training(True), auto.set_training(False), auto.set_training(False)]
    return [np.array(seen, float), np.array([switched, trained], float)]


@program
def paused(mx):
    x = variable(mx)
    with mx.autograd.record():
        y = x * 2
        with mx.autograd.pause():
            z = y * y
        w = z + y
    w.backward()
    return [x.grad]


@program
def detached(mx):
    x = variable(mx)
    with mx.autograd.record():
        y = x * 2
        z = y.detach() * x
    z.backward()
    return [x.grad]


# ── Views and writes ────────────────────────────────────────────────────────────────────────


@program
def views(mx):
    x = variable(mx, ((1, 2, 3), (4, 5, 6)))
    with mx.autograd.record():
        y, z, w = x[1] * 2, x[0:1] * 3, x.reshape((3, 2)) * 4
        total = y.sum() + z.sum() + (w * w).sum()
    total.backward()
    return [x.grad]


@program
def indices(mx):
    x = variable(mx, ((1, 2, 3), (4, 5, 6)))
    with mx.autograd.record():
        y = x[mx.nd.array([1, 1]), mx.nd.array([0, 2])]
        total = y.sum() + x[:, ::2].sum() * 10 + x[:, 1].sum() * 100
    total.backward()
    return [x.grad]


@program
def marked_view(mx):
    x = mx.nd.array([[1.0, 2], [3, 4]])
    row = x[0]
    row.attach_grad()
    with mx.autograd.record():
        y = row * row + x[0]
    y.backward()
    return [row.grad]


@program
def whole_write(mx):
    x, made = variable(mx), mx.nd.zeros(3)
    with mx.autograd.record():
        made[:] = x * 2
        y = made * made
    y.backward()
    return made, x.grad


@program
def written_output(mx):
    x, made = variable(mx), mx.nd.zeros(3)
    with mx.autograd.record():
        mx.nd.square(x, out=made)
    made.backward()
    return made, x.grad


@program
def constant_written_before_its_use(mx):
    x, c = variable(mx), mx.nd.ones(3)
    with mx.autograd.record():
        c += 1
        y = x * c
    y.backward()
    return c, x.grad


@program
def copies(mx):
    x, made = variable(mx), mx.nd.zeros(3)
    with mx.autograd.record():
        x.copyto(made)
        y = made * x.copy().as_in_context(mx.cpu(1)).as_in_context(mx.cpu(0))
    y.backward()
    return [x.grad]


@program
def casts(mx):
    x = variable(mx)
    with mx.autograd.record():
        y = x.astype("float64") * 2
    y.backward()
    return y, x.grad


@program
def casts_through_whole_numbers(mx):
    found = []
    for change in (
        lambda x: x.astype("int32").astype("float32") * 2,
        lambda x: mx.nd.cast(mx.nd.cast(x, "uint8"), "float32"),
        lambda x: (x * 1.5).astype("int8").astype("int32").astype("float32") + x,
        lambda x: mx.nd.cast(x * 2, "int32"),
    ):
        x = mx.nd.array([0.6, 1.7, 2.9])
        x.attach_grad()
        with mx.autograd.record():
            y = change(x)
        y.backward(mx.nd.array([1.5, 2.5, -3.25]).astype(y.dtype))
        found += [y, x.grad]
    return found


WHOLE = {
    "product": lambda x: x * x * 3,
    "quotient": lambda x: x / 2,
    "divisor": lambda x: 6 / x,
    "power": lambda x: x**2,
    "remainder": lambda x: x % 2,
    "sum": lambda x: x.sum(),
    "mean": lambda x: x.mean(axis=1),
    "slice": lambda x: x[0] - x[1],
    "clip": lambda x: x.clip(2, 5),
    "maximum": lambda x: x * (x > 3) + x,
    "take": lambda x: x.take(x[:, 0] - 1),
    "largest": lambda x: x.max(),
    "floats": lambda x: x.astype("float32") * 1.7,
    "bytes": lambda x: x.astype("int8") * 100,
    "64 bits": lambda x: x.astype("int64") * 2**20,
    "twice": lambda x: x.astype("float32") * 1.7 + x.astype("float32") * 1.7,
}
"""Functions of whole numbers, by what they do."""


@program
def variables_of_whole_numbers(mx):
    found = []
    for change in WHOLE.values():
        x = mx.nd.array([[1, 2, 3], [4, 5, 6]], dtype="int32")
        x.attach_grad()
        with mx.autograd.record():
            y = change(x)
        y.backward()
        found += [y, x.grad]
    return found


@program
def operators_on_whole_numbers(mx):
    found = []
    for name in ("product", "sum", "slice", "clip", "take", "largest", "bytes"):
        x = mx.nd.array([[1, 2.2, 3], [4.9, 5, 6]])
        x.attach_grad("add")
        with mx.autograd.record():
            y = WHOLE[name](x.astype("int32")).astype("float32") * 2.5
        y.backward()
        found += [y, x.grad]
    return found


@program
def function_of_whole_numbers(mx):
    class Twice(mx.autograd.Function):
        def forward(self, a):
            return a * 2

        def backward(self, head):
            return head * 2

    x = mx.nd.array([1, 2], dtype="int32")
    x.attach_grad()
    with mx.autograd.record():
        y = Twice()(x * 3) * 5
    y.backward()
    return y, x.grad


@program
def cast_that_is_a_head_and_read(mx):
    found = []
    for scale in (3, 2.5):
        x = variable(mx)
        with mx.autograd.record():
            y = x.astype("int32")
            z = y.astype("float32") * scale if scale == 2.5 else y * scale
        mx.autograd.backward([y, z], [mx.nd.array([1, 2, 3], dtype="int32"), None])
        found += [y, z, x.grad]
    return found


@program
def views_of_64_bits(mx):
    x = mx.nd.array([[1.0, 2, 3], [4, 5, 6]], dtype="float64")
    x.attach_grad()
    with mx.autograd.record():
        y = x[1] * 2 + x[0].reshape((1, 3)).reshape((3,)) / 3 + x[:, 2][0:1]
        z = (y * y).sum()
    z.backward()
    return z, x.grad


@program
def moved_axes(mx):
    x = variable(mx, ((1, 2, 3), (4, 5, 6)))
    with mx.autograd.record():
        y = mx.nd.moveaxis(x, 0, 1) * x.T * x.reshape((-1,)).reshape((3, 2))
    y.backward()
    return [x.grad]


@program
def row_sparse_gradient(mx):
    x = mx.nd.ones((3, 2))
    x.attach_grad(stype="row_sparse")
    with mx.autograd.record():
        y = mx.nd.Embedding(mx.nd.array([0, 2]), x, 3, 2, sparse_grad=True)
    y.backward()
    return x.grad, x.grad.indices


# ── Operators with modes and losses ─────────────────────────────────────────────────────────


@program
def batch_norm(mx):
    found = []
    rows = np.random.RandomState(0).rand(4, 2, 3).astype("float32")
    for train_mode in (True, False):
        x, gamma, beta = (variable(mx, v) for v in (rows, [1.0, 2.0], [0.0, 1.0]))
        mean, var = mx.nd.array([0.1, 0.2]), mx.nd.array([1.0, 2.0])
        with mx.autograd.record():
            y = mx.nd.BatchNorm(x, gamma, beta, mean, var, fix_gamma=False, eps=1e-3)
            z = (y * y * mx.nd.array(rows)).sum()
        z.backward(train_mode=train_mode)
        found += [z, x.grad, gamma.grad, beta.grad]
    return found


@program
def batch_norm_in_prediction(mx):
    x, gamma, beta = (variable(mx, v) for v in (np.ones((2, 2, 2)), [1.0, 2.0], [0.0, 1.0]))
    mean, var = mx.nd.array([0.1, 0.2]), mx.nd.array([1.0, 2.0])
    with mx.autograd.record(train_mode=False):
        y = mx.nd.BatchNorm(x, gamma, beta, mean, var, fix_gamma=False, eps=1e-3)
    y.backward(train_mode=False)
    return x.grad, gamma.grad, beta.grad, mean, var


@program
def softmax_output(mx):
    x = variable(mx)
    with mx.autograd.record():
        y = mx.nd.SoftmaxOutput(x.reshape((1, 3)), mx.nd.array([1]))
    y.backward()
    return y, x.grad


@program
def make_loss(mx):
    x = variable(mx)
    with mx.autograd.record():
        y = mx.nd.MakeLoss(x * x, grad_scale=3.0)
    y.backward(mx.nd.array([7, 7, 7]))
    return [x.grad]


@program
def without_derivative(mx):
    found = []
    for name in ("argmax", "floor", "sign", "argsort", "zeros_like", "BlockGrad", "shape_array"):
        x = variable(mx)
        x.grad[:] = 5
        with mx.autograd.record():
            y = getattr(mx.nd, name)(x, **({"axis": 0} if name == "argmax" else {}))
        y.backward()
        found.append(x.grad)
    return found


# ── grad ────────────────────────────────────────────────────────────────────────────────────


@program
def returned(mx):
    x, u = variable(mx), variable(mx, (4.0, 5.0, 6.0))
    with mx.autograd.record():
        y = x * x * u
    grads = mx.autograd.grad([y], [u, x], head_grads=[mx.nd.array([1, 2, 3])])
    return [*grads, x.grad]


@program
def second_order(mx):
    x = variable(mx, (0.5, 1.0))
    with mx.autograd.record():
        y = mx.nd.sin(x)
        (first,) = mx.autograd.grad(y, x, create_graph=True, retain_graph=True)
    first.backward()
    return first, x.grad


# ── Function ────────────────────────────────────────────────────────────────────────────────


def sigmoid(mx):
    class Sigmoid(mx.autograd.Function):
        def forward(self, x):
            y = 1 / (1 + mx.nd.exp(-x))
            self.save_for_backward(y)
            return y

        def backward(self, dy):
            (y,) = self.saved_tensors
            return dy * y * (1 - y)

    return Sigmoid


@program
def function(mx):
    x = variable(mx)
    with mx.autograd.record():
        y = sigmoid(mx)()(x * 2)
        z = y * y
    z.backward()
    return y, x.grad


@program
def functions_in_a_row_and_side_by_side(mx):
    x, Sigmoid = variable(mx), sigmoid(mx)
    with mx.autograd.record():
        a = Sigmoid()(x)
        z = Sigmoid()(a * x) + Sigmoid()(x) * a
    z.backward()
    return z, x.grad


@program
def function_of_two_with_one_head(mx):
    class Both(mx.autograd.Function):
        def forward(self, a, b):
            self.save_for_backward(a, b)
            return a * b, a + b

        def backward(self, product, total):
            a, b = self.saved_tensors
            return product * b + total, product * a + total

    x, u = variable(mx), variable(mx, (4.0, 5.0, 6.0))
    with mx.autograd.record():
        p, _ = Both()(x, u)
    p.backward()
    return p, x.grad, u.grad


# ── What MXNet refuses ──────────────────────────────────────────────────────────────────────


@refused
def twice(mx):
    x = variable(mx)
    with mx.autograd.record():
        y = x * x
    y.backward()
    y.backward()


@refused
def inside_a_freed_part(mx):
    x = variable(mx)
    with mx.autograd.record():
        y = x * x
        z = y * 3
    z.backward()
    y.backward()


@refused
def through_a_freed_part(mx):
    x = variable(mx)
    with mx.autograd.record():
        y = x * x
        z = y * 3
    y.backward()
    z.backward()


@refused
def not_recorded(mx):
    (variable(mx) * 2).backward()


@refused
def no_variable(mx):
    x = mx.nd.ones(2)
    with mx.autograd.record():
        y = x * 2
    y.backward()


@refused
def null_request_alone(mx):
    x = variable(mx, grad_req="null")
    with mx.autograd.record():
        y = x * 2
    y.backward()


@refused
def unknown_request(mx):
    variable(mx, grad_req="foo")


@refused
def heads_and_gradients_of_other_numbers(mx):
    x = variable(mx)
    with mx.autograd.record():
        y = x * x
    mx.autograd.backward([y, y], [mx.nd.ones(3)])


@refused
def variable_that_no_head_depends_on(mx):
    x, u = variable(mx), variable(mx)
    with mx.autograd.record():
        y = x * x
    mx.autograd.grad(y, [x, u])


@refused
def variable_that_was_not_marked(mx):
    x, u = variable(mx), mx.nd.ones(3)
    with mx.autograd.record():
        y = x * u
    mx.autograd.grad(y, [u])


@refused
def intermediate_as_variable(mx):
    x = variable(mx)
    with mx.autograd.record():
        y = x * x
        z = y * x
    mx.autograd.grad(z, [y])


@refused
def no_variables(mx):
    x = variable(mx)
    with mx.autograd.record():
        y = x * x
    mx.autograd.grad(y, [])


@refused
def symbol_of_an_array_off_the_tape(mx):
    mx.autograd.get_symbol(mx.nd.ones(2))


@refused
def gradient_of_another_shape_marked(mx):
    x = mx.nd.ones(3)
    mx.autograd.mark_variables([x], [mx.nd.zeros(2)])
    with mx.autograd.record():
        y = x * x
    y.backward()


@refused
def instance_called_twice(mx):
    x, made = variable(mx), sigmoid(mx)()
    with mx.autograd.record():
        made(made(x))


@refused
def function_that_returns_its_input(mx):
    class Same(mx.autograd.Function):
        def forward(self, x):
            return x

    x = variable(mx)
    with mx.autograd.record():
        Same()(x)


@refused
def derivative_of_a_function_s_gradient(mx):
    x = variable(mx)
    with mx.autograd.record():
        y = sigmoid(mx)()(x)
        (first,) = mx.autograd.grad(y, [x], create_graph=True)
    first.backward()


def _write(act):
    def write(mx):
        x, c, made = variable(mx), mx.nd.ones(3), mx.nd.zeros(3)
        with mx.autograd.record():
            y = x * c
            act(mx, x, y, c, made)

    return write


def _add(target, value):
    target += value


def _put(target, key, value):
    target[key] = value


for _name, _act in {
    "adding_to_a_variable": lambda mx, x, y, c, made: _add(x, 1),
    "adding_to_a_result": lambda mx, x, y, c, made: _add(y, 1),
    "adding_to_a_constant_in_use": lambda mx, x, y, c, made: _add(c, 1),
    "adding_a_result": lambda mx, x, y, c, made: _add(made, y),
    "writing_a_variable": lambda mx, x, y, c, made: _put(x, slice(None), 5),
    "writing_an_array_to_a_variable": lambda mx, x, y, c, made: _put(x, slice(None), made),
    "writing_an_element": lambda mx, x, y, c, made: _put(y, 0, 7),
    "writing_a_part": lambda mx, x, y, c, made: _put(x, slice(0, 2), mx.nd.ones(2)),
    "writing_a_result_to_a_part": lambda mx, x, y, c, made: _put(made, slice(0, 2), y[0:2]),
    "out_on_the_tape": lambda mx, x, y, c, made: mx.nd.square(made, out=y),
}.items():
    REFUSED[_name] = _write(_act)


# ── Derivatives of smooth operators ─────────────────────────────────────────────────────────


UNIT = """
    sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arctanh exp expm1 sigmoid softsign erf
    erfinv square degrees radians negative abs relu hard_sigmoid softmax log_softmax softmin sum
    mean prod norm identity transpose
"""
POSITIVE = "log log2 log10 log1p sqrt rsqrt cbrt rcbrt reciprocal gamma gammaln"
PAIRS = """
    elemwise_add elemwise_sub elemwise_mul elemwise_div broadcast_add broadcast_sub broadcast_mul
    broadcast_div broadcast_hypot broadcast_maximum broadcast_minimum dot
"""
SCALAR = (0.5, 2.0), {"scalar": 1.5}
SCALE, SHIFT = (1.0, 2.0, 3), (0.0, 1.0, 3)
NET = (-1.0, 1.0)

SMOOTH = {
    **dict.fromkeys(UNIT.split(), ((-0.9, 0.9),)),
    **dict.fromkeys(POSITIVE.split(), ((0.3, 3.0),)),
    **dict.fromkeys(PAIRS.split(), ((-2.0, 2.0), (0.5, 2.0))),
    "arccosh": ((1.2, 3.0),),
    "broadcast_power": ((0.5, 2.0), (0.5, 2.0)),
    "_power_scalar": SCALAR,
    "_rpower_scalar": SCALAR,
    "_rdiv_scalar": SCALAR,
    "_div_scalar": SCALAR,
    "_mul_scalar": SCALAR,
    "_rminus_scalar": SCALAR,
    "smooth_l1": ((-2.0, 2.0), {"scalar": 1.0}),
    "FullyConnected": (NET, NET, {"num_hidden": 3, "no_bias": True}),
    "Activation": (NET, {"act_type": "softrelu"}),
    "LeakyReLU": (NET, {"act_type": "elu", "slope": 0.3}),
    "LayerNorm": (NET, SCALE, SHIFT),
    "InstanceNorm": ((*NET, (2, 3, 4)), SCALE, SHIFT),
    "L2Normalization": (NET,),
    "linalg_sumlogdiag": ((0.5, 2.0),),
    "linalg_gemm2": (NET, NET),
    "batch_dot": ((*NET, (1, 3, 3)), (*NET, (1, 3, 3))),
    "Convolution": (
        (*NET, (1, 1, 3, 3)),
        (*NET, (2, 1, 2, 2)),
        {"kernel": (2, 2), "num_filter": 2, "no_bias": True},
    ),
    "Pooling": ((*NET, (1, 1, 4, 4)), {"kernel": (2, 2), "pool_type": "avg"}),
    "take": (NET, [0, 2, 2]),
    "softmax_cross_entropy": (NET, [0, 2, 1]),
}
"""Operators and the intervals of their inputs, then keywords; a list is a constant."""

_CURVED = """
    BatchNorm BatchNorm_v1 BilinearSampler CTCLoss Convolution_v1 Correlation Deconvolution
    GroupNorm LRN RNN SoftmaxActivation SpatialTransformer _hypot _hypot_scalar _power
    _contrib_BatchNormWithReLU _contrib_DeformableConvolution _contrib_DeformablePSROIPooling
    _contrib_SyncBatchNorm _contrib_hawkesll
    _contrib_interleaved_matmul_encdec_qk _contrib_interleaved_matmul_encdec_valatt
    _contrib_interleaved_matmul_selfatt_qk _contrib_interleaved_matmul_selfatt_valatt
    _contrib_quadratic _linalg_det _linalg_gelqf _linalg_gemm _linalg_inverse _linalg_potrf
    _linalg_potri _linalg_slogdet _linalg_syevd _linalg_syrk _linalg_trmm _linalg_trsm
    _random_pdf_dirichlet _random_pdf_exponential _random_pdf_gamma
    _random_pdf_generalized_negative_binomial _random_pdf_negative_binomial _random_pdf_normal
    _random_pdf_poisson _random_pdf_uniform _scatter_elemwise_div moments nanprod
"""
CURVED = _CURVED.split()
"""Operators whose second derivatives are not zero, besides `SMOOTH`: a row of `tests/ops/cases/`
each, whose second derivatives MXNet has not."""

KINKED = ("SpatialTransformer",)
"""Operators whose row has positions at which no second derivative exists."""

SYMMETRIC = ("_linalg_potrf", "_linalg_syevd")
"""Operators of symmetric matrices."""

COUNTS = ("_random_pdf_poisson", "_random_pdf_negative_binomial")
COUNTS += ("_random_pdf_generalized_negative_binomial",)
"""Operators whose first input is whole numbers: its gradient is 0."""


def curved(mx, name, dtype="float32", moved=None):
    """Outputs and derivatives of the first row of an operator, as `smooth`; second ones of a sum.

    Args:
        dtype: element type of the inputs that are differentiated.
        moved: a number, by which these inputs are moved in the direction of `directions`.
    """
    row = next(c for t in rows.load().values() for c in t if _is(c, name))
    arrays = row.arrays()
    wanted = [i for i in row.differentiated(arrays) if arrays[i].dtype.kind == "f"]
    if moved:
        for at, step in zip(wanted, directions(name, [arrays[i] for i in wanted])):  # noqa: B905 - Python 3.8
            arrays[at] = arrays[at].astype("float64") + moved * step
    kinds = [dtype if a.dtype.kind == "f" else a.dtype for a in arrays]
    inputs = [mx.nd.array(a, dtype=k) for a, k in zip(arrays, kinds)]  # noqa: B905 - Python 3.8
    variables = [inputs[i] for i in wanted]
    for each in variables:
        each.attach_grad()
    random = np.random.RandomState(len(name))
    spaces = (mx.nd, ""), (mx.nd._internal, ""), (mx.nd.contrib, "_contrib_")
    spaces += ((mx.nd.linalg, "_linalg_"), (mx.nd, "_"))
    call = next(
        getattr(space, row.op[len(start) :])
        for space, start in spaces
        if row.op.startswith(start) and hasattr(space, row.op[len(start) :])
    )
    found = {}

    def total(values):
        real = [v for v in values if np.dtype(v.dtype).kind == "f"]
        weights = [mx.nd.array(random.uniform(0.5, 1.5, v.shape), dtype=v.dtype) for v in real]
        return sum((v * w).sum() for v, w in zip(real, weights)) if real else mx.nd.zeros(1)  # noqa: B905 - Python 3.8

    for create_graph in (True, False):
        random.seed(len(name))
        mx.random.seed(1)
        with contextlib.suppress(mx.MXNetError), mx.autograd.record(train_mode=row.train):
            made = call(*inputs, **row.attrs)
            made = made if isinstance(made, (list, tuple)) else [made]
            firsts = mx.autograd.grad(total(made), variables, create_graph=create_graph)
            found.update({"value": list(made), "first": [each.copy() for each in firsts]})
            again = total(firsts)
            found["sum"] = again.copy()
            again.backward()
            found["second"] = [v.grad for v in variables]
        if "first" in found:
            break
    return found


def _is(row, name):
    """Whether a row of the tables is to be differentiated for an operator."""
    return row.op in (name, name.lstrip("_")) and row.differentiated(row.arrays()) != []


def directions(name, arrays):
    """A direction in the space of the arrays that an operator is differentiated by."""
    random = np.random.RandomState(7)
    made = [random.uniform(-1, 1, each.shape) for each in arrays]
    if name in SYMMETRIC:
        made = [each + np.swapaxes(each, -1, -2) for each in made]
    return [0 * made[0], *made[1:]] if name in COUNTS else made


def smooth(mx, name):
    """Outputs, first derivatives, and second ones (``None`` where MXNet has none)."""
    row = list(SMOOTH[name])
    keywords = row.pop() if isinstance(row[-1], dict) else {}
    random = np.random.RandomState(len(name))
    inputs = []
    for each in row:
        if isinstance(each, list):
            inputs.append(mx.nd.array(each))
            continue
        low, high, shape = (*each, (3, 3))[:3]
        inputs.append(variable(mx, random.uniform(low, high, shape)))
    variables = [i for i, each in zip(inputs, row) if not isinstance(each, list)]  # noqa: B905 - Python 3.8
    call = getattr(mx.nd, name, None) or getattr(mx.nd._internal, name)
    weight = random.uniform(0.5, 1.5, call(*inputs, **keywords).shape)
    found = {}
    for create_graph in (True, False):
        with contextlib.suppress(mx.MXNetError), mx.autograd.record():
            y = call(*inputs, **keywords)
            firsts = mx.autograd.grad(y, variables, mx.nd.array(weight), create_graph=create_graph)
            found.update({"value": y, "first": [each.copy() for each in firsts]})
            mx.autograd.backward(firsts)
            found["second"] = [v.grad for v in variables]
        if "first" in found:
            break
    return found


@program
def indices_of_other_shapes(mx):
    x = variable(mx, np.arange(12.0).reshape(4, 3))
    pairs = np.array([[1], [2]]), np.array([0, 2])
    found = []
    for key in (np.array([1, 2]), np.array([[1], [2], [2]]), range(3), pairs):
        with mx.autograd.record():
            y = (x[key] * 2).sum()
        y.backward()
        found.append(x.grad.copy())
    return found

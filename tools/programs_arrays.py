"""Random imperative programs over NDArrays, for `compare_programs.py`.

A program has a pool of arrays of which shapes and types are known: some are views of others. Each
template writes a line or a few, and enters what they assign into the pool. After some lines all
arrays of the pool are shown, so that a write that reaches an array too many, or too few, is seen.

Tables have an expression a line. ``expression -> shape`` enters the result into the pool; without
a shape it is shown alone. ``{x}`` is an array of shape ``{s}``, ``{o}`` another of its type,
``{e}`` one of its shape; the other names are those of `_words`.
"""

import numpy as np

FLOATS = ("float32", "float32", "float32", "float64", "float16")
WHOLE = ("int32", "int64", "uint8", "int8")
SHAPES = ((3,), (4,), (1,), (2, 3), (3, 2), (2, 2), (1, 3), (4, 1), (2, 3, 2), (1, 2, 3), (5, 4))
SCALARS = ("2", "-1", "0", "0.5", "1.5", "3", "-2.5", "True", "np.float32(2)", "np.int64(3)", "1e3")
OPERATORS = ("+", "-", "*", "/", "%", "**", "==", "!=", "<", "<=", ">", ">=")

EXCUSED = (
    # (the line, the difference, the reason)
    (r"\bpad\(", "only modkit runs: .*4-D or 5-D", "Differs: any array is padded"),
    (
        r"^(a\d+)\[.*\] = \1$",
        "^got .* at",
        "an array written into itself: it reads what it has written",
    ),
    ("copyto", "expected False", "Differs: a copy to itself returns the array"),
    ("csr_matrix", "only the reference runs: .*indptr", "arrays that are no csr array are refused"),
    ("//|round|divmod", "only modkit runs: TypeError", "operators of Python that work here"),
    (r"\b(float|int)\(", "TypeError: (float|int)|only modkit runs: TypeError", "numbers of arrays"),
    (r"%\.2f|:\.2f", "only modkit runs: TypeError|expected TypeError", "numbers of arrays as text"),
    ("backward|grad", "only modkit runs: .*FGradient attribute", "higher orders of any operator"),
    ("grad", "only modkit runs: .*does not require gradient", "gradients without a request"),
    (
        "np.(array|ones)",
        "only modkit runs: TypeError: type .*numpy.ndarray",
        "NumPy's arrays as operands",
    ),
    ("None", "only modkit runs: TypeError: type .*NoneType", "no array equals None"),
    ("slice", "only modkit runs: .*cast_storage inferring shapes", "nothing is selected"),
    (
        r"\[",
        "only modkit runs: .*(src_idx < dshape_len|inferred shape=.*\\b0)",
        "nothing is selected",
    ),
    (r"\[", "only modkit runs: .*(AssertionError|Invalid range|0 vs)", "nothing is selected"),
    (r"\[", "only modkit runs: .*input shapes: ..1", "nothing is selected"),
    ("", "only modkit runs: .*infer_stype_success", "without a sparse kernel it is dense"),
    ("", r"only modkit runs: .*\(row_sparse|csr\)NDArray", "a sparse array is written as dense"),
    ("dot", "only modkit runs: .*dot only supports", "products of whole numbers"),
    ("SoftmaxOutput", "only modkit runs: .*uniform type", "Differs: labels of any type"),
    ("out=np", "expected AttributeError", "an error of our own"),
    (r"\[[0-9, ]*\] \S", "expected AssertionError", "an error of our own"),
    ("attach_grad", "expected KeyError", "an error of our own"),
    ("attach_grad", "only the reference runs: DTypeError: .*got bool", "truth values"),
    ("None|'2'", "got (DTypeError|TypeError)", "an error of our own"),
    ("", "only modkit runs: .*index = -. must be in range", "negative axes"),
    ("record", "only the reference runs: NotReady.*written into a part", "its gradient is lost"),
    (r"\(0, 0\)", "only the reference runs: .*transpose", "an axis twice: it reads other memory"),
    (
        "",
        "(only modkit runs|expected TypeError): .*non-array-like object <(RowSparse|CSR)",
        "sparse",
    ),
    ("get_symbol", "only the reference runs: NotSupp.*have no symbol", "Python code has no symbol"),
    (r"exp\(np", "only modkit runs: AssertionError", "NumPy's arrays as arguments"),
    (
        "norm|finite|pad|reset_|multi_sum",
        "only modkit runs: .*only support floating",
        "whole numbers",
    ),
    ("", r"expected -(9.22337e\+18|2.14748e\+09)", "infinity as a whole number"),
    (r"dot\(", "only modkit runs: .*Cannot transpose vectors", "a vector transposed is the same"),
    (
        "backward",
        "only the reference runs: .*head_grads: .: got shape",
        "a gradient of another shape",
    ),
    (r"copyto", "only modkit runs: .*TBlob.get_with_shape", "a sparse array cast as it is copied"),
    ("multi_sgd_update", "only modkit runs: .*valid ndim", "num_weights is the number of weights"),
    (r"_slice|_at", "only modkit runs: NotSupportedForSparse", "parts of sparse arrays"),
    ("'2'", "only modkit runs: TypeError: type .*str", "no array equals text"),
    (r"backward|\[:\] =", "only modkit runs: .*TBlob.get_with_shape", "cast as it is written"),
    ("", "only modkit runs: .*Unknown type enum 7", "truth values"),
    ("nansum|moments|norm", "expected nan", "its compensated sum of infinities"),
    (r"(\w+)\[\[.*\]\] = \1$", r"^got \S+ at", "it reads what it has just written"),
    ("rsqrt|rcbrt|reciprocal", r"got (255|127|-1) at .* expected 0", "infinity as a whole number"),
    ("potrf", "only the reference runs: ShapeError: .*expected .*N, N", "it reads beyond a vector"),
    (r"\[", "only modkit runs: .*cannot select an axis to squeeze", "a new axis that a value has"),
    ("scalar=True", "only modkit runs: .*Invalid Parameter format", "a truth value as a number"),
    ("potrf", "only modkit runs: .*potrf failed", "a matrix that is singular but for rounding"),
    ("get_symbol", r"got 'var\d+'", "numbers of names"),
    ("Crop", "only modkit runs: .*Unsupported data type", "arrays of any type"),
    ("Output", "only modkit runs: .*only support floating point", "whole numbers"),
    (r"\[\d+:\d+\]", "only modkit runs: .*Invalid slicing range", "nothing is selected"),
    (r"\] = np", "only modkit runs: .*cannot reshape array", "values that broadcast"),
    ("grad", "only the reference runs: .*backward: gradient 1: got", "a gradient of another shape"),
    (r"\[\d\]", "got IndexError: row .* is outside a csr", "an error of our own"),
    ("sum|str|repr|%s", r"^got '\\n.*\d\.\d{5}", "a rounding, as text"),
    ("astype|[cC]ast|array", r"got -1 at .* expected 0", "infinity as a whole number"),
    ("topk|argsort", r"got \S+ at \(\d+,\)", "Differs: the order of equal ones"),
    ("", "only modkit runs: .*kWriteInplace is expected", "a new array of a sparse update"),
    ("/", "only modkit runs: .*elemwise_div for division", "without a sparse kernel it is dense"),
    ("RegressionOutput", "only modkit runs: .*Incompatible attr", "labels of any type"),
    ("BatchNorm", "only the reference runs: .*gamma: got shape", "it reads other memory"),
    ("concatenate.*axis=-", "only modkit runs: .*Shape inconsistent", "negative axes"),
    ("boolean_mask", "only modkit runs: .*Shape is unknown", "nothing is selected"),
    ("backward", "got ParameterError: .*expected AttributeError", "an error of our own"),
    ("record", "got NotReadyError: .*expected ValueError", "an error of our own"),
    (
        r"list\(range",
        "got (ShapeError: asscalar|IndexError: list)|only modkit runs: TypeError: list ind",
        "numbers",
    ),
    ("broadcast_like", "only modkit runs: .*lhs_shape", "an axis of another size is as large"),
    ("foreach", "only the reference runs: .*expected a pair", "rows of a result as a pair"),
    ("", "expected AttributeError: 'int' object", "an error of our own"),
    ("repr|str|format|%s", r"got '\\n.*e\+", "NumPy writes float16 in other ways since"),
    ("grad", "expected None$", "a gradient that is not requested stays"),
)


CREATED = """
nd.array({lists}) -> s
nd.array({lists}, dtype={kind}) -> s, made
nd.array(np.array({lists})) -> s
nd.array(np.array({lists}, '{dtype}'){ctx}) -> s, dtype
nd.array(object=5)
nd.array(source_array={lists}, ctx=mx.cpu(), dtype={kind}) -> s, made
nd.array(tuple({lists})) -> s
nd.array(np.array({lists}, '{dtype}').T, dtype={kind}) -> s[::-1], made
nd.array(np.array({lists}, 'float32')[::-1]) -> s
nd.zeros({s}{ctx}, dtype={kind}) -> s, made
nd.zeros({size}) -> (size,)
nd.zeros(list({s})) -> s
nd.zeros(shape={s}, ctx=None, dtype=None) -> s
nd.zeros({s}, stype='default') -> s
nd.ones(shape={s}, dtype={kind}) -> s, made
nd.ones({s}, mx.cpu(0), 'float64') -> s, 'float64'
nd.full({s}, {number}{ctx}) -> s
nd.full({s}, 3, dtype={kind}) -> s, made
nd.full(shape={s}, val=2.5, ctx=mx.cpu()) -> s
nd.arange({n}, {n} + {size}, dtype={kind}) -> (size,), made
nd.arange({size}).reshape({s}) -> s
nd.arange(start={n}, stop=None, step=0.5) -> (2 * n,)
nd.arange({n}, {n} + {size}, repeat=2) -> (2 * size,)
nd.arange(0, 2 * {size}, step=2) -> (size,)
nd.arange(5, 0, -1, 1, False, mx.cpu()) -> (5,)
nd.linspace(0, {n}, {size}) -> (size,)
nd.linspace({n}, 5, {size}, endpoint=False, dtype={kind}) -> (size,), made
nd.eye({n}, {n} + 1) -> (n, n + 1)
nd.eye({n} + 1, k={k} - 1, dtype={kind}) -> (n + 1, n + 1), made
nd.eye(N=2, M=3, k=-1) -> (2, 3)
nd.from_numpy(np.array({lists}, 'float32'), zero_copy=False) -> s
nd.array(np.random.rand(*{s}).round(3)) -> s
nd.array(np.random.randint(0, 5, {s})) -> s
nd.ones({s}, dtype='float32').astype('{dtype}') -> s, dtype
nd.concat(nd.zeros({s}), nd.ones({s}), dim=0) -> (2 * s[0], *s[1:])
nd.op.zeros_like(nd.ones({s})) -> s
nd._internal._full(shape={s}, value=4) -> s
nd._internal._arange(start=1, stop={size} + 1, dtype={kind}) -> (size,), made
nd.NDArray.copy(nd.ones({s})) -> s
nd.array({lists}).as_in_context(mx.cpu()) -> s
"""

VIEWS = """
{x}.reshape({to}) -> to
{x}.reshape(shape={to}) -> to
{x}.reshape((-1,)) -> (size,)
{x}.reshape(-1) -> (size,)
{x}.reshape((0, -1)) -> (n, size // n)
{x}.reshape(-1, 0, reverse=True) -> (size // last, last)
{x}.reshape((-2, 1)) -> (*s, 1)
{x}.reshape((-3, -2))
{x}.reshape((-4, 1, -1, -2)) -> (1, *s)
{x}.T -> s[::-1]
{x}.flatten() -> (n, size // n)
{x}.flatten(inplace=True) -> (n, size // n)
{x}.expand_dims({new}) -> np.expand_dims(np.zeros(s), new).shape
{x}.expand_dims({new}, inplace=True) -> np.expand_dims(np.zeros(s), new).shape
{x}.expand_dims(axis={new}) -> np.expand_dims(np.zeros(s), new).shape
{x}.squeeze() -> tuple(i for i in s if i != 1) or (1,)
{x}.squeeze(inplace=True) -> tuple(i for i in s if i != 1) or (1,)
{x}.squeeze(axis=0)
{x}.squeeze((0,), inplace=True)
{x}.detach() -> s
{x}.copy() -> s
{x}.as_in_context(mx.cpu()) -> s
{x}.as_in_context(mx.cpu(1))
{x}.as_in_context({e}.context) -> s
{x}.as_nd_ndarray() -> s
{x}.astype('{xtype}', copy=False) -> s
{x}.astype({x}.dtype, copy=False) -> s
{x}._at({begin0}) -> s[1:] or (1,)
{x}._slice({begin0}, {n}) -> (n - begin0, *s[1:])
{x}._slice({begin0}, None) -> (n - begin0, *s[1:])
{x}.reshape_like({e}) -> s
nd.reshape({x}, shape={to}) -> to
nd.reshape({x}, {to}) -> to
{x} -> s
{x}[:] -> s
{x}[...] -> s
{x}[()] -> s
{x}[None][0] -> s
{x}[{begin0}:][0] -> s[1:] or (1,)
{x}.reshape(-1)[{begin0}:] -> (size - begin0,)
nd.from_dlpack({x}.to_dlpack_for_read()) -> s
list({x})[{begin0}] -> s[1:] or (1,)
[row for row in {x}][-1] -> s[1:] or (1,)
{x}.broadcast_to({s}) -> s
{x}.broadcast_like({e}) -> s
nd.stop_gradient({x}) -> s
nd.identity({x}) -> s
{x}.slice_axis(axis=0, begin={begin0}, end=None) -> (n - begin0, *s[1:])
{x}.split(1, axis=0) -> s
{x}.swapaxes(0, 0) -> s
nd.add_n({x}) -> s
nd.concat({x}, dim=0) -> s
nd.concatenate([{x}], always_copy=False) -> s
nd.concatenate([{x}]) -> s
nd.NDArray({x}.handle) -> s
"""

WRITES = """
{x}[:] = {e}
{x}[:] = {x}[::-1]
{x}[:] = {x} * 2
{x}[0] = {x}[-1]
{x}[0] += {x}[-1]
{x}[-1][:] = 7
{x}[0:1][0] = 8
{x}.reshape(-1)[1:3] = 9
{x}.reshape((-1,))[:] = np.arange({size})
{x}.T[:] = 5
{x}.T[0] = 5
{x}.expand_dims(0)[:] = 4
{x}.flatten()[0] = 6
{x}.copy()[:] = 1
{x}.detach()[:] = 11
{x}.astype('{xtype}', copy=False)[:] = 12
{x}.as_in_context(mx.cpu())[:] = 13
{x}.squeeze()[:] = 14
{x}.swapaxes(0, {count} - 1)[:] = 15
{x}._at(0)[:] = 16
{x}._slice(0, 1)[:] = 17
{x}.slice_axis(0, 0, 1)[:] = 18
{x}[[0]][:] = 19
{x}[::2][:] = 20
{x}[::-1][:] = 21
for row in {x}: row[:] = 3
for at, row in enumerate({x}): row += at
for row in {x}: row *= row
for at in range({n}): {x}[at] = at
for row, new in zip({x}, {e}): row[:] = new
{x}[0], {x}[-1] = {x}[-1].copy(), {x}[0].copy()
{x}[0], {x}[-1] = {x}[-1], {x}[0]
{x}[[0, -1 + {n}]] = {x}[[{n} - 1, 0]]
{x}.copyto({e})
{e}[:] = {x}
nd.identity({x}, out={e})
{x}._sync_copyfrom({e}.asnumpy())
{x}.asnumpy()[...] = 7
{x}[:].__setitem__(0, 22)
{x}.__setitem__(slice(None), 23)
nd.broadcast_add({x}, {e}, out={e})
nd.exp({e} * 0, out={x})
nd.clip({x}, 0, 2, out={x})
nd._internal._plus_scalar({x}, scalar=2, out={x})
nd.zeros({s}, out={x})
nd.ones({s}, out={x})
nd.full({s}, 6, out={x})
nd.arange({size}, out={x})
nd.concat({x}[:1], {x}[1:], dim=0, out={x}) if {n} > 1 else None
nd.stack({x}[0], {x}[-1], out={x}) if {n} == 2 else None
nd.split({x}, {n}, 0, True, out=[{x}[i] for i in range({n})])
nd.elemwise_add({x}, {x}, out={x})
nd.where({x} > 1, {x}, {e}, out={e})
nd.one_hot(nd.arange({n}), {size} // {n}, out={x}) if {count} == 2 else None
nd.sgd_update({x}, nd.ones({s}), lr=0.5, out={x})
{x}[:] = {number}
{x}[:] = nd.array({numbers})
{x}[0] = np.array({numbers})[0]
{x}[:] = np.array({numbers})[:1]
{x}[:] = {numbers}
{x}[0] = {x}[0].asnumpy()
{x}[...] = {x}.asnumpy() * 2
{x}[:] = nd.array({numbers}, dtype='int32')
{x}[:] = {x}.sum()
{x}[0] = {x}.max()
{x}[0] = {x}[0] > 1
{x} += {x}
{x} *= {x}.sum()
{x} -= {x}[0:1].copy()
{x} /= 2
{x} += {e}
{x} %= 2
{x}[-1] -= 1
{x}[..., 0] *= 2
{x}[..., -1] = {x}[..., 0]
{x}[..., None] = 2
{x}[None] = 3
{x}[:, None] += 1
"""

UNARY = """
abs arccos arccosh arcsin arcsinh arctan arctanh cbrt ceil cos cosh degrees exp expm1 fix floor
log log10 log1p log2 radians rcbrt reciprocal relu rint round rsqrt sigmoid sign sin sinh sqrt
square tan tanh trunc zeros_like ones_like
"""
FUNCTIONS = """
erf erfinv gamma gammaln logical_not softsign hard_sigmoid negative identity stop_gradient
BlockGrad make_loss softmax log_softmax softmin sort argsort shape_array size_array sum mean max
min prod nansum nanprod norm argmax argmin argmax_channel topk flatten Flatten moments
"""
BINARY = """
broadcast_add broadcast_sub broadcast_mul broadcast_div broadcast_mod broadcast_power
broadcast_maximum broadcast_minimum broadcast_hypot broadcast_equal broadcast_greater
broadcast_lesser_equal broadcast_logical_and broadcast_logical_xor broadcast_minus add subtract
multiply divide modulo power maximum minimum equal not_equal greater greater_equal lesser
lesser_equal logical_and logical_or logical_xor true_divide
"""
REDUCTIONS = ("sum", "mean", "max", "min", "prod", "nansum", "nanprod", "sum_axis", "max_axis")

CALLS = """
{x}.{unary}() -> s
nd.{unary}({x}) -> s
nd.{unary}(data={x}) -> s
nd.{unary}({x}, name='n') -> s
nd.{function}({x})
nd.{binary}({x}, {e}) -> s
nd.{binary}({x}, {o})
nd.{binary}({x}, {number})
nd.{binary}({number}, {x})
nd.{binary}({x}, {e}, out={e})
nd.elemwise_{four}({x}, {e}) -> s
nd.elemwise_{four}(lhs={x}, rhs={e}) -> s
nd._internal._{scalar}_scalar({x}, scalar={number})
nd.NDArray.__{four}__({x}, 2) if '{four}' != 'div' else None
__import__('operator').{four}({x}, {e}) if '{four}' != 'div' else None
{x}.transpose() -> s[::-1]
{x}.transpose({order})
{x}.transpose(*{order})
{x}.transpose(axes={order})
nd.transpose({x}, axes={order})
nd.transpose({x}, {order})
{x}.swapaxes({axis0}, {other})
nd.swapaxes({x}, dim1={axis0}, dim2={other})
nd.moveaxis({x}, {axis}, {other})
nd.moveaxis({x}, [0, {count} - 1], [{count} - 1, 0])
{x}.clip({k} - 2, 2.5) -> s
{x}.clip(a_min=0, a_max=2) -> s
nd.clip({x}, 0, 2) -> s
{x}.slice_axis(axis={axis}, begin={begin}, end={end})
{x}.slice_axis({axis}, {begin}, None)
nd.slice_axis({x}, axis={axis}, begin=-1, end=None)
{x}.slice({zeros}, {s}) -> s
{x}.slice(begin={zeros}, end={s}, step=(1,) * {count}) -> s
nd.slice({x}, begin=(None,) * {count}, end=(None,) * {count}, step=(-1,) * {count}) -> s
nd.crop({x}, begin={zeros}, end={s})
nd.slice_like({x}, {o})
{x}.slice_like({o}, axes=(0,))
{x}.slice_assign_scalar(9.0, {zeros}, {s}, (1,) * {count})
{x}.slice_assign(nd.ones({s}), {zeros}, {s}, (None,) * {count})
{x}.take(nd.array({places}), axis={axis})
{x}.take(nd.array({places}), {axis}, '{mode}')
nd.take({x}, nd.array([[-1, 9]]), axis={axis}, mode='{mode}')
nd.take(a={x}, indices=nd.array({places}, dtype='int32'))
{x}.pick(nd.array({picks}), axis={axis})
nd.pick({x}, nd.array({picks}), {axis}, True)
nd.pick({x}, nd.array({picks}), axis={axis}, keepdims=True, mode='{mode}')
nd.batch_take({x}, nd.array([0] * {n}))
nd.gather_nd({x}, nd.array([[0, {n} - 1]]))
nd.scatter_nd({x}, nd.array([list(range({n}))]), shape=(9, *{s}[1:]))
{x}.sort(axis={axis}, is_ascend={yes}) -> s
nd.sort({x}, {axis}) -> s
nd.sort({x}, axis=None)
{x}.argsort(axis={axis})
nd.argsort({x}, None, False, 'int32')
nd.argsort({x}, axis={axis}, dtype='float64')
{x}.topk(axis={axis}, k={k})
nd.topk({x}, {axis}, {k}, '{kinds}', {yes})
nd.topk({x}, k=1, ret_typ='{kinds}', is_ascend=True, dtype='int32')
nd.topk({x}, axis=None, k=1)
nd.topk({x}, {axis}, 0, 'both', out=[nd.zeros({s}), nd.zeros({s})])
{x}.flip(axis={axis}) -> s
nd.reverse({x}, axis=({axis0},)) -> s
{x}.tile({reps})
{x}.tile(reps=(2, 1))
nd.tile({x}, {reps})
{x}.repeat(2) -> (2 * size,)
{x}.repeat(repeats=2, axis={axis})
nd.repeat({x}, 3, {axis})
{x}.one_hot({k} + 2)
nd.one_hot({x}, 4, 2, -1, 'int32')
{x}.diag()
nd.diag({x}, k={k} - 2)
nd.pad({x}.reshape((1, 1, 1, -1)), 'constant', (0, 0, 0, 0, 0, 0, 1, 2), 1)
nd.pad({x}.reshape((1, 1, 1, -1)), mode='edge', pad_width=(0, 0, 0, 0, 0, 0, 2, 0))
{x}.softmax(axis={axis})
nd.softmax({x}, axis={axis}, temperature=2)
nd.softmax({x}, {axis})
{x}.log_softmax(axis={axis})
{x}.split({part}, axis={axis})
nd.split({x}, num_outputs={part}, axis={axis}, squeeze_axis={yes})
nd.SliceChannel({x}, {part}, {axis}, {yes})
{x}.split_v2({part}, axis={axis})
nd.split_v2({x}, ({k},), axis={axis})
nd.split_v2({x}, (0, {k}), {axis}, False)
nd.concat({x}, {o}, dim={axis})
nd.concat(*[{x}, {e}], dim={axis})
nd.concat(*{x}, dim=0)
nd.Concat({x}, {e}, dim={axis}, num_args=2)
nd.concatenate([{x}, {e}], axis={axis0})
nd.stack({x}, {e}, axis={axis})
nd.stack(*{x})
nd.stack(*list({x}), axis=0)
nd.add_n(*{x})
nd.add_n({x}, {e}) -> s
nd.ElementWiseSum({x}, {x}, {e}) -> s
nd.squeeze({x}, axis={axis})
nd.where({x} > 1, {e}, {x} * 2) -> s
nd.where(condition={x}, x={e}, y={x}) -> s
nd.where({x}.reshape(-1)[:{n}], {x}, {e})
nd.broadcast_axis({x}, axis={axis}, size=2)
nd.broadcast_axes({x}, axis=({axis0},), size=(1,))
{x}.broadcast_to({two}) -> two
{x}.broadcast_to(*{s}) -> s
{x}.broadcast_like({o})
nd.broadcast_like({x}, {o}, lhs_axes=(0,), rhs_axes=(0,))
nd.broadcast_to({x}, shape={s}) -> s
nd.broadcast_to({x}, (0,) * {count}) -> s
nd.dot({x}, {o})
nd.dot({x}, {e}, transpose_b=True)
nd.dot({x}, {e}, True, False)
nd.batch_dot({x}, {e}, transpose_a=True)
nd.batch_dot({x}, {e}, False, True)
nd.linalg.gemm2({x}, {e}, transpose_b=True, alpha=0.5)
nd.linalg_gemm2({x}, {e}, True, False, 2.0)
nd.linalg.syrk({x}, transpose={yes})
nd.linalg.potrf(nd.eye(3) * 4 + 1)
nd.linalg.det(nd.eye(3) * {n})
nd.linalg.inverse(nd.eye(2) * 4 + 1)
nd.linalg.slogdet(nd.eye(2) * -4 + 1)
nd.linalg.makediag({x})
nd.linalg.extractdiag({x})
nd.linalg.extracttrian(nd.ones((3, 3)), offset={k} - 2)
nd.linalg.trsm(nd.eye(2) * 2, nd.ones((2, 3)), alpha=2)
nd.linalg.trmm(nd.eye(2) * 2, nd.ones((3, 2)), rightside=True)
nd.linalg.gemm({x}, {e}, {e}, transpose_a=True, beta=0.5)
nd.khatri_rao({x}, {e})
nd.cumsum({x}, {axis0}, 'float64')
nd.cumsum({x}, axis={axis0})
nd.ravel_multi_index(nd.array([[0, 1], [1, 0]]), shape=(2, 3))
nd.unravel_index(nd.array({places}), shape=(2, 9))
nd.FullyConnected({x}, nd.ones((2, {size} // {n})), None, 2, True)
nd.FullyConnected({x}, nd.ones((2, {last})), nd.ones((2,)), num_hidden=2, flatten=False)
nd.Activation({x}, act_type='{act}')
nd.LeakyReLU({x}, act_type='elu', slope=0.1)
nd.L2Normalization({x}, mode='instance')
nd.Embedding(nd.array({places}), {x}, input_dim={n}, output_dim={last})
nd.SequenceMask({x}, nd.ones((2,)), True, value=-1)
nd.SequenceReverse({x})
nd.SequenceLast({x})
nd.smooth_l1({x}, scalar=2)
nd.depth_to_space({x}.reshape((1, 1, 1, -1)), 1)
nd.contrib.boolean_mask({x}, nd.array([1] * {n}))
nd.contrib.boolean_mask({x}, nd.array([i % 2 for i in range({n})])) if {n} > 1 else 0
nd.contrib.arange_like({x}, axis={axis})
nd.contrib.arange_like({x}, 1, 2)
nd.contrib.index_copy({x}, nd.array([0]), {x}[0:1] * 3)
nd.contrib.isnan({x})
nd.contrib.isinf({x} / 0) if {x}.dtype == np.float32 else 0
nd.contrib.index_array({x})
nd.contrib.allclose({x}, {e})
nd.contrib.getnnz({x}.tostype('csr'))
nd.contrib.quadratic({x}, a=1, b=2, c=3)
nd.contrib.gradientmultiplier({x}, scalar=2)
nd.contrib.div_sqrt_dim({x})
nd.moments({x}, axes=({axis0},), keepdims={yes})
nd.cast_storage({x}, stype='{stype}')
nd.all_finite({x})
nd.multi_all_finite({x}, {e}, num_arrays=2)
nd.multi_sum_sq({x}, {e}, num_arrays=2)
nd.amp_cast({x}, dtype='float16')
nd.histogram({x}, bins=3)
nd.histogram({x}, 4, (0, 4))
nd.histogram({x}, nd.array([0, 1, 5]))
nd.choose_element_0index({x}, nd.zeros(({n},)))
nd.fill_element_0index({x}, nd.ones(({n},)), nd.zeros(({n},)))
nd.onehot_encode(nd.array([0, 1]), nd.zeros((2, 3)))
nd.reset_arrays({x}.copy(), num_arrays=1)
nd.Reshape({x}, shape={to}) -> to
nd.Reshape({x}, target_shape={to})
nd.SwapAxis({x}, 0, {count} - 1)
nd.space_to_depth({x}.reshape((1, 1, 1, -1)), block_size=1)
nd.masked_softmax({x}, {e})
nd.norm({x}, ord=1, axis={axis})
{x}.norm(2, {axis}, keepdims=True)
{x}.shape_array(), {x}.size_array()
nd.diag(nd.diag({x}))
nd.argmax_channel({x})
{x}.argmax({axis}, True)
{x}.argmin(axis={axis}, keepdims={yes})
nd.argmax({x})
{x}.max(), {x}.min(axis={axis}), {x}.mean({axis}), {x}.prod()
nd.sum({x}, axis={axis}, exclude=True)
nd.sum({x}, axis=(), keepdims={yes})
{x}.sum(axis={axis}).reshape(-1)[0]
{x}.{reduction}({axes})
nd.{reduction}({x}, {axes})
nd.{reduction}({x}, axis={axes}, keepdims={yes})
nd.{reduction}({x}, {axes}, False, True)
{x}.{reduction}(axis={axis}, keepdims=True, exclude={yes})
{x}.sum({axis}).{unary}()
({x} * 2 + {e}).sum(axis={axis}, keepdims=True) * {x}
{x}.transpose().{reduction}(axis={axis})
{x}.reshape({to}).{reduction}(axis=-1)
{x}.expand_dims(0).tile((2,) + (1,) * {count}).{reduction}(axis={axis})
nd.concat({x}, {e}, dim=-1).sort(is_ascend=False).slice_axis(-1, 0, {k})
nd.BatchNorm({x}, nd.ones(({last},)), nd.zeros(({last},)), nd.zeros(({last},)), nd.ones(({last},)))
nd.LayerNorm({x}, nd.ones(({last},)), nd.zeros(({last},)), axis=-1)
nd.Pooling({x}.reshape((1, 1, -1)), kernel=(2,), pool_type='max')
nd.UpSampling({x}.reshape((1, 1, 1, -1)), scale=2, sample_type='nearest')
nd.Dropout({x}, p=0.5)
nd.SoftmaxActivation({x})
nd.softmax_cross_entropy({x}, nd.zeros(({n},)))
nd.LinearRegressionOutput({x}, {e})
nd.MakeLoss({x}, grad_scale=2)
nd.Crop({x}.reshape((1, 1, 1, -1)), h_w=(1, 1), num_args=1)
nd.sparse.dot({x}, {e})
nd.image.to_tensor(nd.array(np.arange(12).reshape((2, 2, 3)), dtype='uint8'))
nd.image.flip_left_right(nd.arange(12).reshape((2, 2, 3)))
nd.image.crop(nd.arange(12).reshape((2, 2, 3)), 0, 0, 1, 2)
nd.image.normalize(nd.ones((3, 2, 2)), mean=(0.1, 0.2, 0.3), std=(2, 2, 2))
"""

SHOWN = """
{one}.asscalar()
float({one})
int({one})
bool({one})
len({x})
[row.asnumpy() for row in {x}]
str({x})
repr({one})
{x}.shape, {x}.ndim, {x}.size, {x}.dtype, {x}.stype, {x}.context
{x}.ctx, {x}.writable, {x}.grad
np.array({x}.asnumpy()).tolist()
list(range(5))[{one}]
sum({x})
max({x})
sorted([{one}, 2])
{one} in [1, 2]
'{{}}'.format({one})
'%s' % {one}
'%.2f' % {one}
f'{{{one}:.2f}}'
np.sum({x}.asnumpy(), axis=0)
isinstance({x}, nd.NDArray), type({x}).__name__
{x} is {x}, {x} is {x}[:]
(lambda x, *rest: rest)(*{x})
not {one}
{one} and 3
{x}.wait_to_read(), nd.waitall()
round({one}, 1)
dict([({x}, 1)])[{x}]
next(iter({x}))
np.allclose({x}.asnumpy(), {e}.asnumpy())
mx.test_utils.same({x}.asnumpy(), {e}.asnumpy())
mx.test_utils.almost_equal({x}.asnumpy(), {e}.asnumpy())
{x}.handle is None
hash({x}) == hash({x}), {x} in {{{x}: 1}}
list(reversed({x}))
[i.shape for i in {x}]
len({x}[0])
{x}.__len__(), {x}.__bool__() if {x}.size == 1 else None
{x}.__getitem__(0)
{x}.__repr__()
{x}.tostype('default') is {x}, {x}.as_nd_ndarray() is {x}
{x}.as_in_context({x}.context) is {x}, {x}.astype({x}.dtype, copy=False) is {x}
{x}.reshape({s}) is {x}, {x}.copy() is {x}
{x}.copyto(mx.cpu())
{x}.copyto(mx.cpu(1)).context, {x}.as_in_context(mx.cpu(1)).context
{x}.as_in_context(mx.cpu(1)) + {x}
{x} + {e}.as_in_context(mx.cpu(1))
nd.concat({x}, {e}.as_in_context(mx.cpu(1)), dim=0)
{x}.as_in_context(mx.cpu(1)).copyto({e}), {e}
nd.zeros((2,), ctx=mx.cpu(1)).context, nd.zeros_like({x}.as_in_context(mx.cpu(1))).context
{x} if {one} else {e}
[1 for i in range(int({one}.asscalar()) % 4)]
{x}.asnumpy().dtype.name, {x}.asnumpy().flags['WRITEABLE']
mx.autograd.is_recording(), mx.autograd.is_training()
{x}._fresh_grad
{x}.max().asscalar() - {x}.min().asscalar()
({x} == {e}).sum().asscalar()
{x}.astype('bool'), ({x} > 1).dtype
mx.nd.NDArray.__name__, {x}.__class__.__name__
mx.base.string_types, mx.base.numeric_types[:1]
mx.test_utils.assert_almost_equal({x}, {x}.asnumpy())
mx.test_utils.default_context()
"""

FILES = """
__import__('pickle').loads(__import__('pickle').dumps({x})) -> s
__import__('pickle').loads(__import__('pickle').dumps([{x}, {e}], 2))
__import__('copy').deepcopy({x}) -> s
__import__('copy').copy({x}) -> s
nd.load('f.params')['{x}'] -> s
nd.load('f.list')[0]
nd.load_frombuffer(open('f.params', 'rb').read())
nd.load('f.params')
nd.load('f.list')
nd.load('absent')
sorted(nd.load('f.params'))
len(open('f.list', 'rb').read())
zip(*nd.load('f.params').items()) is None
"""
SAVED = """
nd.save('f.params', {{'{x}': {x}, 'arg:x': {y}}})
nd.save('f.list', [{x}, {y}])
nd.save('f.list', {x})
nd.save('f.list', ({x},))
nd.save('f.params', {{'{x}': {x}}})
nd.save(fname='f.list', data=[{x}])
nd.save('f.list', [])
nd.save('f.params', {{}})
nd.save('f.list', {x}.asnumpy())
nd.save('f.list', [{x}, 1])
nd.save('f.params', {{1: {x}}})
nd.save('f.list', [{x}[0:1], {x}.T, {x}.reshape(-1)])
nd.save('f.list', [{y}, {y}])
"""

SPARSE = """
nd.sparse.csr_matrix(np.array({dense}, 'float32')) -> csr
nd.sparse.csr_matrix(np.array({dense})) -> csr
nd.sparse.csr_matrix({dense}, dtype='{dtype}') -> csr
nd.sparse.csr_matrix(([1, 2], [0, {columns} - 1], {indptr}), shape={s}) -> csr
nd.sparse.csr_matrix((np.array([1, 2]), np.array([0, 1]), np.array({indptr})), {s}) -> csr
nd.sparse.csr_matrix((nd.array([1, 2]), [0, 1], {indptr}), shape={s}, dtype='{dtype}') -> csr
nd.sparse.csr_matrix(([5, 6], ([0, 1], [1, 0])), shape={s}) -> csr
nd.array({dense}).tostype('csr') -> csr
nd.sparse.zeros('csr', {s}) -> csr
nd.zeros({s}, stype='csr', dtype='{dtype}') -> csr
nd.sparse.array(__import__('scipy.sparse').sparse.csr_matrix(np.array({dense}))) -> csr
nd.sparse.csr_matrix({s}) -> csr
nd.sparse.empty('csr', {s}) -> csr
nd.sparse.row_sparse_array(np.array({dense}, 'float32')) -> row_sparse
nd.sparse.row_sparse_array({dense}, dtype='{dtype}') -> row_sparse
nd.sparse.row_sparse_array(({values}, {kept}), shape={s}) -> row_sparse
nd.sparse.row_sparse_array((np.array({values}), {kept}), {s}, dtype='{dtype}') -> row_sparse
nd.array({dense}).tostype('row_sparse') -> row_sparse
nd.sparse.zeros('row_sparse', {s}, dtype='{dtype}') -> row_sparse
nd.sparse.row_sparse_array({s}) -> row_sparse
nd.sparse.row_sparse_array((nd.array({values}), {kept}), shape={s}) -> row_sparse
nd.sparse.array(nd.array({dense}).tostype('row_sparse')) -> row_sparse
nd.cast_storage(nd.array({dense}), 'row_sparse') -> row_sparse
"""

SPARSE_CALLS = """
{z}.asnumpy(), {z}.shape, {z}.stype, {z}.dtype
{z}.data, {z}.indices
{z}.indptr
{z}.tostype('default')
{z}.tostype('{stype}')
{z}.astype('{float}')
{z}.astype('{float}', copy=False) is {z}
{z}.copy()
{z}.copyto(mx.cpu())
{z}.copyto({e})
{e}.copyto({z})
{z}.copyto({w})
{z}.asscipy().toarray()
{z}[{begin}:{rows}]
{z}[{begin}]
{z}[{begin}:{begin} + 1].data
{z}[:]
{z}[{begin}, 0]
{z}[[0, 1]]
{z}[::2]
{z}[-1]
{z}[-2:]
{z}[1:-1]
{z}[:] = {number}
{z}[:] = {e}
{z}[:] = {w}
{z}[0:1] = 2
{z}[:] = np.ones({s})
{z} {op} {number}
{number} {op} {z}
{z} {op} {w}
{z} {op} {e}
{e} {op} {z}
{z} + {z}
{z} * {z}
-{z}
abs({z})
{z}.{unary}()
nd.sparse.{unary}({z})
nd.{unary}({z})
nd.sparse.{function}({z}, {w})
nd.sparse.{function}({z}, {number})
nd.sparse.{function}({e}, {z})
nd.sparse.{function}({z}, {e})
nd.sparse.retain({z}, nd.array([0, {rows} - 1]))
len({z})
nd.dot({z}, nd.ones(({columns}, 2)))
nd.sparse.dot({z}, nd.ones(({rows}, 2)), transpose_a=True)
nd.sparse.dot({z}, nd.ones(({rows}, 2)), transpose_a=True, forward_stype='row_sparse')
nd.dot({z}, nd.ones(({columns},)))
nd.dot(nd.ones((2, {rows})), {z})
nd.dot(nd.ones((2, {rows})), {z}, forward_stype='csr')
nd.dot(nd.ones((2, {columns})), {z}, transpose_b=True)
nd.dot({z}, {w}, transpose_b=True)
nd.dot({z}, {w}, transpose_a=True)
nd.sparse.sum({z}, axis={axis})
nd.sparse.sum({z}, axis=0, keepdims=True)
{z}.sum()
nd.sparse.norm({z})
nd.sparse.mean({z}, axis=0)
nd.sparse.elemwise_add({z}, {w})
nd.elemwise_mul({z}, {e})
nd.elemwise_sub({z}, {w})
nd.sparse.add_n({z}, {w})
nd.add_n({z}, {w}, {e})
nd.sparse.clip({z}, 0, 1)
nd.sparse.concat({z}, {z}, dim=0)
nd.concat({z}, {e}, dim=1)
nd.sparse.where({z}, {e}, {e})
nd.sparse.slice({z}, begin=({begin}, 0), end=({rows}, 1))
nd.slice_axis({z}, axis=0, begin=0, end=1)
{z}.square().sum(axis=1)
nd.sparse.zeros_like({z})
nd.zeros_like({z}), nd.ones_like({z})
nd.sparse.stop_gradient({z})
nd.contrib.getnnz({z})
nd.contrib.getnnz({z}, axis=1)
{z} += {number}
{z} *= 2
{z} += {w}
{e} += {z}
{e}[:] = {z}
repr({z}), str({z})
{z}.check_format()
{z}.check_format(full_check=True)
{z}.reshape((-1,))
{z}.T
{z}.context, {z}.ndim
[row for row in {z}]
bool({z})
{z}.asscalar()
{z}.detach()
{z}.as_in_context(mx.cpu())
{z}.as_in_context(mx.cpu(1)).context
nd.array({z})
nd.sparse.array({z})
nd.sparse.csr_matrix({z})
nd.sparse.row_sparse_array({z})
nd.cast_storage({z}, stype='{stype}')
{z}.broadcast_to((2, {rows}, {columns}))
{z}.grad
nd.Embedding(nd.array([0, 1]), {z}, input_dim={rows}, output_dim={columns})
__import__('pickle').loads(__import__('pickle').dumps({z}))
__import__('copy').deepcopy({z})
nd.sparse.empty('csr', {s}).shape
{z}.wait_to_read()
{z}.data[:] = 5
{z}._at(0)
{z}._slice(0, 1)
{z}.slice((0, 0), (1, 1))
nd.sgd_update({e}, {z}, lr=0.1, out={e})
nd.sparse.sgd_update({e}, {z}, lr=0.1, lazy_update=False)
nd.sparse.adagrad_update({e}, {z}, nd.zeros({s}), lr=0.1, out={e})
nd.sparse.adam_update({e}, {z}, nd.zeros({s}), nd.zeros({s}), lr=0.1, out={e})
nd.maximum({z}, 0), nd.minimum({z}, {e})
nd.sparse.maximum({z}, {w})
nd.save('f.sparse', [{z}]), nd.load('f.sparse')
mx.test_utils.same({z}.asnumpy(), {z}.tostype('default').asnumpy())
nd.sparse.LogisticRegressionOutput({e}, {z})
nd.sparse.make_loss({z})
nd.sparse.relu({z} - 1)
{z}.broadcast_like({e})
nd.reset_arrays({z}, num_arrays=1)
nd.FullyConnected({z}, nd.ones((2, {columns})), num_hidden=2, no_bias=True)
nd.sparse.FullyConnected({z}, nd.ones((2, {columns})), nd.zeros((2,)), num_hidden=2)
nd.multi_all_finite({z}, num_arrays=1)
"""

LOOPS = """
nd.contrib.foreach(lambda d, s: (d * 2, s + d), {x}, nd.zeros({s}[1:]))
nd.contrib.foreach(lambda d, s: (d[0] + d[1], s), [{x}, {e}], [])
nd.contrib.foreach(lambda d, s: ([d, d + s[0]], [s[0] * 2]), {x}, [nd.ones((1,))])
nd.contrib.while_loop(lambda i: i < 3, lambda i: (i * 2, i + 1), nd.zeros((1,)), max_iterations=3)
nd.contrib.while_loop(lambda i, s: i < 2, lambda i, s: (s, [i + 1, s * 2]), [nd.zeros(1), {x}], 2)
nd.contrib.while_loop(lambda i: i < 1, lambda i: (None, i + 1), nd.zeros((1,)), 5)
nd.contrib.while_loop(lambda i: i < 0, lambda i: (i, i + 1), nd.zeros((1,)), 5)
nd.contrib.cond({x}.sum() > 1, lambda: {x} + 1, lambda: {x} - 1)
nd.contrib.cond({x}[0, 0] > 1, lambda: [{x}, {e}], lambda: [{e}, {x}])
nd.contrib.cond({x}, lambda: {x} + 1, lambda: {x} - 1)
nd.contrib.foreach(lambda d: d, {x}, [])
nd.contrib.foreach(lambda d, s: d, {x}, [])
nd.contrib.while_loop(lambda i: i < 3, lambda i: (i, i + 1), nd.zeros((1,)), None)
"""

UPDATES = """
nd.sgd_update({x}, {g}, lr=0.1{rest}{out})
nd.sgd_update({x}, {g}, 0.1{out})
nd.sgd_update(weight={x}, grad={g}, lr=0.1{rest}{out})
nd.sgd_mom_update({x}, {g}, {m}, lr=0.1, momentum=0.9{rest}{out})
nd.sgd_mom_update({x}, {g}, {m}, 0.1, 0.9, 0.01{out})
nd.adam_update({x}, {g}, {m}, {v}, lr=0.1{rest}{out})
nd.adam_update({x}, {g}, {m}, {v}, 0.1, 0.8, 0.9, 1e-6{out})
nd.rmsprop_update({x}, {g}, {m}, lr=0.1{rest}{out})
nd.ftrl_update({x}, {g}, {m}, {v}, lr=0.1{rest}{out})
nd.ftml_update({x}, {g}, {m}, {v}, nd.zeros({s}), lr=0.1, t=1{out})
nd.signsgd_update({x}, {g}, lr=0.1{rest}{out})
nd.signum_update({x}, {g}, {m}, lr=0.1, momentum=0.5{rest}{out})
nd.nag_mom_update({x}, {g}, {m}, lr=0.1, momentum=0.9{rest}{out})
nd.mp_sgd_update({x}.astype('float16'), {g}.astype('float16'), {m}, lr=0.1)
nd.multi_sgd_update({x}, {g}, lrs=(0.1,), wds=(0,), num_weights=1{out})
nd.multi_sgd_update({x}, {g}, {m}, {g}, lrs=(1, 2), wds=(0, 1), num_weights=2, out=[{x}, {m}])
nd.lamb_update_phase1({x}, {g}, {m}, {v}, t=1, wd=0.1)
nd.sgd_update({x}, {g}{out})
nd.sgd_update({x}, nd.ones((7, 7)), lr=0.1{out})
mx.optimizer.SGD(learning_rate=0.1).update(0, {x}, {g}, None)
mx.optimizer.SGD(momentum=0.9).update([0], [{x}], [{g}], [{m}])
mx.optimizer.get_updater(mx.optimizer.create('adam'))(0, {g}, {x})
mx.optimizer.Adam().update_multi_precision(0, {x}, {g}, ({m}, {v}))
mx.initializer.One()('w_weight', {x})
mx.init.Constant(3)(mx.init.InitDesc('x_weight'), {x})
"""

MISTAKES = """
{x}[{n} + 2]
{x}[(0,) * ({count} + 1)]
{x}['x']
{x}[1.5]
{x}[-{n} - 1] = 1
{x}[:] = np.ones((7, 5))
{x}[:] = nd.ones((7, 5))
{x}[:] = 'text'
{x}[:] = None
{x}[0] = [1, 2, 3, 4, 5, 6, 7, 8, 9]
{x} + nd.ones((7, 5))
{x} + 'x'
{x} + None
{x}.reshape((7, 5))
{x}.reshape(7.5)
{x}.reshape()
{x}.reshape((-1, -1))
{x}.sum(axis=7)
{x}.sum(axes=0)
{x}.sum(0, keepdim=True)
nd.concat({x}, nd.ones((7, 5, 2)), dim=0)
nd.concat({x}, dim=9)
nd.concat()
nd.stack({x}, nd.ones((7, 5)))
nd.split({x}, 7, axis=0)
nd.dot({x}, nd.ones((9, 9)))
{x}.astype('floaty')
{x}.copyto(nd.ones((7, 5)))
{x}.copyto(5)
{x}.as_in_context('cpu')
{x}.nothing
nd.nothing({x})
nd.zeros((2, -1))
nd.zeros('x')
nd.array('text')
nd.array([[1, 2], [3]])
nd.array(None)
nd.arange(5, 0)
nd.arange()
nd.eye(-1)
nd.full((2, 2), 'x')
nd.ones((2, 2), dtype='complex64')
{x}.topk(k=99)
{x}.take(0)
nd.one_hot({x})
nd.where({x}, nd.ones((7,)), nd.ones((7,)))
nd.clip({x}, 1)
nd.clip({x}, a_min=1)
nd.pick({x}, nd.ones((7, 5)))
{x}.expand_dims(axis=9)
{x}.squeeze(axis=5)
{x}.broadcast_to((7, 7, 7, 7))
{x}.backward()
{x}.tostype('dense')
nd.elemwise_add({x}, nd.ones((7, 5)))
nd.add_n({x}, nd.ones((7, 5)))
nd.add_n()
nd.exp()
nd.exp({x}, {x})
nd.exp({x}, bogus=1)
nd.exp(5)
nd.exp('x')
nd.exp({x}, out=nd.ones((7, 5)))
nd.exp({x}, out=5)
nd.Activation({x}, act_type='nothing')
nd.Activation({x})
nd.sparse.csr_matrix({x})
nd.sparse.csr_matrix(([1], [9], [0, 1]), shape=(1, 2)).check_format()
nd.sparse.zeros('nothing', (2, 2))
nd.load_frombuffer(b'')
nd.save('f', 5)
mx.autograd.grad({x}, {x})
{x}.attach_grad('nothing')
{x}.attach_grad(grad_req=None)
mx.autograd.backward({x} * 2)
nd.Custom({x})
nd.Custom({x}, op_type='nothing')
bool({x}), int({x})
len({x}.sum())
{x}.asscalar()
{x}.shape = (1,)
{x}.dtype = 'int32'
{x}.stype = 'csr'
{x}.grad = {e}
{x}.context = mx.cpu()
{x} @ {x}
{x} // 2
{x} & {x}
~{x}
divmod({x}, 2)
{x} << 1
{x}.mean(keepdims='x')
{x}.reshape((0, 0, 0, 0, 0))
{x}.slice((0,), (99,))
{x}.slice_axis(0, 5, 2)
del {x}[0]
{x}.flatten(2)
{x}.round(2)
{x}.max(1, 2, 3, 4)
{x}.clip(a_max=1)
{x}.tile()
{x}.repeat()
{x}.pad()
{x}.norm(ord=7)
{x}.append(1)
{x}.dot({x})
{x}.item()
{x}.std()
{x}.view(3)
{x}.numpy()
{x}.tolist()
{x}.fill(2)
{x}.swapaxes(0)
{x}.swapaxes(0, 9)
{x}.split()
{x}.repeat(-1)
{x}.take(nd.array([0]), axis=9)
{x}.reshape((2.5,))
{x}.astype()
{x}[nd.array([99])] if {n} < 0 else {x}[[99]]
{x}[0, ..., 0, ...]
{x}[{{}}]
{x}[None, None, 0]
nd.linalg.potrf({x})
nd.linalg.inverse(nd.ones((2, 3)))
nd.FullyConnected({x}, nd.ones((2, 77)), no_bias=True, num_hidden=2)
nd.FullyConnected({x}, num_hidden=2)
nd.Embedding({x}, {x})
nd.batch_dot(nd.ones((2, 2)), nd.ones((2, 2)))
nd.SliceChannel({x})
nd.cast({x})
nd.Cast({x}, dtype='x')
nd.transpose({x}, axes=(9, 9, 9, 9))
nd.maximum({x}, 'x')
nd.concatenate([{x}, 5])
nd.contrib.nothing({x})
nd.linalg.nothing({x})
nd.random.uniform(0, 1, shape='x')
nd.waitall(1)
"""


def _rows(table):
    """The lines of a table, each as an expression and the text of its shape (None: unknown)."""
    for line in table.strip().splitlines():
        text, _, shape = line.partition(" -> ")
        yield text, shape or None


TABLES = {}


def _row(p, table):
    """A row of a table."""
    if table not in TABLES:
        TABLES[table] = list(_rows(table))
    return p.pick(TABLES[table])


class Array:
    """An array of the program: its shape (None: unknown), types, and the arrays it may alias."""

    def __init__(self, shape, dtype="float32", stype="default", of=None):
        self.shape, self.dtype, self.stype, self.of = shape, dtype, stype, of


class Program:
    """The lines so far, and the pool of arrays by name."""

    def __init__(self, random):
        self.random, self.lines, self.pool, self.count = random, [], {}, 0

    def chance(self, part):
        """True with this probability."""
        return self.random.random() < part

    def pick(self, items):
        """One of the items."""
        return self.random.choice(list(items))

    def add(self, line):
        """One line more."""
        self.lines.append(line)

    def name(self, letter="a"):
        """A name that no line has."""
        self.count += 1
        return f"{letter}{self.count}"

    def made(self, expression, shape, dtype="float32", stype="default", of=None):
        """A line that assigns an expression to a new name, which is returned."""
        name = self.name()
        self.add(f"{name} = {expression}")
        self.pool[name] = Array(shape, dtype, stype, self.pool[of].of if of else name)
        return name

    def some(self, test=lambda array: True, stype="default"):
        """The name of an array in the pool for which ``test`` holds; made if there is none."""
        names = [
            name
            for name, array in self.pool.items()
            if array.stype == stype and array.shape is not None and test(array)
        ]
        if names:
            return self.pick(names[-4:] if self.chance(0.6) else names)
        for _ in range(40):
            shape, dtype = self.pick(SHAPES), self.dtype()
            if test(Array(shape, dtype)):
                return self.made(self.numbers(shape, dtype), shape, dtype)
        raise RuntimeError("no shape or type of arrays is as wanted")

    def dtype(self):
        """A type, float32 most often."""
        if self.chance(0.7):
            return "float32"
        return self.pick(FLOATS if self.chance(0.5) else WHOLE)

    def numbers(self, shape, dtype="float32"):
        """The text of an array of this shape with numbers that differ."""
        size = int(np.prod(shape))
        begin, step = self.pick((0, 1, -2, 3)), self.pick((1, 1, 0.5, 2))
        if dtype in WHOLE:
            begin, step = (0 if dtype[0] == "u" else begin), 1
        values = f"np.arange({size}).reshape({shape}) * {step} + {begin}"
        return f"mx.nd.array({values}, dtype='{dtype}')"

    def number(self):
        """The text of a number."""
        return self.pick(SCALARS)


def _words(p, shape, dtype):
    """Words of the tables, replaced by a shape and a type that are drawn anew."""
    count = len(shape)
    axis = p.random.randint(-count, count - 1)
    size = shape[axis]
    begin = p.random.randint(0, size - 1)
    kind = p.dtype()
    names = p.pick(("np.float32", f"'{kind}'", f"np.{kind}", f"np.dtype('{kind}')"))
    whole = int(np.prod(shape))
    factors = [(a, whole // a) for a in range(1, whole + 1) if whole % a == 0]
    picks = np.zeros([s for i, s in enumerate(shape) if i != axis % count], int).tolist()
    both = tuple(p.random.sample(range(count), min(count, 2)))
    return {
        "s": shape,
        "n": shape[0],
        "last": shape[-1],
        "size": whole,
        "count": count,
        "two": (2, *shape),
        "zeros": (0,) * count,
        "to": p.pick([(whole,), shape[::-1], (1, *shape), *factors]),
        "new": p.random.randint(-count - 1, count),
        "axis": axis,
        "axis0": axis % count,
        "other": (axis + 1) % count,
        "axes": p.pick((axis, axis, (axis,), both, None, ())),
        "order": tuple(p.random.sample(range(count), count)),
        "begin": begin,
        "end": p.random.randint(begin + 1, size),
        "begin0": p.random.randint(0, shape[0] - 1),
        "k": p.random.randint(1, size),
        "part": p.pick((size, size, 1, 2)),
        "places": [p.random.randint(0, size - 1) for _ in range(2)],
        "picks": picks or [0],
        "reps": p.pick((2, (2,), (1, 2), (2, 1, 1))),
        "lists": np.arange(whole).reshape(shape).tolist(),
        "numbers": (np.arange(whole).reshape(shape) + 10).tolist(),
        "number": p.number(),
        "yes": p.pick((True, False, 0, 1)),
        "kind": names,
        "dtype": kind,
        "made": kind if kind in names else "float32",
        "xtype": dtype,
        "ctx": p.pick(("", "", ", mx.cpu()", ", ctx=mx.cpu(0)")),
        "mode": p.pick(("clip", "wrap")),
        "kinds": p.pick(("value", "indices", "both", "mask")),
        "stype": p.pick(("default", "csr", "row_sparse")),
        "act": p.pick(("relu", "tanh", "softrelu", "sigmoid", "softsign")),
        "unary": p.pick(UNARY.split()),
        "function": p.pick(FUNCTIONS.split()),
        "binary": p.pick(BINARY.split()),
        "four": p.pick(("add", "sub", "mul", "div")),
        "scalar": p.pick(("plus", "minus", "rminus", "mul", "div", "rdiv", "maximum", "greater")),
        "reduction": p.pick(REDUCTIONS),
        "float": p.pick(FLOATS),
        "op": p.pick(OPERATORS),
    }


def _of_array(p, test=lambda array: True):
    """`_words` of an array of the pool, with the names of others that go with it."""
    x = p.some(test)
    known = p.pool[x]
    words = _words(p, known.shape, known.dtype)
    others = [n for n, a in p.pool.items() if a.dtype == known.dtype and a.stype == "default"]
    same = [n for n in others if p.pool[n].shape == known.shape and p.pool[n].of != known.of]
    if not same:
        same = [p.made(p.numbers(known.shape, known.dtype), known.shape, known.dtype)]
    at = ", ".join("0" for _ in known.shape)
    one = p.pick((f"{x}[{at}]", x, f"{x}.sum()", f"{x}[{at}] > 1"))
    return dict(
        words, x=x, o=p.pick([n for n in others if p.pool[n].shape]), e=p.pick(same), one=one
    )


def _enter(p, text, shape, words, dtype, of=None):
    """A line of a table's row: its result goes into the pool if its shape is known."""
    text = text.format(**words)
    if shape is None:
        if p.chance(0.5):
            return p.add(text)
        name = p.made(text, (1,))
        p.pool[name].shape = None
        return name
    found = eval(f"({shape}), None", {"np": np}, words)[0]
    if found and isinstance(found[0], tuple):
        found, dtype = found
    return p.made(text, found, dtype, of=of)


def create(p):
    """An array made by one of the functions that make arrays."""
    if p.chance(0.1):
        shape, dtype = p.pick(SHAPES), p.dtype()
        name = p.name()  # in one statement: nothing shows what lies in memory before the write
        p.add(f"for {name} in [nd.empty({shape}, dtype='{dtype}')]: {name}[:] = {p.number()}")
        p.pool[name] = Array(shape, dtype, of=name)
        return name
    if p.chance(0.2):
        shape, dtype = p.pick(SHAPES), p.dtype()
        return p.made(p.numbers(shape, dtype), shape, dtype)
    text, shape = _row(p, CREATED)
    words = _words(p, p.pick(SHAPES), "float32")
    return _enter(p, text, shape, words, "float32")


# ── Indices ─────────────────────────────────────────────────────────────────────────────────


def key(p, shape, basic=0.6, written=False):
    """The text of an index into a shape, and the same index for NumPy; few select nothing."""
    for _ in range(20):
        text, index = _key(p, shape, basic, written)
        if _shape_at(shape, index) is not None or p.chance(0.03):
            break
    return text, index


def _key(p, shape, basic, written):
    count = p.random.randint(1, len(shape))
    advanced = not p.chance(basic)
    length = p.random.randint(1, 3)
    parts = [_part(p, size, advanced, length, written) for size in shape[:count]]
    if p.chance(0.12) and not advanced:
        parts.insert(p.random.randint(0, len(parts)), ("None", None))
    if p.chance(0.12):
        _with_ellipsis(p, parts, shape, advanced and written)
    text = ", ".join(part[0] for part in parts)
    value = tuple(part[1] for part in parts)
    if len(parts) == 1 and p.chance(0.8):
        return text, value
    return f"{text}," if len(parts) == 1 else text, value


def _with_ellipsis(p, parts, shape, written):
    """An ellipsis put before, after or between the parts; those after it index last axes."""
    at = p.random.randint(0, len(parts))
    named = sum(part[1] is not None for part in parts[:at])
    after = [part for part in parts[at:] if part[1] is not None]
    for i in range(len(after)):
        axis = len(shape) - len(after) + i
        if axis < named:
            return
        parts[at + i] = _part(p, shape[axis], written, 1, written)
    parts.insert(at, ("...", Ellipsis))


def _part(p, size, advanced, length, written=False):
    """An index of one axis, as text and for NumPy.

    No negative ones stand in arrays to write at: the reference writes to other memory then.
    """
    at = p.random.randint(0 if advanced and written else -size, size - 1)
    if advanced and p.chance(0.6):
        places = [p.random.randint(0 if written else -size, size - 1) for _ in range(length)]
        positive = [place % size for place in places]
        return p.pick(
            (
                (f"{places}", np.array(places)),
                (f"np.array({places})", np.array(places)),
                (f"np.array({positive}, 'uint8')", np.array(positive)),
                (f"mx.nd.array({positive})", np.array(positive)),
                (f"mx.nd.array({positive}, dtype='int32')", np.array(positive)),
                (f"mx.nd.array({places}, dtype='int64')", np.array(places)),
                (f"[{places}, {positive}]", np.array([places, positive])),
                (f"range({length})", np.arange(length)) if length <= size else ("0", 0),
            )
        )
    if p.chance(0.4):
        return p.pick(((f"{at}", at), (f"{at}", at), (f"np.int64({at})", at)))
    begin = p.pick(("", "", 0, 1, -1, -2, size - 1, -size))
    end = p.pick(("", "", size, -1, 1, 2, size + 3, -size))
    step = p.pick(("", "", "", "", 1, 2, -1, -2, 3))
    ends = [None if value == "" else value for value in (begin, end, step)]
    return f"{begin}:{end}" + (f":{step}" if step != "" else ""), slice(*ends)


def _shape_at(shape, index):
    """The shape of what an index selects; None if it selects nothing."""
    try:
        found = np.zeros(shape)[index].shape
    except IndexError:
        return None
    return None if 0 in found else (found or (1,))


def read(p):
    """A part of an array, which is often a view."""
    name = p.some()
    known = p.pool[name]
    text, index = key(p, known.shape)
    shape = _shape_at(known.shape, index)
    if shape is None:
        return p.add(f"{name}[{text}]")
    return p.made(f"{name}[{text}]", shape, known.dtype, of=name)


def _value(p, shape, dtype):
    """The text of a value to write into an array of this shape."""
    lists = (np.arange(int(np.prod(shape))).reshape(shape) + 10).tolist()
    last = list(range(20, 20 + shape[-1]))
    same = [n for n, a in p.pool.items() if a.shape == shape and a.stype == "default"]
    return p.pick(
        (
            p.number(),
            p.number(),
            f"np.array({lists})",
            f"np.array({lists}, 'int32')",
            f"mx.nd.array({lists})",
            f"mx.nd.array({lists}, dtype='{dtype}')",
            f"{lists}",
            f"np.array({last})",
            f"mx.nd.array({last})",
            "mx.nd.full((1,), 30)",
            f"mx.nd.array([{lists}])",
            p.pick(same) if same else "-3",
            f"{p.pick(same)} + 1" if same else "np.float64(0.25)",
            f"mx.nd.array({last}).reshape((1, -1))",
        )
    )


def write(p):
    """A value written at an index."""
    name = p.some()
    known = p.pool[name]
    if p.chance(0.2):
        text, shape = p.pick((":", "...", ":")), known.shape
    else:
        text, index = key(p, known.shape, written=True)
        shape = _shape_at(known.shape, index)
    value = _value(p, shape or (1,), known.dtype)
    p.add(f"{name}[{text}] {p.pick(('=', '=', '=', '+=', '*='))} {value}")


# ── Templates of tables ─────────────────────────────────────────────────────────────────────


def view(p):
    """A view, or what looks like one."""
    words = _of_array(p)
    known = p.pool[words["x"]]
    _enter(p, *_row(p, VIEWS), words, known.dtype, of=words["x"])


def write_row(p):
    """A write that others may see."""
    words = _of_array(p)
    p.add(_row(p, WRITES)[0].format(**words))


def convert(p):
    """Another type."""
    words = _of_array(p)
    known = p.pool[words["x"]]
    dtype = p.pick((*FLOATS, "int32", "int64", "int8", "bool"))
    text = p.pick(
        (
            "{x}.astype('{to}')",
            "{x}.astype(dtype=np.dtype('{to}'))",
            "{x}.astype('{to}', copy=False)",
            "{x}.astype('{to}', False)",
            "nd.cast({x}, dtype='{to}')",
            "nd.Cast({x}, '{to}')",
            "nd.array({x}, dtype='{to}')",
            "nd.array({x}.asnumpy().astype('{to}'), dtype='{to}')",
        )
    )
    return p.made(text.format(x=words["x"], to=dtype), known.shape, dtype)


def call(p):
    """A call of an operator, as a method or a function."""
    words = _of_array(p, lambda a: a.dtype == "float32" or p.chance(0.15))
    known = p.pool[words["x"]]
    text, shape = _row(p, CALLS)
    if shape == "s" and p.chance(0.15) and text.startswith("nd.") and ", name=" not in text:
        p.add(f"{text[:-1]}, out={words['e']})".format(**words))
    else:
        _enter(p, text, shape, words, known.dtype)


def shown(p):
    """Python's functions of an array: numbers, truth, length, text, iteration, and attributes."""
    p.add(_row(p, SHOWN)[0].format(**_of_array(p)))


def files(p):
    """Arrays through pickle, copy and files."""
    words = _of_array(p)
    words["y"] = p.pick([n for n, a in p.pool.items() if a.shape])
    p.add(_row(p, SAVED)[0].format(**words))
    _enter(p, *_row(p, FILES), words, p.pool[words["x"]].dtype)


def loop(p):
    """A loop or branch of ``mx.nd.contrib``, outside of recording."""
    words = _of_array(p, lambda a: len(a.shape) == 2 and a.dtype == "float32")
    p.add(_row(p, LOOPS)[0].format(**words))


def mistake(p):
    """A line that users get wrong."""
    p.add(_row(p, MISTAKES)[0].format(**_of_array(p)))


def update(p):
    """An update of a weight by an operator of an optimizer."""
    words = _of_array(p, lambda a: a.dtype == "float32")
    x, shape = words["x"], p.pool[words["x"]].shape
    words["g"] = p.made(p.numbers(shape), shape)
    words["m"], words["v"] = (p.made(f"nd.zeros({shape})", shape) for _ in range(2))
    words["out"] = p.pick((f", out={x}", f", out={x}", ""))
    words["rest"] = p.pick(("", ", wd=0.1", ", wd=0.01, rescale_grad=0.5", ", clip_gradient=0.5"))
    p.add(_row(p, UPDATES)[0].format(**words))
    p.add("{x}, {g}, {m}, {v}".format(**words))


def sparse(p):
    """A sparse array, made in one of its ways."""
    shape = p.pick(((3, 4), (2, 3), (4, 2), (5, 3)))
    rows, columns = shape
    dtype = p.pick(("float32", "float32", "float64", "int32"))
    text, stype = _row(p, SPARSE)
    words = {
        "s": shape,
        "columns": columns,
        "dtype": dtype,
        "dense": [[(r + c) % 3 * (r % 2 or c % 2) for c in range(columns)] for r in range(rows)],
        "kept": sorted(p.random.sample(range(rows), 2)),
        "values": [[i + c for c in range(columns)] for i in range(2)],
        "indptr": [0] + [min(r + 1, 2) for r in range(rows)],
    }
    return p.made(text.format(**words), shape, dtype if "{dtype}" in text else "float32", stype)


def sparse_use(p):
    """A call on a sparse array."""
    names = [n for n, a in p.pool.items() if a.stype != "default"] or [sparse(p)]
    z = p.pick(names)
    shape = p.pool[z].shape
    if not any(a.shape == shape and a.stype == "default" for a in p.pool.values()):
        p.made(p.numbers(shape), shape)
    words = _of_array(p, lambda a: a.shape == shape)
    same = [n for n, a in p.pool.items() if a.shape == shape and a.stype != "default"]
    words.update(z=z, w=p.pick(same), rows=shape[0], columns=shape[1])
    words["function"] = p.pick(("add", "subtract", "multiply", "divide"))
    p.add(_row(p, SPARSE_CALLS)[0].format(**words))
    if p.chance(0.3):
        p.add(f"{z}.asnumpy(), {z}.data, {z}.indices")


# ── Arithmetic ──────────────────────────────────────────────────────────────────────────────


def _together(one, two):
    """The shape of two broadcast ones, or None."""
    try:
        return np.broadcast_shapes(one, two)
    except ValueError:
        return None


def arithmetic(p):
    """An operator between an array and something else, on either side."""
    name = p.some()
    known = p.pool[name]
    op = p.pick(OPERATORS)
    if op == "**" and known.dtype in WHOLE:
        op = "+"  # the reference computes powers of whole numbers in float32
    other, shape, dtype = p.number(), known.shape, known.dtype
    if p.chance(0.55):
        second = p.some(
            lambda a: _together(a.shape, known.shape) and (a.dtype == dtype or p.chance(0.1))
        )
        other, shape = second, _together(p.pool[second].shape, known.shape)
    elif p.chance(0.15):
        last = list(range(1, known.shape[-1] + 1))
        other = p.pick((f"np.array({last}, '{dtype}')", f"{last}", "None", "'2'", "[1]"))
    text = f"{name} {op} {other}" if p.chance(0.6) else f"{other} {op} {name}"
    text = p.pick((text, text, text, f"-({text})", f"abs({text})", f"({text}) + {name}"))
    p.made(text, shape, dtype)
    if shape is None or other[0] in "[N'" or other.startswith("np.array"):
        p.pool[f"a{p.count}"].shape = None


def inplace(p):
    """An in-place operator; other names of the array see it."""
    name = p.some()
    known = p.pool[name]
    op = p.pick(("+", "-", "*", "/", "%", "+", "*", "**", "//"))
    other = p.number()
    if p.chance(0.5):
        # not of the same memory: the reference reads what it has just written
        others = [
            n
            for n, a in p.pool.items()
            if a.stype == "default"
            and a.shape
            and a.of != known.of
            and _together(a.shape, known.shape) == known.shape
        ]
        other = p.pick(others) if others else "2"
    if p.chance(0.1):
        other = f"np.ones({known.shape}, '{known.dtype}')"
    if p.chance(0.3):
        text, index = key(p, known.shape, 0.8, written=True)
        if _shape_at(known.shape, index):
            p.add(f"{name}[{text}] {op}= {p.number()}")
            return
    p.add(f"{name} {op}= {other}")


# ── Gradients ───────────────────────────────────────────────────────────────────────────────

RECORDED = """
{y} = {x} * {x}
{y} = {x} * 2 + 1
{y} = ({x} + {o}) * {x}
{y} = nd.exp({x} / 10)
{y} = {x}.sum()
{y} = ({x} * 1).mean(axis=0)
{y} = {x}[0]
{y} = {x}[0] * {x}[-1]
{y} = {x}[:, 0] * 2
{y} = {x}[0:1]
{y} = {x}[[0, 0]] * 3
{y} = {x}[::2]
{y} = {x}[..., None] * 2
{y} = {x}[nd.array([0])]
{y} = {x}.reshape((-1,)) * 3
{y} = {x}.reshape((-1,))[1:3]
{y} = {x}.T
{y} = {x}.flatten()
{y} = {x}.detach() * {x}
{y} = nd.BlockGrad({x}) * {x}
{y} = nd.concat({x}, {x} * 2, dim=0)
{y} = nd.stack({x}, {o})
{y} = nd.where({x} > 1, {x}, {o})
{y} = ({x} * 1).astype('float64') * 2
{y} = ({x} * 1).copy() * {x}
{y} = ({x} * 1).copyto(mx.cpu())
{y} = ({x} * 1).as_in_context(mx.cpu(1)) * 2
{y} = nd.dot({x}, {x}, transpose_b=True)
{y} = {x}.max(axis=-1)
{y} = ({x} * 1).clip(0, 2)
{y} = {x} ** 2
{y} = 2 ** {x}
{y} = 1 / ({x} + 5)
{y} = {x} > 1
{y} = abs({x})
{y} = {x}.norm()
{y} = nd.softmax({x})
{y} = {x}.take(nd.array([0, 0]))
{y} = nd.SoftmaxOutput({x} * 1, nd.zeros(({n},)))
{y} = nd.make_loss({x})
{y} = {x}
{o} *= {x}
{o}[:] = {x} * 2
{o}[0] = {x}[0]
{y} = {o} * 2
{y} = {x}.split({n}, axis=0)[0]
{y} = nd.split({x}, num_outputs={n}, axis=0)
{y} = {x}.expand_dims(0) * {o}
{y} = nd.Dropout({x}, p=0)
{y} = [{x} * 2, {x} * 3][1]
{y} = {x}.zeros_like() + {x}
nd.broadcast_mul({x}, {o}, out={o})
{y} = nd.broadcast_add({x}, {o})
{y} = float({x}.sum().asscalar()) * {x}
{y} = {x} if {x}.sum() > 1.01 else {x} * 5
{y} = Square()({x} * 1)
{y} = Two()({x} * 1, {o} * 1)[0]
{y} = nd.Custom({x}, op_type='arrays_twice')
{y} = nd.contrib.foreach(lambda d, s: (d + s, d * s), {x}, {x}[0])[0]
{y} = nd.contrib.cond({x}.sum() > 3.01, lambda: {x} * 2, lambda: {x} * 5)
{y} = nd.contrib.while_loop(lambda i: i.sum() < 9, lambda i: (i, i * 2), {x} + 1, 3)[1]
{y} = {x} * {x} - {o}
{y} = nd.FullyConnected({x}, {o}, no_bias=True, num_hidden={n})
{y} = ({x} * 1)[-1:] + {o}
{y} = nd.pick({x}, nd.zeros(({n},)))
{y} = nd.topk({x}, ret_typ='value')
{y} = nd.broadcast_to({x}[0:1], {o}.shape) * {o}
{y} = nd.square({x}).sum(axis=0, keepdims=True)
{y} = {x}.tile((2, 1)) * 2
{y} = {x}.slice_axis(axis=1, begin=0, end=1)
{y} = nd.relu({x} - 1)
{y} = nd.Activation({x}, act_type='sigmoid')
"""

SQUARE = """class Square(mx.autograd.Function):
    def forward(self, x):
        self.save_for_backward(x)
        return x * x
    def backward(self, dy):
        x, = self.saved_tensors
        return 2 * x * dy"""
TWO = """class Two(mx.autograd.Function):
    def forward(self, x, y):
        return x + y, x - y
    def backward(self, one, two):
        return one + two, one - two"""
TWICE = """class Twice(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] * (3 if is_train else 2))
    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * 2)"""
TWICE_PROP = """@mx.operator.register('arrays_twice')
class TwiceProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, shapes, dtypes):
        return Twice()"""


CLASSES = {"Square": (SQUARE,), "Two": (TWO,), "arrays_twice": (TWICE, TWICE_PROP)}
BACKWARD = """
{y}.backward({keep})
{y}.backward({keep})
{y}.backward(nd.ones_like({y}) * 3)
{y}.backward(out_grad=nd.ones({s}))
{y}.backward(nd.ones_like({y}), True)
mx.autograd.backward({y})
mx.autograd.backward([{y}], [nd.ones_like({y})], {keep})
mx.autograd.backward([{y}])
mx.autograd.backward([{y}], head_grads=[None])
mx.autograd.backward([{y}, {x} * 1])
mx.autograd.grad({y}, {x})
mx.autograd.grad([{y}], [{x}])
mx.autograd.grad({y}, [{x}, {o}])
mx.autograd.grad({y}, {x}, head_grads=nd.ones_like({y}) * 2, retain_graph=True)
mx.autograd.grad(heads=[{y}], variables=[{x}], head_grads=[nd.ones_like({y})])
{y}.backward(train_mode=False)
{y}.sum().backward()
"""
HIGHER = """with mx.autograd.record():
    {y} = nd.sin({x}) + nd.elemwise_mul({x}, {x})
    {z} = mx.autograd.grad({y}, {x}, create_graph=True, retain_graph=True)[0] * 2"""
AFTER = """
{x}.grad[:] = 0
{x}.grad += 1
{x}.attach_grad()
{x}._fresh_grad
{x}.detach().grad
{x}[0].grad
{x} = {x} * 1
mx.autograd.get_symbol({y}).list_arguments()
{x}.zero_grad()
{x} -= 0.1 * {x}.grad
{x}[:] = {x} - 0.1 * {x}.grad
nd.sgd_update({x}, {x}.grad, lr=0.1, out={x})
"""


def gradient(p):
    """A recorded segment and its gradients."""
    x = p.some(lambda a: len(a.shape) == 2 and (a.dtype == "float32" or p.chance(0.1)))
    shape = p.pool[x].shape
    other = p.made(p.numbers(shape, p.pool[x].dtype), shape, p.pool[x].dtype)
    req = p.pick(("", "", "", "'add'", "grad_req='add'", "'null'", "grad_req='write'"))
    p.add(f"{x}.attach_grad({req})")
    if p.chance(0.3):
        p.add(f"{other}.attach_grad()")
    if p.chance(0.1) and p.pool[x].dtype == "float32":
        p.add(
            p.pick(
                (
                    f"mx.autograd.mark_variables([{x}], [mx.nd.zeros({shape})])",
                    f"mx.autograd.mark_variables({x}, mx.nd.ones({shape}), 'add')",
                    f"mx.autograd.mark_variables([{x}], [mx.nd.zeros({shape})], grad_reqs='add')",
                )
            )
        )
    for _ in range(p.pick((1, 1, 2))):
        _segment(p, x, other, shape)


def _segment(p, x, other, shape):
    """A block of ``record`` with a call of ``backward`` or ``grad`` after it."""
    y = p.name("y")
    words = {"x": x, "y": y, "o": other, "s": shape, "z": p.name("z"), "keep": ""}
    if p.chance(0.3):
        words["keep"] = "retain_graph=True"
    body = _recorded(p, words, shape[0])
    mode = p.pick(("", "", "", "train_mode=False", "False"))
    block = f"with mx.autograd.record({mode}):" + "".join("\n    " + line for line in body)
    if p.chance(0.12):
        inner = p.pick(("pause()", "pause(train_mode=True)", "predict_mode()", "train_mode()"))
        block += f"\n    with mx.autograd.{inner}:\n        {y} = {y} * 2"
    if p.chance(0.15):
        block += f"\n    {y}.backward()"
    p.add(block)
    p.add(_row(p, BACKWARD)[0].format(**words))
    if any(line.startswith((f"{other} ", f"{other}[", "nd.broadcast")) for line in body):
        p.add(f"{other}[:] = 3")  # a refused write has happened in the reference
    for shows in (f"{x}, {x}.grad", y, f"{other}, {other}.grad"):
        p.add(shows)
    if p.chance(0.1):
        line = p.pick((f"{x} += 1", f"{x}[0] = 5", f"{x}[:] = 2", f"{y}[:] = 1", f"{x} *= {y}"))
        p.add(f"with mx.autograd.record():\n    {y} = {x} * 2\n    {line}")
        p.add(f"{x}[:] = 2")
        p.add(f"{y} = {x} * 1")
    if p.chance(0.6 if words["keep"] else 0.1):
        p.add(f"{y}.backward()")
        p.add(f"{x}.grad")
    if p.chance(0.15):
        p.add(HIGHER.format(**words))
        p.add("{z}.backward()".format(**words))
        p.add("{z}, {x}.grad".format(**words))
    if p.chance(0.15):
        p.add(_row(p, AFTER)[0].format(**words))


def _recorded(p, words, rows):
    """Statements to record; classes that they use are lines before."""
    x, y, body = words["x"], words["y"], []
    for _ in range(p.random.randint(1, 3)):
        line = p.pick(RECORDED.strip().splitlines())
        for name, classes in CLASSES.items():
            if name in line and classes[0] not in p.lines:
                for each in classes:
                    p.add(each)
        body.append(line.format(**dict(words, x=x), n=rows))
        if line.startswith("{y} =") and p.chance(0.5):
            x = y
    if not any(line.startswith(y) for line in body):
        body.append(f"{y} = {words['x']} * 4")
    if p.chance(0.15):
        body.insert(p.random.randint(0, len(body)), "mx.autograd.is_training()")
    return body


# ── Programs ────────────────────────────────────────────────────────────────────────────────

TEMPLATES = (
    *(create, read, write, write_row, view, convert, arithmetic, inplace, call, shown, files),
    *(sparse, sparse_use, gradient, loop, update, mistake),
)
THEMES = (
    # weights of the templates, in their order
    (3, 8, 6, 6, 8, 2, 2, 4, 1, 2, 0, 0, 0, 0, 0, 0, 2),
    (3, 1, 1, 1, 2, 3, 8, 5, 6, 3, 1, 0, 0, 0, 0, 0, 2),
    (3, 1, 1, 1, 1, 1, 1, 1, 14, 2, 0, 0, 0, 0, 0, 0, 2),
    (2, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 4, 12, 0, 0, 0, 1),
    (3, 2, 2, 1, 2, 0, 1, 1, 1, 0, 0, 0, 0, 6, 1, 1, 1),
    (3, 3, 3, 3, 3, 2, 3, 3, 4, 3, 1, 1, 2, 1, 1, 1, 3),
)


def draw(random):
    """The lines of one program."""
    p = Program(random)
    p.add("nd = mx.nd")
    weights = random.choice(THEMES)
    for _ in range(random.randint(1, 3)):
        create(p)
    length = random.randint(6, 26)
    while len(p.lines) < length:
        random.choices(TEMPLATES, weights)[0](p)
        if p.chance(0.2):
            p.add("[" + ", ".join(p.pool) + "]")
    p.add("[" + ", ".join(p.pool) + "]")
    p.add("[" + ", ".join(f"{name}.asnumpy()" for name in p.pool) + "]")
    return p.lines

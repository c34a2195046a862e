"""Calls found in other people's programs; expected values are those of MXNet 1.9.1."""

import ctypes
import logging
import threading

import numpy as np
import pytest

import modkit as mx
from modkit.base import NDArrayHandle, py_str

X = mx.sym.Variable("x")


def network():
    data = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    return mx.sym.SoftmaxOutput(data, name="softmax")


def bound(**options):
    module = mx.mod.Module(network(), **options)
    module.bind([("data", (2, 4))], [("softmax_label", (2,))])
    module.init_params(mx.init.One())
    return module


def bound_to(net):
    """A module over a batch of eight samples."""
    module = mx.mod.Module(net, ["x"], [])
    module.bind([("x", (8, 4))])
    return module


def dropped_out():
    """A forward pass in training mode over a batch without labels."""
    module = bound()
    module.forward(mx.io.DataBatch([mx.nd.ones((2, 4))]), is_train=True)
    return module.get_outputs()[0]


def into(function, *arguments):
    """The array that a call writes to, given by position behind the parameters."""
    out = mx.nd.zeros((2,))
    assert function(*arguments, out) is out
    return out


W, B, M = (mx.sym.Variable(name) for name in "wbm")
DENSE = mx.sym.FullyConnected(X, num_hidden=3, name="fc")


def described(net):
    return net.list_arguments(), net.list_auxiliary_states(), net.list_attr()


def shown_names(net):
    """The names that an executor's own monitor callback has."""
    executor, seen = net.simple_bind(mx.cpu(), x=(1, 2)), []
    executor.set_monitor_callback(lambda name, array: seen.append(name))
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones((1, 3)))
    return seen


RANGES = [
    # shape, the slices, whether MXNet calls them contiguous
    ((3, 2), np.s_[1:2, :], True),
    ((3, 2), np.s_[1:2, 1:2], True),
    ((3, 2), np.s_[0:2, 0:1], False),
    ((3, 2), np.s_[::-1, :], False),
    ((3, 2), np.s_[2:1, ::-1], True),
    ((1, 4), np.s_[::-1, 1:3], True),
    ((2, 4), np.s_[:, ::2], False),
    ((), (), True),
]


@pytest.mark.parametrize(("shape", "slices", "want"), RANGES)
def test_slices_that_are_one_range(shape, slices, want):
    assert mx.nd.NDArray._basic_indexing_slice_is_contiguous(slices, shape) is want


CASES = [
    # what the program does, the value that MXNet gives
    (lambda: bound_to(mx.sym.MakeLoss(mx.sym.mean(X), name="loss")).output_shapes,
     [("loss_output", (8,))]),
    (dropped_out, np.full((2, 3), 1 / 3)),
    (lambda: into(mx.nd.sqrt, mx.nd.array([4, 9])), [2, 3]),
    (lambda: into(mx.nd.clip, mx.nd.array([4, 9]), 5, 6), [5, 6]),
    (lambda: mx.sym.sqrt(mx.sym.Variable("x"), "root").name, "root"),
    (lambda: mx.sym.clip(mx.sym.Variable("x"), 0, 1, "cut", {"__a__": "b"}).list_attr(),
     {"a_min": "0", "a_max": "1", "__a__": "b"}),
    (lambda: described(mx.sym.BatchNorm_v1(X, W, B, 0.25, 0.5, False, name="q")),
     (["x", "w", "b"], ["q_moving_mean", "q_moving_var"],
      {"eps": "0.25", "momentum": "0.5", "fix_gamma": "False"})),
    (lambda: described(mx.sym.BatchNorm_v1(X, None, None, 0.25, name="q")),
     (["x", "q_gamma", "q_beta"], ["q_moving_mean", "q_moving_var"], {"eps": "0.25"})),
    (lambda: described(mx.sym.BatchNorm_v1(X, W, B, moving_mean=M, name="q")),
     (["x", "w", "b"], ["m", "q_moving_var"], {})),
    (lambda: described(mx.sym.IdentityAttachKLSparseReg(X, 0.25, 0.5, 0.125, "q")),
     (["x"], ["q_moving_avg"],
      {"sparseness_target": "0.25", "penalty": "0.5", "momentum": "0.125"})),
    (lambda: described(DENSE._gen_atomic_symbol()), ([], [], {"num_hidden": "3"})),
    (lambda: (DENSE._gen_atomic_symbol().name, DENSE._gen_atomic_symbol().list_outputs()),
     ("", ["output"])),
    (lambda: mx.sym.split(X, num_outputs=2)._gen_atomic_symbol().list_outputs(),
     ["output0", "output1"]),
    (lambda: described(DENSE._gen_atomic_symbol()(M, name="new")),
     (["m", "new_weight", "new_bias"], [], {"num_hidden": "3"})),
    (lambda: DENSE._gen_atomic_symbol()(data=M, bias=B).list_arguments(), ["m", "weight", "b"]),
    (lambda: DENSE._gen_atomic_symbol()(M, name="new").infer_shape(m=(2, 4))[1], [(2, 3)]),
    (lambda: mx.sym.clip(X, np.float32(0.1), np.float16(1.6)).list_attr(),
     {"a_min": "0.1", "a_max": "1.6"}),
    (lambda: (X * np.float32(0.3)).list_attr(), {"scalar": "0.3"}),
    (lambda: X.debug_str(), "Variable:x\n"),
    (lambda: X.bind(mx.cpu(), [mx.nd.ones(2)]).grad_arrays, None),
    (lambda: X.bind(mx.cpu(), [mx.nd.ones(2)], grad_req="null").grad_arrays, None),
    (lambda: X.bind(mx.cpu(), [mx.nd.ones(2)], {}).grad_arrays, [None]),
    (lambda: X.simple_bind(mx.cpu(), x=(2,), grad_req="null").grad_arrays, [None]),
    (lambda: shown_names(DENSE), [b"fc_output", b"_head_grad_0_id_output", b"fc_backward_output0",
                                  b"fc_backward_output1", b"fc_backward_output2"]),
]  # fmt: skip


@pytest.mark.parametrize(("program", "want"), CASES)
def test_results(program, want):
    got = program()
    if isinstance(got, mx.nd.NDArray):
        np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-5)
    else:
        assert got == want


class Collector:
    """MXNet's own collector of layers' outputs for quantization, and its copies."""

    def __init__(self):
        self.seen = {}

    def collect(self, name, arr):
        arr = ctypes.cast(arr, NDArrayHandle)
        self.seen[py_str(name)] = mx.nd.NDArray(arr, writable=False).copyto(mx.cpu())


def test_monitor_callbacks_pass_arrays_through_ctypes():
    executor = (X * 2).simple_bind(mx.cpu(), x=(2,))
    collector = Collector()
    executor.set_monitor_callback(collector.collect)
    executor.forward(x=mx.nd.array([1, 2]))
    ((name, value),) = collector.seen.items()
    assert name.endswith("_output") and value.asnumpy().tolist() == [2, 4]


def test_handles_share_the_value_of_an_array():
    array = mx.nd.ones(2)
    shared, kept = mx.nd.NDArray(array.handle), mx.nd.NDArray(array, writable=False)
    shared[:] = 3
    assert array.asnumpy().tolist() == [3, 3] and kept.asnumpy().tolist() == [1, 1]
    kept = mx.nd.NDArray(array.handle, False)  # MXNet's second argument is `writable`
    shared[:] = 4
    assert mx.nd.NDArray(handle=array.handle).asnumpy().tolist() == [4, 4]
    assert kept.asnumpy().tolist() == [3, 3]
    array.attach_grad()
    with mx.autograd.record():
        cubed = mx.nd.NDArray(array.handle) ** 3
    cubed.backward()
    assert array.grad.asnumpy().tolist() == [48, 48]
    with pytest.raises(ValueError, match="got int, expected an NDArray or the handle"):
        mx.nd.NDArray(5)
    handle = mx.nd.ones(2).handle
    with pytest.raises(ValueError, match="keep a reference"):
        mx.nd.NDArray(handle)
    with pytest.raises(ValueError, match="keep a reference"):
        mx.nd.NDArray(NDArrayHandle())


def test_rows_by_the_private_names_of_mxnet_are_views():
    array = mx.nd.array([[1, 2], [3, 4], [5, 6]])
    array._slice(0, 2)[:] = 7
    array._at(np.int64(-1))[:] = 9
    assert array.asnumpy().tolist() == [[7, 7], [7, 7], [9, 9]]
    assert array._slice(1, 9).shape == (2, 2) and array._slice(None, 2)._at(1).shape == (2,)
    with pytest.raises(IndexError):
        array._at(-4)
    with pytest.raises(TypeError):
        array._at(mx.nd.array([1]))
    array._sync_copyfrom(np.arange(6).reshape(3, 2))
    assert array.asnumpy().tolist() == [[0, 1], [2, 3], [4, 5]]
    with pytest.raises(ValueError, match=r"got shape \(2,\), expected \(3, 2\)"):
        array._sync_copyfrom([1, 2])


def test_inputs_of_a_group_by_name():
    net = mx.sym.SoftmaxOutput(mx.sym.Variable("data"), name="softmax")
    module = mx.mod.Module(net, context=[mx.cpu(0), mx.cpu(1)])
    module.bind([("data", (4, 2))], [("softmax_label", (4,))])
    shared = module._exec_group.shared_data_arrays
    assert [{n: a.shape for n, a in each.items()} for each in shared] == [
        {"data": (2, 2), "softmax_label": (2,)}
    ] * 2


def test_element_types_by_number():
    """MXNet's tables, which programs read."""
    types = [np.float32, np.float64, np.float16, np.uint8, np.int32, np.int8, np.int64, np.bool_]
    numbers, found = mx.nd._DTYPE_NP_TO_MX, mx.nd.ndarray._DTYPE_MX_TO_NP
    assert [numbers[t] for t in (None, *types)] == list(range(-1, 8))
    assert [found[n] for n in range(-1, 8)] == [None, *types]


def test_the_default_context_of_a_thread_is_assigned():
    before, seen = mx.Context._default_ctx.value, []
    mx.Context._default_ctx.value = mx.cpu(3)
    try:
        other = threading.Thread(target=lambda: seen.append(mx.current_context()))
        other.start()
        other.join()
        with mx.cpu(4):
            seen.append(mx.Context._default_ctx.value)
            assert mx.Context.default_ctx == mx.cpu(1).default_ctx == mx.cpu(4)
            mx.Context.default_ctx = mx.cpu(5)
            assert mx.current_context() == mx.cpu(5)
        seen.append(mx.nd.zeros(1).context)
    finally:
        mx.Context._default_ctx.value = before
    assert seen == [mx.cpu(0), mx.cpu(4), mx.cpu(3)]
    assert mx.current_context() == mx.cpu(0)


REFUSED = [
    (lambda: (X * 2).bind(mx.cpu(), [mx.nd.ones(2)], []), ValueError, "args_grad: got 0 arrays"),
    (lambda: X._gen_atomic_symbol(), ValueError, "'x' is a variable"),
    (lambda: DENSE._gen_atomic_symbol()(X, W, B, M), ValueError, "got 4 inputs, expected 3"),
    *((call, mx.MXNetError, "got no inputs, as _gen_atomic_symbol leaves it, expected data, w")
      for call in (lambda: DENSE._gen_atomic_symbol().infer_shape(),
                   lambda: DENSE._gen_atomic_symbol().infer_type(),
                   lambda: DENSE._gen_atomic_symbol().bind(mx.cpu(), []))),
    # what the program does, the built-in class of MXNet's error, what the message says
    (lambda: mx.nd.ones(2).copyto(3), TypeError, "got int, expected an NDArray or a Context"),
    (lambda: bound().forward_backward(mx.io.DataBatch([mx.nd.ones((2, 4))])), ValueError,
     "the batch has none"),
    (lambda: mx.nd.sqrt(mx.nd.ones(2), mx.nd.ones(2), out=mx.nd.ones(2)), ValueError,
     "got 'out' twice"),
    (lambda: mx.nd.sqrt(mx.nd.ones(2), mx.nd.ones(2), "root", 3), ValueError,
     "got 4 positional arguments"),
]  # fmt: skip


@pytest.mark.parametrize(("program", "kind", "words"), REFUSED)
def test_errors(program, kind, words):
    with pytest.raises(kind, match=words):
        program()


@pytest.mark.filterwarnings("ignore:FeedForward")
@pytest.mark.parametrize(("size", "epochs", "ends"), [(None, 2, [0, 1]), (1, 5, [2, 4])])
def test_feedforward_logs_the_lines_of_mxnet(size, epochs, ends, caplog):
    caplog.set_level(logging.INFO)
    model = mx.model.FeedForward(network(), num_epoch=epochs, numpy_batch_size=3, epoch_size=size)
    model.fit(np.ones((6, 4)), np.arange(6) % 3)
    lines = [line for line in caplog.messages if line.startswith(("Start", "Epoch"))]
    assert [line for line in lines if "Time cost" not in line] == [
        "Start training with [cpu(0)]",
        *(f"Epoch[{end}] Resetting Data Iterator" for end in ends),
    ]


@pytest.mark.filterwarnings("ignore:FeedForward")
@pytest.mark.parametrize(
    ("options", "size", "want"),
    [
        ({}, None, "batch 1,batch 2,Reset,Time,Validation"),
        ({}, 1, "batch 1,Time,Validation"),
        ({}, 3, "batch 1,batch 2,Reset,batch 3,Time,Validation"),
        ({"eval_end_callback": lambda _: None}, None, "batch 1,batch 2,Reset,Time"),
    ],
)
def test_the_order_of_feedforwards_lines(options, size, want, caplog):
    caplog.set_level(logging.INFO)
    model = mx.model.FeedForward(network(), num_epoch=1, numpy_batch_size=3, epoch_size=size)
    data = mx.io.NDArrayIter(np.ones((6, 4)), np.arange(6) % 3, 3)
    model.fit(
        data,
        eval_data=mx.io.NDArrayIter(np.ones((6, 4)), np.arange(6) % 3, 3),
        batch_end_callback=lambda param: logging.info("batch %d", param.nbatch),
        **options,
    )
    words = ("batch 1", "batch 2", "batch 3", "Reset", "Train", "Time", "Validation")
    lines = [next((w for w in words if w in line), None) for line in caplog.messages]
    assert ",".join(filter(None, lines)) == want

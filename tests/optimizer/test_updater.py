"""States: their layouts, their bytes, and what may not be read from bytes."""

import os
import pickle
import pickletools

import numpy as np
import pytest

import modkit.ndarray as nd
from modkit import optimizer as opt
from modkit.compile.executables import cache_info
from modkit.compile.program import Program
from modkit.context import cpu
from modkit.errors import FileFormatError, NotSupportedError, ShapeError
from modkit.lr_scheduler import FactorScheduler, LRScheduler
from modkit.ndarray import NDArray
from modkit.ndarray.random import seed as mx_seed
from modkit.optimizer import eager_update

W16 = {"multi_precision": True}

# optimizer, parameters, layout of the state of a float32 weight, and of a float16 one. Here s is
# an array like the weight, w a float32 copy of it, n nothing.
LAYOUTS = [
    ("sgd", {}, "n", ("n", "w")),
    ("sgd", {"momentum": 0.9}, "s", ("s", "w")),
    ("nag", {"momentum": 0.9}, "s", ("s", "w")),
    ("lars", {"momentum": 0.9}, "s", ("s", "w")),
    ("signum", {}, "s", ("w", "s")),
    ("signum", {"momentum": 0}, "n", ("w", "n")),
    ("adam", {}, ("s", "s"), ("w", ("s", "s"))),
    ("adamax", {}, ("s", "s"), ("w", ("s", "s"))),
    ("nadam", {}, ("s", "s"), ("w", ("s", "s"))),
    ("rmsprop", {}, ("s",), ("w", ("s",))),
    ("rmsprop", {"centered": True}, ("s", "s", "s"), ("w", ("s", "s", "s"))),
    ("adagrad", {}, "s", ("w", "s")),
    ("adadelta", {}, ("s", "s"), ("w", ("s", "s"))),
    ("ftrl", {}, ("s", "s"), ("w", ("s", "s"))),
    ("ftml", {}, ("s", "s", "s"), ("w", ("s", "s", "s"))),
    ("lamb", {}, ("s", "s"), ("w", ("s", "s"))),
    ("dcasgd", {}, ("n", "w"), ("w", ("n", "w"))),
    ("dcasgd", {"momentum": 0.9}, ("s", "w"), ("w", ("s", "w"))),
    ("sgld", {}, "n", ("w", "n")),
    ("lbsgd", {"momentum": 0.9}, "s", ("w", "s")),
    ("test", {}, "s", ("w", "s")),
]


def _layout(state):
    if state is None:
        return "n"
    if isinstance(state, NDArray):
        return "w" if state.asnumpy().any() else "s"
    assert type(state) is tuple
    return tuple(_layout(s) for s in state)


@pytest.mark.parametrize(("name", "params", "plain", "low"), LAYOUTS)
def test_layouts_are_mxnets(name, params, plain, low):
    made = opt.create(name, **params, **W16)
    assert _layout(made.create_state_multi_precision(0, nd.ones((2, 3)))) == plain
    state = made.create_state_multi_precision(0, nd.ones((2, 3), dtype="float16"))
    assert _layout(state) == low
    for array in _leaves(state):
        assert (array.dtype, array.shape) == (np.float32, (2, 3))


def _leaves(state):
    if isinstance(state, tuple):
        return [a for s in state for a in _leaves(s)]
    return [] if state is None else [state]


@pytest.mark.parametrize(("name", "params"), [r[:2] for r in LAYOUTS])
@pytest.mark.parametrize("dump", [False, True])
def test_bytes_keep_everything(name, params, dump):
    if name == "sgld":
        pytest.skip("noise: two runs differ")
    schedule = FactorScheduler(1, 0.5, base_lr=0.1)
    made = opt.create(name, lr_scheduler=schedule, learning_rate=0.1, **params)
    updater, weight = opt.get_updater(made), nd.array([[1.0, -2.0]])
    for _ in range(2):
        updater("w", nd.array([[0.5, 0.25]]), weight)
    saved, here = updater.get_states(dump_optimizer=dump), weight.copy()
    again = opt.get_updater(opt.create("sgd") if dump else made)
    again.set_states(saved)
    assert (type(again.optimizer) is type(made)) and (again.optimizer is not made) == dump
    if not dump:
        again.optimizer = pickle.loads(pickle.dumps(made))
    for _ in range(3):
        updater("w", nd.array([[0.5, 0.25]]), weight)
        again("w", nd.array([[0.5, 0.25]]), here)
    np.testing.assert_array_equal(weight.asnumpy(), here.asnumpy())


@pytest.mark.parametrize(("size", "near"), [(2, True), (20_000, False)])
def test_all_updates_of_a_signature_run_in_one_place(size, near):
    """A training that goes on elsewhere has the same bits: no count of calls decides."""
    updater, weight = opt.get_updater(opt.create("ftml")), nd.ones((size,))
    updater(0, nd.ones((size,)), weight)
    assert weight._cell.is_on_host == near
    updater.get_states()
    assert all(state._cell.is_on_host == near for state in updater.states[0])


def test_bytes_name_nothing_but_mxnets_classes():
    made = opt.create("adam", lr_scheduler=FactorScheduler(2, 0.5))
    updater = opt.get_updater(made)
    updater(0, nd.ones((2,)), nd.ones((2,)))
    strings = [a for op, a, _ in pickletools.genops(updater.get_states(True)) if isinstance(a, str)]
    modules = {s for s in strings if "." in s or s == "builtins"}
    assert modules == {
        "mxnet.ndarray.ndarray", "builtins", "mxnet.optimizer.optimizer", "mxnet.lr_scheduler",
    }  # fmt: skip


def test_keys_and_odd_arrays():
    updater = opt.get_updater(opt.create("sgd", momentum=0.5))
    for key, shape in ((7, (2, 3)), ("name", (1,)), (b"bytes", (0, 2)), (2**40, (2,))):
        updater(key, *(nd.array(np.ones(shape)) for _ in range(2)))
    updater("wide", nd.ones((2,), dtype="float64"), nd.ones((2,), dtype="float64"))
    again = opt.get_updater(opt.create("sgd", momentum=0.5))
    again.set_states(updater.get_states())
    assert list(again.states) == [7, "name", "bytes", 2**40, "wide"]
    assert again.states["wide"].dtype == np.float64
    assert again.states["bytes"].shape == (0, 2)
    assert not any(again.states_synced.values())


def test_loaded_states_move_to_the_weight():
    updater = opt.get_updater(opt.create("adam"))
    updater(0, nd.ones((2,)), nd.ones((2,)))
    again = opt.get_updater(opt.create("adam"))
    again.set_states(updater.get_states())
    again(0, nd.ones((2,), ctx=cpu(1)), nd.ones((2,), ctx=cpu(1)))
    assert [s.context for s in again.states[0]] == [cpu(1), cpu(1)]


@pytest.mark.parametrize("row_sparse", [False, True])
@pytest.mark.parametrize("name", ["sgd", "nag", "signum"])
def test_states_of_a_momentum_that_was_set_to_0_are_loaded(name, row_sparse):
    """As in MXNet: a training that has set it goes on from its own states."""

    def trained(load):
        updater = opt.get_updater(opt.create(name, momentum=0.5, learning_rate=0.1, wd=0.1))
        weight, grad = nd.array([[1, 2], [3, 4]]), nd.array([[0, 0], [1, 2]])
        if row_sparse:
            grad = grad.tostype("row_sparse")
        for step in range(4):
            updater(0, grad, weight)
            updater.optimizer.momentum = 0.0
            if load and step == 1:
                states = updater.get_states(dump_optimizer=True)
                updater = opt.get_updater(opt.create(name))
                updater.set_states(states)
        return weight.asnumpy().tolist()

    assert trained(load=True) == trained(load=False)


def test_states_of_another_network_are_refused():
    updater = opt.get_updater(opt.create("adam"))
    updater(0, nd.ones((2,)), nd.ones((2,)))
    again = opt.get_updater(opt.create("adam", param_idx2name={0: "fc_weight"}))
    again.set_states(updater.get_states())
    with pytest.raises(ShapeError, match="'fc_weight'"):
        again(0, nd.ones((3,)), nd.ones((3,)))
    other = opt.get_updater(opt.create("sgd", momentum=0.5))
    other.set_states(updater.get_states())
    with pytest.raises(ShapeError, match="another network, optimizer or setting"):
        other(0, nd.ones((2,)), nd.ones((2,)))
    without = opt.get_updater(opt.create("sgd"))
    without.set_states(updater.get_states())
    words = r"^SGD: .* has shapes \(\(2,\), \(2,\)\), expected no states for this SGD;"
    with pytest.raises(ShapeError, match=words):
        without(0, nd.ones((2,)), nd.ones((2,)))


class Evil:
    def __reduce__(self):
        return os.getcwd, ()


class Schedule(LRScheduler):
    """One that the file may name, since it is imported."""

    def __call__(self, num_update):
        return 0.25


def test_a_scheduler_of_ones_own_is_kept():
    updater = opt.get_updater(opt.create("sgd", lr_scheduler=Schedule()))
    again = opt.get_updater(opt.create("sgd"))
    again.set_states(updater.get_states(True))
    assert again.optimizer.learning_rate == 0.25


BAD = [
    b"",
    b"xx",
    pickle.dumps([1, 2]),
    pickle.dumps({0: Evil()}),
    pickle.dumps({0: np.ones(2)}),
    pickle.dumps(Evil),
    b"cbuiltins\neval\n(S'1'\ntR.",
    b"cmxnet.optimizer.optimizer\nNoSuch\n.",
    b"cmxnet.lr_scheduler\nmath\n.",
    b"cmodkit.optimizer.base\nnp\n.",
]


@pytest.mark.parametrize("data", BAD, ids=range(len(BAD)))
def test_bad_bytes(data):
    with pytest.raises(FileFormatError):
        opt.get_updater(opt.create("sgd")).set_states(data)


def test_bytes_cut_anywhere_are_refused():
    updater = opt.get_updater(opt.create("adam"))
    updater(0, nd.ones((2,)), nd.ones((2,)))
    whole = updater.get_states(True)
    for end in range(0, len(whole), 7):
        with pytest.raises(FileFormatError):
            opt.get_updater(opt.create("sgd")).set_states(whole[:end])


def test_a_damaged_array_is_refused():
    updater = opt.get_updater(opt.create("sgd", momentum=0.5))
    updater(0, nd.ones((2,)), nd.ones((2,)))
    data = updater.get_states()
    magic = (0xF993FAC9).to_bytes(4, "little")
    assert data.count(magic) == 1
    for damaged in (
        data.replace(magic, b"\xff\xff\xff\xff"),
        data.replace(b"\x02" + bytes(7), b"\x01" + bytes(7)),
        data.replace(b"\x02" + bytes(7), b"\xff" * 4 + bytes(4)),
    ):
        assert damaged != data
        with pytest.raises(FileFormatError):
            opt.get_updater(opt.create("sgd")).set_states(damaged)


def test_not_bytes_at_all():
    with pytest.raises(FileFormatError, match="got str"):
        opt.get_updater(opt.create("sgd")).set_states("xx")


def test_what_cannot_be_saved_is_named():
    sgd = opt.create("sgd")
    sgd.mine = object()
    with pytest.raises(NotSupportedError, match="object"):
        opt.get_updater(sgd).get_states(True)


@pytest.mark.parametrize(
    ("name", "params", "alike", "apart"),
    [
        ("sgd", {}, 0.7, 0.7),
        ("sgd", {"momentum": 0.9}, 0.61, 0.7),
        ("adam", {}, 0.80348, 0.8),
        ("nag", {"momentum": 0.9}, 0.349, 0.43),
    ],
)
def test_a_weight_twice_in_a_list_is_updated_twice(name, params, alike, apart):
    """MXNet 1.9.1 gives these numbers, for one index and for two; the last update alone stayed."""
    for indices, want in (([0, 0], alike), ([0, 1], apart)):
        update = opt.get_updater(opt.create(name, learning_rate=0.1, **params))
        weight = nd.ones((3, 2))
        update(indices, [nd.ones((3, 2)), 2 * nd.ones((3, 2))], [weight, weight])
        np.testing.assert_allclose(weight.asnumpy(), want, rtol=1e-5)


@pytest.mark.filterwarnings("ignore:.*got a float16 weight")
@pytest.mark.parametrize(
    ("name", "params", "want"),
    [
        ("lars", {}, [1, 0.98, 1]),
        ("lars", {"sparse": True}, [1, 0.98, 1]),
        ("lbsgd", {"warmup_strategy": "lars"}, [1, -19, 1]),
        ("lbsgd", {"warmup_strategy": "lars", "sparse": True}, [1, -19, 1]),
        ("lamb", {}, [1, -19, 1]),
    ],
)
def test_the_norm_of_a_float16_weight_may_have_a_large_square(name, params, want):
    """MXNet 1.9.1 gives these numbers; its LBSGD gives NaN, as all of them did here."""
    weight = nd.ones((400, 400), dtype="float16")
    grad = np.zeros((400, 400), "float16")
    grad[3] = 1
    grad, params = nd.array(grad), dict(params)
    if params.pop("sparse", False):
        grad = grad.tostype("row_sparse")
    opt.get_updater(opt.create(name, learning_rate=1.0, **params))(0, grad, weight)
    np.testing.assert_allclose(weight.asnumpy()[2:5, 0], want, rtol=2e-3)


def test_nag_without_momentum_leaves_absent_rows():
    weight = nd.ones((3, 2))
    grad = nd.sparse.row_sparse_array((np.ones((1, 2), "float32"), [1]), shape=(3, 2))
    opt.create("nag", learning_rate=0.1, wd=0.5).update(0, weight, grad, None)
    assert weight.asnumpy()[:, 0].tolist() == pytest.approx([1, 0.85, 1])


def _trained(name, params, arrays, calls=3):
    mx_seed(5)
    updater = opt.get_updater(opt.create(name, learning_rate=0.1, **params))
    stream = np.random.RandomState(0)
    for _ in range(calls):
        for at, each in enumerate(arrays):
            updater(at, nd.array(stream.uniform(-1, 1, each.shape)), each)
    return updater, np.concatenate([a.asnumpy().ravel() for a in arrays])


LONG = ("lars", "ftml", "lamb", "sgld")
"""Optimizers whose update takes NumPy longer than a compiled call, however small the weight."""


@pytest.mark.parametrize(("name", "params"), [r[:2] for r in LAYOUTS if r[0] not in LONG])
def test_updates_of_small_arrays_on_the_host_compile_nothing(name, params):
    """The numbers are those of the compiled program; weights and states stay on the host."""
    shapes = [(2, 3), (4,)]
    near, far = ([nd.array(np.linspace(-1, 1, np.prod(s)).reshape(s)) for s in shapes]
                 for _ in range(2))  # fmt: skip
    for each in far:
        each._cell.peek()
    before = cache_info()["graphs"].executables
    updater, here = _trained(name, params, near)
    assert cache_info()["graphs"].executables == before
    assert all(a._cell.is_on_host for a in [*near, *_leaves(tuple(updater.states.values()))])
    _, there = _trained(name, params, far)
    assert cache_info()["graphs"].executables > before
    np.testing.assert_allclose(here, there, rtol=2e-5, atol=1e-6)


def test_updates_of_arrays_in_turn_keep_a_program_each():
    """A second list of the same rule does not make the first look for its program again."""
    updater = opt.get_updater(opt.create("sgd", momentum=0.5, clip_gradient=7))  # a rule of its own
    arrays = [nd.ones((n, 3)) for n in (2, 5)]
    for each in arrays:
        each._cell.peek()
    asked = []
    signature = Program._signature
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Program, "_signature", lambda *a: asked.append(a) or signature(*a))
        for _ in range(3):
            for at, each in enumerate(arrays):
                updater(at, nd.ones(each.shape), each)
    assert len(asked) == 2


def test_the_next_step_donates_an_updated_weight_without_a_copy():
    weight = nd.ones((4,))
    weight._cell.peek()
    opt.get_updater(opt.create("sgd"))(0, nd.ones((4,)), weight)
    assert not weight._cell.aliased


def test_a_long_list_is_updated_by_several_programs(monkeypatch):
    found, called = [], []
    of_types = eager_update._program
    monkeypatch.setattr(
        eager_update,
        "_program",
        lambda tree, types, *more: called.append(types) or of_types(tree, types, *more),
    )
    for most in (128, 3):
        monkeypatch.setattr(eager_update, "_MOST_IN_PROGRAM", most)
        update = opt.get_updater(opt.SGD(learning_rate=0.5, momentum=0.5))
        weights = [nd.ones((2,)) * i for i in range(7)]
        for _ in range(2):
            update(list(range(7)), [w * 2 for w in weights], weights)
        found.append([w.asnumpy().tolist() for w in (*weights, *update.states.values())])
    assert found[0] == found[1] and found[0][1] != found[0][2]
    assert [len(types) for types in called] == [7, 7, 3, 3, 1, 3, 3, 1]

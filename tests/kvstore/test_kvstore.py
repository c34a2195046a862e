"""Stores: keys, sums, updaters, states, and what they refuse, as MXNet 1.9.1 does it."""

import jax
import numpy as np
import pytest

import modkit as mx
import modkit.kvstore as kv
import modkit.ndarray as nd
from modkit import optimizer as opt
from modkit.context import cpu
from modkit.errors import (
    DTypeError,
    FileFormatError,
    MXNetError,
    NameNotFoundError,
    NotReadyError,
    NotSupportedError,
    ParameterError,
    ShapeError,
)
from modkit.kvstore.create import create_kvstore

TYPES = ["local", "device"]


def ones(value=1.0, shape=(2,), ctx=None):
    return nd.ones(shape, ctx=ctx) * value


def store(name="local", key=3):
    made = kv.create(name)
    made.init(key, ones())
    return made


def pulled(made, key=3):
    out = nd.zeros((2,))
    made.pull(key, out=out)
    return out.asnumpy().tolist()


# ── Making ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "name",
    [
        "local",
        "device",
        "nccl",
        "local_update_cpu",
        "local_allreduce_cpu",
        "local_allreduce_device",
    ],
)
def test_local_stores(name):
    made = kv.create(name.upper())
    assert (made.type, made.rank, made.num_workers) == (name, 0, 1)
    assert isinstance(made, kv.KVStore)
    assert made.is_capable("optimizer")
    with pytest.raises(ValueError, match="bogus"):
        made.is_capable("bogus")
    made.barrier()
    made._barrier()


def test_the_default_is_local():
    assert kv.create().type == "local"


@pytest.mark.parametrize("name", ["dist_async", "horovod", "byteps"])
def test_stores_that_are_not_here(name):
    with pytest.raises(NotSupportedError, match="use"):
        kv.create(name)


@pytest.mark.parametrize("name", [3, None, "distant"])
def test_no_stores_at_all(name):
    with pytest.raises(ParameterError, match="local"):
        kv.create(name)


@pytest.mark.parametrize("name", ["sgd", "", "p3", "Devices"])
def test_any_other_word_is_local_and_warned_of(name, caplog):
    assert type(kv.create(name)) is kv.KVStore and kv.create(name).type == name.lower()
    assert f"'local' is used, as there is no store {name!r}" in caplog.text


def test_a_store_of_ones_own():
    @kv.KVStoreBase.register
    class Mine(kv.KVStoreBase):
        """Nothing yet."""

    try:
        mine = kv.create("mine")
        assert mine.type == "mine"
        with pytest.raises(NotImplementedError, match="Mine has no pushpull"):
            mine.pushpull(1, ones())
    finally:
        del kv.KVStoreBase.kv_registry["mine"]
    with pytest.raises(ParameterError, match="KVStoreBase"):
        kv.KVStoreBase.register(int)


def test_the_small_example_store():
    made = kv.create("teststore")
    assert (made.type, made.rank, made.num_workers) == ("teststore", 0, 1)
    assert not made.is_capable(kv.KVStoreBase.OPTIMIZER)
    out = [ones(), ones(ctx=cpu(1))]
    made.broadcast("w", ones(3), out)
    assert [o.asnumpy().tolist() for o in out] == [[3, 3]] * 2
    values = [ones(2), ones(3, ctx=cpu(1))]
    made.pushpull("w", values)
    assert [v.asnumpy().tolist() for v in values] == [[5, 5]] * 2


# ── Values ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("key", [3, -3, "w", "12"])
def test_push_replaces_by_the_sum(name, key):
    made = store(name, key)
    assert pulled(made, key) == [1, 1]
    made.push(key, ones(5))
    assert pulled(made, key) == [5, 5]
    made.push(key, [ones(5), ones(2)], priority=-1)
    assert pulled(made, key) == [7, 7]
    made.push(key, [ones(i + 1, ctx=cpu(i)) for i in range(4)])
    assert pulled(made, key) == [10, 10]


@pytest.mark.parametrize("name", TYPES)
def test_each_array_gets_it_on_its_own_device(name):
    made = store(name)
    made.push(3, [ones(5, ctx=cpu(1)), ones(2, ctx=cpu(2))])
    out = [nd.zeros((2,), ctx=cpu(i)) for i in range(3)]
    made.pull(3, out=out)
    for i, each in enumerate(out):
        assert each.asnumpy().tolist() == [7, 7]
        assert each.context == cpu(i)
        assert each.to_jax().devices() == {cpu(i).jax_device}


def test_values_are_copied():
    made, begun = kv.create(), ones(3)
    made.init(1, begun)
    begun[:] = 7
    assert pulled(made, 1) == [3, 3]
    pushed = ones(4)
    made.push(1, pushed)
    pushed[:] = 9
    assert pulled(made, 1) == [4, 4]
    out = ones()
    made.pull(1, out)
    out[:] = 0
    assert pulled(made, 1) == [4, 4]


def test_types_follow_who_reads_and_what_was_there():
    made = store()
    made.push(3, ones(5).astype("float16"))
    out = nd.zeros((2,), dtype="float16")
    made.pull(3, out=out)
    assert (out.dtype, out.asnumpy().tolist()) == (np.float16, [5, 5])
    assert pulled(made) == [5, 5]
    whole = kv.create()
    whole.init(1, nd.ones((2,), dtype="int32"))
    whole.push(1, [nd.ones((2,), dtype="int32")] * 3)
    assert pulled(whole, 1) == [3, 3]


def test_lists_of_keys():
    made = kv.create()
    made.init([1, 2], [ones(), ones(2)])
    made.push([1, 2], [ones(3), [ones(4), ones(5)]])
    out = [ones(), [ones(), ones()]]
    made.pull([1, 2], out=out)
    assert [out[0].asnumpy()[0], *(o.asnumpy()[0] for o in out[1])] == [3, 9, 9]
    seen = []
    made.set_updater(lambda key, grad, weight: seen.append((key, grad.asnumpy()[0])))
    made.push((1, 2, 1), (ones(3), ones(4), ones(9)))
    assert seen == [(1, 12), (2, 4)]


@pytest.mark.parametrize("name", TYPES)
def test_pushpull_and_broadcast(name):
    made = kv.create(name)
    out = [ones(), ones(ctx=cpu(1))]
    made.broadcast("a", ones(3), out=out)
    assert [o.asnumpy()[0] for o in out] == [3, 3]
    made.pushpull("a", [ones(2), ones(3)], out=out)
    assert [o.asnumpy()[0] for o in out] == [5, 5]
    values = [ones(4), ones(5)]
    made.pushpull("a", values)
    assert [v.asnumpy()[0] for v in values] == [9, 9]
    assert pulled(made, "a") == [9, 9]


def test_an_updater_changes_what_is_stored():
    made, seen = store(key="w"), []

    def update(key, grad, weight):
        seen.append((key, grad.asnumpy().tolist(), weight.asnumpy().tolist()))
        weight += grad

    made._set_updater(update)
    made.push("w", [ones(5), ones(2)])
    assert pulled(made, "w") == [8, 8]
    assert seen == [(b"w", [7, 7], [1, 1])]  # bytes, as in MXNet


BAD = [
    (ParameterError, "initialised twice", lambda: store().init(3, ones())),
    (ParameterError, "initialised twice", lambda: kv.create().init([3, 3], [ones(), ones()])),
    (ParameterError, "got 2 values, expected one", lambda: kv.create().init(3, [ones(), ones()])),
    (ParameterError, "initialised twice", lambda: store().broadcast(3, ones(), out=ones())),
    (NameNotFoundError, "key 4 was not initialised", lambda: store().push(4, ones())),
    (NameNotFoundError, "Known keys: 3", lambda: store().pull(4, out=ones())),
    (NameNotFoundError, "not initialised", lambda: kv.create().pushpull("a", ones())),
    (MXNetError, "all keys of a store", lambda: store().init("a", ones())),
    (MXNetError, "all keys of a store", lambda: store().push("a", ones())),
    (AssertionError, "together", lambda: kv.create().init([3, "a"], [ones(), ones()])),
    (AssertionError, "of type float", lambda: kv.create().init(3.5, ones())),
    (AssertionError, "of type int64", lambda: kv.create().init(np.int64(3), ones())),
    (AssertionError, "of type bool", lambda: kv.create().init(True, ones())),
    (AssertionError, "1 values for 2 keys", lambda: kv.create().init([3, 4], [ones()])),
    (AssertionError, "got NDArray for 2 keys", lambda: kv.create().init([3, 4], ones())),
    (AssertionError, "got ndarray", lambda: kv.create().init(3, np.ones(2))),
    (AssertionError, "empty list", lambda: store().push(3, [])),
    (AssertionError, "out=None", lambda: store().pull(3)),
    (ShapeError, r"got shape \(3,\), expected \(2,\)", lambda: store().push(3, ones(1, (3,)))),
    (ShapeError, r"got shape \(3,\)", lambda: store().push(3, [ones(), ones(1, (3,))])),
    (ShapeError, r"got shape \(3,\)", lambda: store().pull(3, out=ones(1, (3,)))),
    (TypeError, "integer", lambda: store().push(3, ones(), priority="x")),
    (ParameterError, "pull", lambda: store().row_sparse_pull(3, ones(), row_ids=ones())),
    (AssertionError, "row_ids", lambda: store().row_sparse_pull(3)),
    (NotReadyError, "set_optimizer", lambda: store().save_optimizer_states("x")),
    (AssertionError, "set_optimizer", lambda: store().load_optimizer_states("x")),
    (ParameterError, "mx.optimizer.create", lambda: store().set_optimizer("sgd")),
]


@pytest.mark.parametrize(("error", "words", "call"), BAD, ids=range(len(BAD)))
def test_refusals(error, words, call):
    with pytest.raises(error, match=words):
        call()


def test_a_refused_init_stores_no_key():
    made = store()
    with pytest.raises(ParameterError, match="3 is initialised twice"):
        made.init([4, 3], [ones(), ones()])
    made.init(4, ones(7))
    assert pulled(made, 4) == [7, 7]


def _refused_calls():
    fits, other = nd.zeros((2,)), nd.zeros((3,))
    return {
        "push": (lambda s: s.push([3, 4], [ones(5), other]), fits),
        "push of an unknown key": (lambda s: s.push([3, 9], [ones(5), fits]), fits),
        "pull": (lambda s: s.pull([3, 4], [fits, other]), fits),
        "pull of several": (lambda s: s.pull(3, [fits, other]), fits),
        "pushpull": (lambda s: s.pushpull(3, ones(5), [fits, other]), fits),
    }


@pytest.mark.parametrize("name", _refused_calls())
def test_a_refused_call_writes_nothing(name):
    made = store()
    made.init(4, ones())
    call, fits = _refused_calls()[name]
    with pytest.raises((ShapeError, NameNotFoundError)):
        call(made)
    assert pulled(made) == pulled(made, 4) == [1, 1]
    assert fits.asnumpy().tolist() == [0, 0]


def test_a_refused_row_sparse_pull_writes_nothing():
    made, out = store(), nd.sparse.zeros("row_sparse", (2,))
    with pytest.raises(ParameterError, match="got rows 5"):
        made.row_sparse_pull([3, 3], [out, out], row_ids=[nd.array([0]), nd.array([5])])
    assert not out.indices.size


def test_a_refused_push_leaves_the_residuals_of_compression():
    made = kv.create("device")
    made.set_gradient_compression({"type": "2bit", "threshold": 0.5})
    made.init([3, 4], [ones(0), ones(0)])
    with pytest.raises(DTypeError):
        made.push([3, 4], [ones(0.3), ones(0.3).astype("float64")])
    made.push(3, ones(0.3))
    assert pulled(made) == [0, 0]  # 0.6 would be above the threshold


def test_a_refused_broadcast_stores_no_key():
    made = kv.create()
    with pytest.raises(ShapeError, match=r"kvstore\.broadcast: key 3"):
        made.broadcast(3, ones(), out=[ones(), nd.zeros((3,))])
    made.init(3, ones(7))
    assert pulled(made) == [7, 7]


@pytest.mark.parametrize("count", [1, 3])
def test_small_values_are_summed_on_the_host(count):
    made, values = store(), [nd.array([1, 2]) for _ in range(count)]
    made.push(3, values)
    assert made._stored[3]._cell.is_on_host
    assert pulled(made) == [count, 2 * count]


def test_an_updater_that_writes_the_sum_leaves_the_pushed_array():
    def update(_key, grad, weight):
        grad *= 10
        weight += grad

    made, value = store(), nd.array([1, 2])
    made.set_updater(update)
    made.push(3, value)
    assert pulled(made) == [11, 21]
    assert value.asnumpy().tolist() == [1, 2]


def test_values_of_several_types_are_summed():
    made = store()
    made.push(3, [nd.array([1, 2], dtype="int32"), nd.array([0.5, 0.5])])
    assert pulled(made) == [1.5, 2.5]


def test_names_of_stores_in_capitals(monkeypatch):
    assert create_kvstore("LOCAL", 1, {}) == (None, False)
    large = {"w": jax.ShapeDtypeStruct(((1 << 24) + 1,), "float32")}
    for name in ("local", "LOCAL"):
        assert create_kvstore(name, 2, large)[1] is False
    monkeypatch.setenv("MXNET_UPDATE_ON_KVSTORE", "false")
    with pytest.raises(ParameterError, match="MXNET_UPDATE_ON_KVSTORE: got 'false'"):
        create_kvstore("device", 2, {})


# ── The optimizer ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("dump", [False, True])
@pytest.mark.parametrize("key", [3, "w"])
def test_the_optimizer_and_its_states(name, dump, key, tmp_path):
    made = store(name, key)
    made.set_optimizer(opt.create("sgd", momentum=0.9, learning_rate=0.1))
    made.push(key, [ones(), ones(ctx=cpu(1))])
    np.testing.assert_allclose(pulled(made, key), 0.8, rtol=1e-6)
    file = tmp_path / "x.states"
    made.save_optimizer_states(str(file), dump_optimizer=dump)
    other = kv.create(name)
    other.init(key, ones(0.8))
    other.set_optimizer(opt.create("sgd", momentum=0.9, learning_rate=0.1))
    other.load_optimizer_states(str(file))
    other.push(key, [ones(), ones()])
    np.testing.assert_allclose(pulled(other, key), 0.42, rtol=1e-6)


def test_a_file_that_holds_no_states(tmp_path):
    made = store()
    made.set_optimizer(opt.create("sgd"))
    (tmp_path / "x.states").write_bytes(b"nothing")
    with pytest.raises(FileFormatError):
        made.load_optimizer_states(str(tmp_path / "x.states"))
    with pytest.raises(FileNotFoundError):
        made.load_optimizer_states(str(tmp_path / "y.states"))


def test_row_sparse_values_are_pushed_without_a_transfer(monkeypatch):
    store = mx.kv.create("local")
    store.init("rows", mx.nd.ones((4, 2)).tostype("row_sparse"))
    value = mx.nd.sparse.row_sparse_array(([[2, 3]], [1]), shape=(4, 2))
    monkeypatch.setattr(jax, "device_put", None)
    store.push("rows", value)
    store.push("rows", [value, value])
    out = mx.nd.sparse.zeros("row_sparse", (4, 2))
    store.row_sparse_pull("rows", out=out, row_ids=mx.nd.array([0, 1]))
    assert out.asnumpy().tolist() == [[0, 0], [4, 6], [0, 0], [0, 0]]

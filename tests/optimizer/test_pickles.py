"""Optimizer states read as data: every way of pickling, and nothing else."""

import importlib
import io
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

from modkit import ndarray as nd
from modkit import optimizer as opt
from modkit.errors import FileFormatError, NotSupportedError
from modkit.lr_scheduler import FactorScheduler, LRScheduler
from modkit.optimizer.pickles import Kind, read_pickle
from modkit.optimizer.states import dumps, loads

STATES = Path(__file__).parents[1] / "reference" / "optimizer_states"


@pytest.mark.parametrize("protocol", range(5))
def test_every_protocol_that_mxnet_wrote(protocol):
    states, optimizer = loads((STATES / f"adam-protocol{protocol}.states").read_bytes())
    assert list(states) == [0, "name"]
    for mean, variance in states.values():
        np.testing.assert_allclose(mean.asnumpy(), [[0.1355, 0.06775]], rtol=1e-4)
        np.testing.assert_allclose(variance.asnumpy(), [[7.4924e-4, 1.8731e-4]], rtol=1e-4)
    assert type(optimizer) is opt.Adam
    assert optimizer._index_update_count == {0: 3, "name": 3}
    assert optimizer._all_index_update_counts == {0: {0: 3, "name": 3}}
    assert optimizer.idx2name == {0: "fc_weight"}
    assert type(optimizer.lr_scheduler) is FactorScheduler
    assert vars(optimizer.lr_scheduler)["count"] == 2


PLAIN = [
    None, True, False, 0, -1, 2**31, -(2**40), 2**63 - 1, 0.5, float("inf"), "", "text", "Ä\n\\",
    b"", b"\xff" * 300, [], [1, [2]], (), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), {}, {1: {"a": []}},
]  # fmt: skip


def no_names(module, name):
    return None


@pytest.mark.parametrize("value", PLAIN, ids=repr)
def test_plain_values_of_every_protocol(value):
    kinds = {("_codecs", "encode"): Kind(lambda text, _: text.encode("latin1"))}
    kinds["__builtin__", "bytes"] = Kind(bytes)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        data = pickle.dumps(value, protocol)
        read = read_pickle(data, "x", lambda *names: kinds.get(names))
        assert read == value
        assert type(read) is type(value)
    assert read_pickle(dumps(value), "x", no_names) == value


def test_what_is_shared_stays_shared():
    inner = {"a": 1}
    read = read_pickle(pickle.dumps([inner, inner, (inner,)]), "x", no_names)
    assert read[0] is read[1] is read[2][0]


def test_what_python_saw_twice_is_read_twice():
    states = dict.fromkeys(range(1000))
    read = read_pickle(pickle.dumps({"all": {0: states}, "present": states}), "x", no_names)
    assert read["all"][0] == states


def test_numbers_of_numpy():
    values = [np.float64(0.5), np.float32(0.5), np.int64(-3), np.bool_(True), np.uint8(200)]
    for protocol in range(2, 5):
        data = pickle.dumps(values, protocol)
        assert loads(data) == [0.5, 0.5, -3, True, 200]
        assert [type(v) for v in loads(data)] == [float, float, int, bool, int]
    big_endian = pickle.dumps(np.dtype(">f8").type(0.5), 2).replace(b"<", b">")
    assert loads(big_endian) != 0.5


@pytest.mark.parametrize("key", [(1, 2), (), frozenset()])
def test_keys_that_could_be_made_to_collide(key):
    with pytest.raises(FileFormatError, match=r"FROZENSET|a key is"):
        loads(pickle.dumps({key: 1}))
    with pytest.raises(NotSupportedError, match="the key"):
        dumps({key: 1})


def test_a_number_that_no_counter_reaches():
    assert loads(dumps(-(2**64) + 1)) == -(2**64) + 1
    with pytest.raises(NotSupportedError, match="65 bits"):
        dumps(2**64)


def test_an_array_is_read_once_however_often_it_is_used():
    array = nd.array([1, 2])
    states = loads(dumps({0: array}))
    assert isinstance(states[0], nd.NDArray)
    handle = pickle.dumps({"handle": bytes(70)})
    assert loads(handle) == {"handle": bytes(70)}


class Late(LRScheduler):
    """Found in a module that is imported."""


def test_a_module_is_not_asked_for_what_it_lacks(monkeypatch):
    class Lazy(type(sys)):
        def __getattr__(self, name):
            raise RuntimeError("asked")

    lazy = Lazy("lazy_module")
    lazy.Late = Late
    monkeypatch.setitem(sys.modules, "lazy_module", lazy)
    assert type(loads(b"clazy_module\nLate\n)\x81}b.")) is Late
    with pytest.raises(FileFormatError, match=r"lazy_module\.Early is not allowed"):
        loads(b"clazy_module\nEarly\n)\x81.")


def test_a_module_that_is_not_there_is_not_imported(tmp_path, monkeypatch):
    (tmp_path / "not_imported_yet.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    with pytest.raises(FileFormatError, match=r"not_imported_yet\.X is not allowed"):
        loads(b"cnot_imported_yet\nX\n)\x81.")
    assert "not_imported_yet" not in sys.modules


SGD = b"cmodkit.optimizer\nSGD\n"


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "at byte 0: the pickle has no end|not a pickle"),
        (b"N", "at byte 1: "),
        (b"NNa.", "at byte 2: values are added to a NoneType, expected a list"),
        (b"cos\nsystem\n.", "at byte 0: os.system is not allowed here"),
        (b"(K\x01\x8b\xff\xff\xff\xff.", "at byte 3: not a pickle"),
        (b"\x8a\x09" + b"\x7f" * 9 + b".", "at byte 0: a number of 71 bits"),
        (SGD + b")R.", "at byte 23: modkit.optimizer.SGD cannot be created by a call"),
        (SGD + b"(K\x01t\x81.", "at byte 26: modkit.optimizer.SGD cannot be created by __new__"),
        (b"cnumpy\ndtype\n(X\x02\0\0\0f4t\x81.", "at byte 22: numpy.dtype cannot .* by __new__"),
        (b"N)R.", "at byte 2: a NoneType is called, expected a name"),
    ],
)
def test_errors_say_where(data, says):
    with pytest.raises(FileFormatError, match=f"optimizer states: {says}"):
        loads(data)


def test_an_index_that_is_no_text():
    updater = opt.get_updater(opt.create("sgd"))
    with pytest.raises(FileFormatError, match=r"the index .*expected text in UTF-8 or a number"):
        updater.set_states(dumps({b"\xc9": 1}))


def test_states_are_written_as_they_are_returned():
    updater = opt.get_updater(opt.create("adam"))
    updater(0, nd.ones((2, 3)), nd.ones((2, 3)))
    file = io.BytesIO()
    updater.write_states(file, dump_optimizer=True)
    assert file.getvalue() == updater.get_states(dump_optimizer=True)


def test_lars_without_the_note_that_mxnet_does_not_save_goes_on():
    lars = opt.LARS(learning_rate=0.1)
    update = opt.get_updater(lars)
    weight, grad = nd.ones((2,)), nd.ones((2,))
    update(0, grad, weight)
    state = lars.__getstate__()
    del state["_cur_update"]
    loaded = opt.LARS.__new__(opt.LARS)
    loaded.__setstate__(state)
    loaded.lr = 0.05
    opt.get_updater(loaded)(0, grad, weight)
    assert (loaded.last_lr, loaded.cur_lr) == (0.1, 0.05)

"""Checkpoints: the two files, and files that are something else."""

import logging

import numpy as np
import pytest

from modkit import ndarray as nd
from modkit import symbol as sym
from modkit.checkpoint import load_checkpoint, load_params, save_checkpoint


def net():
    return sym.FullyConnected(sym.Variable("data"), num_hidden=2, name="fc")


def same(left, right):
    assert list(left) == list(right)
    for name, value in left.items():
        np.testing.assert_array_equal(value.asnumpy(), right[name].asnumpy())
        assert value.dtype is right[name].dtype


def test_a_checkpoint_comes_back(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    prefix = str(tmp_path / "net")
    args = {"fc_weight": nd.array([[1, 2], [3, 4]]), "fc_bias": nd.array([1, 2], dtype="float64")}
    aux = {"state": nd.array([3], dtype="int32")}
    save_checkpoint(prefix, 7, net(), args, aux)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["net-0007.params", "net-symbol.json"]
    assert caplog.messages == [f'Saved checkpoint to "{prefix}-0007.params"']
    symbol, got_args, got_aux = load_checkpoint(prefix, 7)
    assert symbol.tojson() == net().tojson()
    same(got_args, args)
    same(got_aux, aux)
    names = set(nd.load(f"{prefix}-0007.params"))
    assert names == {"arg:fc_weight", "arg:fc_bias", "aux:state"}


def test_parameters_alone(tmp_path):
    prefix = str(tmp_path / "net")
    save_checkpoint(prefix, 12345, None, {"a": nd.ones(2)}, {})
    assert [p.name for p in tmp_path.iterdir()] == ["net-12345.params"]
    args, aux = load_params(prefix, 12345)
    same(args, {"a": nd.ones(2)})
    assert aux == {}


def test_an_empty_file(tmp_path, caplog):
    prefix = str(tmp_path / "net")
    nd.save(f"{prefix}-0001.params", [])
    assert load_params(prefix, 1) == ({}, {})
    assert "is empty" in caplog.text


@pytest.mark.parametrize(
    "data", [{"foo": nd.ones(1)}, {"arg:": nd.ones(1)}, {"arg:a": nd.ones(1), "x:b": nd.ones(1)}]
)
def test_names_that_say_nothing(tmp_path, data):
    prefix = str(tmp_path / "net")
    nd.save(f"{prefix}-0001.params", data)
    with pytest.raises(ValueError, match=r"net-0001.params: .* expected 'arg:name'"):
        load_params(prefix, 1)


def test_a_file_without_names(tmp_path):
    prefix = str(tmp_path / "net")
    nd.save(f"{prefix}-0001.params", [nd.ones(1)])
    with pytest.raises(ValueError, match="no names"):
        load_params(prefix, 1)


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"net-0003\.params"):
        load_params(str(tmp_path / "net"), 3)
    with pytest.raises(FileNotFoundError, match=r"net-symbol\.json"):
        load_checkpoint(str(tmp_path / "net"), 3)

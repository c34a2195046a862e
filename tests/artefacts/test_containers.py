"""Files of arrays in three formats: there and back, and what cannot be kept."""

import sys

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import modkit as mx
from modkit.artefacts import read_arrays, write_arrays
from modkit.errors import NotSupportedError, ParameterError
from tests.artefacts.files import ARRAYS, written

ENDINGS = ("params", "npz", "safetensors")


def same(found, wanted):
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        assert (found[name].dtype, found[name].shape) == (value.dtype, value.shape), name
        np.testing.assert_array_equal(found[name], value, err_msg=name)


@pytest.mark.parametrize("ending", ENDINGS)
def test_there_and_back(tmp_path, ending):
    same(read_arrays(written(tmp_path, f"x.{ending}")), ARRAYS)


DTYPES = st.sampled_from(["float32", "float64", "float16", "uint8", "int32", "int8", "int64"])
SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)


@pytest.mark.parametrize("ending", ENDINGS)
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_whatever_arrays_come_back(tmp_path, ending, data):
    names = st.text(st.characters(codec="utf-8", exclude_characters="\0/\\:."), min_size=1)
    arrays = data.draw(
        st.dictionaries(names, DTYPES.flatmap(lambda d: hnp.arrays(d, SHAPES)), max_size=3)
    )
    same(read_arrays(written(tmp_path, f"x.{ending}", arrays)), arrays)


def test_a_name_that_safetensors_keeps_for_itself(tmp_path):
    with pytest.raises(ParameterError, match="__metadata__"):
        written(tmp_path, "x.safetensors", {"__metadata__": np.ones(2)})
    assert not (tmp_path / "x.safetensors").exists()


def test_bfloat16(tmp_path):
    arrays = {"a": np.array([1.5, -2], jnp.bfloat16)}
    for ending in ("params", "safetensors"):
        same(read_arrays(written(tmp_path, f"x.{ending}", arrays)), arrays)
    with pytest.raises(NotSupportedError, match=r"x.npz: .*'a' of type bfloat16: write .safe"):
        written(tmp_path, "x.npz", arrays)
    assert not (tmp_path / "x.npz").exists()


@pytest.mark.parametrize("ending", ENDINGS)
def test_types_that_a_format_does_not_have(tmp_path, ending):
    odd = np.zeros(2, np.complex128 if ending != "npz" else "U3")
    with pytest.raises(NotSupportedError, match=r"cannot keep 'odd' of type"):
        written(tmp_path, f"x.{ending}", {"odd": odd})


def test_other_byte_orders_and_layouts(tmp_path):
    value = np.arange(6, dtype=">f4").reshape(2, 3)
    arrays = {"big": value, "turned": np.asfortranarray(value.astype(np.float32))}
    for ending in ENDINGS:
        found = read_arrays(written(tmp_path, f"x.{ending}", arrays))
        for each in found.values():
            np.testing.assert_array_equal(each, value)


def test_arrays_without_names(tmp_path):
    mx.nd.save(tmp_path / "list.params", [mx.nd.ones(2), mx.nd.zeros((1, 3))])
    arrays = read_arrays(tmp_path / "list.params")
    assert list(arrays) == ["arr_0", "arr_1"]
    np.savez(tmp_path / "list.npz", *arrays.values())
    write_arrays(tmp_path / "back.params", read_arrays(tmp_path / "list.npz"))
    assert (tmp_path / "back.params").read_bytes() == (tmp_path / "list.params").read_bytes()


def test_what_the_safetensors_package_and_numpy_write_and_read(tmp_path):
    safe = pytest.importorskip("safetensors.numpy")
    arrays = {n: a for n, a in ARRAYS.items() if ":" not in n} | {"b": np.ones((2, 2))}
    safe.save_file(arrays, tmp_path / "a.safetensors")
    same(read_arrays(tmp_path / "a.safetensors"), arrays)
    same(safe.load_file(written(tmp_path, "b.safetensors", arrays)), arrays)
    np.savez_compressed(tmp_path / "a.npz", **arrays)
    same(read_arrays(tmp_path / "a.npz"), arrays)
    with np.load(written(tmp_path, "b.npz", arrays)) as loaded:
        same(dict(loaded), arrays)


@pytest.mark.parametrize("name", ["x", "x.txt", "x.json"])
def test_endings_that_say_nothing(tmp_path, name):
    with pytest.raises(ParameterError, match=r"expected .params, .npz, .safetensors"):
        write_arrays(tmp_path / name, {})


def test_without_the_safetensors_package(tmp_path, monkeypatch):
    path = written(tmp_path, "x.safetensors")
    monkeypatch.setitem(sys.modules, "safetensors", None)
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    with pytest.raises(NotSupportedError, match=r"pip install '\.\[safetensors\]'"):
        read_arrays(path)

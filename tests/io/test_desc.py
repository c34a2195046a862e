"""DataDesc, DataBatch and DataIter."""

import copy
import pickle

import numpy as np
import pytest

import modkit as mx
from modkit.io import DataBatch, DataDesc, DataIter


def test_a_description_is_its_name_and_shape():
    desc = DataDesc("data", (2, 3))
    assert desc == ("data", (2, 3))
    assert (desc.dtype, desc.layout, len(desc)) == (np.float32, "NCHW", 2)
    assert repr(DataDesc("d", [2, 3], "int8", "NT")) == "DataDesc[d,[2, 3],int8,NT]"


@pytest.mark.parametrize("again", [copy.copy, lambda d: pickle.loads(pickle.dumps(d))])
def test_a_description_is_copied_whole(again):
    other = again(DataDesc("a", (1,), "int8", "T"))
    assert (tuple(other), other.dtype, other.layout) == (("a", (1,)), "int8", "T")


@pytest.mark.parametrize(("layout", "axis"), [(None, 0), ("NCHW", 0), ("TNC", 1), ("TC", -1)])
def test_batch_axis(layout, axis):
    assert DataDesc.get_batch_axis(layout) == axis


def test_descriptions_from_shapes_and_types():
    shapes = [("a", (1,)), ("b", (2,))]
    assert [d.dtype for d in DataDesc.get_list(shapes, None)] == [np.float32] * 2
    made = DataDesc.get_list(shapes, [("b", "int8"), ("a", "uint8")])
    assert [(d.name, d.dtype) for d in made] == [("a", "uint8"), ("b", "int8")]


def test_a_batch_prints_its_shapes():
    x = mx.nd.ones((2, 3))
    assert str(DataBatch([x])) == "DataBatch: data shapes: [(2, 3)] label shapes: None"
    assert str(DataBatch((x,), [x])).endswith("label shapes: [(2, 3)]")


@pytest.mark.parametrize("bad", [{"data": 3}, {"data": [], "label": 3}])
def test_a_batch_takes_lists(bad):
    with pytest.raises(AssertionError, match="expected a list"):
        DataBatch(**bad)


def test_an_iterator_of_parts():
    class Parts(DataIter):
        count = 0

        def iter_next(self):
            self.count += 1
            return self.count < 3

        def getdata(self):
            return [self.count]

        def getlabel(self):
            return []

        def getpad(self):
            return 0

    assert [b.data for b in Parts()] == [[1], [2]]

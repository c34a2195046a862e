"""The well-known picture of data parallelism: ResNet-50 on four devices, 32 images of 128 on each.

The picture's own size takes 16 GiB, so it runs where MODKIT_LARGE is set; eight small images show
the same.
"""

import importlib.util
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import modkit as mx

SYMBOLS = Path(__file__).parent.parent / "recipes" / "symbols"
DEVICES, CLASSES = 4, 1000


@dataclass(frozen=True)
class Size:
    """The number of images, and of pixels a side."""

    batch: int
    pixels: int

    @property
    def data(self):
        return mx.io.DataDesc("data", (self.batch, 3, self.pixels, self.pixels))

    @property
    def label(self):
        return mx.io.DataDesc("softmax_label", (self.batch,))

    @property
    def share(self):
        return self.batch // DEVICES


SMALL = Size(batch=8, pixels=64)
PICTURE = Size(batch=128, pixels=224)
LARGE = pytest.mark.skipif(
    "MODKIT_LARGE" not in os.environ, reason="needs 16 GiB of memory: set MODKIT_LARGE=1"
)
SIZES = [
    pytest.param(SMALL, id="8x64x64"),
    pytest.param(PICTURE, id="128x224x224", marks=[pytest.mark.slow, LARGE]),
]


def _symbol():
    return mx.sym.load(str(SYMBOLS / "resnet50-symbol.json"))


def _builder():
    """The program that wrote the symbol, as a module."""
    spec = importlib.util.spec_from_file_location("resnet", SYMBOLS / "resnet.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _module(size):
    """ResNet-50 bound on four devices."""
    module = mx.mod.Module(_symbol(), context=[mx.cpu(i) for i in range(DEVICES)])
    module.bind(data_shapes=[size.data], label_shapes=[size.label])
    return module


def _initialised(size):
    """The bound module with its parameters and the usual optimizer."""
    mx.random.seed(0)
    module = _module(size)
    module.init_params(mx.init.Xavier(rnd_type="gaussian", factor_type="in", magnitude=2))
    module.init_optimizer(
        kvstore="local",
        optimizer="sgd",
        optimizer_params={"learning_rate": 0.1, "momentum": 0.9, "wd": 1e-4},
    )
    return module


def _batch(size):
    rng = np.random.RandomState(0)
    data = rng.uniform(-1, 1, size.data.shape).astype(np.float32)
    label = rng.randint(0, CLASSES, size.label.shape).astype(np.float32)
    return mx.io.DataBatch(data=[mx.nd.array(data)], label=[mx.nd.array(label)])


def _arrays(named):
    return {name: array.asnumpy() for name, array in named.items()}


class TestSymbol:
    """The contents of the file, which is not run."""

    def test_inputs_and_outputs(self):
        symbol = _symbol()
        names = symbol.list_arguments()
        assert len(names) == 159
        assert names[:4] == ["data", "bn_data_gamma", "bn_data_beta", "conv0_weight"]
        assert names[-5:] == ["bn1_gamma", "bn1_beta", "fc1_weight", "fc1_bias", "softmax_label"]
        assert symbol.list_outputs() == ["softmax_output"]

    def test_auxiliary_states(self):
        """A mean and a variance for each of 51 BatchNorms."""
        names = _symbol().list_auxiliary_states()
        assert len(names) == 102
        assert names[:2] == ["bn_data_moving_mean", "bn_data_moving_var"]
        assert names[-2:] == ["bn1_moving_mean", "bn1_moving_var"]

    def test_shapes(self):
        symbol = _symbol()
        args, outputs, aux = symbol.infer_shape(data=(32, 3, 224, 224))
        args = dict(zip(symbol.list_arguments(), args, strict=True))
        aux = dict(zip(symbol.list_auxiliary_states(), aux, strict=True))
        assert outputs == [(32, 1000)]
        assert args["softmax_label"] == (32,)
        assert args["conv0_weight"] == (64, 3, 7, 7)
        assert args["stage1_unit1_sc_weight"] == (256, 64, 1, 1)
        assert args["stage4_unit3_conv2_weight"] == (512, 512, 3, 3)
        assert args["fc1_weight"] == (1000, 2048)
        assert aux["bn_data_moving_mean"] == (3,)
        assert aux["bn1_moving_var"] == (2048,)
        sizes = {name: int(np.prod(shape)) for name, shape in args.items()}
        assert sum(sizes.values()) - sizes["data"] - sizes["softmax_label"] == 25_549_486

    def test_features_are_found_by_name(self):
        """The layer that those who tune such a network for other classes cut it at."""
        features = _symbol().get_internals()["flatten0_output"]
        _, outputs, _ = features.infer_shape(data=(1, 3, 224, 224))
        assert outputs == [(1, 2048)]

    def test_the_builder_makes_the_file(self):
        built, stored = _builder().resnet(50, CLASSES), _symbol()
        assert built.list_arguments() == stored.list_arguments()
        assert built.list_auxiliary_states() == stored.list_auxiliary_states()
        inner, stored_inner = built.get_internals(), stored.get_internals()
        assert inner.list_outputs() == stored_inner.list_outputs()
        shape = (1, 3, 224, 224)
        assert inner.infer_shape(data=shape) == stored_inner.infer_shape(data=shape)
        nodes, stored_nodes = built.attr_dict(), stored.attr_dict()
        for name in ("bn_data", "conv0", "stage2_unit1_sc", "pooling0", "pool1", "fc1"):
            assert nodes[name] == stored_nodes[name]

    @pytest.mark.parametrize(
        ("depth", "small", "states", "parameters"),
        [
            (18, False, 38, 11_691_950),
            (34, False, 70, 21_800_110),
            (101, False, 204, 44_541_614),
            (152, False, 306, 60_185_262),
            (20, True, 40, 272_544),
            (110, True, 220, 1_730_784),
            (164, True, 328, 1_703_264),
        ],
    )
    def test_other_depths(self, depth, small, states, parameters):
        symbol = _builder().resnet(depth, 10 if small else CLASSES, small=small)
        side = 28 if small else 224
        shapes, _, _ = symbol.infer_shape(data=(1, 3, side, side))
        named = dict(zip(symbol.list_arguments(), shapes, strict=True))
        del named["data"], named["softmax_label"]
        assert len(symbol.list_auxiliary_states()) == states
        assert sum(int(np.prod(shape)) for shape in named.values()) == parameters

    @pytest.mark.parametrize(("depth", "small"), [(51, False), (2, True), (21, True), (166, True)])
    def test_no_such_depth(self, depth, small):
        with pytest.raises(ValueError, match=f"depth {depth}"):
            _builder().resnet(depth, 10, small=small)


def test_bound_on_four_devices():
    """Bound at the picture's own size; nothing runs."""
    module = _module(PICTURE)
    assert module.data_shapes[0].shape == (128, 3, 224, 224)
    assert module.label_shapes[0].shape == (128,)
    assert module.data_names == ["data"]
    assert module.label_names == ["softmax_label"]
    assert module.output_names == ["softmax_output"]
    (output,) = module.output_shapes
    assert output[0] == "softmax_output"
    assert tuple(output[1]) == (128, 1000)


def test_four_slices():
    """Internals: the images of each context, and the owners of the parameters."""
    module = _module(PICTURE)
    slices = [slice(0, 32), slice(32, 64), slice(64, 96), slice(96, 128)]
    assert module._exec_group.slices == slices
    names = [n for n in _symbol().list_arguments() if n not in ("data", "softmax_label")]
    assert module._exec_group.param_names == names
    assert module._exec_group.aux_names == _symbol().list_auxiliary_states()


@pytest.mark.parametrize("size", SIZES)
def test_one_update(size):
    """Every parameter moves, and every statistic; and there are four outputs, one a device."""
    module, batch = _initialised(size), _batch(size)
    args, aux = (_arrays(named) for named in module.get_params())
    assert len(args) == 157
    assert len(aux) == 102

    module.forward_backward(batch)
    module.update()
    new_args, new_aux = (_arrays(named) for named in module.get_params())
    still = {name for name in args if np.array_equal(args[name], new_args[name])}
    assert still <= {"bn_data_gamma"}
    assert not [name for name in aux if np.array_equal(aux[name], new_aux[name])]
    assert all(np.isfinite(array).all() for array in {**new_args, **new_aux}.values())

    ((*outputs,),) = module.get_outputs(merge_multi_context=False)
    assert [output.shape for output in outputs] == [(size.share, CLASSES)] * DEVICES
    outputs = np.concatenate([output.asnumpy() for output in outputs])
    np.testing.assert_array_equal(outputs, module.get_outputs()[0].asnumpy())
    np.testing.assert_allclose(outputs.sum(axis=1), np.ones(size.batch), rtol=1e-4)

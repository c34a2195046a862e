"""The random functions of both worlds: which operator each calls, and with what."""

import inspect
from typing import Any

import numpy as np
import pytest

import modkit as mx
from modkit.errors import ParameterError
from modkit.ops.random.distributions import DISTRIBUTIONS
from modkit.ops.random.frontend import RandomFunctions


class Tensor(str):
    """Stands for an array or a symbol."""

    def __rtruediv__(self, number: float) -> "Tensor":
        return Tensor(f"{number} / tensor")


T = Tensor()


def _call(name: str, tensors: Any, keywords: Any) -> Any:
    return name, tuple(tensors), dict(keywords)


EAGER, SYMBOLIC = (
    RandomFunctions(_call, Tensor, shape=shape, get_prob=prob).functions()
    for shape, prob in (((1,), False), (None, True))
)


@pytest.mark.parametrize(
    ("name", "params", "named"),
    [
        ("uniform", (-1, 2), {"low": -1, "high": 2}),
        ("normal", (1, 2), {"loc": 1, "scale": 2}),
        ("gamma", (2, 3), {"alpha": 2, "beta": 3}),
        ("exponential", (2,), {"lam": 0.5}),
        ("poisson", (3,), {"lam": 3}),
        ("negative_binomial", (3, 0.5), {"k": 3, "p": 0.5}),
        ("generalized_negative_binomial", (3, 0.5), {"mu": 3, "alpha": 0.5}),
    ],
)
def test_numbers_or_tensors(name: str, params: Any, named: dict[str, Any]) -> None:
    assert EAGER[name](*params) == (f"_random_{name}", (), {**named, "shape": (1,)})
    assert SYMBOLIC[name](*params) == (f"_random_{name}", (), named)
    made = EAGER[name](*params, (2, 3), "float64", "cpu(0)", "target", name="x")
    more = {"dtype": "float64", "ctx": "cpu(0)", "out": "target", "name": "x"}
    assert made == (f"_random_{name}", (), {**named, "shape": (2, 3), **more})
    tensors = ("1.0 / tensor",) if name == "exponential" else (T,) * len(params)
    assert EAGER[name](*(T for _ in params)) == (f"_sample_{name}", tensors, {})
    sampled = SYMBOLIC[name](*(T for _ in params), shape=3)
    assert sampled == (f"_sample_{name}", tensors, {"shape": 3})
    like = EAGER[f"{name}_like"](T, **named)
    assert like == (f"_random_{name}_like", (T,), named)


def test_the_others() -> None:
    assert EAGER["randn"](2, 3, loc=5)[2] == {"loc": 5, "scale": 1, "shape": (2, 3)}
    assert EAGER["randint"](0, 5)[2] == {"low": 0, "high": 5, "shape": (1,)}
    assert EAGER["shuffle"](T) == ("_shuffle", (T,), {})
    assert EAGER["multinomial"](T)[2] == {"get_prob": False, "dtype": "int32"}
    assert SYMBOLIC["multinomial"](T, shape=3)[2] == {
        "shape": 3,
        "get_prob": True,
        "dtype": "int32",
    }


def test_numpy_numbers_are_numbers() -> None:
    named = EAGER["uniform"](np.float32(0.5), np.int64(2))[2]
    assert named == {"low": 0.5, "high": 2, "shape": (1,)}
    assert type(named["low"]) is float


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("uniform", (T, 1), "got Tensor, int for low, high"),
        ("uniform", ("a", None), "expected numbers only"),
        ("exponential", (0,), "scale=0, expected scale > 0"),
    ],
)
def test_illegal_parameters_are_refused(name: str, params: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        EAGER[name](*params)


@pytest.mark.parametrize(
    ("args", "kwargs", "said"),
    [
        ((0, 1, 2, "float32", None, None, 3), {}, "random uniform: too many positional arguments"),
        ((0,), {"low": 1}, "random uniform: multiple values for argument 'low'; it takes"),
    ],
)
def test_arguments_that_do_not_fit(args: Any, kwargs: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        EAGER["uniform"](*args, **kwargs)


@pytest.mark.parametrize("name", [*DISTRIBUTIONS, *(f"{n}_like" for n in DISTRIBUTIONS)])
def test_signatures_have_types(name):
    signature = inspect.signature(EAGER[name])
    types = [each.annotation for each in signature.parameters.values()]
    assert signature.return_annotation is Tensor and inspect.Parameter.empty not in types


def test_samples_of_no_shape_are_one_for_each_parameter():
    rows = mx.nd.array([[0, 1], [1, 0]])
    assert mx.nd.sample_multinomial(rows, shape=None).asnumpy().tolist() == [1, 0]
    one = mx.nd.ones(2)
    assert mx.nd.sample_normal(one, one, shape=None).shape == (2,)
    net = mx.sym.sample_normal(mx.sym.Variable("a"), mx.sym.Variable("b"), shape=None)
    assert net.infer_shape(a=(2,), b=(2,))[1] == [(2,)]

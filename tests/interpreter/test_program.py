"""Programs of NumPy calls: sums in 16 bits, memory, and constants among the results."""

import jax
import jax.numpy as jnp
import numpy as np

import modkit as mx
from modkit.interpreter import program_of


def test_cumulative_sums_of_half_numbers_are_taken_in_single_precision():
    total = mx.nd.cumsum(mx.nd.ones((5000,), dtype="float16"))
    assert (total.dtype, float(total[-1].asscalar())) == (np.float16, 5000)


def test_a_result_that_is_a_constant_cannot_be_written():
    kept = np.arange(3.0, dtype=np.float32)
    program = program_of(jax.make_jaxpr(lambda x: (x, jnp.asarray(kept)))(kept))
    _, made = program(kept)
    assert not made.flags.writeable or not np.shares_memory(made, kept)


def test_integers_are_finite():
    largest = mx.nd.array([np.iinfo(np.int32).max, 0], dtype="int32")
    for name, wanted in (("isinf", [0, 0]), ("isnan", [0, 0]), ("isfinite", [1, 1])):
        assert getattr(mx.nd.contrib, name)(largest).asnumpy().tolist() == wanted

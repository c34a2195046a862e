"""Outputs that several devices made together are a copy, which later batches leave alone."""

import numpy as np

import modkit as mx


def test_outputs_of_the_last_batch_but_one():
    x, s = mx.sym.Variable("data"), mx.sym.Variable("s")
    module = mx.mod.Module(
        mx.sym.Group([x + s, s * 2]), label_names=None, state_names=["s"],
        context=[mx.cpu(0), mx.cpu(1)],
    )  # fmt: skip
    module.bind([("data", (4, 2))], for_training=False)
    module.init_params()
    batch = mx.io.DataBatch([mx.nd.zeros((4, 2))])
    module.set_states(value=1)
    module.forward(batch)
    apart = module.get_outputs(merge_multi_context=False)
    first = module.get_outputs()[0]
    module.set_states(states=[apart[1]])
    module.forward(batch)
    np.testing.assert_array_equal(first.asnumpy(), np.ones((4, 2)))
    np.testing.assert_array_equal(module.get_outputs()[0].asnumpy(), 2 * np.ones((4, 2)))

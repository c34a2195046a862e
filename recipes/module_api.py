"""The steps of ``fit`` by hand: bind, initialize, then forward, metric, backward, update.

python recipes/module_api.py          # seed 0: validation accuracy 0.974
python recipes/module_api.py --smoke  # in miniature, a few seconds
"""

import numpy as np
from command import command, options
from digits import iterators
from networks import mlp

import modkit as mx


def main(arguments=None):
    """Train the MLP and print its accuracy."""
    args = options(__doc__, epochs=5, batch_size=64).parse_args(arguments)
    if args.smoke:
        args.epochs = 4
    mx.random.seed(args.seed)  # first: JAX, which it imports, draws from NumPy's stream
    np.random.seed(args.seed)  # noqa: NPY002 - NDArrayIter shuffles with it
    train_iter, validation_iter = iterators(args.batch_size)

    module = mx.mod.Module(mlp())
    module.bind(data_shapes=train_iter.provide_data, label_shapes=train_iter.provide_label)
    module.init_params(initializer=mx.init.Xavier())
    module.init_optimizer(optimizer="sgd", optimizer_params={"learning_rate": 0.1, "momentum": 0.9})
    metric = mx.metric.create("acc")
    for epoch in range(args.epochs):
        train_iter.reset()
        metric.reset()
        for batch in train_iter:
            module.forward(batch, is_train=True)
            module.update_metric(metric, batch.label)
            module.backward()
            module.update()
        print(f"epoch {epoch + 1}: train {metric.get()}")
    name, accuracy = module.score(validation_iter, "acc")[0]
    print(f"validation {name}: {accuracy:.4f}")
    return accuracy


if __name__ == "__main__":
    command(main)

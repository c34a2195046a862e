"""Predict intervals with a loss of your own, written in NumPy as a custom operator.

python recipes/custom_operator.py          # seed 0: 0.732 of the validation is in its intervals
python recipes/custom_operator.py --smoke  # in miniature, a few seconds

The loss whose minimum is a quantile (Koenker and Bassett, Regression Quantiles, 1978) is no
operator of MXNet. A ``CustomOp`` has its ``forward`` and ``backward``; a ``CustomOpProp`` says its
arguments and shapes, and is registered under the name that ``mx.sym.Custom`` takes. The data are
scikit-learn's 442 patients with diabetes. The intervals aim at 80 %; learned from 300 patients,
they come out too narrow for the other 142.
"""

import logging

import numpy as np
from command import command, options
from pictures import plt, save
from sklearn.datasets import load_diabetes

import modkit as mx

QUANTILES = np.array([0.1, 0.5, 0.9], np.float32)
VALIDATION = 142


class Quantile(mx.operator.CustomOp):
    """Its output is its data; its gradient is that of the loss."""

    def forward(self, is_train, req, in_data, out_data, aux):
        """Hand on the predictions (N, quantiles)."""
        self.assign(out_data[0], req[0], in_data[0])

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        """Push a prediction up by its quantile q, or down by 1 - q where it is too high."""
        predicted, label = (array.asnumpy() for array in in_data)
        slope = np.where(predicted > label[:, None], 1 - QUANTILES, -QUANTILES)
        self.assign(in_grad[0], req[0], mx.nd.array(slope))


@mx.operator.register("quantile")
class QuantileProp(mx.operator.CustomOpProp):
    """Arguments, shapes and types of the operator, for the graph."""

    def __init__(self):
        super().__init__(need_top_grad=False)  # a loss: no gradient comes from above

    def list_arguments(self):
        """The names of the inputs."""
        return ["data", "label"]

    def infer_shape(self, in_shape):
        """Shapes of inputs, of outputs, and of auxiliary states."""
        return [in_shape[0], in_shape[0][:1]], [in_shape[0]], []

    def create_operator(self, ctx, shapes, dtypes):
        """One instance for each node of each executor."""
        return Quantile()


def network(width):
    """One hidden layer, and a number for each quantile."""
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=width, name="hidden")
    net = mx.sym.Activation(net, act_type="tanh")
    net = mx.sym.FullyConnected(net, num_hidden=len(QUANTILES), name="quantiles")
    return mx.sym.Custom(net, mx.sym.Variable("label"), op_type="quantile", name="interval")


def draw(path, predicted, label):
    """Patients in the order of their medians, with their intervals."""
    order = predicted[:, 1].argsort()
    low, middle, high = predicted[order].T
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    axes.fill_between(range(len(order)), low, high, alpha=0.3, label="80 % interval")
    axes.plot(middle, label="median")
    axes.plot(label[order], ".", color="black", label="measured")
    axes.set(xlabel="patient", ylabel="progression, standard deviations")
    axes.legend()
    save(figure, path)


def main(arguments=None):
    """Train; returns the share of patients, not trained on, whose label is in its interval."""
    parser = options(__doc__, "custom_operator", epochs=40, width=4, batch_size=50, lr=0.01)
    args = parser.parse_args(arguments)
    if args.smoke:
        args.epochs = 20
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    mx.random.seed(args.seed)
    np.random.seed(args.seed)  # noqa: NPY002 - what NDArrayIter shuffles with
    data, label = load_diabetes(return_X_y=True)
    order = np.random.RandomState(0).permutation(len(label))
    data, label = data[order] * np.sqrt(len(label)), label[order]
    label = (label - label.mean()) / label.std()
    data, label = data.astype(np.float32), label.astype(np.float32)
    train = mx.io.NDArrayIter(
        data[:-VALIDATION], label[:-VALIDATION], args.batch_size, True, "discard",
        label_name="label",
    )  # fmt: skip
    module = mx.mod.Module(network(args.width), label_names=["label"])
    module.fit(
        train,
        eval_metric=mx.metric.CustomMetric(
            lambda label, predicted: np.mean(np.abs(label - predicted[:, 1])), name="median error"
        ),
        optimizer="adam",
        optimizer_params={"learning_rate": args.lr, "wd": 0.01},
        initializer=mx.init.Xavier(),
        num_epoch=args.epochs,
    )
    predicted = module.predict(mx.io.NDArrayIter(data[-VALIDATION:], None, 1)).asnumpy()
    label = label[-VALIDATION:]
    inside = float(np.mean((predicted[:, 0] <= label) & (label <= predicted[:, 2])))
    draw(args.picture, predicted, label)
    print(f"in the 80 % interval: {inside:.3f} of the validation")
    return inside


if __name__ == "__main__":
    command(main)

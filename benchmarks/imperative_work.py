"""Imperative calls and programs, run by `benchmarks.imperative` in modkit's Python or in MXNet's.

``imperative_work.py modkit calls`` serves calls; ``mxnet program kmeans`` runs one program;
``modkit memory 1000`` prints the MB by which 1,000 new shapes grow the process.
"""

from __future__ import annotations

import importlib
import itertools
import sys

import numpy as np

from benchmarks.imperative_protocol import NEW, answer

mx = importlib.import_module(sys.argv[1] if __name__ == "__main__" else "modkit")
nd = mx.nd


def uniform(*shape, seed=0):
    """An array of uniform numbers."""
    return nd.array(np.random.RandomState(seed).uniform(-1, 1, shape))


# ── Calls ───────────────────────────────────────────────────────────────────────────────────


def calls():
    """The calls, by title."""
    a, w, b, one = uniform(64, 32), uniform(16, 32), uniform(16), nd.array([3.0])
    x, y, v = uniform(64, 20), uniform(64, 1), uniform(20, 1)
    lengths = itertools.count(1)

    def write_row():
        a[5] = 0.5

    def in_place():
        nonlocal a
        a += 0.001

    def logistic():
        p = nd.sigmoid(nd.dot(x, v))
        v[:] = v - 0.1 * nd.dot(x.T, p - y) / 64

    return {
        "a[i]": lambda: a[5],
        "a[i] = v": write_row,
        "asscalar": one.asscalar,
        "asnumpy": lambda: a.asnumpy(),
        "a[i:j] + 1": lambda: a[3:9] + 1,
        "a * number": lambda: a * 2.5,
        "a + a": lambda: a + a,
        "a += number": in_place,
        "a.sum(axis=1)": lambda: a.sum(axis=1),
        "softmax": lambda: nd.softmax(a),
        "FullyConnected": lambda: nd.FullyConnected(a, w, b, num_hidden=16),
        "dot": lambda: nd.dot(a, a, transpose_b=True),
        "a step of logistic regression": logistic,
        "metrics of 64 samples": metrics(64),
        "uniform of 100 numbers": lambda: nd.random.uniform(shape=(100,)),
        "normal of 1,000 numbers": lambda: nd.random.normal(shape=(1000,)),
        "gamma of 100 numbers": lambda: nd.random.gamma(2.0, 1.0, shape=(100,)),
        NEW: lambda: nd.exp(nd.ones((next(lengths), 7)) * 2 + 1).sum(axis=1),
    }


def metrics(count):
    """A function that updates the accuracy, top-k, cross-entropy and squared error of a batch."""
    odds, numbers = uniform(count, 10) * 0.05 + 0.1, uniform(count, 1)
    label = nd.array(np.arange(count) % 10)
    made = [mx.metric.create(n) for n in ("acc", "ce")] + [mx.metric.TopKAccuracy(top_k=3)]
    error = mx.metric.create("mse")

    def update():
        for each in made:
            each.update([label], [odds])
        error.update([numbers], [numbers])

    return update


# ── Programs ────────────────────────────────────────────────────────────────────────────────


def kmeans():
    """k-means over slices: 20 passes over 40 slices of different lengths."""
    data, centers = uniform(4000, 8), uniform(10, 8, seed=1)
    for _ in range(20):
        sums, counts, begin = nd.zeros((10, 8)), nd.zeros((10, 1)), 0
        for k in range(40):
            part = data[begin : begin + 60 + 2 * k]
            begin += 60 + 2 * k
            far = nd.sum((part.expand_dims(1) - centers.expand_dims(0)) ** 2, axis=2)
            owner = nd.one_hot(nd.argmin(far, axis=1), 10)
            sums += nd.dot(owner, part, transpose_a=True)
            counts += nd.sum(owner, axis=0).reshape((10, 1))
        centers = sums / nd.maximum(counts, 1)
    return centers


def logistic_regression():
    """Logistic regression by hand: 2,000 steps of 64 rows."""
    x, y, w, b = uniform(4096, 20), uniform(4096, 1) > 0, nd.zeros((20, 1)), nd.zeros((1,))
    for step in range(2000):
        at = 64 * (step % 64)
        rows, wanted = x[at : at + 64], y[at : at + 64]
        error = nd.sigmoid(nd.dot(rows, w) + b) - wanted
        w -= 0.1 * nd.dot(rows, error, transpose_a=True) / 64
        b -= 0.1 * error.mean()
    return w


def reinforce():
    """REINFORCE with an executor: 60 episodes, batches of 20 different sizes."""
    stream = np.random.RandomState(0)
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=32, name="one")
    net = mx.sym.FullyConnected(mx.sym.Activation(net, act_type="tanh"), num_hidden=2, name="two")
    net = mx.sym.SoftmaxOutput(net, name="softmax")
    run = net.simple_bind(mx.cpu(), data=(1, 4), softmax_label=(1,))
    for name, array in run.arg_dict.items():
        if name.endswith("weight"):
            array[:] = stream.uniform(-0.1, 0.1, array.shape)
    for episode in range(60):
        size, state, states, actions = 5 + episode % 20, np.zeros(4), [], []
        for _ in range(size):
            run.forward(is_train=False, data=nd.array([state]), softmax_label=nd.zeros((1,)))
            action = int(stream.rand() < run.outputs[0][0][1].asscalar())
            states.append(state)
            actions.append(action)
            state = 0.9 * state + stream.uniform(-1, 1, 4) * (action + 1)
        batch = run.reshape(data=(size, 4), softmax_label=(size,), allow_up_sizing=True)
        batch.forward(is_train=True, data=nd.array(states), softmax_label=nd.array(actions))
        batch.backward()
        for name, grad in batch.grad_dict.items():
            if name not in ("data", "softmax_label"):
                nd.sgd_update(batch.arg_dict[name], grad, out=batch.arg_dict[name], lr=0.01)
    return run.arg_dict["one_weight"]


def autograd_mlp():
    """A perceptron with a hidden layer by autograd: 1,000 steps of 64 rows."""
    x, y = uniform(4096, 20), nd.array(np.arange(4096) % 5)
    params = [uniform(64, 20) * 0.1, nd.zeros((64,)), uniform(5, 64) * 0.1, nd.zeros((5,))]
    for each in params:
        each.attach_grad()
    for step in range(1000):
        at = 64 * (step % 64)
        with mx.autograd.record():
            hidden = nd.FullyConnected(x[at : at + 64], params[0], params[1], num_hidden=64)
            out = nd.FullyConnected(nd.relu(hidden), params[2], params[3], num_hidden=5)
            loss = -nd.pick(nd.log_softmax(out), y[at : at + 64]).mean()
        loss.backward()
        for each in params:
            each[:] = each - 0.1 * each.grad
    return loss


def policy():
    """REINFORCE by autograd: 150 episodes of 5 to 39 steps, a structure each."""
    stream = np.random.RandomState(0)
    params = [uniform(32, 4) * 0.1, nd.zeros((32,)), uniform(2, 32) * 0.1, nd.zeros((2,))]
    for each in params:
        each.attach_grad()
    for _ in range(150):
        state, logs, rewards = np.zeros(4), [], []
        with mx.autograd.record():
            for _ in range(stream.randint(5, 40)):
                hidden = nd.FullyConnected(nd.array([state]), *params[:2], num_hidden=32)
                odds = nd.FullyConnected(nd.tanh(hidden), *params[2:], num_hidden=2)
                odds = nd.log_softmax(odds)
                with mx.autograd.pause():
                    action = int(stream.rand() < nd.exp(odds)[0, 1].asscalar())
                logs.append(odds[0, action])
                rewards.append(float(action == (state[0] > 0)))
                state = 0.9 * state + stream.uniform(-1, 1, 4)
            returns = np.cumsum(rewards[::-1])[::-1].copy()
            loss = -(nd.concat(*logs, dim=0) * nd.array(returns)).sum()
        loss.backward()
        for each in params:
            each[:] = each - 0.001 * each.grad
    return params[0]


def gan():
    """Two modules, 600 turns: the generator learns by the gradients of the critic's inputs."""
    layer, hidden = mx.sym.FullyConnected, mx.sym.Variable("rand")
    hidden = mx.sym.Activation(layer(hidden, num_hidden=64, name="g1"), act_type="relu")
    made = mx.sym.Activation(layer(hidden, num_hidden=64, name="g2"), act_type="tanh")
    seen = mx.sym.LeakyReLU(layer(mx.sym.Variable("data"), num_hidden=64, name="d1"), slope=0.2)
    score = layer(seen, num_hidden=1, name="d2")
    critic = mx.sym.LogisticRegressionOutput(score, mx.sym.Variable("label"), name="loss")
    one = mx.mod.Module(made, data_names=("rand",), label_names=None)
    two = mx.mod.Module(critic, label_names=("label",))
    one.bind([("rand", (32, 16))])
    two.bind([("data", (32, 64))], [("label", (32, 1))], inputs_need_grad=True)
    for each in (one, two):
        each.init_params(mx.init.Normal(0.02))
        each.init_optimizer(
            optimizer="adam", optimizer_params={"learning_rate": 2e-4, "beta1": 0.5}
        )
    rows, label = np.random.RandomState(0).uniform(-1, 1, (1024, 64)), nd.zeros((32, 1))
    data = mx.io.NDArrayIter(rows, batch_size=32)

    def passes(arrays, value):
        label[:] = value
        two.forward(mx.io.DataBatch(arrays, [label]), is_train=True)
        two.backward()

    for turn in range(600):
        if turn % 32 == 0:
            data.reset()
        batch = data.next()
        one.forward(mx.io.DataBatch([nd.random.normal(shape=(32, 16))], None), is_train=True)
        fakes = one.get_outputs()
        passes(fakes, 0)
        kept = [[g.copyto(g.context) for g in grads] for grads in two._exec_group.grad_arrays]
        passes(batch.data, 1)
        for at, grads in enumerate(two._exec_group.grad_arrays):
            for k, grad in enumerate(grads):
                grad += kept[at][k]
        two.update()
        passes(fakes, 1)
        one.backward(two.get_input_grads())
        one.update()
    return two.get_params()[0]["d1_weight"]


PROGRAMS = {
    f.__name__: f for f in (kmeans, logistic_regression, reinforce, autograd_mlp, policy, gan)
}


def new_shape(rows, columns):
    """Three calls on an array of this shape."""
    return (nd.ones((rows, columns)) * 2).sum(axis=1).asnumpy()


def first(program):
    """A function that runs a program and gives the first number of its array."""
    return lambda: program().asnumpy().ravel()[0]


if __name__ == "__main__":
    programs = {name: first(program) for name, program in PROGRAMS.items()}
    answer(sys.argv[2:], calls, programs, new_shape, nd.waitall)

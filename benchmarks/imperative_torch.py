"""The calls and programs of `imperative_work`, by PyTorch's eager calls, in PyTorch's Python.

Titles and programs that are about modkit's Module or metrics have no counterpart here.
"""

import itertools
import sys

import numpy as np
import torch
import torch.nn.functional as F

from benchmarks.imperative_protocol import NEW, answer


def uniform(*shape, seed=0):
    """An array of uniform numbers."""
    numbers = np.random.RandomState(seed).uniform(-1, 1, shape)
    return torch.from_numpy(numbers.astype(np.float32))


def parameters(*arrays):
    """The arrays, whose gradients are recorded."""
    return [each.requires_grad_() for each in arrays]


def descend(params, rate):
    """Subtract the gradients, and forget them."""
    with torch.no_grad():
        for each in params:
            each -= rate * each.grad
            each.grad = None


def calls():
    """The calls, by title."""
    a, w, b, one = uniform(64, 32), uniform(16, 32), uniform(16), torch.tensor([3.0])
    x, y, v = uniform(64, 20), uniform(64, 1), uniform(20, 1)
    lengths = itertools.count(1)
    gamma = torch.distributions.Gamma(2.0, 1.0)

    def write_row():
        a[5] = 0.5

    def in_place():
        nonlocal a
        a += 0.001

    def logistic():
        p = torch.sigmoid(x @ v)
        v[:] = v - 0.1 * (x.T @ (p - y)) / 64

    return {
        "a[i]": lambda: a[5],
        "a[i] = v": write_row,
        "asscalar": one.item,
        "asnumpy": lambda: a.numpy().copy(),
        "a[i:j] + 1": lambda: a[3:9] + 1,
        "a * number": lambda: a * 2.5,
        "a + a": lambda: a + a,
        "a += number": in_place,
        "a.sum(axis=1)": lambda: a.sum(dim=1),
        "softmax": lambda: torch.softmax(a, -1),
        "FullyConnected": lambda: F.linear(a, w, b),
        "dot": lambda: a @ a.T,
        "a step of logistic regression": logistic,
        "uniform of 100 numbers": lambda: torch.rand(100),
        "normal of 1,000 numbers": lambda: torch.randn(1000),
        "gamma of 100 numbers": lambda: gamma.sample((100,)),
        NEW: lambda: torch.exp(torch.ones((next(lengths), 7)) * 2 + 1).sum(dim=1),
    }


def kmeans():
    """k-means over slices: 20 passes over 40 slices of different lengths."""
    data, centers = uniform(4000, 8), uniform(10, 8, seed=1)
    for _ in range(20):
        sums, counts, begin = torch.zeros((10, 8)), torch.zeros((10, 1)), 0
        for k in range(40):
            part = data[begin : begin + 60 + 2 * k]
            begin += 60 + 2 * k
            far = ((part[:, None] - centers[None]) ** 2).sum(dim=2)
            owner = F.one_hot(far.argmin(dim=1), 10).float()
            sums += owner.T @ part
            counts += owner.sum(dim=0).reshape((10, 1))
        centers = sums / torch.clamp(counts, min=1)
    return centers[0, 0]


def logistic_regression():
    """Logistic regression by hand: 2,000 steps of 64 rows."""
    x, y = uniform(4096, 20), (uniform(4096, 1) > 0).float()
    w, b = torch.zeros((20, 1)), torch.zeros((1,))
    for step in range(2000):
        at = 64 * (step % 64)
        rows, wanted = x[at : at + 64], y[at : at + 64]
        error = torch.sigmoid(rows @ w + b) - wanted
        w -= 0.1 * (rows.T @ error) / 64
        b -= 0.1 * error.mean()
    return w[0, 0]


def reinforce():
    """REINFORCE: 60 episodes, batches of 20 different sizes."""
    stream = np.random.RandomState(0)
    shapes = ((32, 4), (2, 32))
    weights = [torch.tensor(stream.uniform(-0.1, 0.1, s), dtype=torch.float32) for s in shapes]
    params = parameters(weights[0], torch.zeros(32), weights[1], torch.zeros(2))

    def odds(states):
        return F.linear(torch.tanh(F.linear(states, *params[:2])), *params[2:])

    for episode in range(60):
        size, state, states, actions = 5 + episode % 20, np.zeros(4), [], []
        for _ in range(size):
            with torch.no_grad():
                seen = torch.tensor(np.array([state]), dtype=torch.float32)
                chance = torch.softmax(odds(seen), -1)[0][1].item()
            action = int(stream.rand() < chance)
            states.append(state)
            actions.append(action)
            state = 0.9 * state + stream.uniform(-1, 1, 4) * (action + 1)
        seen = torch.tensor(np.array(states), dtype=torch.float32)
        F.cross_entropy(odds(seen), torch.tensor(actions), reduction="sum").backward()
        descend(params, 0.01)
    return params[0][0, 0]


def autograd_mlp():
    """A perceptron with a hidden layer by autograd: 1,000 steps of 64 rows."""
    x, y = uniform(4096, 20), torch.arange(4096) % 5
    arrays = (uniform(64, 20) * 0.1, torch.zeros(64), uniform(5, 64) * 0.1, torch.zeros(5))
    params = parameters(*arrays)
    for step in range(1000):
        at = 64 * (step % 64)
        hidden = F.linear(x[at : at + 64], params[0], params[1])
        out = F.linear(F.relu(hidden), params[2], params[3])
        loss = F.cross_entropy(out, y[at : at + 64])
        loss.backward()
        descend(params, 0.1)
    return loss


PROGRAMS = {f.__name__: f for f in (kmeans, logistic_regression, reinforce, autograd_mlp)}


if __name__ == "__main__":
    answer(
        sys.argv[2:],
        calls,
        PROGRAMS,
        lambda rows, columns: (torch.ones((rows, columns)) * 2).sum(dim=1).numpy(),
        lambda: None,
    )

"""The peer PyTorch: the loop of its tutorials, with parameters under the symbol's names."""

from __future__ import annotations

import contextlib
import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from benchmarks.networks import BN, HIDDEN, LAYERS, MOMENTUM, RATE, RESNETS
from benchmarks.worker import Case, Loop, serve

Tree = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Layers:
    """Layers with parameters and moving statistics under the symbol's names."""

    values: Tree
    train: bool

    def dense(self, x: torch.Tensor, name: str) -> torch.Tensor:
        """An affine map of rows."""
        return F.linear(x, self.values[f"{name}_weight"], self.values[f"{name}_bias"])

    def convolution(
        self, x: torch.Tensor, name: str, stride: int = 1, pad: int = 0
    ) -> torch.Tensor:
        """A convolution, with a bias if the parameter exists."""
        bias = self.values.get(f"{name}_bias")
        return F.conv2d(x, self.values[f"{name}_weight"], bias, stride, pad)

    def norm(self, x: torch.Tensor, name: str, scale: bool = True) -> torch.Tensor:
        """BatchNorm, which also updates its moving statistics."""
        v = self.values
        mean, var, beta = v[f"{name}_moving_mean"], v[f"{name}_moving_var"], v[f"{name}_beta"]
        gamma = v[f"{name}_gamma"] if scale else torch.ones_like(beta)
        return F.batch_norm(x, mean, var, gamma, beta, self.train, 1 - BN["momentum"], BN["eps"])


def mlp(layers: Layers, x: torch.Tensor) -> torch.Tensor:
    """Logits of the MLP."""
    for name in ("fc1", "fc2"):
        x = F.relu(layers.dense(x, name))
    return layers.dense(x, "fc3")


def lenet(layers: Layers, x: torch.Tensor) -> torch.Tensor:
    """Logits of LeNet."""
    for name in ("conv1", "conv2"):
        x = F.max_pool2d(torch.tanh(layers.convolution(x, name)), 2, 2)
    return layers.dense(torch.tanh(layers.dense(x.flatten(1), "fc1")), "fc2")


def resnet(layers: Layers, x: torch.Tensor, kind: str) -> torch.Tensor:
    """Logits of a pre-activation residual network."""
    units, channels = RESNETS[kind]
    bottleneck = kind == "resnet50"
    x = layers.norm(x, "bn_data", scale=False)
    if bottleneck:
        x = layers.convolution(x, "conv0", 2, 3)
        x = F.max_pool2d(F.relu(layers.norm(x, "bn0")), 3, 2, 1)
    else:
        x = layers.convolution(x, "conv0", 1, 1)
    for stage in range(1, len(channels)):
        for number in range(1, units[stage - 1] + 1):
            stride = 2 if number == 1 and stage > 1 else 1
            x = _unit(layers, x, f"stage{stage}_unit{number}", stride, number > 1, bottleneck)
    return layers.dense(F.relu(layers.norm(x, "bn1")).mean((2, 3)), "fc1")


def _unit(
    layers: Layers, x: torch.Tensor, name: str, stride: int, same: bool, bottleneck: bool
) -> torch.Tensor:
    first = y = F.relu(layers.norm(x, f"{name}_bn1"))
    sizes = ((1, 1), (3, stride), (1, 1)) if bottleneck else ((3, stride), (3, 1))
    for number, (size, step) in enumerate(sizes, 1):
        if number > 1:
            y = F.relu(layers.norm(y, f"{name}_bn{number}"))
        y = layers.convolution(y, f"{name}_conv{number}", step, size // 2)
    return y + (x if same else layers.convolution(first, f"{name}_sc", stride))


def lstm(layers: Layers, x: torch.Tensor) -> torch.Tensor:
    """Logits of the language model, one row for each word."""
    x = F.embedding(x, layers.values["embedding_weight"])
    zero = x.new_zeros(LAYERS, len(x), HIDDEN)
    weights = [
        layers.values[f"lstm{number}_{kind}"]
        for number in range(LAYERS)
        for kind in ("wi", "wh", "bi", "bh")
    ]
    x = torch.lstm(x, (zero, zero), weights, True, LAYERS, 0.0, layers.train, False, True)[0]
    return layers.dense(x.reshape(-1, HIDDEN), "decoder")


NETWORKS = {
    "mlp": mlp,
    "lenet": lenet,
    "resnet20": functools.partial(resnet, kind="resnet20"),
    "resnet50": functools.partial(resnet, kind="resnet50"),
    "lstm": lstm,
}


def load(case: Case) -> Loop:
    """The case's network; "NHWC" is PyTorch's channels_last, "compiled" adds torch.compile."""
    network = case.network
    device = "cuda" if network.device == "gpu" else "cpu"
    last = case.variant in ("NHWC", "compiled")

    def tensor(value: np.ndarray) -> torch.Tensor:
        made = torch.tensor(value).to(device)
        return made.to(memory_format=torch.channels_last) if last and made.ndim == 4 else made

    arguments = case.load("arguments")
    if network.is_text:
        for number, weights in enumerate(case.lstm_layers(arguments)):
            for kind, value in zip(("wi", "wh", "bi", "bh"), weights, strict=True):
                arguments[f"lstm{number}_{kind}"] = value
        del arguments["lstm_parameters"]
    parameters = {
        name: tensor(value).requires_grad_(network.train) for name, value in arguments.items()
    }
    values = parameters | {name: tensor(value) for name, value in case.load("auxiliary").items()}
    layers = Layers(values, network.train)
    batches = [(tensor(x), tensor(y).long().flatten()) for x, y in case.batches()]
    forward = functools.partial(NETWORKS[network.kind], layers)
    if case.variant == "compiled":
        forward = torch.compile(forward)
    if network.train:
        return _training(case, forward, parameters, batches)
    return _prediction(forward, batches)


def _training(case: Case, forward: Any, parameters: Tree, batches: Any) -> Loop:
    optimizer = torch.optim.SGD(parameters.values(), lr=RATE, momentum=MOMENTUM)
    narrow = contextlib.nullcontext()
    if case.network.dtype == "bfloat16":
        narrow = torch.autocast("cuda", torch.bfloat16)

    def step(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        optimizer.zero_grad()
        with narrow:
            z = forward(x)
        loss = F.cross_entropy(z.float(), y, reduction="sum") / len(x)
        loss.backward()
        optimizer.step()
        return (z.argmax(-1) == y).float().mean()

    def run(steps: int) -> float:
        hits = [step(*batches[number % len(batches)]) for number in range(steps)]
        return torch.stack(hits).mean().item()

    def watch() -> dict[str, np.ndarray]:
        return {name: parameters[name].detach().cpu().numpy() for name in case.network.watched}

    return Loop(run, watch)


@torch.inference_mode()
def _predict(forward: Any, x: torch.Tensor) -> np.ndarray:
    return forward(x).softmax(-1).cpu().numpy()


def _prediction(forward: Any, batches: Any) -> Loop:
    def run(steps: int) -> float:
        hits = 0.0
        for number in range(steps):
            x, y = batches[number % len(batches)]
            hits += (_predict(forward, x).argmax(-1) == y.cpu().numpy()).mean()
        return hits / steps

    return Loop(run, lambda: {"output": _predict(forward, batches[0][0])})


if __name__ == "__main__":
    serve(load)

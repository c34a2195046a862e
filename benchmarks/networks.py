"""The networks that are measured, and the batches that they are fed.

Workers of every peer read this, with any Python from 3.8 on: it needs nothing but NumPy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

RATE, MOMENTUM = 0.01, 0.9
BATCHES = 4
HIDDEN, LAYERS = 200, 2  # of the LSTM; its embedding is as wide
BN = {"eps": 2e-5, "momentum": 0.9}
# Units a stage, and channels (those of the first convolution come first), as in recipes/symbols.
RESNETS = {
    "resnet20": ((3, 3, 3), (16, 16, 32, 64)),
    "resnet50": ((3, 4, 6, 3), (64, 256, 512, 1024, 2048)),
}


@dataclass(frozen=True)
class Network:
    """One row: what is run, on which batches, and what the project wants of it.

    Attributes:
        kind: the architecture, by the name that symbols.py and each peer know it by.
        data: shape of a batch, images as (N, channels, height, width).
        steps: how many make a round, so that a round is about a second.
        watched: the parameters whose change is compared between peers.
        aims: what time of peer over time of modkit should at least be.
        train: whether a step is a training step; otherwise it is one prediction, read by the host.
        device: "cpu" or "gpu".
        dtype: what it computes in; parameters are float32.
    """

    title: str
    kind: str
    data: tuple[int, ...]
    classes: int
    steps: int
    watched: tuple[str, ...] = ()
    aims: dict[str, float] = field(default_factory=dict)
    train: bool = True
    device: str = "cpu"
    dtype: str = "float32"

    @property
    def label(self) -> tuple[int, ...]:
        """Shape of a batch's labels: one a sample, or one a word."""
        return self.data if self.is_text else self.data[:1]

    @property
    def is_text(self) -> bool:
        """Whether the data are words by number."""
        return self.kind == "lstm"

    @property
    def is_convolutional(self) -> bool:
        """Whether the data are images, which have a layout."""
        return len(self.data) == 4

    def batches(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The same pairs of data and labels for every peer, float32 as MXNet takes them."""
        stream = np.random.RandomState(0)
        for _ in range(BATCHES):
            if self.is_text:
                data = stream.randint(0, self.classes, self.data).astype(np.float32)
            else:
                data = stream.standard_normal(self.data).astype(np.float32)
            yield data, stream.randint(0, self.classes, self.label).astype(np.float32)


def _resnet50(title: str, batch: int, steps: int, **options: object) -> Network:
    # Not its first layer: rounding turns some of so many ReLUs, so that after two steps from random
    # weights even the two layouts of hand-written JAX are 0.2 apart there, and 0.003 here.
    watched = ("fc1_weight",)
    return Network(
        "ResNet-50 " + title, "resnet50", (batch, 3, 224, 224), 1000, steps, watched, **options
    )


NETWORKS = {
    "mlp": Network(
        "MLP 784-128-64-10, batch 64",
        "mlp",
        (64, 784),
        10,
        steps=1000,
        watched=("fc1_weight", "fc3_bias"),
        aims={"jax": 0.95, "jax K=16": 3, "mxnet": 3, "keras": 1.2},
    ),
    "lenet": Network(
        "LeNet 28x28, batch 64",
        "lenet",
        (64, 1, 28, 28),
        10,
        steps=40,
        watched=("conv1_weight", "fc2_bias"),
        aims={"jax": 1.4, "mxnet": 1.25, "keras": 1.2},
    ),
    "resnet20": Network(
        "ResNet-20 32x32, batch 64",
        "resnet20",
        (64, 3, 32, 32),
        10,
        steps=6,
        watched=("conv0_weight", "fc1_weight"),
        aims={"jax": 1.3, "mxnet": 1.1, "keras": 1.2},
    ),
    "lstm": Network(
        "LSTM 2x200, 35 words, batch 32",
        "lstm",
        (32, 35),
        10000,
        steps=10,
        watched=("embedding_weight", "decoder_weight"),
        aims={"jax": 1, "mxnet": 1.1, "keras": 1.2},
    ),
    "lenet-b1": Network(
        "LeNet 28x28, prediction, batch 1",
        "lenet",
        (1, 1, 28, 28),
        10,
        steps=1000,
        aims={"jax": 1},
        train=False,
    ),
    "resnet50": _resnet50(
        "224x224, batch 16", 16, 1, aims={"jax": 2.1, "mxnet": 1.2, "keras": 1.2}
    ),
    "resnet50-b1": _resnet50("prediction, batch 1", 1, 20, aims={"jax": 1}, train=False),
    "resnet50-b32": _resnet50("prediction, batch 32", 32, 1, aims={"jax": 1}, train=False),
    "gpu-mlp": Network(
        "MLP 784-128-64-10, batch 64, GPU",
        "mlp",
        (64, 784),
        10,
        steps=2000,
        watched=("fc1_weight", "fc3_bias"),
        device="gpu",
    ),
    "gpu-resnet50": _resnet50("224x224, batch 128, GPU", 128, 10, device="gpu"),
    "gpu-resnet50-bf16": _resnet50(
        "224x224, batch 128, GPU, bfloat16", 128, 20, device="gpu", dtype="bfloat16"
    ),
}

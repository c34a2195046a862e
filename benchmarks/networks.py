"""The measured networks and their batches.

Imported by the workers of all peers: requires only NumPy and Python 3.8.
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
    """A row of the table: a network, its batches, and the project's aims.

    Attributes:
        kind: the architecture, a key of the tables in symbols.py and in each peer.
        data: shape of a batch, images as (N, channels, height, width).
        steps: number of steps of a round of about a second.
        watched: the parameters whose change is compared between peers.
        aims: minimum ratios of the time of a peer to the time of modkit.
        train: a step is a training step; otherwise a prediction, read by the host.
        device: "cpu" or "gpu".
        dtype: dtype of computation; parameters are float32.
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
        """Shape of a batch's labels: one for each sample, or for each word."""
        return self.data if self.is_text else self.data[:1]

    @property
    def is_text(self) -> bool:
        """Whether the data are words as integers."""
        return self.kind == "lstm"

    @property
    def is_convolutional(self) -> bool:
        """Whether the data are images, which have a layout."""
        return len(self.data) == 4

    def batches(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Pairs of data and labels, equal for every peer; float32, as MXNet requires."""
        stream = np.random.RandomState(0)
        for _ in range(BATCHES):
            if self.is_text:
                data = stream.randint(0, self.classes, self.data).astype(np.float32)
            else:
                data = stream.standard_normal(self.data).astype(np.float32)
            yield data, stream.randint(0, self.classes, self.label).astype(np.float32)


def _resnet50(title: str, batch: int, steps: int, **options: object) -> Network:
    # Not the first layer: rounding flips the sign of some ReLU inputs, so that after two steps from
    # random weights even the two layouts of hand-written JAX differ by 0.2 there, and 0.003 here.
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

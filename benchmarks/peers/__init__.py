"""Who is measured: a worker's file, the interpreter that runs it, and the variants it has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from benchmarks.networks import Network


def _one(network: Network) -> tuple[str, ...]:
    return ("",)


def _loops(network: Network) -> tuple[str, ...]:
    return ("", "K=16") if network.train and network.steps > 16 else ("",)


def _layouts(network: Network) -> tuple[str, ...]:
    return ("NCHW", "NHWC") if network.is_convolutional else ("",)


def _torch(network: Network) -> tuple[str, ...]:
    return ("NHWC", "compiled") if network.device == "gpu" else _layouts(network)


@dataclass(frozen=True)
class Peer:
    """One row.

    Attributes:
        title: how it is called in tables.
        file: the module in benchmarks.peers.
        needs: the distribution that its interpreter must have, whose version is written down.
        variants: of which the fastest counts.
        python: the environment variable that names its interpreter; without one it is our own.
        environment: variables for its process.
    """

    title: str
    file: str
    needs: str
    variants: Callable[[Network], tuple[str, ...]] = _one
    python: str = ""
    environment: dict[str, str] = field(default_factory=dict)


PEERS = {
    "modkit": Peer("modkit", "module_api", "jax", _loops),
    "jax": Peer("hand-written JAX", "hand_jax", "jax", _layouts),
    "mxnet": Peer("MXNet 1.9.1", "module_api", "mxnet", python="MODKIT_REFERENCE"),
    "keras": Peer(
        "Keras 3 on JAX",
        "keras_fit",
        "keras",
        python="MODKIT_KERAS",
        environment={"KERAS_BACKEND": "jax"},
    ),
    "torch": Peer("PyTorch 2", "torch_loop", "torch", _torch, python="MODKIT_TORCH"),
}

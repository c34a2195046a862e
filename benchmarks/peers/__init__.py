"""The table of peers: worker module, interpreter and variants of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from benchmarks.networks import Network


def _one(network: Network) -> tuple[str, ...]:
    return ("",)


def _loops(network: Network) -> tuple[str, ...]:
    if not network.train:
        return ("",)
    return ("", "fit", "K=16") if network.steps > 16 else ("", "fit")


def _layouts(network: Network) -> tuple[str, ...]:
    return ("NCHW", "NHWC") if network.is_convolutional else ("",)


def _torch(network: Network) -> tuple[str, ...]:
    return ("NHWC", "compiled") if network.device == "gpu" else _layouts(network)


@dataclass(frozen=True)
class Peer:
    """A peer.

    Attributes:
        title: its name in tables.
        file: its module in benchmarks.peers.
        needs: the required distribution, whose version is recorded.
        variants: its variants for a network; the fastest counts.
        python: the environment variable with its interpreter; empty for the current interpreter.
        environment: environment variables of its process.
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

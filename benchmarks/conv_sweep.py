"""Timing of implementations of convolution and its gradients, on shapes of known networks.

    python -m benchmarks.conv_sweep                # all shapes, some minutes on two cores
    python -m benchmarks.conv_sweep stem lenet_2       # some

What a graph runs on a CPU (``modkit/tuning/cpu/convolution.py``) is the form ``graph``. A form is
a function of data with channels last (but for ``nchw``) and of a weight (filters, channels, h, w);
gradients are JAX's own, but for the graph's. All are compiled with the options of a network that
has convolutions, and run on the allocator of a module that trains.
"""

from __future__ import annotations

import argparse
import functools
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from benchmarks.measure import machine, save
from modkit.ops.registry import get_op
from modkit.tuning.config import current
from modkit.tuning.xla_options import compile_program


class Row(NamedTuple):
    """One convolution of square images and kernels."""

    batch: int
    size: int
    channels: int
    filters: int
    kernel: int
    stride: int
    pad: int

    @property
    def out(self) -> int:
        """The size of the result."""
        return (self.size + 2 * self.pad - self.kernel) // self.stride + 1

    @property
    def flops(self) -> int:
        """FLOPs of the forward pass, and of each gradient."""
        products = self.batch * self.out**2 * self.kernel**2
        return 2 * products * self.channels * self.filters


ROWS = {
    # ResNet-50 at 224, batch 16: the first layer, and by stage the 3x3 and the 1x1 ones
    "stem": Row(16, 224, 3, 64, 7, 2, 3),
    "stage1_1x1": Row(16, 56, 64, 256, 1, 1, 0),
    "stage1_3x3": Row(16, 56, 64, 64, 3, 1, 1),
    "stage2_3x3_down": Row(16, 56, 128, 128, 3, 2, 1),
    "stage2_1x1_down": Row(16, 56, 256, 512, 1, 2, 0),
    "stage2_3x3": Row(16, 28, 128, 128, 3, 1, 1),
    "stage3_3x3_down": Row(16, 28, 256, 256, 3, 2, 1),
    "stage3_1x1": Row(16, 14, 256, 1024, 1, 1, 0),
    "stage3_3x3": Row(16, 14, 256, 256, 3, 1, 1),
    "stage4_1x1": Row(16, 7, 512, 2048, 1, 1, 0),
    "stage4_3x3": Row(16, 7, 512, 512, 3, 1, 1),
    # VGG at 224, batch 16
    "vgg_56": Row(16, 56, 256, 256, 3, 1, 1),
    "vgg_28": Row(16, 28, 512, 512, 3, 1, 1),
    # ResNet-20 for CIFAR, batch 64
    "cifar_first": Row(64, 32, 3, 16, 3, 1, 1),
    "cifar_16": Row(64, 32, 16, 16, 3, 1, 1),
    "cifar_32": Row(64, 16, 32, 32, 3, 1, 1),
    "cifar_64": Row(64, 8, 64, 64, 3, 1, 1),
    # LeNet, batch 64
    "lenet_1": Row(64, 28, 1, 20, 5, 1, 0),
    "lenet_2": Row(64, 12, 20, 50, 5, 1, 0),
}


def _lax(x: jax.Array, w: jax.Array, row: Row, layout: str) -> jax.Array:
    return lax.conv_general_dilated(
        x,
        w,
        (row.stride,) * 2,
        [(row.pad, row.pad)] * 2,
        dimension_numbers=(layout, "OIHW", layout),
    )


def nchw(x: jax.Array, w: jax.Array, row: Row) -> jax.Array:
    """XLA's convolution with channels first."""
    return _lax(x, w, row, "NCHW")


def nhwc(x: jax.Array, w: jax.Array, row: Row) -> jax.Array:
    """XLA's convolution with channels last."""
    return _lax(x, w, row, "NHWC")


def _tap_slices(x: jax.Array, row: Row) -> list[jax.Array]:
    """The input slice of each kernel tap, in the kernel's order."""
    x = jnp.pad(x, ((0, 0), (row.pad, row.pad), (row.pad, row.pad), (0, 0)))
    reach = (row.out - 1) * row.stride + 1
    return [
        x[:, i : i + reach : row.stride, j : j + reach : row.stride]
        for i in range(row.kernel)
        for j in range(row.kernel)
    ]


def taps(x: jax.Array, w: jax.Array, row: Row) -> jax.Array:
    """The sum of one matrix product for each kernel tap."""
    by_tap = w.reshape(*w.shape[:2], -1)
    products = [
        lax.dot_general(tap, by_tap[:, :, at], (((3,), (1,)), ((), ())))
        for at, tap in enumerate(_tap_slices(x, row))
    ]
    return functools.reduce(jnp.add, products)


def patches(x: jax.Array, w: jax.Array, row: Row) -> jax.Array:
    """im2col: concatenated input slices, and one matrix product."""
    columns = jnp.concatenate(_tap_slices(x, row), -1)
    return lax.dot_general(
        columns, w.transpose(0, 2, 3, 1).reshape(len(w), -1), (((3,), (1,)), ((), ()))
    )


def graph(x: jax.Array, w: jax.Array, row: Row) -> jax.Array:
    """Modkit's implementation in graphs on CPUs."""
    op = get_op("Convolution")
    square = {k: (v,) * 2 for k, v in (("kernel", row.kernel), ("pad", row.pad))}
    attrs = op.parse({**square, "stride": (row.stride,) * 2, "num_filter": row.filters})
    form: Any = current().channels_last(op, attrs)
    return form(x, w.transpose(0, 2, 3, 1), **attrs)


FORMS = {"graph": graph, "nhwc": nhwc, "nchw": nchw, "taps": taps, "patches": patches}


def _time_ms(function: Callable[..., Any], *args: jax.Array, beside: str, rounds: int) -> float:
    """Milliseconds of a call, compiled with the XLA options for its text plus ``beside``."""
    lowered = jax.jit(function).lower(*args)
    text = lowered.as_text() + beside
    run = compile_program(lowered, current().xla_options(lambda: text, jax.default_backend()))
    jax.block_until_ready(run(*args))
    started = time.perf_counter()
    jax.block_until_ready(run(*args))
    times = max(1, int(0.05 / (time.perf_counter() - started)))
    taken = []
    for _ in range(rounds):
        started = time.perf_counter()
        for _ in range(times):
            made = run(*args)
        jax.block_until_ready(made)
        taken.append((time.perf_counter() - started) / times * 1e3)
    return statistics.median(taken)


def measure(name: str, row: Row, rounds: int) -> list[dict[str, Any]]:
    """A record for each implementation: milliseconds of the result and of both gradients."""
    stream = np.random.RandomState(0)
    x = stream.randn(row.batch, row.size, row.size, row.channels).astype(np.float32)
    w = jnp.asarray(stream.randn(row.filters, row.channels, row.kernel, row.kernel), jnp.float32)
    head = stream.randn(row.batch, row.out, row.out, row.filters).astype(np.float32)
    beside = jax.jit(functools.partial(nhwc, row=row)).lower(x, w).as_text()
    found = []
    for form, function in FORMS.items():
        order = (0, 3, 1, 2) if form == "nchw" else (0, 1, 2, 3)
        data, top = jnp.asarray(x.transpose(order)), jnp.asarray(head.transpose(order))
        run = functools.partial(function, row=row)

        def by_data(x: Any, w: Any, h: Any, run: Any = run) -> Any:
            return jax.vjp(lambda x: run(x, w), x)[1](h)[0]

        def by_weight(x: Any, w: Any, h: Any, run: Any = run) -> Any:
            return jax.vjp(lambda w: run(x, w), w)[1](h)[0]

        time_ms = functools.partial(_time_ms, beside=beside, rounds=rounds)
        ms = {
            "forward": time_ms(run, data, w),
            "data gradient": time_ms(by_data, data, w, top),
            "weight gradient": time_ms(by_weight, data, w, top),
        }
        found.append({"name": name, "form": form, "gflop": row.flops / 1e9, "ms": ms})
        rates = "".join(f"{t:>9.2f} ({row.flops / t / 1e6:4.0f})" for t in ms.values())
        print(f"{name:<18}{form:<9}{rates}", flush=True)
    return found


def main(arguments: list[str] | None = None) -> None:
    """Measure, print milliseconds (GFLOP/s), and save the figures of a full run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", choices=[*ROWS, []], metavar="name")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args(arguments)
    current().prepare_training(1 << 30)  # as for a large network
    print(f"{'':<27}{'forward':>16}{'data gradient':>16}{'weight gradient':>16}")
    chosen = args.names or list(ROWS)
    records = [r for name in chosen for r in measure(name, ROWS[name], args.rounds)]
    print(machine())
    if not args.names:
        save("conv_sweep", records)


if __name__ == "__main__":
    main()

"""Time and memory of training steps with all tuning, without, and without each piece of it.

    python -m benchmarks.tuning                              # every network, some minutes
    python -m benchmarks.tuning --only lstm,resnet50 --rounds 3

Each figure is of processes of their own, which take turns; the table is medians over rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import modkit as mx
from benchmarks.networks import NETWORKS, Network
from benchmarks.symbols import SYMBOLS
from modkit.tuning_switch import PIECES, VARIABLE

Symbol = mx.sym.Symbol

SWITCHES = {
    "all": "on",
    "none": "off",
    **{f"without {piece}": ",".join(p for p in PIECES if p != piece) for piece in PIECES},
}


def _block(net: Symbol, name: str, filters: int, **attrs: Any) -> Symbol:
    net = mx.sym.Convolution(net, num_filter=filters, no_bias=True, name=name, **attrs)
    return mx.sym.Activation(mx.sym.BatchNorm(net, name=f"{name}_bn"), act_type="relu")


def _blocks(groups: Callable[[int], int]) -> Callable[[Network], Symbol]:
    """A stem, and blocks of 1x1, grouped 3x3 and 1x1 convolutions with a sum around each."""

    def symbol(network: Network) -> Symbol:
        net = _block(mx.sym.Variable("data"), "stem", 64, kernel=(3, 3), stride=(2, 2), pad=(1, 1))
        for at, width in enumerate((64, 64, 128, 128)):
            inner = _block(net, f"wide{at}", width, kernel=(1, 1))
            moves: dict[str, Any] = {"kernel": (3, 3), "pad": (1, 1), "num_group": groups(width)}
            inner = _block(inner, f"grouped{at}", width, **moves)
            net = net + _block(inner, f"narrow{at}", 64, kernel=(1, 1))
        net = mx.sym.Pooling(net, global_pool=True, pool_type="avg")
        net = mx.sym.FullyConnected(mx.sym.Flatten(net), num_hidden=network.classes, name="fc")
        return mx.sym.SoftmaxOutput(net, name="softmax")

    return symbol


_IMAGES = ((16, 3, 56, 56), 10, 5)
ROWS: dict[str, tuple[Network, Callable[[Network], Symbol]]] = {
    **{n: (NETWORKS[n], SYMBOLS[n]) for n in ("mlp", "lenet", "resnet20", "lstm", "resnet50")},
    "mobile": (Network("MobileNet blocks 56x56, batch 16", "", *_IMAGES), _blocks(lambda n: n)),
    "resnext": (Network("ResNeXt blocks 56x56, batch 16", "", *_IMAGES), _blocks(lambda n: 16)),
}


def train(network: Network, symbol: Callable[[Network], Symbol]) -> dict[str, float]:
    """Train a network for a second or three steps: milliseconds a step and other figures."""
    batches = [
        mx.io.DataBatch([mx.nd.array(data)], [mx.nd.array(label)])
        for data, label in network.batches()
    ]
    module = mx.mod.Module(symbol(network), context=mx.cpu())
    module.bind([("data", network.data)], [("softmax_label", network.label)])
    module.init_params(mx.init.Xavier())
    module.init_optimizer(optimizer_params={"learning_rate": 0.01, "momentum": 0.9})
    metric = mx.metric.create("acc")

    def run(steps: int) -> tuple[float, float]:
        """Seconds of the clock and of processors."""
        started, used = time.perf_counter(), time.process_time()
        for at in range(steps):
            batch = batches[at % len(batches)]
            module.forward_backward(batch)
            module.update()
            module.update_metric(metric, batch.label)
        metric.get()
        return time.perf_counter() - started, time.process_time() - used

    (first_s, _), steps = run(1), max(3, network.steps)
    run(2)
    times = [run(steps) for _ in range(3)]
    return {
        "ms": statistics.median(clock for clock, _ in times) / steps * 1e3,
        "processor ms": statistics.median(used for _, used in times) / steps * 1e3,
        "MiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
        "first step s": first_s,
    }


def turn(module: str, *arguments: str, **variables: str) -> dict[str, float]:
    """The figures that a worker of its own prints: a module with ``--worker`` and arguments."""
    env = {**os.environ, "JAX_PLATFORMS": "cpu", "MODKIT_CACHE": "off", **variables}
    command = [sys.executable, "-m", module, "--worker", *arguments]
    done = subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def main(arguments: list[str] | None = None) -> None:
    """Measure in turns, and print a table in Markdown."""
    parser = argparse.ArgumentParser(description="Training steps by piece of tuning.")
    parser.add_argument("--only", default=",".join(ROWS), help="networks, with commas between")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--worker", choices=ROWS, help=argparse.SUPPRESS)
    args = parser.parse_args(arguments)
    names = args.only.split(",")
    if unknown := set(names) - set(ROWS):
        parser.error(f"--only: got {', '.join(sorted(unknown))}, expected some of {','.join(ROWS)}")
    if args.worker:
        print(json.dumps(train(*ROWS[args.worker])))
        return
    print("ms a step by the clock / of processors / peak MiB / seconds to the first step\n")
    print("| network | " + " | ".join(SWITCHES) + " |\n|" + " --- |" * (len(SWITCHES) + 1))
    for name in names:
        turns: dict[str, list[dict[str, float]]] = {switch: [] for switch in SWITCHES}
        for _ in range(args.rounds):
            for switch, pieces in SWITCHES.items():
                turns[switch].append(turn("benchmarks.tuning", name, **{VARIABLE: pieces}))
        cells = [
            " / ".join(f"{statistics.median(t[figure] for t in each):.3g}" for figure in each[0])
            for each in turns.values()
        ]
        print(f"| {ROWS[name][0].title} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()

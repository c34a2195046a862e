"""Time of training steps and predictions of whole networks, relative to other libraries.

    python -m benchmarks                                      # all networks and peers
    python -m benchmarks --only mlp,lenet --peers jax,mxnet --rounds 5
    python -m benchmarks --python mxnet=/path/to/python --python torch=...

New figures replace those of the same network in results/speed.json, from which the tables in
README.md and the chart are generated.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from benchmarks import growth, report
from benchmarks.measure import RESULTS
from benchmarks.networks import NETWORKS
from benchmarks.peers import PEERS
from benchmarks.rounds import measure
from benchmarks.turns import LeftOut

MEASURES = {name: functools.partial(measure, name) for name in NETWORKS}
MEASURES["growth"] = growth.measure


def _chosen(text: str | None, table: dict[str, Any]) -> list[str]:
    names = list(table) if text is None else text.split(",")
    unknown = set(names) - set(table)
    if unknown:
        raise SystemExit(f"not known: {', '.join(sorted(unknown))}; there are {', '.join(table)}")
    return [name for name in table if name in names]


def _arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", help=f"some of {','.join(MEASURES)}")
    parser.add_argument("--peers", help=f"beside modkit: {','.join(report.OTHERS)}")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument(
        "--python",
        action="append",
        default=[],
        metavar="NAME=PATH",
        help="the interpreter of a peer; also by the variables "
        + ", ".join(peer.python for peer in PEERS.values() if peer.python),
    )
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder for what is kept")
    parser.add_argument("--readme", type=Path, default=Path(__file__).with_name("README.md"))
    return parser.parse_args(arguments)


def _say(line: str) -> None:
    print(line, flush=True)


def main(arguments: list[str] | None = None) -> None:
    """Measure, save the figures, and render all saved ones."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended from outside"))  # workers end too
    args = _arguments(arguments)
    for each in args.python:
        peer, _, path = each.partition("=")
        os.environ[PEERS[_chosen(peer, PEERS)[0]].python] = path
    kept = args.results / "speed.json"
    results = json.loads(kept.read_text()) if kept.exists() else {}
    peers = ["modkit", *_chosen(args.peers, {peer: PEERS[peer] for peer in report.OTHERS})]
    for name in _chosen(args.only, MEASURES):
        _say(NETWORKS[name].title if name in NETWORKS else name)
        try:
            results[name] = MEASURES[name](peers, args.rounds, _say)
        except LeftOut as reason:
            _say(f"  left out: {reason}")
            continue
        args.results.mkdir(exist_ok=True)
        kept.write_text(json.dumps(results, indent=1) + "\n")
        for _, ours, ms, against in report.ratios({name: results[name]}):
            found = ", ".join(f"{peer} {value:.2f}" for peer, value in against.items() if value)
            _say(f"  {ours}: {ms:.3f} ms a step; ratios: {found}")
    report.put(args.readme, "figures", report.page(results))
    try:
        report.draw(results, args.results / "speed.png")
    except ImportError:
        print("no chart: it needs matplotlib (pip install '.[recipes]')")


if __name__ == "__main__":
    main()

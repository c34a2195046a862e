"""Steps of several processes on this machine, and a model of many GPUs.

    MODKIT_REFERENCE=python3.8 python -m benchmarks.scaling     # 1, 2 and 4 processes, three peers
    python -m benchmarks.scaling --model                        # ResNet-50 on paper, 8 to 256 GPUs

Processes share the cores of this machine, so this measures what a step costs more, in processor
time and bytes, and no speed-up. The bytes of the model are those of the collectives in the
compiled step.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import report
from benchmarks.measure import RESULTS, machine

PEERS = ("modkit", "jax", "mxnet")
WORK = Path(__file__).with_name("scaling_work.py")
REFERENCE = "MODKIT_REFERENCE"
_SIZES = {"pred": 1, "s8": 1, "u8": 1, "bf16": 2, "f16": 2, "s32": 4, "u32": 4, "f32": 4, "f64": 8}
_COLLECTIVE = re.compile(
    r"= (\(.*?\)|\S+) (all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute)"
    r"(?:-start)?\("
)
_SHAPE = re.compile(r"(\w+)\[([\d,]*)\]")


# ── Processes on this machine ───────────────────────────────────────────────────────────────


def processor_s(processes: Iterable[subprocess.Popen[str]]) -> float:
    """Processor time of processes, which are running."""
    ticks = 0
    for process in processes:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def start(peer: str, size: int, steps: int) -> list[subprocess.Popen[str]]:
    """Processes of a peer: workers first, then MXNet's server and scheduler."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = str(listener.getsockname()[1])
    common = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(WORK.parents[1])}
    work = [str(WORK), peer, str(steps)]
    starts: list[tuple[list[str], dict[str, str]]]
    if peer == "mxnet":
        reference = os.environ[REFERENCE]
        address = {"DMLC_PS_ROOT_URI": "127.0.0.1", "DMLC_PS_ROOT_PORT": port,
                   "DMLC_NUM_WORKER": str(size), "DMLC_NUM_SERVER": "1"}  # fmt: skip
        roles = ["worker"] * size + ["server", "scheduler"]
        starts = [
            ([reference, *(work if role == "worker" else ["-c", "import mxnet"])],
             {**address, "DMLC_ROLE": role})
            for role in roles
        ]  # fmt: skip
    else:
        address = {"MODKIT_COORDINATOR": f"127.0.0.1:{port}", "MODKIT_WORKERS": str(size)}
        ranks = range(size)
        starts = [([sys.executable, *work], {**address, "MODKIT_RANK": str(r)}) for r in ranks]
    return [
        subprocess.Popen(command, env={**common, **variables}, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, text=True)
        for command, variables in starts
    ]  # fmt: skip


def timed(peer: str, size: int, steps: int) -> dict[str, float]:
    """Figures of a step: of the slowest worker, and of all processes together."""
    processes = start(peer, size, steps)
    try:
        workers = processes[:size]
        first = workers[0].stdout
        assert first is not None  # noqa: S101 - a pipe, by `start`
        while (line := first.readline()) and line.strip() != "begin":
            pass
        before_s = processor_s(processes)
        line = first.readline()
        after_s = processor_s(processes)
        others = (worker.communicate(timeout=60)[0] for worker in workers[1:])
        ends = [json.loads(line), *(json.loads(text.splitlines()[-1]) for text in others)]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    return {
        "ms": 1e3 * max(end["s"] for end in ends) / steps,
        "processor_ms": 1e3 * (after_s - before_s) / steps,
        "sent_bytes": statistics.mean(end["sent"] for end in ends) / steps,
        "received_bytes": statistics.mean(end["received"] for end in ends) / steps,
    }


def measure(sizes: Iterable[int], rounds: int, steps: int) -> list[dict[str, Any]]:
    """Medians over rounds for each number of processes and peer, of which all have their turns."""
    peers = [p for p in PEERS if p != "mxnet" or REFERENCE in os.environ]
    rows = []
    for size in sizes:
        found: dict[str, list[dict[str, float]]] = {peer: [] for peer in peers}
        for _ in range(rounds):
            for peer in peers:
                found[peer].append(timed(peer, size, steps))
                print(size, peer, found[peer][-1], flush=True)
        for peer, turns in found.items():
            medians = {n: statistics.median(t[n] for t in turns) for n in turns[0]}
            rows.append({"processes": size, "peer": peer, **medians, "rounds": rounds})
    return rows


# ── The model ───────────────────────────────────────────────────────────────────────────────


def collectives(text: str) -> list[tuple[str, int]]:
    """Kind and bytes of each collective in the text of a compiled program."""
    found = []
    for shapes, kind in _COLLECTIVE.findall(text):
        size = 0
        for dtype, axes in _SHAPE.findall(shapes):
            count = 1
            for axis in filter(None, axes.split(",")):
                count *= int(axis)
            size += _SIZES.get(dtype, 0) * count
        found.append((kind, size))
    return found


_STEP = """
import numpy as np
import modkit as mx
from recipes.symbols.resnet import resnet
kv = mx.kv.create("dist_sync")
module = mx.mod.Module(resnet(50, 1000))
module.bind([("data", (1, 3, 64, 64))], [("softmax_label", (1,))])
module.init_params()
module.init_optimizer(kv, "sgd", {"learning_rate": 0.01, "momentum": 0.9})
module.forward_backward(mx.io.DataBatch([mx.nd.zeros((1, 3, 64, 64))], [mx.nd.zeros(1)]))
module.update()
module.get_outputs()[0].asnumpy()
"""


def compiled_step() -> list[tuple[str, int]]:
    """The collectives of ResNet-50's step over two workers, from what XLA writes of it."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "step.py"
        program.write_text(_STEP)
        flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_dump_to={folder}/hlo"
        subprocess.run(
            [sys.executable, "-m", "modkit", "launch", "-n", "2", str(program)],
            check=True,
            env={
                **os.environ, "JAX_PLATFORMS": "cpu", "MODKIT_CACHE": "off",
                "XLA_FLAGS": f"{flags} --xla_dump_hlo_as_text", "MODKIT_DIST_TIMEOUT": "300",
                "PYTHONPATH": str(WORK.parents[1]),
            },
        )  # fmt: skip
        texts = Path(folder, "hlo").glob("*after_optimizations.txt")
        return max((collectives(t.read_text()) for t in texts), key=lambda c: sum(b for _, b in c))


class Cluster(NamedTuple):
    """Machines of GPUs.

    Attributes:
        name: of the link between machines.
        inside_bytes_s: bandwidth of a GPU to others of its machine.
        between_bytes_s: bandwidth of a machine to others, shared by its GPUs.
        hop_s: latency of a step of the ring.
        gpus: number of GPUs in a machine.
    """

    name: str
    inside_bytes_s: float
    between_bytes_s: float
    hop_s: float
    gpus: int = 8


CLUSTERS = (
    Cluster("8 x 400 Gb/s InfiniBand", 450e9, 400e9, 5e-6),
    Cluster("100 Gb/s Ethernet", 450e9, 12.5e9, 20e-6),
    Cluster("25 Gb/s Ethernet", 450e9, 3.1e9, 20e-6),
)


def ring_s(size_bytes: float, gpus: int, cluster: Cluster) -> float:
    """Time of an all-reduce: a ring of all GPUs, whose slowest link counts.

    A ring sends ``2 (n-1)/n`` of the bytes over each of its links in ``2 (n-1)`` steps (Patarasuk
    and Yuan, 2009). One ring for each GPU of a machine shares its links, so they carry as much as
    the machine's whole bandwidth.
    """
    link = cluster.inside_bytes_s
    if gpus > cluster.gpus:
        link = min(link, cluster.between_bytes_s)
    return 2 * (gpus - 1) / gpus * size_bytes / link + 2 * (gpus - 1) * cluster.hop_s


def modelled(
    sizes: Iterable[int], step_s: float, counts: Iterable[int] = (8, 16, 32, 64, 128, 256)
) -> list[dict[str, Any]]:
    """Step times with the sums behind the backward pass, and with all but the last one beside it.

    Args:
        sizes: bytes of the all-reduces of a step, in the order of their starts.
        step_s: time of a step of one GPU, of which the backward pass takes two thirds.
        counts: numbers of GPUs.
    """
    sizes = list(sizes)
    rows = []
    for cluster in CLUSTERS:
        for count in counts:
            times = [ring_s(size, count, cluster) for size in sizes]
            backward_s = 2 / 3 * step_s
            beside_s = step_s - backward_s + max(backward_s, sum(times[:-1])) + times[-1]
            rows.append({
                "link": cluster.name, "gpus": count, "sum_ms": 1e3 * sum(times),
                "behind": step_s / (step_s + sum(times)), "beside": step_s / beside_s,
            })  # fmt: skip
    return rows


def buckets(size_bytes: float, bucket_bytes: float) -> list[float]:
    """A sum that is cut into parts of a size, the last one being the rest."""
    whole, rest = divmod(size_bytes, bucket_bytes)
    return [bucket_bytes] * int(whole) + [rest] * (rest > 0)


def tables(results: dict[str, Any]) -> str:
    """The figures as Markdown."""
    lines = ["| processes | peer | ms a step | processor ms | sent KB | received KB |",
             "| --- | --- | --- | --- | --- | --- |"]  # fmt: skip
    lines += [
        f"| {r['processes']} | {r['peer']} | {r['ms']:.3g} | {r['processor_ms']:.3g} | "
        f"{r['sent_bytes'] / 1e3:.0f} | {r['received_bytes'] / 1e3:.0f} |"
        for r in results.get("rows", [])
    ]
    model = results.get("model")
    if model:
        names = list(dict.fromkeys(r["link"] for r in model["rows"]))
        lines += ["", f"| GPUs | {' | '.join(names)} |", f"| --- |{' --- |' * len(names)}"]
        for count in dict.fromkeys(r["gpus"] for r in model["rows"]):
            own = [r for r in model["rows"] if r["gpus"] == count]
            cells = (f"{r['sum_ms']:.2g} ms, {r['behind']:.0%}, {r['beside']:.0%}" for r in own)
            lines.append(f"| {count} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> int:
    """Measure or model, print, save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=300, help="timed steps of a turn")
    parser.add_argument("--model", action="store_true", help="the model, in place of processes")
    parser.add_argument("--step-ms", type=float, default=100.0, help="of one GPU, for the model")
    parser.add_argument("--bucket-mb", type=float, default=25.0, help="of a sum, for the model")
    parser.add_argument("--results", type=Path, default=RESULTS / "scaling.json")
    parser.add_argument("--readme", type=Path, default=Path(__file__).with_name("README.md"))
    given = parser.parse_args()
    kept = json.loads(given.results.read_text()) if given.results.exists() else {}
    kept["machine"] = machine()
    if given.model:
        found = compiled_step()
        total = sum(size for _, size in found)
        sizes = buckets(total, 1e6 * given.bucket_mb)
        kept["model"] = {
            "collectives": found, "bytes": total, "step_ms": given.step_ms,
            "bucket_mb": given.bucket_mb, "rows": modelled(sizes, given.step_ms / 1e3),
        }  # fmt: skip
        print(f"{len(found)} collectives, {total} bytes")
    else:
        kept["rows"] = measure((1, 2, 4), given.rounds, given.steps)
    given.results.write_text(json.dumps(kept, indent=1) + "\n")
    print(tables(kept))
    report.put(given.readme, "scaling", tables(kept))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The results as ratios: a table for README.md, and a chart."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.networks import NETWORKS
from benchmarks.peers import PEERS

OTHERS = [peer for peer in PEERS if peer != "modkit"]
Result = dict[str, Any]


def milliseconds(result: Result, title: str) -> float:
    """A worker's median over rounds."""
    return statistics.median(result["workers"][title]["ms"])


def fastest(result: Result, peer: str) -> str | None:
    """The title of a peer's fastest worker."""
    titles = [title for title, row in result["workers"].items() if row["peer"] == peer]
    return min(titles, key=lambda title: milliseconds(result, title), default=None)


def ratio(result: Result, peer: str, ours: str) -> float | None:
    """Time of the peer over time of our worker: the median over rounds."""
    theirs = fastest(result, peer)
    if theirs is None:
        return None
    workers = result["workers"]
    pairs = zip(workers[theirs]["ms"], workers[ours]["ms"], strict=True)
    return statistics.median(one / other for one, other in pairs)


def our_workers(results: dict[str, Result]) -> Iterator[tuple[str, str]]:
    """Network and our worker, in the order of the tables."""
    for name in (name for name in NETWORKS if name in results):
        for ours, row in results[name]["workers"].items():
            if row["peer"] == "modkit":
                yield name, ours


def ratios(results: dict[str, Result]) -> Iterator[tuple[str, str, float, dict[str, float | None]]]:
    """Network, our worker, its milliseconds and its ratios, in the order of the tables."""
    for name, ours in our_workers(results):
        result = results[name]
        against = {peer: ratio(result, peer, ours) for peer in OTHERS}
        yield name, ours, milliseconds(result, ours), against


def _cell(value: float | None, aim: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.2f}" if aim is None else f"{value:.2f} ({aim:g})"


def table_row(*cells: str) -> str:
    """A line of a table."""
    return f"| {' | '.join(cells)} |"


def _title(name: str, ours: str) -> str:
    variant = ours.removeprefix("modkit").replace(" fit", ", by fit")
    return NETWORKS[name].title + variant.replace(" K=", ", steps a call: ")


def speed_table(results: dict[str, Result]) -> list[str]:
    """Ratios, with the aim in brackets."""
    lines = [
        table_row(
            "network", "modkit ms", *(f"{PEERS[peer].title} ÷ modkit" for peer in OTHERS), "date"
        ),
        table_row(*["---"] * (len(OTHERS) + 3)),
    ]
    for name, ours, ms, against in ratios(results):
        variant = ours.removeprefix("modkit")
        aims = NETWORKS[name].aims
        cells = (_cell(value, aims.get(peer + variant)) for peer, value in against.items())
        date = results[name]["machine"]["date"]
        lines.append(table_row(_title(name, ours), f"{ms:.3g}", *cells, date))
    return lines


def memory_table(results: dict[str, Result]) -> list[str]:
    """Peak resident memory of the steps, and seconds from process start to the first step."""
    lines = [table_row("network", *PEERS), table_row(*["---"] * (len(PEERS) + 1))]
    for name, ours in our_workers(results):
        workers = results[name]["workers"]
        theirs = (workers.get(fastest(results[name], peer)) for peer in OTHERS)
        cells = (
            f"{row['peak_mib']:.0f} / {row['first_step_s']:.1f}" if row else "–"
            for row in (workers[ours], *theirs)
        )
        lines.append(table_row(_title(name, ours), *cells))
    return lines


def growth_table(result: Result) -> list[str]:
    """Resident memory of each worker at the end, and its growth since the warm-up."""
    return [
        table_row("network", "worker", "MiB", "grown by"),
        table_row(*["---"] * 4),
        *(
            table_row(NETWORKS[name].title, worker, f"{held[-1]:.0f}", f"{held[-1] - held[0]:.1f}")
            for name, workers in result["rss_mib"].items()
            for worker, held in workers.items()
        ),
    ]


def machines(results: dict[str, Result]) -> str:
    """A sentence that lists the machines of the results."""
    seen = {}
    for result in results.values():
        about = result["machine"]
        device = about["gpu"] or "no GPU"
        seen[f"{about['processor']}, {about['cores']} cores, {device}, JAX {about['jax']}"] = None
    return f"Machines: {'; '.join(seen)}."


def page(results: dict[str, Result]) -> str:
    """The generated part of README.md."""
    lines = [machines(results), "", *speed_table(results)]
    lines += [
        "",
        "Peak memory of steps, in MiB / seconds from a process's start to its first step:",
    ]
    lines += ["", *memory_table(results)]
    if "growth" in results:
        lines += ["", "Memory over 10,000 training steps and 1,000 predictions:"]
        lines += ["", *growth_table(results["growth"])]
    return "\n".join(lines)


def marks(name: str) -> tuple[str, str]:
    """The lines of README.md that enclose the figures of a benchmark."""
    return f"<!-- {name} -->", f"<!-- end of {name} -->"


def put(readme: Path, name: str, text: str) -> None:
    """Replace the text between the two marks."""
    begin, end = marks(name)
    before, _, rest = readme.read_text().partition(begin)
    _, _, after = rest.partition(end)
    readme.write_text(f"{before}{begin}\n{text}\n{end}{after}")


def draw(results: dict[str, Result], file: Path) -> None:
    """A bar chart of the ratios on a logarithmic scale; right of 1 modkit is faster."""
    import matplotlib  # optional

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = list(ratios(results))[::-1]
    figure, axes = pyplot.subplots(figsize=(8, 1 + 0.7 * len(rows)), layout="constrained")
    height = 0.8 / len(OTHERS)
    for number, peer in enumerate(OTHERS):
        bars = [(place, against[peer]) for place, (*_, against) in enumerate(rows)]
        bars = [(place, value) for place, value in bars if value]
        if not bars:
            continue
        places, values = zip(*bars, strict=True)
        drawn = axes.barh(
            [place + 0.4 - (number + 0.5) * height for place in places],
            [value - 1 for value in values],
            height,
            left=1,
            label=PEERS[peer].title,
        )
        axes.bar_label(drawn, [f"{value:.2f}" for value in values], padding=2, fontsize=7)
    axes.set_xscale("log")
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_yticks(range(len(rows)), [_title(name, ours) for name, ours, *_ in rows])
    axes.set_xlabel("time of the peer ÷ time of modkit (right of 1: modkit is faster)")
    axes.legend(fontsize=8)
    figure.savefig(file, dpi=100)
    pyplot.close(figure)

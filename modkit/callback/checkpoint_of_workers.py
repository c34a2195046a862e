"""The state of a training by several workers: gathered for a checkpoint, divided at a resume."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from modkit.callback.checkpoint_folder import ResumeError
from modkit.ndarray import NDArray

_log = logging.getLogger(__name__)
_OWN = ("metric", "position", "eval_data", "streams", "callbacks")
"""Parts of ``Run.state_dict`` that each worker has."""
_ROWS = ("aux", "grads")
"""Parts of ``Module.state_dict`` with a row for each replica."""


def whole_state(state: dict[str, Any], workers: Any) -> dict[str, Any]:
    """All-gather the state: every worker makes this call and gets the whole.

    Returns:
        The state of worker 0, with the rows of the replicas of all workers; the entries that
        differ by worker are under ``"workers"``.
    """
    if workers is None:
        return state
    own = {**{name: state[name] for name in _OWN}, "metric": state["metric"]()}
    module = {name: state["module"][name] for name in (*_ROWS, "kept")}
    parts = workers.gather(jax.tree.map(_on_host, {**own, "module": module}))
    rows = {
        name: {n: np.concatenate([p["module"][name][n] for p in parts]) for n in module[name]}
        for name in _ROWS
    }
    kept = [{**{n: p[n] for n in _OWN}, "kept": p["module"]["kept"]} for p in parts]
    metric = own["metric"]
    return {
        **state, "metric": lambda: metric, "module": {**state["module"], **rows}, "workers": kept,
    }  # fmt: skip


def _on_host(value: Any) -> Any:
    if isinstance(value, NDArray):
        return np.asarray(value._cell.unmoved())
    return np.asarray(value) if isinstance(value, jax.Array) else value


def own_state(state: dict[str, Any], workers: Any, run: Any) -> dict[str, Any]:
    """One worker's part of `whole_state`.

    For another number of workers, each gets the streams and the position of worker 0, the metric
    of the whole goes to worker 0, and rows of replicas are averaged: the training goes on to
    rounding where the workers read parts of the same batches (``NDArrayIter(num_parts=...)``).
    """
    parts = state.pop("workers", None)
    before = len(parts) if parts else 1
    rank, size = (workers.rank, workers.size) if workers is not None else (0, 1)
    module = dict(state["module"])
    if before == size:
        if parts is None:
            return state
        for name in _ROWS:
            module[name] = {n: np.split(rows, size)[rank] for n, rows in module[name].items()}
        own = parts[rank]
    else:
        _log.info(
            "resume: the checkpoint is of %d workers, and goes on with %d, to rounding: with the "
            "streams and the position in the data of worker 0", before, size,
        )  # fmt: skip
        own = dict(parts[0]) if parts else {**state, "kept": module["kept"]}
        own["metric"] = _metric_of(run.eval_metric, parts or [own], rank)
        module["grads"] = {n: (r / size).astype(r.dtype) for n, r in module["grads"].items()}
    module["kept"] = own["kept"]
    return {**state, **{n: own[n] for n in _OWN}, "module": module}


def _metric_of(metric: Any, parts: Sequence[Mapping[str, Any]], rank: int) -> Any:
    """The totals of all workers for worker 0, and none for the others."""
    metric.reset()
    if rank == 0:
        metric.load_state_dict(parts[0]["metric"])
        for part in parts[1:]:
            metric.merge(part["metric"])
    return metric.state_dict()


def check_found(found: Any, folder: Any, workers: Any) -> None:
    """Check that all workers have found the same checkpoint."""
    if workers is None:
        return
    names = workers.gather(None if found is None else found.path.name)
    if len(set(names)) > 1:
        listed = ", ".join(f"worker {i}: {name or 'none'}" for i, name in enumerate(names))
        raise ResumeError(
            f"resume: the workers find different checkpoints in {folder}: {listed}. Worker 0 "
            "writes them, and all have to read its folder, on a file system that they share"
        )

"""The training state of a module: read without waiting for the device, and written back."""

from __future__ import annotations

import copy
import logging
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from modkit.errors import NotSupportedError, ParameterError
from modkit.ndarray import NDArray, RowSparseNDArray, array
from modkit.ndarray.storage import Cell, x64_for
from modkit.optimizer.updater import Updater
from modkit.signals import DeferredReads
from modkit.step.shards import Parts

_log = logging.getLogger(__name__)
State = dict[str, Any]


def state_of(module: Any, updater: Any) -> State:
    """Parameters, auxiliary states, gradients that are added to, and the optimizer.

    Nothing is copied and nothing waits: values are immutable arrays, and the next step of the
    module donates copies of them.

    Returns:
        ``"params"`` by name; ``"aux"`` and ``"grads"`` by name with a row for each replica;
        ``"own"``, the parameters of contexts that train apart, likewise, whose means are
        ``"params"``; ``"kept"``, the arrays of ``state_names``; and ``"updater"``, an Updater that
        is a copy.

    Raises:
        NotSupportedError: gradients are compressed, or the updater is a user's own.
    """
    if module._module_optimizer.compresses:
        raise NotSupportedError(
            "a checkpoint of a module with compression_params: the residuals of compressed "
            "gradients are not part of it; train without compression"
        )
    if not isinstance(updater, Updater):
        raise NotSupportedError(
            f"a checkpoint of an optimizer that {type(updater).__name__} runs: expected one that "
            "the module runs; train with kvstore='local'"
        )
    module._bind_as_stored()
    group = module._exec_group
    store, one = group.store, group.store.home.count == 1
    added = [n for n in group.trained if group.grad_req[n] == "add"]
    # All of one step; and JAX compiles no program of a handler's read within the same one here.
    with store.lock, DeferredReads():
        store.run()
        return {
            "params": {n: store.logical(s).get() for n, s in store.params.items()},
            "aux": {n: s.get()[None] if one else s.get() for n, s in store.aux.items()},
            "grads": {n: group.stored("grads", n) for n in added}
            if store.apart
            else {n: _row(store.grads[n].get(), one) for n in added},
            "own": {n: s.get() for n, s in store.params.items()} if store.apart else {},
            "kept": [each._cell.get() for each in group.get_states()],
            "updater": _frozen(updater),
        }


def _row(value: Any, one: bool) -> Any:
    return value[None] if one else value


def _frozen(updater: Updater) -> Updater:
    """A copy of an updater, whose arrays later updates do not change."""
    frozen = Updater(copy.deepcopy(updater.optimizer))
    frozen.states = {
        i: jax.tree.map(_frozen_array, updater._plain_state(i)) for i in updater.states
    }
    frozen.states_synced = dict.fromkeys(frozen.states, False)
    return frozen


def _frozen_array(value: Any) -> Any:
    if not isinstance(value, NDArray):
        return value
    if isinstance(value, RowSparseNDArray):
        return value.copy()
    cell = value._cell
    return NDArray(cell.frozen() if isinstance(cell, Parts) else Cell(cell.get()), value.ctx)


def load_state(module: Any, updater: Any, state: Mapping[str, Any]) -> None:
    """Restore a state, as it is read from a checkpoint.

    With another number of replicas auxiliary states are averaged and gradients are summed, which
    is logged: the training goes on to rounding.

    The state is that of `state_of`, or has NumPy arrays or NDArrays, and the updater's bytes.

    Raises:
        ParameterError: the names are not those of the module.
        ShapeError: an array of another shape.
    """
    module._bind_as_stored()
    group, own = module._exec_group, state.get("own") or {}
    store = group.store
    for what, present in (("params", store.params), ("aux", store.aux)):
        strange = sorted(state[what].keys() ^ present.keys())
        if strange:
            raise ParameterError(
                f"load_state_dict: {what}: {strange[0]!r} is only in "
                f"{'the state' if strange[0] in state[what] else 'the module'}"
            )
    _check_apart({len(rows) for rows in own.values()}, store)
    with store.lock, DeferredReads():
        store.run()
        module._stored_parameters().set(state["params"], None)
        for name, rows in own.items():
            _restore(store, store.params[name], name, np.asarray(rows))
        for name, rows in state["aux"].items():
            _restore(store, store.aux[name], name, _as_many(rows, store.home.count, np.mean))
        for name, rows in state["grads"].items():
            if store.apart:
                group.fill("grads", name, list(rows))
            elif name in store.grads:
                many = _as_many(rows, store.home.count, np.sum)
                if len(rows) != len(many):
                    many = many / np.array(len(many), rows.dtype)
                _restore(store, store.grads[name], name, many)
    if state["kept"]:
        module.set_states([array(each, dtype=each.dtype) for each in state["kept"]])
    keys = group.trained if module._update_on_kvstore else group.indices
    named = {} if own else dict(zip(group.trained, keys, strict=True))
    _thaw(updater, state["updater"], named)


def _check_apart(counts: set[int], store: Any) -> None:
    """Raise ParameterError unless contexts that trained apart, with own states, go on so."""
    (saved,) = counts or {0}
    present = store.home.count if store.apart else 0
    if saved != present:
        kinds = (f"{n} contexts that train apart (kvstore=None)" if n else "contexts that train "
                 "as one" for n in (saved, present))  # fmt: skip
        raise ParameterError(
            "load_state_dict: the state is of {}, the module has {}; go on with the kvstore and as "
            "many contexts as before".format(*kinds)
        )


def _as_many(rows: np.ndarray, count: int, joined: Any) -> np.ndarray:
    """Values of replicas for another number of replicas; unchanged for the same number."""
    if len(rows) == count:
        return rows
    _log.info(
        "the checkpoint is of %d replicas, and goes on with %d, to rounding", len(rows), count
    )
    return np.broadcast_to(joined(rows, axis=0), (count, *rows.shape[1:])).astype(rows.dtype)


def _restore(store: Any, slot: Any, name: str, rows: np.ndarray) -> None:
    with x64_for(rows.dtype):
        slot.set(store.home.at(name).store(rows), aliased=True)


def _thaw(updater: Updater, saved: bytes | Updater, keys: Mapping[str, Any]) -> None:
    """Restore states, counts, rates and schedule into the updater's own optimizer.

    ``keys`` are the updater's, by the parameters' names: they are names where a store holds the
    states, and numbers that depend on the count of devices otherwise.
    """
    if isinstance(saved, Updater):
        saved = saved.get_states(dump_optimizer=True)
    read = Updater(updater.optimizer)
    read.set_states(saved)
    optimizer, scheduler = updater.optimizer, updater.optimizer.lr_scheduler
    kept, loaded = optimizer.param_dict, read.optimizer.__getstate__()
    names = loaded["idx2name"]

    def own(values: Mapping[Any, Any]) -> dict[Any, Any]:
        return {keys.get(names.get(i, i), i): value for i, value in values.items()}

    updater.states, updater.states_synced = own(read.states), own(read.states_synced)
    counts = {device: own(each) for device, each in loaded["_all_index_update_counts"].items()}
    loaded |= {
        "idx2name": optimizer.idx2name, "_all_index_update_counts": counts,
        "_index_update_count": own(loaded["_index_update_count"]),
    }  # fmt: skip
    if scheduler is not None and loaded["lr_scheduler"] is not None:
        scheduler.__dict__.update(loaded["lr_scheduler"].__dict__)
    optimizer.__setstate__({**loaded, "lr_scheduler": scheduler})
    optimizer.param_dict = kept

"""Set-up of a module's optimizer: the optimizer, its KVStore, and the owner of its states."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import jax

from modkit import optimizer as optimizers
from modkit import stream
from modkit.context import Context
from modkit.errors import NotSupportedError, ParameterError, warn_caller
from modkit.io.base import descriptions
from modkit.kvstore import KVStore
from modkit.kvstore.check_equal import check_equal
from modkit.kvstore.compression import make_compression
from modkit.kvstore.create import create_kvstore
from modkit.module.split_batch import batch_size_of
from modkit.ndarray import NDArray
from modkit.optimizer.identity import settings
from modkit.step.replicas import DistinctDevices, Logical
from modkit.step.shards import Parts, Shards

_log = logging.getLogger(__name__)


class OptimizerSetup(NamedTuple):
    """An optimizer and the holder of its states.

    Attributes:
        optimizer: the optimizer.
        kvstore: sums gradients; ``None`` on one device.
        update_on_kvstore: whether the store's updater holds the optimizer states.
        updater: holds them otherwise.
        shards: the division of the states over devices; ``None``: each device has them whole.
    """

    optimizer: Any = None
    kvstore: Any = None
    update_on_kvstore: bool | None = None
    updater: Any = None
    shards: Shards | None = None


def set_up_optimizer(
    kvstore: Any,
    optimizer: Any,
    optimizer_params: Any,
    *,
    symbol: Any,
    params: Mapping[str, NDArray],
    batch_size: int,
    device_count: int,
    trained: Sequence[str],
    compression_params: Mapping[str, Any] | None,
    facts: Mapping[str, Any],
) -> OptimizerSetup:
    """Make an optimizer and a store, and hand the parameters to the store.

    ``kvstore``, ``optimizer`` and its parameters are those of ``init_optimizer``; ``facts`` are
    other values that must be equal in all workers, by name.

    Raises:
        DistributedError: another worker has another network, shape, type, optimizer or
            ``rescale_grad``.
    """
    store, on_kvstore = create_kvstore(kvstore, device_count, params)
    # A user's own store only sums; the built-in one also runs the optimizer.
    on_kvstore = on_kvstore and isinstance(store, KVStore)
    rescale = 1.0 / batch_size
    if store is not None and "dist" in store.type and "_sync" in store.type:
        rescale /= store.num_workers
    count = 1 if on_kvstore else device_count
    names = {i * count + k: n for i, n in enumerate(params) for k in range(count)}
    made = _make_optimizer(optimizer, optimizer_params, rescale, names, symbol)
    if store is None and device_count > 1:
        warn_caller(
            f"init_optimizer: kvstore=None with {device_count} contexts: as in MXNet, each context "
            "trains parameters of its own, on its slice of each batch; get_params() and the end of "
            "an epoch average them. Pass kvstore='device' to sum the gradients"
        )
    workers = getattr(store, "workers", None)
    if workers is not None:
        facts = {
            **facts, "contexts": device_count, "update_on_kvstore": on_kvstore,
            "trained": list(trained), "compression_params": compression_params,
        }  # fmt: skip
        check_equal(workers, "init_optimizer", {**facts, **_facts(symbol, params, made)})
    if store is not None:
        if workers is not None:
            stream.move_to(workers.gather(stream.position())[0])  # one stream for all
        if compression_params:
            store.set_gradient_compression(compression_params)
        if on_kvstore:
            store.set_optimizer(made)
        for name, handle in params.items():
            store.init(name, handle)
            if isinstance(store, KVStore):
                store.adopt(name, handle)
    updater = None if on_kvstore else optimizers.get_updater(made)
    return OptimizerSetup(made, store, on_kvstore, updater)


def _facts(symbol: Any, params: Mapping[str, NDArray], optimizer: Any) -> dict[str, str]:
    """Network, parameters and optimizer by name; operators without theirs, which may be counted."""
    facts = {f"parameter {n}": f"shape {v.shape}, {v.dtype.__name__}" for n, v in params.items()}
    for place, node in enumerate(json.loads(symbol.tojson())["nodes"]):
        name = node["name"] if node["op"] == "null" else ""
        facts[f"node {place}"] = f"{node['op']} {name} {node.get('attrs', {})} {node['inputs']}"
    return {**facts, **{f"optimizer {n}": value for n, value in settings(optimizer).items()}}


def with_shards(setup: OptimizerSetup, home: Any, compression_params: Any) -> OptimizerSetup:
    """The same optimizer, with its states divided over all devices, if there are several.

    Raises:
        NotSupportedError: the update is not part of the program of a step on each device, or
            cannot be made of parts of arrays.
    """
    shards = Shards(home, getattr(setup.kvstore, "workers", None))
    several = {c.jax_device for c in home.contexts}
    rule, why = setup.optimizer.tree_rule(), None
    if home.model_parallel or (len(several) > 1 and not isinstance(home, DistinctDevices)):
        why = "the contexts do not run as equal replicas on a device each"
    elif compression_params:
        why = "compression_params sum gradients before the update"
    elif setup.kvstore is not None and not isinstance(setup.kvstore, KVStore):
        why = f"the store {type(setup.kvstore).__name__} sums gradients before the update"
    elif setup.kvstore is None and home.count > 1:
        why = "kvstore=None trains the parameters of each context apart"
    elif rule is None:
        why = f"{type(setup.optimizer).__name__} updates by Python code"
    if why is not None:
        raise NotSupportedError(
            f"shard_optimizer_states: {why}, and parts are updated in the program of a step; "
            "leave shard_optimizer_states out"
        )
    shards.rule(rule)
    if shards.count == 1:
        return setup
    _log.info("optimizer states: %d parts of each array, one on each device", shards.count)
    return setup._replace(shards=shards)


def state_bytes(states: Any, contexts: Sequence[Context]) -> dict[Context, int]:
    """The bytes of optimizer states on each of the devices."""
    found = dict.fromkeys(contexts, 0)
    for state in filter(lambda each: isinstance(each, NDArray), jax.tree.leaves(states)):
        cell = state._cell
        stored = cell.storage if isinstance(cell, Logical | Parts) else cell
        for device, size in stored.seen(_bytes_on_devices):
            for ctx in found:
                if ctx.jax_device == device:
                    found[ctx] += size
    return found


def _bytes_on_devices(stored: jax.Array) -> list[tuple[Any, int]]:
    return [(shard.device, shard.data.nbytes) for shard in stored.addressable_shards]


def refuse_compression(params: Mapping[str, Any], row_sparse_grads: Collection[str]) -> None:
    """Raise NotSupportedError where row-sparse gradients would be compressed."""
    if row_sparse_grads and make_compression(params) is not None:
        raise NotSupportedError(
            f"init_optimizer: compression_params: the gradient of {min(row_sparse_grads)!r} is "
            "row-sparse, and rows are not compressed; leave compression_params out, or make "
            "the gradient dense: sparse_grad=False, no csr input"
        )


def count_epochs(optimizer: Any, epochs: int, batches: int | None) -> None:
    """Set the update counts of an optimizer whose states were loaded without, to the end of epochs.

    An optimizer with a ``begin_num_update`` of its own is left as it is. An unknown number of
    batches is a warning.
    """
    if optimizer.begin_num_update:
        return
    if batches is None:
        warn_caller(
            f"fit: begin_epoch={epochs}: the .states file has no update counts, and train_data "
            "does not say how many batches it has, so that schedules and bias corrections begin "
            "anew; give the optimizer begin_num_update=<updates so far>"
        )
        return
    optimizer.begin_num_update = optimizer.num_update = epochs * batches
    _log.info(
        "the optimizer goes on at update %d, for begin_epoch=%d with %d updates an epoch; "
        "begin_num_update sets another count",
        epochs * batches, epochs, batches,
    )  # fmt: skip


def kept_optimizer(module: Any, optimizer: Any, params: Any) -> str:
    """The log message of an ``init_optimizer`` that keeps a module's optimizer.

    It names what has no effect: another optimizer, and another batch size for ``rescale_grad``.
    """
    own, begin = module._present_optimizer, "optimizer already initialized, ignoring..."
    text, options = begin, "force_init=True"
    if own is None:
        return begin
    given, kind = _named(params), type(own).__name__
    if isinstance(optimizer, str) and optimizer.lower() == kind.lower():
        present = {**vars(own), "learning_rate": own.lr}
        for name, value in given.items() if given != _DEFAULT[1] else ():
            stays = present.get(name, own)
            if stays is not value and stays != value:
                text += f" {name}={value!r} has no effect"
                text += f"; {stays!r} stays." if name in present else "."
    elif optimizer is not own and (optimizer, given) != _DEFAULT:
        name = optimizer if isinstance(optimizer, str) else type(optimizer).__name__
        text += f" The optimizer that is given ({name}) has no effect; {kind} stays."
    count, chosen = getattr(own, "_scaled_for", None) or (1, None)
    if own.rescale_grad == chosen:  # it is not its user's own
        size = batch_size_of(descriptions(module._fed or module.data_shapes))
        workers = module._present_workers
        wanted = 1 / (size * count * (workers.size if workers else 1))
        if not math.isclose(own.rescale_grad, wanted):
            text += (
                f" rescale_grad stays {own.rescale_grad:g}, of the first batch size; one over the "
                f"present one, {size}, would be {wanted:g}."
            )
            options += f", optimizer_params={{'rescale_grad': {wanted:g}, ...}}"
    return begin if text == begin else f"{text} init_optimizer({options}) makes a new one."


_DEFAULT = ("sgd", {"learning_rate": 0.01})
"""Optimizer and parameters of a ``fit`` to which none are given."""


def _make_optimizer(
    optimizer: Any, params: Any, rescale: float, names: Mapping[int, str], symbol: Any
) -> Any:
    given = _named(params)
    if isinstance(optimizer, str):
        made = optimizers.create(
            optimizer, sym=symbol, param_idx2name=dict(names), **{"rescale_grad": rescale, **given}
        )
        made._scaled_for = None if "rescale_grad" in given else (1, rescale)
        return made
    _warn_of_unused(optimizer, given)
    if isinstance(optimizer, optimizers.Optimizer):
        _complete(optimizer, rescale, names)
        return optimizer
    made = optimizers.create(optimizer, param_idx2name=dict(names), rescale_grad=rescale)
    made._scaled_for = (1, rescale)
    return made


def _warn_of_unused(optimizer: Any, params: Mapping[str, Any]) -> None:
    """Warn of parameters of an optimizer that is already made; MXNet ignores them in silence."""
    if params and params != _DEFAULT[1]:
        warn_caller(
            f"optimizer_params={dict(params)!r} has no effect: the optimizer is an instance, of "
            f"{type(optimizer).__name__}; give the parameters to it when it is made"
        )


def _complete(optimizer: Any, rescale: float, names: Mapping[int, str]) -> None:
    """Give an optimizer names of the parameters; its scale stays, with a warning."""
    if optimizer.rescale_grad != rescale:
        warn_caller(
            f"the optimizer's rescale_grad is {optimizer.rescale_grad}, where one over the "
            f"batch size would be {rescale}. Is this intended?"
        )
    if not optimizer.idx2name:
        optimizer.idx2name = dict(names)


def _named(params: Any) -> dict[str, Any]:
    """The optimizer's parameters by name."""
    try:
        return dict(params or {})
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"optimizer_params: got {params!r}, expected a dictionary such as "
            "{'learning_rate': 0.1}"
        ) from error

"""Set-up of a module's optimizer: `init_optimizer` of a bound module."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from modkit import fork, stream
from modkit import optimizer as optimizers
from modkit.context import Context
from modkit.errors import NotReadyError, NotSupportedError, expect, warn_caller, wrong
from modkit.io import DataDesc
from modkit.io.base import descriptions
from modkit.kvstore import KVStore
from modkit.kvstore.check_equal import check_equal
from modkit.kvstore.compression import make_compression
from modkit.kvstore.create import create_kvstore
from modkit.module.executor_group import DataParallelExecutorGroup
from modkit.module.module_optimizer import ModuleOptimizer
from modkit.module.split_batch import batch_size_of
from modkit.ndarray import NDArray
from modkit.ops.dtypes import dtype_name
from modkit.optimizer.identity import settings

_log = logging.getLogger(__name__)


def set_up_optimizer(
    kvstore: Any,
    optimizer: Any,
    optimizer_params: Any,
    sharded: bool,
    group: DataParallelExecutorGroup,
    *,
    inputs: Sequence[DataDesc],
    compression_params: Mapping[str, Any] | None,
) -> ModuleOptimizer:
    """Make an optimizer and a store, and hand the parameters to the store.

    The first arguments are those of ``init_optimizer``; ``inputs`` are descriptions that must be
    equal in all workers.

    Raises:
        DistributedError: another worker has another network, shape, type, optimizer or
            ``rescale_grad``.
        NotSupportedError: see ``init_optimizer``.
    """
    if kvstore is not None:
        _refuse_compression(kvstore, compression_params, group.row_sparse_grads)
    params = {name: group.store.handle(name) for name in group.param_names}
    device_count = len(group.contexts)
    store, on_kvstore = create_kvstore(kvstore, device_count, params)
    # A user's own store only sums; the built-in one also runs the optimizer.
    on_kvstore = on_kvstore and isinstance(store, KVStore)
    rescale = 1.0 / group.batch_size
    if store is not None and "dist" in store.type and "_sync" in store.type:
        rescale /= store.num_workers
    count = 1 if on_kvstore else device_count
    names = {i * count + k: n for i, n in enumerate(params) for k in range(count)}
    made = _make_optimizer(optimizer, optimizer_params, rescale, names, group.symbol)
    if store is None and device_count > 1:
        warn_caller(
            f"init_optimizer: kvstore=None with {device_count} contexts: as in MXNet, each context "
            "trains parameters of its own, on its slice of each batch; get_params() and the end of "
            "an epoch average them. Pass kvstore='device' to sum the gradients"
        )
    workers = getattr(store, "workers", None)
    if workers is not None:
        check_equal(workers, "init_optimizer", {
            "shard_optimizer_states": sharded, "devices": len(devices_of(group.contexts)),
            **{f"input {d.name}": f"shape {tuple(d.shape)}, {dtype_name(d.dtype)}" for d in inputs},
            "contexts": device_count, "update_on_kvstore": on_kvstore,
            "trained": list(group.trained),
            "compression_params": compression_params or str(getattr(store, "_compressor", None)),
            **_facts(group.symbol, params, made),
        })  # fmt: skip
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
    made._check_rows(sorted(group.row_sparse_grads))
    found = ModuleOptimizer(made, store, on_kvstore, updater, None, workers, lock=fork.lock())
    found = found.on(device_count)
    return found.sharded(group.store.home) if sharded else found


def devices_of(contexts: Sequence[Context]) -> set[Any]:
    """The devices of contexts."""
    return {ctx.jax_device for ctx in contexts}


def _facts(symbol: Any, params: Mapping[str, NDArray], optimizer: Any) -> dict[str, str]:
    """Network, parameters and optimizer by name; operators without theirs, which may be counted."""
    facts = {f"parameter {n}": f"shape {v.shape}, {v.dtype.__name__}" for n, v in params.items()}
    for place, node in enumerate(json.loads(symbol.tojson())["nodes"]):
        name = node["name"] if node["op"] == "null" else ""
        facts[f"node {place}"] = f"{node['op']} {name} {node.get('attrs', {})} {node['inputs']}"
    return {**facts, **{f"optimizer {n}": value for n, value in settings(optimizer).items()}}


def _refuse_compression(
    kvstore: Any, params: Mapping[str, Any] | None, row_sparse_grads: Collection[str]
) -> None:
    """Raise NotSupportedError where row-sparse gradients would be compressed."""
    if params:
        compressed = make_compression(params) is not None
    else:
        compressed = getattr(kvstore, "_compressor", None) is not None
    if row_sparse_grads and compressed:
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
    if not hasattr(optimizer, "rescale_grad"):
        raise NotReadyError(
            f"{type(optimizer).__name__} has no rescale_grad: call super().__init__(...) in its "
            "__init__"
        )
    if optimizer.rescale_grad != rescale:
        warn_caller(
            f"the optimizer's rescale_grad is {optimizer.rescale_grad}, where one over the batch "
            f"size would be {rescale}, which an optimizer given by its name gets; is this intended?"
        )
    if not optimizer.idx2name:
        optimizer.idx2name = dict(names)


def _named(params: Any) -> dict[str, Any]:
    """The optimizer's parameters by name."""
    expected = "a dictionary such as {'learning_rate': 0.1}"
    try:
        named = dict(params or {})
    except (TypeError, ValueError) as error:
        raise wrong("optimizer_params", params, expected) from error
    expect(all(isinstance(name, str) for name in named), "optimizer_params", params, expected)
    return named

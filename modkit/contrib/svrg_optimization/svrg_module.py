"""SVRGModule: a Module that trains by stochastic variance-reduced gradients."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from modkit.contrib.svrg_optimization.svrg_optimizer import _SVRGOptimizer
from modkit.errors import ParameterError, wrong
from modkit.io import DataIter
from modkit.module.module import Module
from modkit.ndarray import NDArray, zeros_like


class SVRGModule(Module):
    """A Module that trains by SVRG (Johnson and Zhang, 2013).

    Every ``update_freq`` epochs the parameters w~ are kept and the gradient of the whole epoch at
    them, mu, is computed. Each update uses ``g(w) - g(w~) + mu`` as its gradient.

    Differs: each full gradient mu replaces the one before; MXNet 1.9.1 adds it to them. A module
    that is bound for training runs ``forward(batch)`` at w~ too; MXNet does with ``is_train=True``
    alone, and else takes an earlier gradient at w~. With several contexts MXNet's first update
    after a full gradient is not along mu.

    Args:
        data_names, label_names, logger, context, work_load_list, fixed_param_names, state_names,
            group2ctxs, compression_params: see `Module`.
        update_freq: number of epochs between full gradients, at least 1.

    Raises:
        ParameterError: ``update_freq`` is not a positive integer.
    """

    def __init__(
        self,
        symbol: Any,
        data_names: Sequence[str] | None = ("data",),
        label_names: Sequence[str] | None = ("softmax_label",),
        logger: Any = logging,
        context: Any = None,
        work_load_list: Any = None,
        fixed_param_names: Any = None,
        state_names: Any = None,
        group2ctxs: Any = None,
        compression_params: Any = None,
        update_freq: int | None = None,
    ):
        if isinstance(update_freq, bool) or not isinstance(update_freq, int) or update_freq < 1:
            expected = "the number of epochs between full gradients, from 1 on"
            raise wrong("SVRGModule: update_freq", update_freq, expected)
        self.update_freq = update_freq
        parts = (symbol, data_names, label_names, logger, context, work_load_list,
                 fixed_param_names, state_names, group2ctxs)  # fmt: skip
        super().__init__(*parts, compression_params)
        self._mod_aux = Module(*parts)
        self._param_dict: list[dict[str, NDArray]] = []
        self._ctx_len = len(self._context)

    def bind(self, *args: Any, **kwargs: Any) -> None:
        """Bind the module, and the one that keeps w~. See `Module.bind`."""
        super().bind(*args, **kwargs)
        if self.for_training:
            kwargs.pop("shared_module", None)
            self._mod_aux.bind(*args[:5], **kwargs)

    def reshape(self, data_shapes: Any, label_shapes: Any = None) -> None:
        super().reshape(data_shapes, label_shapes)
        if self.for_training:
            self._mod_aux.reshape(data_shapes, label_shapes)

    def _keep_optimizer(self, optimizer: Any, params: Any, sharded: bool) -> None:
        super()._keep_optimizer(*_inside(optimizer, params), sharded)

    def _make_optimizer(
        self, kvstore: Any, optimizer: Any, params: Any, force_init: bool, sharded: bool, /
    ) -> None:
        super()._make_optimizer(kvstore, *_inside(optimizer, params), force_init, sharded)

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Run a batch; in training at w~ too. See `Module.forward`."""
        super().forward(data_batch, is_train)
        if self._param_dict and (self.for_training if is_train is None else is_train):
            self._mod_aux.forward(data_batch, is_train)

    def backward(self, out_grads: Any = None) -> None:
        """Gradients of the last batch; at w~ too. See `Module.backward`."""
        super().backward(out_grads)
        if self._param_dict:
            self._mod_aux.backward(out_grads)

    def update(self) -> None:
        """Update the parameters with variance-reduced gradients."""
        self._update_svrg_gradients()
        super().update()

    def update_full_grads(self, train_data: Any) -> None:
        """Keep the present parameters as w~, and compute their gradient mu over an iterator.

        Args:
            train_data: reset before, and read to its end.
        """
        self._need("update_full_grads()", params=True)
        before = self._mod_aux.get_params() if self._param_dict else None
        kept = self._param_dict and [dict(each) for each in self._param_dict]
        try:
            self._mod_aux.init_params(None, *self.get_params(), force_init=True)
            means = self._full_grads(train_data)
            for name in means[0]:
                self._accumulate_kvstore(name, [each[name] for each in means])
        except BaseException:  # mu is still the gradient at the w~ from before
            self._param_dict = kept
            if before is not None:
                self._mod_aux.init_params(None, *before, force_init=True)
            raise

    def _full_grads(self, train_data: Any) -> list[dict[str, NDArray]]:
        """The mean gradient over the batches of an iterator at w~, for each context."""
        train_data.reset()
        sums: list[dict[str, NDArray]] = []
        count = 0
        for batch in train_data:
            self._mod_aux.forward(batch, is_train=True)
            self._mod_aux.backward()
            grads = _grads(self._mod_aux)
            if not sums:
                sums = [{n: zeros_like(g) for n, g in each.items()} for each in grads]
            for total, each in zip(sums, grads, strict=True):
                for name, grad in each.items():
                    total[name] += grad
            count += 1
        if not count:
            raise ParameterError("update_full_grads: the iterator has no batch")
        return [{n: total / count for n, total in each.items()} for each in sums]

    def _accumulate_kvstore(self, key: str, value: Sequence[NDArray]) -> None:
        """Keep the sum of full gradients of one parameter, each context an equal share of it."""
        total = sum((v.as_in_context(value[0].context) for v in value[1:]), value[0])
        share = total / self._ctx_len
        self._param_dict = self._param_dict or [{} for _ in self._context]
        for context, kept in zip(self._context, self._param_dict, strict=True):
            kept[key] = share.copyto(context)

    def _update_svrg_gradients(self) -> None:
        """Replace ``g(w)`` by ``g(w) - g(w~) + mu``, once there are full gradients."""
        if not self._param_dict:
            return
        present, kept = _grads(self), _grads(self._mod_aux)
        for now, then, mean in zip(present, kept, self._param_dict, strict=True):
            for name, grad in now.items():
                self._svrg_grads_update_rule(grad, then[name], mean[name])

    def _svrg_grads_update_rule(self, now: NDArray, then: NDArray, mean: NDArray) -> NDArray:
        """Write ``g(w) - g(w~) + mu`` into ``g(w)``."""
        now[:] = now - then + mean
        return now

    def fit(self, train_data: Any, *args: Any, **kwargs: Any) -> None:
        """Train; full gradients are computed before every ``update_freq``-th epoch.

        The arguments are those of `Module.fit`.
        """
        begin = kwargs.get("begin_epoch") or 0
        super().fit(_Epochs(self, train_data, begin), *args, **kwargs)


class _Epochs(DataIter):
    """An iterator over training data that has full gradients computed when an epoch begins."""

    def __init__(self, module: SVRGModule, inner: Any, epoch: int):
        super().__init__(getattr(inner, "batch_size", 0))
        self.provide_data, self.provide_label = inner.provide_data, inner.provide_label
        self._module, self._inner, self._epoch = module, inner, epoch

    def __iter__(self) -> Any:
        if self._epoch % self._module.update_freq == 0:
            self._module.update_full_grads(self._inner)
            self._inner.reset()
        self._epoch += 1
        return iter(self._inner)

    def reset(self) -> None:
        self._inner.reset()


def _grads(module: Module) -> list[dict[str, NDArray]]:
    """The gradients by name, a dictionary for each context."""
    group = module._exec_group
    each = [{} for _ in group.contexts]
    for name, grads in zip(group.param_names, group.grad_arrays, strict=True):
        for found, grad in zip(each, grads or [], strict=False):
            if grad is not None:
                found[name] = grad
    return each


def _inside(optimizer: Any, params: Any) -> tuple[str, dict[str, Any]]:
    """The name and the parameters of an `_SVRGOptimizer` with this optimizer inside."""
    return _SVRGOptimizer.__name__, {"default_optimizer": optimizer, **dict(params)}

"""FeedForward: the estimator of early MXNet, over a Module."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from modkit import metric as metrics
from modkit import ndarray as nd
from modkit.callback import BatchEndParam, LogValidationMetricsCallback
from modkit.checkpoint import Prefix, load_checkpoint, save_checkpoint
from modkit.context import Context, current_context
from modkit.errors import NotReadyError, ParameterError, ShapeError, warn_caller, wrong
from modkit.initializer import Uniform
from modkit.io import DataBatch, DataDesc, DataIter, NDArrayIter
from modkit.module.argument_checks import as_list
from modkit.module.base_module import BaseModule
from modkit.module.bucketing_module import BucketingModule
from modkit.module.module import Module
from modkit.module.parameters import check_given
from modkit.ndarray import NDArray

_DEFAULT_INITIALIZER = Uniform(0.01)


class FeedForward:
    """A network with its parameters, trained on arrays or iterators.

    Inputs are the arguments whose names end in ``data`` or ``label``; the rest are parameters.
    Differs: `predict` uses the present parameters; MXNet's keeps those of its first call while
    shapes stay. `score` resets the metric that it is given; MXNet's adds to what it holds.
    Parameters of another shape are refused, which MXNet's broadcasts.

    Args:
        symbol: the net, or a function from bucket key to net.
        ctx: a device or a list of them; default the current one.
        num_epoch: number after the last epoch's.
        epoch_size: batches in an epoch; default all of the iterator's.
        optimizer: name of an optimizer, or one.
        initializer: starts the parameters that ``arg_params`` lacks.
        numpy_batch_size: samples in a batch when fitting or predicting arrays.
        arg_params: parameters to begin with.
        aux_params: auxiliary states to begin with.
        allow_extra_params: ``arg_params`` and ``aux_params`` may have names that the net lacks.
        **kwargs: of the optimizer.
    """

    def __init__(
        self,
        symbol: Any,
        ctx: Context | Sequence[Context] | None = None,
        num_epoch: int | None = None,
        epoch_size: int | None = None,
        optimizer: Any = "sgd",
        initializer: Any = _DEFAULT_INITIALIZER,
        numpy_batch_size: int = 128,
        arg_params: Mapping[str, NDArray] | None = None,
        aux_params: Mapping[str, NDArray] | None = None,
        allow_extra_params: bool = False,
        begin_epoch: int = 0,
        **kwargs: Any,
    ):
        warn_caller(
            "FeedForward is the API from before modules; use mx.mod.Module", DeprecationWarning
        )
        self.sym_gen = symbol if callable(symbol) and not hasattr(symbol, "list_outputs") else None
        self.symbol: Any = None if self.sym_gen else symbol
        ctx = current_context() if ctx is None else ctx
        self.ctx = [ctx] if isinstance(ctx, Context) else list(ctx)
        self.num_epoch, self.epoch_size, self.begin_epoch = num_epoch, epoch_size, begin_epoch
        self.optimizer, self.initializer, self.kwargs = optimizer, initializer, dict(kwargs)
        self.numpy_batch_size = numpy_batch_size
        self.arg_params, self.aux_params = arg_params, aux_params
        self.allow_extra_params = allow_extra_params
        if allow_extra_params and self.symbol is not None:
            self.arg_params, self.aux_params = self._known_params(self.symbol)

    # ── Training ────────────────────────────────────────────────────────────────────────────

    def fit(
        self,
        X: Any,
        y: Any = None,
        eval_data: Any = None,
        eval_metric: Any = "acc",
        epoch_end_callback: Any = None,
        batch_end_callback: Any = None,
        kvstore: Any = "local",
        logger: Any = None,
        work_load_list: Sequence[float] | None = None,
        monitor: Any = None,
        eval_end_callback: Any = None,
        eval_batch_end_callback: Any = None,
    ) -> None:
        """Train on an array ``X`` of samples and labels ``y``, in random order, or on an iterator.

        ``eval_data``, an iterator or ``(X, y)``, is scored after each epoch, and the values are
        logged where there is no ``eval_end_callback``. The other arguments are those of
        `BaseModule.fit` and `Module`; callbacks count batches from 1.

        Raises:
            ParameterError: data of no known kind.
            NotReadyError: ``num_epoch`` is missing.
        """
        if self.num_epoch is None:
            raise NotReadyError("FeedForward.fit() needs num_epoch, the number of epochs")
        data = self._init_iter(X, y, is_train=True)
        scored = self._init_eval_iter(eval_data)
        if self.sym_gen is not None:
            self.symbol = self.sym_gen(data.default_bucket_key)
        self._init_params([*data.provide_data, *data.provide_label])
        module = self._module(data, logger or logging, work_load_list)
        data.reset()
        renewed = _Renewed(data, module.logger, self.begin_epoch, self.epoch_size)
        module._logs = module._averages = False
        module.logger.info("Start training with %s", self.ctx)
        module.fit(
            renewed,
            eval_data=scored,
            eval_metric=eval_metric,
            epoch_end_callback=epoch_end_callback,
            batch_end_callback=[
                *_counted_from_one(batch_end_callback),
                lambda _: renewed.log_resets(),
            ],
            kvstore=kvstore,
            optimizer=self.optimizer,
            optimizer_params=self.kwargs,
            # Reset after scoring as well as before: nothing of one scoring rolls over to the next.
            eval_end_callback=[
                *as_list(eval_end_callback or LogValidationMetricsCallback()),
                lambda _: scored.reset(),
            ],
            eval_batch_end_callback=eval_batch_end_callback,
            initializer=None,
            arg_params=self.arg_params,
            aux_params=self.aux_params,
            begin_epoch=self.begin_epoch,
            num_epoch=self.num_epoch,
            monitor=monitor,
        )
        self.arg_params, self.aux_params = module.get_params()

    def _init_params(
        self, inputs: Sequence[Any], overwrite: bool = False
    ) -> tuple[list[str], list[str], list[str]]:
        """Complete `arg_params` and `aux_params` for inputs of these names, shapes and types.

        Args:
            inputs: descriptions of data and labels; without a type, a pair is float32.
            overwrite: initialize the parameters that are there, too.

        Returns:
            Names of arguments, parameters and auxiliary states.

        Raises:
            ShapeError: shapes that ``inputs`` do not decide, or other ones of given arrays.
            ParameterError: an initializer that is not callable.
        """
        check_given(self.arg_params, self.aux_params, self.initializer)
        descs = [each if isinstance(each, DataDesc) else DataDesc(*each) for each in inputs]
        shapes, _, aux_shapes = self.symbol.infer_shape(**{d.name: d.shape for d in descs})
        if shapes is None:
            raise ShapeError(f"FeedForward: the shapes of {descs} do not decide those of the net")
        types, _, aux_types = self.symbol.infer_type(**{d.name: d.dtype for d in descs})
        names, aux_names = self.symbol.list_arguments(), self.symbol.list_auxiliary_states()
        args, auxs = self._known_params(self.symbol, training=True)
        inputs_by_name = {d.name for d in descs}
        rows = [r for r in zip(names, shapes, types, strict=True) if r[0] not in inputs_by_name]
        aux_rows = list(zip(aux_names, aux_shapes, aux_types, strict=True))
        self.arg_params = self._initialized(rows, {} if overwrite else args)
        self.aux_params = self._initialized(aux_rows, {} if overwrite else auxs)
        return names, list(self.arg_params), aux_names

    def _initialized(self, rows: list[Any], given: Mapping[str, NDArray] | None) -> dict[str, Any]:
        """Arrays by name: those given, the others as the initializer fills them, in order."""
        arrays = {name: nd.zeros(shape, dtype=dtype or "float32") for name, shape, dtype in rows}
        for name, array in arrays.items():
            if given and name in given:
                if (shape := np.shape(given[name])) != array.shape:
                    raise ShapeError(
                        f"FeedForward: parameter {name!r}: got shape {shape}, expected "
                        f"{array.shape} as the net and its inputs decide"
                    )
                array[:] = given[name]
            else:
                self.initializer(name, array)
        return arrays

    def _module(self, data: Any, logger: Any, work_load_list: Any) -> BaseModule:
        data_names = [desc[0] for desc in data.provide_data]
        label_names = [desc[0] for desc in data.provide_label]
        options = {"logger": logger, "context": self.ctx, "work_load_list": work_load_list}
        sym_gen = self.sym_gen
        if sym_gen is None:
            return Module(self.symbol, data_names, label_names, **options)
        return BucketingModule(
            lambda key: (sym_gen(key), data_names, label_names),
            default_bucket_key=data.default_bucket_key,
            **options,
        )

    def _known_params(self, symbol: Any, *, training: bool = False) -> tuple[Any, Any]:
        """The given parameters that the net has. In training, others cause a warning.

        Raises:
            ParameterError: there are others, which are not allowed, and no training.
        """
        args = _only(self.arg_params, symbol.list_arguments())
        auxs = _only(self.aux_params, symbol.list_auxiliary_states())
        known = {*(args or ()), *(auxs or ())}
        extra = {*(self.arg_params or ()), *(self.aux_params or ())} - known
        if extra and not self.allow_extra_params:
            text = (
                f"FeedForward: the net has no parameters {sorted(extra)}: leave them out, or pass "
                "allow_extra_params=True"
            )
            if not training:
                raise ParameterError(text)
            warn_caller(text)
        return args, auxs

    # ── Data ────────────────────────────────────────────────────────────────────────────────

    def _init_iter(self, X: Any, y: Any, is_train: bool) -> Any:
        if not isinstance(X, np.ndarray | NDArray):
            if not isinstance(X, DataIter) and not hasattr(X, "provide_data"):
                raise wrong("FeedForward: X", type(X), "a DataIter, an NDArray or a NumPy array")
            return X
        if y is None:
            if is_train:
                raise ParameterError("FeedForward: y is missing, which an array X needs")
            y = np.zeros(X.shape[0])
        y = y.asnumpy() if isinstance(y, NDArray) else np.asarray(y)
        if y.shape[0] != X.shape[0]:
            raise ShapeError(f"FeedForward: got {y.shape[0]} labels for {X.shape[0]} samples")
        if y.ndim == 2 and y.shape[1] == 1:
            y = y.reshape(-1)
        if y.ndim != 1:
            raise ShapeError(f"FeedForward: y: got shape {y.shape}, expected (N,) or (N, 1)")
        X = X.asnumpy() if isinstance(X, NDArray) else X  # where NDArrayIter makes float64 float32
        size = min(X.shape[0], self.numpy_batch_size)
        last = "roll_over" if is_train else "pad"
        return NDArrayIter(X, y, size, shuffle=is_train, last_batch_handle=last)

    def _init_eval_iter(self, eval_data: Any) -> Any:
        if not isinstance(eval_data, list | tuple) or len(eval_data) != 2:
            if eval_data is None or hasattr(eval_data, "provide_data"):
                return eval_data
            raise wrong(
                "FeedForward: eval_data", type(eval_data), "a DataIter or a pair of arrays (X, y)"
            )
        X, y = eval_data
        if isinstance(X, list):
            X, y = np.asarray(X), np.asarray(y)
        return self._init_iter(X, y, is_train=True)

    # ── Using it ────────────────────────────────────────────────────────────────────────────

    def _bound(self, data: Any) -> Module:
        """A module for prediction with the present parameters."""
        if self.symbol is None or self.arg_params is None:
            raise NotReadyError("FeedForward: fit() comes first, or parameters when it is made")
        names = [desc[0] for desc in data.provide_data]
        given = {desc[0] for desc in data.provide_label or ()}
        others = (n for n in self.symbol.list_arguments() if n not in names)
        labels = [n for n in others if n.endswith("label") or n in given]
        module = Module(self.symbol, names, labels, context=self.ctx[:1])
        shapes = data.provide_label if given == set(labels) else None
        module.bind(data.provide_data, shapes, for_training=False)
        args, auxs = self._known_params(module.symbol)
        module.init_params(None, args, auxs or {}, allow_missing=False)
        return module

    def predict(
        self, X: Any, num_batch: int | None = None, return_data: bool = False, reset: bool = True
    ) -> Any:
        """Outputs for an array of samples or an iterator, as NumPy arrays.

        Args:
            num_batch: how many batches, and no other is read; default all.
            return_data: also return data and labels.

        Returns:
            An array, or a list of them where the net has several outputs; with ``return_data``
            outputs, data and labels, each so.

        Raises:
            ParameterError: the iterator has no batch.
        """
        data = self._init_iter(X, None, is_train=False)
        rows: list[list[list[np.ndarray]]] = []
        for outputs, nbatch, batch in self._bound(data).iter_predict(data, reset=reset):
            count = data.batch_size - (batch.pad or 0)
            groups = [outputs] + ([batch.data, batch.label] if return_data else [])
            rows.append([[a.asnumpy()[:count] for a in group or ()] for group in groups])
            if nbatch + 1 == num_batch:
                break
        if not rows:
            raise ParameterError(
                "FeedForward.predict: X has no batch, expected one at least; an iterator that was "
                "read to its end needs reset=True"
            )
        joined = [
            _single([np.concatenate(parts) for parts in zip(*groups, strict=True)])
            for groups in zip(*rows, strict=True)
        ]
        return tuple(joined) if return_data else joined[0]

    def score(
        self,
        X: Any,
        eval_metric: Any = "acc",
        num_batch: int | None = None,
        batch_end_callback: Any = None,
        reset: bool = True,
    ) -> float:
        """The value of ``eval_metric`` over an iterator.

        The arguments are those of `BaseModule.score`.
        """
        data = self._init_iter(X, None, is_train=False)
        metric = metrics.create(eval_metric)
        self._bound(data).score(
            data, metric, num_batch, batch_end_callback=batch_end_callback, reset=reset
        )
        return metric.get()[1]

    # ── Files ───────────────────────────────────────────────────────────────────────────────

    def save(self, prefix: Prefix, epoch: int | None = None, remove_amp_cast: bool = True) -> None:
        """Write net and parameters, by default of ``num_epoch``; see `mx.model.save_checkpoint`."""
        epoch = self.num_epoch if epoch is None else epoch
        if epoch is None or self.arg_params is None:
            raise NotReadyError("FeedForward.save() needs an epoch number, and fit() first")
        save_checkpoint(
            prefix, epoch, self.symbol, self.arg_params, self.aux_params or {}, remove_amp_cast
        )

    @staticmethod
    def load(prefix: Prefix, epoch: int, ctx: Any = None, **kwargs: Any) -> FeedForward:
        """An estimator from a checkpoint; training goes on from ``epoch``.

        ``ctx`` and ``kwargs`` are those of FeedForward.
        """
        symbol, args, auxs = load_checkpoint(prefix, epoch)
        return FeedForward(
            symbol, ctx=ctx, arg_params=args, aux_params=auxs, begin_epoch=epoch, **kwargs
        )

    @staticmethod
    def create(
        symbol: Any,
        X: Any,
        y: Any = None,
        ctx: Any = None,
        num_epoch: int | None = None,
        epoch_size: int | None = None,
        optimizer: Any = "sgd",
        initializer: Any = _DEFAULT_INITIALIZER,
        eval_data: Any = None,
        eval_metric: Any = "acc",
        epoch_end_callback: Any = None,
        batch_end_callback: Any = None,
        kvstore: Any = "local",
        logger: Any = None,
        work_load_list: Sequence[float] | None = None,
        eval_end_callback: Any = None,
        eval_batch_end_callback: Any = None,
        **kwargs: Any,
    ) -> FeedForward:
        """Make an estimator and fit it; the arguments are those of FeedForward and `fit`."""
        made = FeedForward(
            symbol, ctx=ctx, num_epoch=num_epoch, epoch_size=epoch_size, optimizer=optimizer,
            initializer=initializer, **kwargs,
        )  # fmt: skip
        made.fit(
            X, y, eval_data=eval_data, eval_metric=eval_metric, kvstore=kvstore, logger=logger,
            epoch_end_callback=epoch_end_callback, batch_end_callback=batch_end_callback,
            work_load_list=work_load_list, eval_end_callback=eval_end_callback,
            eval_batch_end_callback=eval_batch_end_callback,
        )  # fmt: skip
        return made


class _Renewed(DataIter):
    """An iterator reset as soon as it ends: before scoring, which may draw random numbers too.

    The inner one may be any iterable with ``reset``, ``provide_data`` and ``provide_label``. With
    ``size`` an epoch has as many batches, and goes on where the one before has ended.
    """

    def __init__(self, inner: Any, logger: Any, epoch: int, size: int | None):
        super().__init__(getattr(inner, "batch_size", 0))
        self.provide_data, self.provide_label = inner.provide_data, inner.provide_label
        self.inner, self._logger = inner, logger
        self._resets: list[int] = []
        self._batches = self._epochs(epoch, size)

    def next(self) -> DataBatch:
        batch = next(self._batches)
        if batch is None:
            raise StopIteration
        return batch

    def _epochs(self, epoch: int, size: int | None) -> Iterator[DataBatch | None]:
        """The batches of all epochs, with ``None`` after each epoch."""
        count, batches = 0, None
        while True:
            fresh = batches is None
            batches = batches or iter(self.inner)
            batch = None if count == size else next(batches, None)
            if batch is not None:
                count += 1
                yield batch
                continue
            if count != size:  # the inner one has ended
                self._resets.append(epoch)
                if count == 0:
                    self.log_resets()
                self.inner.reset()
                batches = None
                if size is not None and not fresh:
                    continue
            yield None
            epoch, count = epoch + 1, 0

    def log_resets(self) -> None:
        """Log the resets since the last call: `fit` reads ahead of a batch's callbacks."""
        for epoch in self._resets:
            self._logger.info("Epoch[%d] Resetting Data Iterator", epoch)
        self._resets.clear()


def _only(params: Mapping[str, NDArray] | None, names: Sequence[str]) -> Any:
    return params and {name: value for name, value in params.items() if name in names}


def _single(arrays: list[np.ndarray]) -> Any:
    return arrays[0] if len(arrays) == 1 else arrays


def _counted_from_one(callbacks: Any) -> Any:
    """Callbacks whose ``nbatch`` starts from 1 instead of 0."""

    def counted(callback: Callable[[Any], Any]) -> Callable[[BatchEndParam], Any]:
        return lambda param: callback(param._replace(nbatch=param.nbatch + 1))

    return [counted(each) for each in as_list(callbacks)]

"""BaseModule: the interface of modules, and loops built on a few abstract methods."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, ClassVar

import numpy as np

from modkit import metric as metrics
from modkit.callback import BatchEndParam, Callback, Run
from modkit.callback.base import as_callbacks
from modkit.callback.checkpoint import resume as go_on
from modkit.callback.functions import check_folders
from modkit.callback.nan import Finite
from modkit.callback.progress import number_of_batches
from modkit.callback.run import Running
from modkit.checkpoint import read_params, write_params
from modkit.constructors import check_keywords, is_number
from modkit.errors import (
    ModkitError,
    NotReadyError,
    NotSupportedError,
    ParameterError,
    ShapeError,
    warn_caller,
    wrong,
)
from modkit.initializer import Uniform
from modkit.io import DataBatch
from modkit.io.base import check_iterator, checked_iter, seed_all
from modkit.io.columns import WEIGHT
from modkit.io.data_adapters import evaluation_source, has_next, training_sources
from modkit.kvstore.base import KVStoreBase
from modkit.metric import EvalMetric
from modkit.module.accumulation import Accumulated
from modkit.module.argument_checks import as_list, check_epochs, check_functions, check_row_ids
from modkit.module.data_checks import warn_of_repeats
from modkit.module.optimizer_setup import kept_optimizer
from modkit.module.parameters import InitArguments, Params, averaged, check_given
from modkit.module.steps import Chunks, Sums, steps_at_once, while_all_have
from modkit.module.typing import (
    Data,
    Functions,
    GradReq,
    Initialization,
    InputShapes,
    Metric,
    OptimizerParams,
    OutGrads,
    RowIds,
)
from modkit.monitor import Monitor
from modkit.ndarray import NDArray, array, concatenate
from modkit.optimizer import Optimizer
from modkit.overriding import overrides


class BaseModule:
    """The interface of a module, and the loops over batches: ``fit``, ``score``, ``predict``.

    A module is bound (it gets arrays), then its parameters are initialised, then its optimizer; a
    method called too early raises an error that names the missing steps. A subclass defines
    ``bind``, ``init_params``, ``init_optimizer``, ``forward``, ``backward``, ``update``,
    ``update_metric``, ``get_outputs``, ``get_input_grads``, ``get_params``, ``install_monitor`` and
    the properties about names and shapes.
    """

    _can_add_up: ClassVar[bool] = False
    _keeps_missing: ClassVar[bool] = False  # see `set_params`
    _warns_of_kept: ClassVar[bool] = True  # where `init_params` leaves values as they are

    def __init__(self, logger: Any = logging):
        if isinstance(logger, str):  # other values fail when `fit` logs, as in MXNet
            raise wrong(f"{type(self).__name__}: logger", logger, "a logging.Logger")
        self.logger = logger
        self.binded = False
        self.for_training = False
        self.inputs_need_grad = False
        self.params_initialized = False
        self.optimizer_initialized = False
        self._fed: Sequence[Any] = ()  # the inputs of the data that `fit` was given last
        self._adds_up = False  # bound by fit(accumulate=)
        self._scores_whole = False  # whether the next `score`, of `fit`, reduces over all workers
        self._logs = True  # fit logs values
        self._averages = True  # fit sets the states of replicas to their mean after an epoch
        self._symbol: Any = None

    def _need(self, what: str, *, params: bool = False, optimizer: bool = False) -> None:
        """Raise unless the module is bound and the required parts are initialised."""
        steps = {
            "bind()": self.binded,
            "init_params()": self.params_initialized or not params,
            "init_optimizer()": self.optimizer_initialized or not optimizer,
        }
        if missing := [name for name, done in steps.items() if not done]:
            how = ": bind([('data', (32, 8))]) states shapes by name; fit() does all by itself"
            hint = "" if self.binded else how
            raise NotReadyError(f"{what} needs {' and '.join(missing)} first{hint}")

    def _keeps_params(self, what: str, force_init: bool, warns: bool = True) -> bool:
        """Whether ``what`` is skipped because parameters are initialised."""
        keeps = self.params_initialized and not force_init
        if keeps and warns:
            warn_caller(
                f"Parameters already initialized and force_init=False: {what}() does nothing."
            )
        return keeps

    # ── One batch ───────────────────────────────────────────────────────────────────────────

    def forward_backward(self, data_batch: DataBatch) -> None:
        """``forward(is_train=True)`` and ``backward()``."""
        self.forward(data_batch, is_train=True)
        self.backward()

    def prepare(self, data_batch: DataBatch, sparse_row_id_fn: RowIds | None = None) -> None:
        """Prepare for the next batch; only a bucketing module does something.

        Args:
            sparse_row_id_fn: ``sparse_row_id_fn(batch)`` returns the numbers of the rows that the
                batch reads, by name of the row-sparse parameter. The names are checked.

        Differs: calls may be left out: a step has all rows of the parameters. In MXNet this call
        copies rows from the store to each context, which reads old ones without it.

        Raises:
            ParameterError: the function returns no dictionary, or names no parameter.
        """
        if not self.binded:
            self._need("prepare()")
        if sparse_row_id_fn is not None:
            check_row_ids(sparse_row_id_fn(data_batch), self.symbol)

    # ── Loops over batches ──────────────────────────────────────────────────────────────────

    @check_keywords
    def score(
        self,
        eval_data: Data,
        eval_metric: Metric,
        num_batch: int | None = None,
        batch_end_callback: Functions = None,
        score_end_callback: Functions = None,
        reset: bool = True,
        epoch: int = 0,
        sparse_row_id_fn: RowIds | None = None,
    ) -> list[tuple[str, float]]:
        """Evaluate ``eval_metric`` over an iterator.

        Args:
            eval_data: the iterator; or what ``fit`` takes, in batches of the bound size.
            eval_metric: a metric, or what ``mx.metric.create`` takes.
            num_batch: how many batches, and one more is read; default all.
            batch_end_callback: called with a BatchEndParam after each batch.
            score_end_callback: called with one after the last.
            reset: whether to reset the iterator first.
            epoch: the epoch number passed to callbacks.
            sparse_row_id_fn: see `prepare`.

        Returns:
            ``[(name, value), ...]``; NaN, with a warning, where there is no batch.
        """
        whole, self._scores_whole = self._scores_whole, False  # callbacks may score by themselves
        self._need("score()", params=True)
        check_functions(
            "score", batch_end_callback=batch_end_callback, score_end_callback=score_end_callback
        )
        data = self._evaluated(eval_data, "score: eval_data", reset)
        metric = self._metric_of(eval_metric)
        metric.reset()
        known: dict[str, Any] = {
            "self": self, "eval_data": data, "num_batch": num_batch, "reset": reset,
            "batch_end_callback": batch_end_callback, "score_end_callback": score_end_callback,
            "sparse_row_id_fn": sparse_row_id_fn, "actual_num_batch": 0,
        }  # fmt: skip
        for nbatch, batch in enumerate(_first(data, num_batch)):
            self.prepare(batch, sparse_row_id_fn=sparse_row_id_fn)
            self.forward(batch, is_train=False)
            self._update_metric_of(metric, batch)
            known["eval_batch"] = batch
            _call(batch_end_callback, epoch, nbatch, metric, known)
            known["actual_num_batch"] += 1
        if not known["actual_num_batch"] and num_batch != 0:
            warn_caller(
                "score: eval_data has no batch, so there is nothing to score; an iterator that "
                "was read to its end needs reset=True"
            )
        metric = self._whole(metric) if whole else metric
        _call(score_end_callback, epoch, known["actual_num_batch"], metric, known)
        return metric.get_name_value()

    def iter_predict(
        self,
        eval_data: Data,
        num_batch: int | None = None,
        reset: bool = True,
        sparse_row_id_fn: RowIds | None = None,
    ) -> Iterator[tuple[list[NDArray], int, DataBatch]]:
        """Yield ``(outputs, batch number, batch)`` for each batch, padding cut off."""
        try:
            self._need("iter_predict()", params=True)
            data = self._evaluated(eval_data, "iter_predict: eval_data", reset)
            for nbatch, batch in enumerate(_first(data, num_batch)):
                yield self._predicted(batch, sparse_row_id_fn), nbatch, batch
        except StopIteration as error:
            raise ModkitError(
                "iter_predict: a method of the iterator or of the module, or a custom operator, "
                "raised StopIteration outside of the iterator's next(); raise another exception"
            ) from error

    def _predicted(self, batch: DataBatch, sparse_row_id_fn: RowIds | None) -> list[NDArray]:
        """Outputs of a batch, without those of its padding."""
        self.prepare(batch, sparse_row_id_fn=sparse_row_id_fn)
        self.forward(batch, is_train=False)
        outputs, pad = self.get_outputs(), batch.pad or 0
        if not isinstance(pad, int | np.integer) or pad < 0:
            raise wrong("predict: pad of a batch", pad, "a number of samples, 0 or more")
        return [out[0 : out.shape[0] - pad] for out in outputs]

    @check_keywords
    def predict(
        self,
        eval_data: Data,
        num_batch: int | None = None,
        merge_batches: bool = True,
        reset: bool = True,
        always_output_list: bool = False,
        sparse_row_id_fn: RowIds | None = None,
    ) -> Any:
        """Outputs for all batches.

        Args:
            eval_data: an iterator, or one batch as an NDArray or NumPy array; or a dictionary of
                arrays, a data frame, or an iterable of batches, in batches of the bound size.
            num_batch: how many batches, and one more is read; default all.
            merge_batches: join the batches' outputs along the first axis.
            reset: whether to reset the iterator first.
            always_output_list: a list also where there is one output.
            sparse_row_id_fn: see `prepare`.

        Returns:
            One NDArray, or a list of them, one an output; without ``merge_batches`` a list of
            such lists, one a batch.

        Raises:
            ValueError: ``eval_data`` is none of the above, or batches have different numbers of
                outputs.

        Differs: an array is predicted as batches are; MXNet runs it in training mode, with dropout,
            if the module is bound for training.
        """
        self._need("predict()", params=True)
        if isinstance(eval_data, NDArray | np.ndarray):
            data = eval_data if isinstance(eval_data, NDArray) else array(eval_data)
            self.forward(DataBatch([data]), is_train=False)
            return self.get_outputs()[0]
        data = self._evaluated(eval_data, "predict: eval_data", reset)
        batches = [
            [out.copy() for out in self._predicted(batch, sparse_row_id_fn)]
            for batch in _first(data, num_batch)
        ]
        if not batches or not merge_batches:
            return batches
        counts = {len(outputs) for outputs in batches}
        if len(counts) != 1:
            raise ShapeError(
                f"predict: batches have {sorted(counts)} outputs, so they cannot be merged; "
                "pass merge_batches=False"
            )
        merged = [concatenate(parts) for parts in zip(*batches, strict=True)]
        return merged[0] if len(merged) == 1 and not always_output_list else merged

    @check_keywords
    def fit(
        self,
        train_data: Data,
        eval_data: Data | None = None,
        eval_metric: Metric = "acc",
        epoch_end_callback: Functions = None,
        batch_end_callback: Functions = None,
        kvstore: KVStoreBase | str | None = "local",
        optimizer: Optimizer | str = "sgd",
        optimizer_params: OptimizerParams = (("learning_rate", 0.01),),
        eval_end_callback: Functions = None,
        eval_batch_end_callback: Functions = None,
        initializer: Initialization | None = Uniform(0.01),  # noqa: B008 - holds no state
        arg_params: Params | None = None,
        aux_params: Params | None = None,
        allow_missing: bool = False,
        force_rebind: bool = False,
        force_init: bool = False,
        begin_epoch: int = 0,
        num_epoch: int | None = None,
        validation_metric: Metric | None = None,
        monitor: Monitor | None = None,
        sparse_row_id_fn: RowIds | None = None,
        steps_per_call: int | None = None,
        callbacks: Callback | Sequence[Callback] | None = None,
        resume: str | PathLike[str] | None = None,
        batch_size: int | None = None,
        shuffle: bool | None = None,
        validation_split: float = 0.0,
        seed: int | None = None,
        accumulate: int = 1,
        sample_weight: Sequence[float] | np.ndarray | None = None,
        class_weight: Mapping[int, float] | None = None,
        shard_optimizer_states: bool = False,
    ) -> None:
        """Train: bind, initialise, and go over ``train_data`` ``num_epoch - begin_epoch`` times.

        Args:
            train_data: an iterator, with data and label shapes; or a pair ``(x, y)`` of arrays or
                data frames, a dictionary of them by name, or any iterable of batches (see
                docs/training.md).
            eval_data: the same, to score after each epoch.
            eval_metric: the training metric: a name, an EvalMetric, a function of labels and
                predictions, or a list of them.
            epoch_end_callback: called with ``(epoch, symbol, arg_params, aux_params)``.
            batch_end_callback: called with a BatchEndParam.
            kvstore, optimizer, optimizer_params: see ``init_optimizer``.
            eval_end_callback: called with a BatchEndParam after each scoring.
            eval_batch_end_callback: called with one after each batch of it.
            initializer, arg_params, aux_params, allow_missing: see ``init_params``.
            force_rebind: bind anew also if bound.
            force_init: initialise anew also if initialised.
            begin_epoch: number of the first epoch; more than 0 when training is resumed.
            num_epoch: number of epochs in all, counted from epoch 0: with ``begin_epoch=3`` and
                ``num_epoch=5``, epochs 3 and 4 are trained.
            validation_metric: default ``eval_metric``.
            monitor: a Monitor to install.
            sparse_row_id_fn: see `prepare`.
            steps_per_call: number of batches that one program trains on, which saves the
                overhead of calls for small batches; default 1, or that of ``mx.engine.bulk``.
                Results are the same, and each callback sees the metric up to its own batch; but
                parameters, outputs and gradients are those of the call's last batch, and a rate
                set by a callback takes effect at the next call. Batches that cannot share a
                program (a monitor, another shape, a user's own metric, optimizer or ``update``,
                ...) run one by one.
            callbacks: objects of ``mx.callback.Callback``, which see each event of the training;
                see docs/training.md.
            resume: a folder that ``mx.callback.Checkpoint`` writes to. The training goes on from
                the newest complete checkpoint there, and begins where there is none.
            batch_size: samples in a batch, where ``train_data`` is arrays; default 32.
            shuffle: whether arrays are visited in random order; default yes.
            validation_split: share of the samples, the last ones, that are ``eval_data``, where
                ``train_data`` is arrays.
            seed: of all random streams: modkit's, NumPy's and Python's, and of the iterators'.
            accumulate: number of batches whose gradients are added up for one update, which
                learns as one batch of all their samples does (BatchNorm: with the statistics of
                each). The end of an epoch is an update of what there is. Gradients are divided by
                the samples of all of them, unless ``rescale_grad`` is given.
            sample_weight: a weight for each sample, where ``train_data`` is arrays and the
                network has an input of that name; see docs/training.md.
            class_weight: weights by class; multiplied with ``sample_weight`` if both are given.
            shard_optimizer_states: see ``init_optimizer``.

        Raises:
            NotReadyError: ``num_epoch`` is missing.
            ResumeError: the checkpoint is of another network or optimizer.
            FileFormatError: ``resume`` has checkpoints, and none is complete.
            ParameterError: ``steps_per_call`` is not a number from 1 on, ``train_data`` has no
                batch, or ``eval_data`` no labels, where a built-in metric needs them.
            ShapeError: ``eval_data`` of shapes that the parameters do not fit.
            NameNotFoundError: there is no metric of that name.
            MissingFileError: the folder of a checkpoint function is missing.

        Differs: MXNet ends with StopIteration where ``train_data`` has no batch, and is silent
        where ``begin_epoch`` is not below ``num_epoch``, which is a warning here. Optimizer
        states that were loaded for ``begin_epoch`` count the updates of the epochs before; MXNet
        begins at 0, so that its bias corrections and schedules begin anew. A second call ignores
        given values of parameters, as MXNet's, and warns only then.
        """
        if num_epoch is None:
            raise NotReadyError("fit() needs num_epoch, the number of epochs to train for")
        at_once = steps_at_once(steps_per_call, monitor)
        check_epochs(begin_epoch, num_epoch)
        functions = {
            "batch_end_callback": batch_end_callback, "epoch_end_callback": epoch_end_callback,
            "eval_end_callback": eval_end_callback,
            "eval_batch_end_callback": eval_batch_end_callback,
        }  # fmt: skip
        check_functions("fit", **functions)
        source, validation = training_sources(
            train_data, eval_data, self._named_inputs(), batch_size=batch_size, shuffle=shuffle,
            validation_split=validation_split, sample_weight=sample_weight,
            class_weight=class_weight,
        )  # fmt: skip
        if seed is not None:
            seed_all(seed, source, validation)
        self._check_iterator(source)
        accumulated = Accumulated(self, accumulate, force_rebind)
        self.bind(
            data_shapes=source.provide_data, label_shapes=source.provide_label, for_training=True,
            force_rebind=force_rebind, **accumulated.binding,
        )  # fmt: skip
        self._adds_up = accumulated.adds
        self._check_order(source, "fit: train_data")
        if monitor is not None:
            self.install_monitor(monitor)
        given = force_init or arg_params or aux_params
        initial: dict[str, Any] = {
            "initializer": initializer, "arg_params": arg_params, "aux_params": aux_params,
            "allow_missing": allow_missing, "force_init": force_init,
        }  # fmt: skip
        if not self.params_initialized or given or overrides(self, BaseModule, "init_params"):
            self.init_params(**initial)
        # Only if given: a user's own init_optimizer has MXNet's parameters.
        sharded: Any = {"shard_optimizer_states": True} if shard_optimizer_states else {}
        self._fed = (*source.provide_data, *(source.provide_label or ()))
        updating: dict[str, Any] = {
            "kvstore": kvstore, "optimizer": optimizer, "optimizer_params": optimizer_params
        }  # fmt: skip
        self.init_optimizer(**updating, **sharded)
        accumulated.scale()
        self._count_epochs(begin_epoch, accumulated.updates(number_of_batches(source)))
        validation_metric = eval_metric if validation_metric is None else validation_metric
        metric = self._metric_of(eval_metric)
        # Local variables of MXNet's `fit`, by name: functions read them from `param.locals`.
        known: dict[str, Any] = {
            "self": self, "train_data": source, "eval_data": validation, "data_iter": source,
            **functions, **initial, **updating, "force_rebind": force_rebind,
            "begin_epoch": begin_epoch, "num_epoch": num_epoch, "monitor": monitor,
            "validation_metric": validation_metric, "sparse_row_id_fn": sparse_row_id_fn,
        }  # fmt: skip
        epochs, batch_ends = range(begin_epoch, num_epoch), as_list(batch_end_callback)
        objects = [*accumulated.callbacks, Finite(), *as_callbacks(callbacks)]
        validated = self._validated(validation, validation_metric)
        run = Run(self, source, validation, metric, epochs, objects, accumulate, validated)
        run.check_workers({
            "accumulate": accumulate, "steps_per_call": at_once, "monitor": monitor is not None,
            "resume": resume is not None,
        })  # fmt: skip
        if resume is not None:
            go_on(run, resume)

        with Running(run):
            others = [*batch_ends, *run.callbacks]
            check_folders(as_list(epoch_end_callback), others, range(run.epoch, num_epoch))
            for epoch in run.epochs():
                run._begin_epoch()
                known |= {"epoch": epoch, "tic": time.time(), "eval_metric": metric}
                began_s = time.perf_counter()  # the clock of ``tic`` may be set meanwhile
                batches = Chunks(while_all_have(source, run), at_once, run)
                self._train_epoch(run, batches, batch_ends, monitor, sparse_row_id_fn, known)
                if not run.last_batch:  # stopped within the epoch
                    source.reset()
                    break
                self._end_of_training_data(run, began_s, epoch_end_callback)
                if validation is not None:
                    self._validate(run, validation_metric, eval_end_callback,
                                   eval_batch_end_callback)  # fmt: skip
                run.end_epoch()

    def _train_epoch(
        self, run: Run, batches: Chunks, batch_ends: Sequence[Callable[..., Any]],
        monitor: Monitor | None, row_ids: RowIds | None, known: dict[str, Any],
    ) -> None:  # fmt: skip
        """Train on each batch left, until a callback stops; ``known`` is ``param.locals``."""
        metric = run.eval_metric
        prepares = row_ids is not None or overrides(self, BaseModule, "prepare")
        batch = batches.first
        while batch is not None:
            if monitor is not None:
                monitor.tic()
            if run.step == 0:
                self._check_first(batch, metric)
            if not batches.trained(self, metric):
                self.forward_backward(batch)
                if not self._adds_up:  # else a callback updates
                    self.update()
                self._update_metric_of(metric, batch)
            following = batches.next()
            if prepares and following is not None:
                self.prepare(following, sparse_row_id_fn=row_ids)
            if monitor is not None:
                monitor.toc_print()
            if following is None:  # before callbacks, which may reset the metric
                values = self._whole(metric).get_global_name_value()
                run.end_training_data(values)
                known["eval_name_vals"] = values
            if batch_ends:
                known |= {
                    "data_batch": batch, "nbatch": run.batch, "end_of_batch": following is None,
                    "next_data_batch": batch if following is None else following,
                }  # fmt: skip
                # Not `_call`, whose calls would come in every batch.
                param = BatchEndParam(run.epoch, run.batch, metric, dict(known))
                for callback in batch_ends:
                    callback(param)
            batches.end(last=following is None)
            if run.stopping and run.chunk_end:
                return
            batch = following

    def _end_of_training_data(self, run: Run, began_s: float, callbacks: Functions) -> None:
        """Log an epoch of training, and call MXNet's functions of its end."""
        self._log_values(run.epoch, "Train", run.trained)
        self.logger.info("Epoch[%d] Time cost=%.3f", run.epoch, time.perf_counter() - began_s)
        if self._averages:
            self._average_states()
        if callbacks:
            arg_now, aux_now = self.get_params()
            for callback in as_list(callbacks):
                callback(run.epoch, self.symbol, arg_now, aux_now)

    def _log_values(self, epoch: int, data: str, values: Sequence[tuple[str, float]]) -> None:
        for name, value in values if self._logs else ():
            self.logger.info("Epoch[%d] %s-%s=%f", epoch, data, name, value)

    def _validate(
        self, run: Run, metric: Any, end_callback: Functions, batch_end_callback: Functions
    ) -> None:
        """Score the validation data of an epoch, and log the values."""
        run.call("on_eval_begin")
        self._scores_whole = True
        try:
            results = self.score(
                run.eval_data, metric, score_end_callback=end_callback,
                batch_end_callback=batch_end_callback, epoch=run.epoch,
            )  # fmt: skip
        finally:
            self._scores_whole = False
        self._log_values(run.epoch, "Validation", results)
        run.end_validation(results)
        run.call("on_eval_end")

    def _evaluated(self, data: Any, where: str, reset: bool) -> Any:
        """An iterator from data for evaluation, at its first batch if ``reset``."""
        if not has_next(data):
            data = evaluation_source(
                data, self._named_inputs(), self._bound_order(), self._bound_size(), where
            )
        if isinstance(data, str | bytes | DataBatch) or not hasattr(data, "__iter__"):
            hint = "; a DataBatch is for forward()" if isinstance(data, DataBatch) else ""
            raise wrong(where, type(data), f"a DataIter or an array{hint}")
        check_iterator(data, where, ["__iter__", *["reset"] * bool(reset)])
        self._check_order(data, where)
        if reset:
            data.reset()
        return data

    def _bound_size(self) -> int:
        """The batch size of `bind`; a batch of other shapes, as a short last one, leaves it."""
        return self.data_shapes[0].shape[0]

    def _metric_of(self, given: Any) -> Any:
        """A metric, of all labels but the weights of samples."""
        made = given if isinstance(given, metrics.EvalMetric) else metrics.create(given)
        labels = self._named_inputs()[1]
        if WEIGHT in labels:
            for each in getattr(made, "metrics", [made]):
                if each.label_names is None:
                    each.label_names = [n for n in labels if n != WEIGHT]
        return made

    def _validated(self, data: Any, given: Any) -> Any:
        """The metric of the validation data, both of which are checked; ``None`` without data."""
        if data is None:
            return None
        check_iterator(data, "fit: eval_data", ["__iter__", "reset"])
        try:
            metric = self._metric_of(given)
        except ModkitError as error:
            raise type(error)(f"fit: validation_metric: {error}") from error
        self._check_evaluation(data, metric)
        return metric

    def _named_inputs(self) -> tuple[list[str], list[str]]:
        """Names of the data inputs, and of the labels that the network has.

        A subclass need not have either, as `fit` reads names for arrays only.
        """
        try:
            data = self.data_names
        except NotImplementedError:
            data = []
        return data, list(getattr(self, "label_names", []))

    def _bound_order(self) -> tuple[list[str], list[str]]:
        """Names of the data inputs and of the labels, in the order of a batch's arrays."""
        return self._named_inputs()

    def _average_states(self) -> None:
        """Set the auxiliary states of all replicas to their mean, at the end of an epoch."""
        args, auxs = self.get_params()
        if self._present_workers is not None and auxs:
            auxs = averaged(auxs, self._present_workers)
        self.set_params(args, auxs)

    def _whole(self, eval_metric: EvalMetric) -> Any:
        """A metric over the data of all workers, each of which calls this."""
        if self._present_workers is None:
            return eval_metric
        try:
            return metrics.reduce_over(eval_metric, self._present_workers)
        except NotSupportedError as error:
            warn_caller(f"{error}; its values are those of each worker")
            return eval_metric

    def _count_epochs(self, epochs: int, batches: int | None) -> None:
        """Count the updates of epochs before ``begin_epoch``, where loaded states do not."""

    def _present_input(self, name: str) -> np.ndarray:
        """The data input of this name of the last batch."""
        raise NotSupportedError(f"{type(self).__name__} does not keep its inputs")

    def _present_outputs(self) -> Sequence[Any]:
        """Outputs of the last batch; none of a module whose class is its user's."""
        return ()

    def _param_values(self) -> dict[str, Any]:
        """Parameters and auxiliary states by name, as arrays that NumPy reads."""
        args, auxs = self.get_params()
        return {n: v._as_dense()._cell.get() for n, v in {**args, **auxs}.items()}

    def _check_iterator(self, train_data: Any) -> None:
        """Check the arguments of `fit` before anything is bound."""
        if not hasattr(train_data, "provide_data"):
            raise ParameterError(
                f"fit: train_data: got {type(train_data).__name__}, expected a DataIter, a pair "
                "(x, y) of arrays, a dictionary of arrays by name, or an iterable of batches"
            )
        check_iterator(train_data, "fit: train_data", ["provide_label", "__iter__", "reset"])
        warn_of_repeats(train_data)

    def _check_order(self, source: Any, where: str) -> None:
        """Check that an iterator's arrays come in the order that the module is bound for."""

    def _check_evaluation(self, source: Any, metric: EvalMetric) -> None:
        """Check before the first epoch of `fit` that its validation data fit."""
        self._check_order(source, "fit: eval_data")

    def _check_first(self, batch: Any, metric: EvalMetric) -> None:
        """Check the first batch of `fit`; mistakes are warnings."""

    def _abandon_batch(self) -> None:
        """Drop a batch of training that has no update, at an error: its statistics with it."""

    def _train_on(self, batches: Sequence[Any], eval_metric: EvalMetric) -> Sums | None:
        """Train on batches by one program, as the calls for each in turn would.

        Returns:
            The sums of the metric; ``None``, and nothing was done, where the batches have to go one
            by one, call by call.
        """

    def _update_metric_of(self, eval_metric: EvalMetric, batch: Any) -> None:
        if isinstance(batch, list):
            self.update_metric(eval_metric, [b.label for b in batch], pre_sliced=True)
        else:
            self.update_metric(eval_metric, batch.label)

    # ── Binding ─────────────────────────────────────────────────────────────────────────────

    @check_keywords
    def bind(
        self,
        data_shapes: InputShapes,
        label_shapes: InputShapes | None = None,
        for_training: bool = True,
        inputs_need_grad: bool = False,
        force_rebind: bool = False,
        shared_module: BaseModule | None = None,
        grad_req: GradReq = "write",
    ) -> None:
        """Make the arrays for inputs of these shapes.

        Args:
            data_shapes: DataDescs or ``(name, shape)`` pairs, one a data name.
            label_shapes: the same for the labels; may be left out where none is given.
            for_training: whether gradients will be wanted.
            inputs_need_grad: whether those of the data inputs will be, too.
            force_rebind: bind anew also if bound already.
            shared_module: a bound Module whose parameters to use; of a Module only.
            grad_req: ``"write"``, ``"add"`` or ``"null"`` for the parameters that are not fixed
                (and the data, with ``inputs_need_grad``); or requests of single arguments, which
                hold for fixed parameters, data and labels too: a list of all, or a dictionary by
                name, of which a parameter that is missing has ``"write"``.

        Raises:
            ParameterError: names that do not fit those of the module, parameters of `Module.load`
                that the network lacks, a ``shared_module`` without one of the module's parameters,
                or an argument that the module cannot use.
            ShapeError: shapes that do not fit the network.

        Differs: after ``force_rebind`` parameters have their present values. MXNet restores those
        of the last ``get_params()`` or ``set_params()``, and loses later updates.
        """
        if self.binded and not force_rebind:
            self.logger.warning("Already bound, ignoring bind()")
            return
        before = self.for_training, self.inputs_need_grad
        self.for_training, self.inputs_need_grad = for_training, inputs_need_grad
        try:
            self._bind(data_shapes, label_shapes, force_rebind, shared_module, grad_req)
        except BaseException:  # the module may still be bound as before
            self.for_training, self.inputs_need_grad = before
            raise
        self.binded = True

    def _check_bind(self, shared: Any) -> None:
        """Refuse gradients of inputs without training, and parameters of another module."""
        if self.inputs_need_grad and not self.for_training:
            raise NotReadyError("bind: inputs_need_grad=True needs for_training=True")
        if shared is not None:
            raise ParameterError(f"{type(self).__name__}.bind: shared_module is not supported")

    # ── Parameters ──────────────────────────────────────────────────────────────────────────

    @check_keywords
    def init_params(
        self,
        initializer: Initialization | None = Uniform(0.01),  # noqa: B008 - holds no state
        arg_params: Params | None = None,
        aux_params: Params | None = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Give every parameter and auxiliary state a value.

        Args:
            initializer: for those that are not given.
            arg_params: values of parameters by name.
            aux_params: values of auxiliary states by name.
            allow_missing: let ``initializer`` fill in what ``arg_params`` lacks, if it is given.
            force_init: also if initialised already.
            allow_extra: pass over names that the network lacks without a warning.

        Raises:
            RuntimeError: a parameter is missing, and ``allow_missing`` is not set.
            ShapeError: a value of another shape.

        Differs: extra names are a warning without ``allow_extra``; MXNet ignores them in silence.
        """
        if self._keeps_params("init_params", force_init, warns=self._warns_of_kept):
            return
        self._need("init_params()")
        self._fill_params(
            InitArguments(
                initializer, arg_params, aux_params, allow_missing, force_init, allow_extra
            )
        )
        self.params_initialized = True

    def _fill_params(self, given: InitArguments) -> None:
        """Give every parameter a value, in a bound module."""
        raise self._unwritten("init_params")

    def set_params(
        self,
        arg_params: Params | None,
        aux_params: Params | None,
        allow_missing: bool = False,
        force_init: bool = True,
        allow_extra: bool = False,
    ) -> None:
        """Set parameters and auxiliary states.

        Args:
            allow_missing: those that are not given keep their value, in a Module or
                BucketingModule; in others ``init_params`` decides.
            force_init: also if initialised already.
            allow_extra: pass over names that the network lacks.

        Raises:
            RuntimeError: one is missing, and ``allow_missing`` is not set.
            ValueError: one is extra, ``allow_missing`` is set and ``allow_extra`` is not; without
                ``allow_missing`` extra names are a warning, as in `init_params`.

        Differs: the next update starts from these values. Where MXNet's store runs the optimizer
        (several contexts, or a store object), it updates copies from before, which replace them.
        """
        if not (allow_missing and self._keeps_missing):
            self.init_params(
                initializer=None, arg_params=arg_params, aux_params=aux_params,
                allow_missing=allow_missing, force_init=force_init, allow_extra=allow_extra,
            )  # fmt: skip
        elif not self._keeps_params("set_params", force_init):
            self._need("set_params()")
            check_given(arg_params, aux_params, None)
            self._set_given(arg_params, aux_params, allow_extra)

    def _set_given(self, args: Params | None, auxs: Params | None, allow_extra: bool) -> None:
        """Set the given values; needed where `_keeps_missing` is set."""
        raise NotImplementedError

    def save_params(self, fname: str) -> None:
        """Write parameters and auxiliary states to a ``.params`` file."""
        write_params(fname, *self.get_params())

    def load_params(self, fname: str) -> None:
        """Read parameters from a ``.params`` file.

        Raises:
            FileFormatError: a name in it starts with neither ``arg:`` nor ``aux:``.
        """
        self.set_params(*read_params(fname))

    @check_keywords
    def init_optimizer(
        self,
        kvstore: KVStoreBase | str | None = "local",
        optimizer: Optimizer | str = "sgd",
        optimizer_params: OptimizerParams = (("learning_rate", 0.01),),
        force_init: bool = False,
        shard_optimizer_states: bool = False,
    ) -> None:
        """Make the optimizer, and the store that sums gradients.

        Args:
            kvstore: a KVStore, its name, or ``None``, with which each of several contexts trains
                parameters of its own: `get_params` and the end of an epoch of `fit` average them.
            optimizer: an Optimizer, its name, or an ``optax.GradientTransformation``.
            optimizer_params: parameters of a named one. ``rescale_grad`` defaults to one over
                the batch size.
            force_init: also if initialised already.
            shard_optimizer_states: keep one part of the optimizer's states on each device (of all
                workers), in place of all of them: ZeRO stage 1 (Rajbhandari et al., 2020,
                arXiv:1910.02054). Gradients are reduce-scattered, each device updates its part of
                the parameters, and these are all-gathered; numbers are the same, to rounding.
                Devices count once, so that contexts of one device have nothing to divide.

        Raises:
            NotSupportedError: row-sparse gradients with ``compression_params``, or with an
                optimizer that does not update them (AdaGrad with ``wd``);
                ``shard_optimizer_states`` with an optimizer that updates by Python code or reads
                more than single elements and norms (GroupAdaGrad, SGLD, optax), with
                ``compression_params``, or with contexts that are no equal replicas.
        """
        self._need("init_optimizer()", params=True)
        if self.optimizer_initialized and not force_init:
            self._keep_optimizer(optimizer, optimizer_params, shard_optimizer_states)
            return
        self._make_optimizer(
            kvstore, optimizer, optimizer_params, force_init, shard_optimizer_states
        )
        self.optimizer_initialized = True

    def _keep_optimizer(self, optimizer: Any, params: Any, sharded: bool) -> None:
        """Log that the optimizer stays, and what that leaves without effect."""
        self.logger.warning(kept_optimizer(self, optimizer, params))

    def _make_optimizer(
        self, kvstore: Any, optimizer: Any, params: Any, force_init: bool, sharded: bool, /
    ) -> None:
        """Make the optimizer of a module whose parameters have values."""
        raise self._unwritten("init_optimizer")

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        """States that are kept from batch to batch: none here."""
        self._need("get_states()", params=True)
        return []

    def set_states(self, states: Any = None, value: Any = None) -> None:
        """Set the states that are kept from batch to batch: none here."""
        self._need("set_states()", params=True)
        if states or value is not None:
            raise ParameterError("set_states: this module has no states")

    def state_dict(self) -> dict[str, Any]:
        """The training state for a checkpoint: parameters, auxiliary states, the optimizer.

        Raises:
            NotSupportedError: the module has none.
        """
        raise NotSupportedError(
            f"{type(self).__name__} has no state_dict() yet, which checkpoints of a training need; "
            "Module and BucketingModule have it"
        )

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        raise NotSupportedError(f"{type(self).__name__} has no load_state_dict() yet")

    # ── What a subclass defines ─────────────────────────────────────────────────────────────

    @property
    def symbol(self) -> Any:
        """The symbol of this module."""
        return self._symbol

    @property
    def _present_optimizer(self) -> Any:
        """The optimizer that updates the parameters; ``None`` where a module has none."""

    @property
    def _present_workers(self) -> Any:
        """The processes over which gradients are summed; ``None`` where there is one."""

    def _unwritten(self, what: str) -> NotImplementedError:
        return NotImplementedError(
            f"{type(self).__name__} has no {what}; its author has to write it"
        )

    @property
    def data_names(self) -> list[str]:
        """Names of the data inputs."""
        raise self._unwritten("data_names")

    @property
    def output_names(self) -> list[str]:
        """Names of the outputs."""
        raise self._unwritten("output_names")

    @property
    def data_shapes(self) -> list[Any]:
        """Names and shapes of the data inputs."""
        raise self._unwritten("data_shapes")

    @property
    def label_shapes(self) -> list[Any] | None:
        """Names and shapes of the labels."""
        raise self._unwritten("label_shapes")

    @property
    def output_shapes(self) -> list[Any]:
        """Names and shapes of the outputs."""
        raise self._unwritten("output_shapes")

    def _bind(
        self, data: InputShapes, labels: InputShapes | None, rebind: bool, shared: Any, req: GradReq
    ) -> None:
        """Make the arrays: see `bind`, which has set ``for_training`` and ``inputs_need_grad``."""
        raise self._unwritten("bind")

    def get_params(self) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
        """Parameters and auxiliary states by name."""
        raise self._unwritten("get_params")

    def forward(self, data_batch: DataBatch, is_train: bool | None = None) -> None:
        """Run a batch."""
        raise self._unwritten("forward")

    def backward(self, out_grads: OutGrads | None = None) -> None:
        """Gradients of the last batch."""
        raise self._unwritten("backward")

    def update(self) -> None:
        """Let the optimizer use the gradients."""
        raise self._unwritten("update")

    def update_metric(self, eval_metric: EvalMetric, labels: Any, pre_sliced: bool = False) -> None:
        """Add the last batch's outputs to a metric."""
        raise self._unwritten("update_metric")

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """Outputs of the last batch."""
        raise self._unwritten("get_outputs")

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """Gradients of the data inputs."""
        raise self._unwritten("get_input_grads")

    def install_monitor(self, mon: Monitor) -> None:
        """Show every operator's outputs to a Monitor."""
        raise self._unwritten("install_monitor")


def _call(
    callbacks: Functions, epoch: int, nbatch: int, metric: Any, known: Mapping[str, Any]
) -> None:
    """Call functions at a batch; they find the variables ``known``, and these, in ``locals``."""
    named = {**known, "epoch": epoch, "nbatch": nbatch, "eval_metric": metric}
    for callback in as_list(callbacks):
        callback(BatchEndParam(epoch, nbatch, metric, named))


def _first(batches: Iterable[Any], count: int | None) -> Iterator[Any]:
    """The first ``count`` batches; as in MXNet the one beyond them is read too."""
    if count is not None and not is_number(count):
        raise wrong("num_batch", count, "a number of batches, or None")
    for number, batch in enumerate(checked_iter(batches, "eval_data")):
        if number == count:
            return
        yield batch

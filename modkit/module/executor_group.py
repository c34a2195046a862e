"""DataParallelExecutorGroup: the executor group of a module, with MXNet's arguments and methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from modkit.context import Context
from modkit.errors import NameNotFoundError, ShapeError, nearest
from modkit.io import DataDesc
from modkit.io.base import descriptions
from modkit.module.group import ExecutorGroup
from modkit.module.parameters import Parameters
from modkit.module.split_batch import batch_axes, local_shapes
from modkit.ndarray import NDArray, concat
from modkit.symbol.stypes import storage_types


def _load_general(
    data: Sequence[NDArray], targets: Sequence[Any], major_axis: Sequence[int] | None = None
) -> None:
    """Copy arrays to targets: each an array, or a list of (slice of the batch, array).

    Args:
        data: the arrays.
        targets: a target for each of them.
        major_axis: the batch axis of each, -1 for none; default the first.
    """
    axes = [0] * len(data) if major_axis is None else major_axis
    for source, target, axis in zip(data, targets, axes, strict=True):
        if isinstance(target, NDArray):
            source.copyto(target)
            continue
        for part, array in target:
            own = source
            if axis >= 0:
                own = source.slice_axis(axis=axis, begin=part.start, end=part.stop)
            own.copyto(array)


def _load_data(batch: Any, targets: Sequence[Any], major_axis: Any = None) -> None:
    """Copy the data of a batch; see `_load_general`."""
    _load_general(batch.data, targets, major_axis)


def _load_label(batch: Any, targets: Sequence[Any], major_axis: Any = None) -> None:
    """Copy the labels of a batch; see `_load_general`."""
    _load_general(batch.label, targets, major_axis)


def _merge_multi_context(
    outputs: Sequence[Sequence[NDArray]], major_axis: Sequence[int]
) -> list[NDArray]:
    """Each output as one array on the first context; -1 as the axis takes the first context's."""
    merged = []
    for each, axis in zip(outputs, major_axis, strict=True):
        parts = [part.as_in_context(each[0].context) for part in each]
        merged.append(concat(*parts, dim=axis) if axis >= 0 and len(parts) > 1 else parts[0])
    return merged


class DataParallelExecutorGroup(ExecutorGroup):
    """The executors of a symbol over several contexts, each of which takes a part of the batch."""

    # ── Axes of batches ─────────────────────────────────────────────────────────────────────

    @property
    def data_layouts(self) -> list[int]:
        """The batch axis of each data input; -1 for none."""
        return list(batch_axes(self.data_shapes).values())

    @property
    def label_layouts(self) -> list[int]:
        """The batch axis of each label; -1 for none."""
        return list(batch_axes(self.label_shapes or ()).values())

    @property
    def output_layouts(self) -> list[int]:
        """The batch axis of each output; -1 for none."""
        return list(self._output_axes)

    @property
    def group2ctxs(self) -> list[Mapping[str, Context]]:
        """For each context those of ``ctx_group`` attributes."""
        return list(self._binder.groups)

    @property
    def num_outputs(self) -> int:
        """Number of outputs."""
        return len(self.output_names)

    def decide_slices(self, data_shapes: Any) -> list[int]:
        """The batch axis of each of the given inputs, which must have the group's batch size.

        Raises:
            ShapeError: another batch size.
        """
        descs = descriptions(data_shapes)
        axes = list(batch_axes(descs).values())
        for desc, axis in zip(descs, axes, strict=True):
            if axis >= 0 and desc.shape[axis] != self.batch_size:
                raise ShapeError(
                    f"decide_slices: {desc.name!r} has shape {tuple(desc.shape)}, whose axis {axis}"
                    f" is not the batch size {self.batch_size}; call reshape() for another"
                )
        return axes

    def _sliced_shape(self, shapes: Any, i: int, major_axis: Sequence[int]) -> list[DataDesc]:
        """Descriptions of the part of inputs that a context takes; layouts say the axes too."""
        descs = descriptions(shapes)
        sizes = local_shapes(descs, self.slices[i])
        return [DataDesc(d.name, sizes[d.name], d.dtype, d.layout) for d in descs]

    # ── Parameters ──────────────────────────────────────────────────────────────────────────

    def set_params(
        self,
        arg_params: Mapping[str, NDArray],
        aux_params: Mapping[str, NDArray] | None,
        allow_extra: bool = False,
    ) -> None:
        """Set the arguments and auxiliary states that are given, on each context.

        Raises:
            ParameterError: a name that the graph lacks, unless ``allow_extra``.
        """
        for executor in self.execs:
            executor.copy_params_from(arg_params, aux_params, allow_extra_params=allow_extra)

    def get_params(
        self, arg_params: Mapping[str, NDArray], aux_params: Mapping[str, NDArray]
    ) -> None:
        """Write the parameters and auxiliary states, means over the contexts, to given arrays.

        Raises:
            NameNotFoundError: there is no array for one of them.
        """
        stypes = storage_types(self.symbol.graph)
        held = Parameters(self.store, self.param_names, self.aux_names, self.contexts[0], stypes)
        copies = held.copies()
        for values, given, what in (
            (copies.args, arg_params, "arg_params"),
            (copies.auxs, aux_params, "aux_params"),
        ):
            for name, value in values.items():
                if name not in given:
                    raise NameNotFoundError(
                        f"get_params: {what} has no {name!r}.{nearest(name, given)} Give an array "
                        f"for each of {', '.join(values)}; Module.get_params() makes them"
                    )
                given[name][:] = value

    # ── Running ─────────────────────────────────────────────────────────────────────────────

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Begin a pass over a batch.

        Args:
            data_batch: its ``data`` and ``label`` are lists of arrays; labels may be ``None``.
            is_train: whether it is of training; default ``for_training``.

        Raises:
            ShapeError: arrays of other shapes than those that are bound.
        """
        if self.bound_apart is not self.store.apart:
            self.follow_store()
        label = (data_batch.label or None) if self.label_shapes else None
        _check_shapes(data_batch.data, self.data_shapes)
        _check_shapes(label or (), self.label_shapes or ())
        self.begin(data_batch.data, label, self.for_training if is_train is None else is_train)

    def reshape(self, data_shapes: Any, label_shapes: Any = None) -> None:
        """Bind for other input shapes; parameters stay."""
        data = descriptions(data_shapes)
        labels = descriptions(label_shapes) if label_shapes else None
        if data != self.data_shapes or labels != self.label_shapes:
            self.bind_exec(data, labels)


def _check_shapes(arrays: Sequence[Any], descs: Sequence[DataDesc]) -> None:
    for array, desc in zip(arrays, descs, strict=False):
        if tuple(array.shape) != tuple(desc.shape):
            raise ShapeError(
                f"forward: {desc.name!r}: got shape {tuple(array.shape)}, but the group is bound "
                f"for {tuple(desc.shape)}; call reshape() first"
            )

"""Quantization of a network: graph, parameters and calibrated ranges."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, Protocol

from modkit.context import Context, cpu
from modkit.contrib.quantization import graph
from modkit.contrib.quantization.calibration import (
    HistogramCollector,
    MinMaxCollector,
    Ranges,
    check_ranges,
)
from modkit.errors import NotSupportedError, ParameterError, nearest
from modkit.io import DataIter
from modkit.module import Module
from modkit.ndarray import NDArray
from modkit.ndarray import contrib as nd_contrib
from modkit.ops.registry import OPS
from modkit.symbol import Symbol

Params = dict[str, NDArray]
_Dtype = Literal["int8", "uint8", "auto"]
_Mode = Literal["none", "naive", "entropy"]
_LOG = logging.getLogger(__name__)


class Collector(Protocol):
    """Reads tensors of float32 as a monitor's callback, and gives their ranges."""

    def collect(self, name: str | bytes, values: NDArray, /) -> None:
        """Read one tensor of one batch."""
        ...

    def ranges(self, quantized_dtype: str, /) -> Ranges:
        """The range of each tensor."""
        ...


def _one_of(what: str, got: Any, choices: Sequence[str]) -> None:
    if got not in choices:
        raise ParameterError(f"quantization: {what}: got {got!r}, expected one of {choices}")


def _checked_names(what: str, names: Any, known: Collection[str]) -> list[str]:
    """A list of names; ``None`` is an empty one."""
    if names is None:
        return []
    if not isinstance(names, list | tuple):
        raise ParameterError(f"quantization: {what}: got {names!r}, expected a list of names")
    for name in names:
        if name not in known:
            raise ParameterError(
                f"quantization: {what}: got {name!r}, which the symbol does not have."
                f"{nearest(name, known)}"
            )
    return list(names)


def _quantized_params(symbol: Symbol, arg_params: Mapping[str, NDArray]) -> Params:
    """The parameters of a quantized symbol out of those of float32."""
    found: Params = {}
    for name in symbol.list_arguments():
        if name in arg_params:
            found[name] = arg_params[name]
        elif name.endswith("_quantize"):
            values = arg_params[name.removesuffix("_quantize")]
            levels, low, high = nd_contrib.quantize(
                values, values.min(), values.max(), out_type="int8"
            )
            found |= {name: levels, f"{name}_min": low, f"{name}_max": high}
    return found


def _examined(
    sym: Symbol,
    arg_params: Mapping[str, NDArray],
    aux_params: Mapping[str, NDArray],
    names: Collection[str],
    collector: Collector,
    data: Any,
    limit: int | None,
    ctx: Any,
    data_names: Sequence[str],
    label_names: Sequence[str],
) -> int:
    """Run batches of ``data`` and show the tensors of these names; returns the examples read."""
    internals = sym.get_internals()
    known = internals.list_outputs()
    shown = Symbol([internals.heads[known.index(name)] for name in names])
    arguments = shown.list_arguments()
    labels = [name for name in label_names if name in arguments]
    module = Module(shown, list(data_names), labels or None, context=ctx)
    module.bind(data.provide_data, data.provide_label if labels else None, for_training=False)
    module.set_params(
        {name: arg_params[name] for name in arguments if name in arg_params},
        {name: aux_params[name] for name in shown.list_auxiliary_states()},
    )
    data.reset()
    examples = 0
    for batch in data:
        module.forward(batch, is_train=False)
        for name, values in zip(names, module.get_outputs(), strict=True):
            collector.collect(name, values)
        examples += data.batch_size
        if limit is not None and examples >= limit:
            break
    data.reset()
    return examples


def quantize_graph(
    sym: Symbol,
    arg_params: Mapping[str, NDArray],
    aux_params: Mapping[str, NDArray],
    ctx: Any = None,
    excluded_sym_names: Sequence[str] | None = None,
    excluded_op_names: Sequence[str] | None = None,
    calib_mode: _Mode = "entropy",
    quantized_dtype: _Dtype = "int8",
    quantize_mode: Literal["full", "smart"] = "full",
    quantize_granularity: Literal["tensor-wise"] = "tensor-wise",
    LayerOutputCollector: Collector | None = None,
    logger: logging.Logger | None = None,
) -> tuple[Symbol, Params, Params, Collector | None]:
    """The network in 8 bits before calibration, and the collector of its ranges.

    Give the collector's ``collect`` to an executor of the float32 network as its monitor callback
    (with ``monitor_all=True``), run batches, and pass the collector to `calib_graph`.

    Args:
        sym: the network.
        arg_params: its parameters.
        aux_params: its auxiliary states.
        ctx: taken as in MXNet; nothing runs here.
        excluded_sym_names: names of nodes that stay float32.
        excluded_op_names: operators that stay float32.
        calib_mode: ``"none"``, ``"naive"`` or ``"entropy"``; see `quantize_model`.
        quantized_dtype: of data between layers; ``"auto"`` is uint8 where a calibrated range has
            no negative numbers, else int8.
        quantize_mode: ``"full"`` quantizes each layer that can be; ``"smart"`` only convolutions,
            affine maps, and what lies between them.
        quantize_granularity: one range for each tensor.
        LayerOutputCollector: the collector to return; default one for ``calib_mode``.
        logger: of messages.

    Returns:
        The symbol, its parameters, auxiliary states, and the collector (``None`` for ``"none"``).

    Raises:
        ParameterError: an argument has another value, or a name that the symbol does not have.
    """
    del ctx
    _one_of("calib_mode", calib_mode, ("none", "naive", "entropy"))
    _one_of("quantized_dtype", quantized_dtype, ("int8", "uint8", "auto"))
    _one_of("quantize_mode", quantize_mode, ("full", "smart"))
    if quantize_granularity != "tensor-wise":
        raise NotSupportedError(
            f"quantization: quantize_granularity: got {quantize_granularity!r}, expected "
            "'tensor-wise': one range for each tensor"
        )
    nodes = sym.graph.nodes
    excluded = _checked_names("excluded_sym_names", excluded_sym_names, [n.name for n in nodes])
    kinds = {each for n in nodes if n.known_op for each in (n.op_name, n.known_op.name)}
    ops = _checked_names("excluded_op_names", excluded_op_names, {*OPS, *kinds})
    inside = graph.chosen(sym.graph, excluded, ops, quantize_mode == "smart")
    quantized = graph.quantized_symbol(sym, inside, arg_params, quantized_dtype)
    (logger or _LOG).info("quantization: %d of %d nodes", len(inside), len(nodes))
    params = _quantized_params(quantized, arg_params)
    collector = LayerOutputCollector
    if collector is None and calib_mode != "none":
        kind = MinMaxCollector if calib_mode == "naive" else HistogramCollector
        collector = kind(graph.tensors(quantized))
    return quantized, params, dict(aux_params), collector


def calib_graph(
    qsym: Symbol,
    arg_params: Mapping[str, NDArray],
    aux_params: Mapping[str, NDArray],
    collector: Collector,
    calib_mode: _Mode = "entropy",
    quantized_dtype: _Dtype = "int8",
    logger: logging.Logger | None = None,
) -> tuple[Symbol, Params, Params]:
    """A network of `quantize_graph` with the ranges that its collector has found.

    Args:
        qsym: the quantized network.
        arg_params: its parameters.
        aux_params: its auxiliary states.
        collector: from `quantize_graph`, after it has read batches.
        calib_mode: ``"naive"`` or ``"entropy"``: that of `quantize_graph`.
        quantized_dtype: that of `quantize_graph`.
        logger: of messages.

    Raises:
        ParameterError: ``calib_mode`` is another, or no tensor was read.
    """
    _one_of("calib_mode", calib_mode, ("naive", "entropy"))
    ranges = collector.ranges(quantized_dtype)
    if not ranges:
        raise ParameterError(
            "quantization: the collector has read no tensor; run the float32 network with "
            "collector.collect as its monitor callback first"
        )
    check_ranges(ranges)
    for name in sorted(set(graph.tensors(qsym)) - set(ranges)):
        (logger or _LOG).warning("quantization: no range of tensor %r was collected", name)
    return graph.with_ranges(qsym, ranges), dict(arg_params), dict(aux_params)


def quantize_model(
    sym: Symbol,
    arg_params: Mapping[str, NDArray],
    aux_params: Mapping[str, NDArray],
    data_names: Sequence[str] = ("data",),
    label_names: Sequence[str] | None = ("softmax_label",),
    ctx: Context | None = None,
    excluded_sym_names: Sequence[str] | None = None,
    excluded_op_names: Sequence[str] | None = None,
    calib_mode: _Mode = "entropy",
    calib_data: DataIter | None = None,
    num_calib_examples: int | None = None,
    quantized_dtype: _Dtype = "int8",
    quantize_mode: Literal["full", "smart"] = "smart",
    quantize_granularity: Literal["tensor-wise"] = "tensor-wise",
    logger: logging.Logger | None = None,
) -> tuple[Symbol, Params, Params]:
    """A network of float32 as one that computes in 8 bits, for inference.

    Names and attributes are those of MXNet 1.9.1, so that either loads the other's files.

    Args:
        sym: the network.
        arg_params: its parameters.
        aux_params: its auxiliary states.
        data_names: its inputs.
        label_names: its labels.
        ctx: where batches for the calibration run; default the CPU.
        excluded_sym_names: names of nodes that stay float32, often the first and the last layer.
        excluded_op_names: operators that stay float32.
        calib_mode: ``"none"``: ranges are those of each batch at prediction; ``"naive"``: the
            extremes over the calibration data; ``"entropy"``: the ranges whose histogram in 8 bits
            diverges least from that of the data.
        calib_data: batches for the calibration.
        num_calib_examples: read this many examples; default all.
        quantized_dtype: of data between layers; ``"auto"`` is uint8 where a calibrated range has
            no negative numbers, else int8.
        quantize_mode: ``"full"`` quantizes each layer that can be; ``"smart"`` only convolutions,
            affine maps, and what lies between them.
        quantize_granularity: one range for each tensor.
        logger: of messages.

    Returns:
        The symbol, its parameters and its auxiliary states.

    Raises:
        ParameterError: an argument has another value, ``calib_data`` is missing, or a name is one
            that the symbol does not have.
    """
    quantized, params, states, collector = quantize_graph(
        sym,
        arg_params,
        aux_params,
        ctx,
        excluded_sym_names,
        excluded_op_names,
        calib_mode,
        quantized_dtype,
        quantize_mode,
        quantize_granularity,
        logger=logger,
    )
    if collector is None:
        return quantized, params, states
    if not isinstance(calib_data, DataIter):
        raise ParameterError(
            f"quantization: calib_data: got {calib_data!r}, expected a DataIter for "
            f"calib_mode={calib_mode!r}; calib_mode='none' needs none"
        )
    names = list(dict.fromkeys(graph.tensors(quantized)))
    if not names:
        return quantized, params, states
    examples = _examined(
        sym,
        arg_params,
        aux_params,
        names,
        collector,
        calib_data,
        num_calib_examples,
        ctx or cpu(),
        data_names,
        label_names or (),
    )
    (logger or _LOG).info("quantization: ranges of %d tensors, %d examples", len(names), examples)
    mode: _Mode = calib_mode
    return calib_graph(quantized, params, states, collector, mode, quantized_dtype, logger)


quantize_model_mkldnn = quantize_model
"""`quantize_model`: XLA fuses layers where MXNet has subgraphs of oneDNN."""

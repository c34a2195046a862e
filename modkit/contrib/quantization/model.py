"""Quantization of a network: graph, parameters and calibrated ranges."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal, Protocol

from modkit.checkpoint import read_params
from modkit.context import Context, cpu
from modkit.contrib.quantization import graph
from modkit.contrib.quantization.calibration import (
    LayerHistogramCollector,
    LayerOutputMinMaxCollector,
    Ranges,
    check_ranges,
    get_optimal_thresholds,
)
from modkit.errors import NotSupportedError, ParameterError, expect, nearest, one_of, wrong
from modkit.io import DataIter
from modkit.module import Module
from modkit.ndarray import NDArray, array
from modkit.ndarray import contrib as nd_contrib
from modkit.ops.registry import OPS
from modkit.symbol import Symbol, load

Params = dict[str, NDArray]
_Dtype = Literal["int8", "uint8", "auto"]
_Mode = Literal["none", "naive", "entropy", "customize"]
_LOG = logging.getLogger(__name__)


class Collector(Protocol):
    """Reads tensors of float32 as a monitor's callback.

    The ranges that it finds are in ``min_max_dict``, or their histograms in ``hist_dict``.
    """

    def collect(self, name: str | bytes, arr: NDArray, /) -> None:
        """Read one tensor of one batch."""
        ...


def _checked_names(what: str, names: Any, known: Collection[str] | None = None) -> list[str]:
    """A list of names, of the known ones; ``None`` is an empty one."""
    if names is None:
        return []
    expect(isinstance(names, list | tuple), f"quantization: {what}", names, "a list of names")
    for name in names:
        if known is not None and name not in known:
            raise ParameterError(
                f"quantization: {what}: got {name!r}, which the symbol does not have."
                f"{nearest(name, known)}"
            )
    return list(names)


def load_sym(sym: Symbol | str, logger: logging.Logger | None = None) -> Symbol:
    """The symbol, or that of a file; ParameterError where it is neither a symbol nor a path."""
    if isinstance(sym, Symbol):
        return sym
    expect(isinstance(sym, str), "quantization: sym", sym, "a Symbol or a path")
    (logger or _LOG).info("quantization: symbol from %s", sym)
    return load(sym)


def load_params(
    params: str | Sequence[Params], logger: logging.Logger | None = None
) -> tuple[Params, Params]:
    """Arguments and auxiliary states: the pair as it is, or those of a file.

    Raises:
        ParameterError: it is neither a path nor a pair.
    """
    if isinstance(params, str):
        (logger or _LOG).info("quantization: parameters from %s", params)
        return read_params(params)
    if not isinstance(params, list | tuple) or len(params) != 2:
        expected = "a path, or a pair: arguments and auxiliary states"
        raise wrong("quantization: params", params, expected)
    return params[0], params[1]


def quantize_symbol(
    sym: Symbol,
    ctx: Any,
    excluded_symbols: Sequence[str] | None = None,
    excluded_operators: Sequence[str] | None = None,
    offline_params: Collection[str] | None = None,
    quantized_dtype: _Dtype = "int8",
    quantize_mode: Literal["full", "smart"] = "smart",
    quantize_granularity: Literal["tensor-wise"] = "tensor-wise",
) -> tuple[Symbol, list[str]]:
    """The symbol in 8 bits, and the names of the tensors whose ranges it needs.

    Nothing runs in ``ctx``. ``offline_params`` are names of the arguments whose levels are
    parameters of the new symbol. The other arguments are those of `quantize_model`.

    Raises:
        ParameterError: an argument has another value.
    """
    one_of("quantization: quantized_dtype", quantized_dtype, ("int8", "uint8", "auto"))
    one_of("quantization: quantize_mode", quantize_mode, ("full", "smart"))
    if quantize_granularity != "tensor-wise":
        raise NotSupportedError(
            f"quantization: quantize_granularity: got {quantize_granularity!r}, expected "
            "'tensor-wise': one range for each tensor"
        )
    excluded = _checked_names("excluded_symbols", excluded_symbols)
    ops = _checked_names("excluded_operators", excluded_operators)
    inside = graph.chosen(sym.graph, excluded, ops, quantize_mode == "smart")
    _LOG.info("quantization: %d of %d nodes", len(inside), len(sym.graph.nodes))
    quantized = graph.quantized_symbol(sym, inside, offline_params or (), quantized_dtype)
    return quantized, graph.tensors(quantized)


def quantize_params(qsym: Symbol, params: Mapping[str, NDArray], th_dict: Ranges) -> Params:
    """The parameters of a quantized symbol out of those of float32."""
    found: Params = {}
    for name in qsym.list_arguments():
        tensor = name.removesuffix("_min").removesuffix("_max")
        if name in params:
            found[name] = params[name]
        elif name.endswith("_quantize") and name.removesuffix("_quantize") in params:
            values = params[name.removesuffix("_quantize")]
            levels, low, high = nd_contrib.quantize(
                values, values.min(), values.max(), out_type="int8"
            )
            found |= {name: levels, f"{name}_min": low, f"{name}_max": high}
        elif tensor != name and tensor in th_dict:
            found[name] = array([th_dict[tensor][name.endswith("_max")]])
    return found


def _read(
    module: Module,
    data: DataIter,
    limit: int | None,
    logger: logging.Logger | None,
    show: Callable[[], None],
) -> int:
    """Run batches, and call ``show`` after each; returns the examples read."""
    examples = 0
    for batch in data:
        module.forward(batch, is_train=False)
        show()
        examples += data.batch_size
        if limit is not None and examples >= limit:
            break
    (logger or _LOG).info("quantization: statistics of %d examples", examples)
    return examples


def collect_layer_statistics(
    mod: Module,
    data: DataIter,
    collector: Collector,
    max_num_examples: int | None = None,
    logger: logging.Logger | None = None,
) -> int:
    """Run batches through a bound module, whose tensors a collector reads.

    Args:
        mod: of float32; its executors keep the collector as their monitor callback.
        collector: its ``collect`` gets each tensor.
        max_num_examples: read this many examples; default all.

    Returns:
        The number of examples read.

    Raises:
        ParameterError: ``data`` is no DataIter.
    """
    expect(isinstance(data, DataIter), "quantization: data", data, "a DataIter")
    for executor in mod._exec_group.executors:
        executor.set_monitor_callback(collector.collect, monitor_all=True)
    return _read(mod, data, max_num_examples, logger, lambda: None)


def collect_layer_histogram(
    mod: Module,
    data: DataIter,
    include_layer: Collection[str] | None = None,
    max_num_examples: int | None = None,
    logger: logging.Logger | None = None,
) -> tuple[dict[str, Any], int]:
    """Histograms of tensors by name, and the examples read; see `collect_layer_statistics`."""
    collector = LayerHistogramCollector(include_layer=include_layer, logger=logger)
    examples = collect_layer_statistics(mod, data, collector, max_num_examples, logger)
    return collector.hist_dict, examples


def collect_layer_output_min_max(
    mod: Module,
    data: DataIter,
    quantized_dtype: str,
    include_layer: Collection[str] | None = None,
    max_num_examples: int | None = None,
    logger: logging.Logger | None = None,
) -> tuple[Ranges, int]:
    """Extremes of tensors by name, and the examples read; see `collect_layer_statistics`."""
    collector = LayerOutputMinMaxCollector(quantized_dtype, include_layer, logger)
    examples = collect_layer_statistics(mod, data, collector, max_num_examples, logger)
    return collector.min_max_dict, examples


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

    The arguments are those of `quantize_model`; nothing runs in ``ctx``. ``calib_mode`` may also be
    ``"customize"``, for a collector of your own, ``LayerOutputCollector``, which is returned.

    Returns:
        The symbol, its parameters, auxiliary states, and the collector (``None`` for ``"none"``).

    Raises:
        ParameterError: an argument has another value, or a name that the symbol does not have.
    """
    one_of("quantization: calib_mode", calib_mode, ("none", "naive", "entropy", "customize"))
    if calib_mode == "customize" and LayerOutputCollector is None:
        expected = "a collector for calib_mode='customize'"
        raise wrong("quantization: LayerOutputCollector", None, expected)
    nodes = sym.graph.nodes
    excluded = _checked_names("excluded_sym_names", excluded_sym_names, [n.name for n in nodes])
    kinds = {each for n in nodes if n.known_op for each in (n.op_name, n.known_op.name)}
    ops = _checked_names("excluded_op_names", excluded_op_names, {*OPS, *kinds})
    quantized, tensors = quantize_symbol(
        sym, ctx, excluded, ops, arg_params, quantized_dtype, quantize_mode, quantize_granularity
    )
    params = quantize_params(quantized, arg_params, {})
    collector = {
        "none": None,
        "naive": LayerOutputMinMaxCollector(quantized_dtype, tensors, logger),
        "entropy": LayerHistogramCollector(include_layer=tensors, logger=logger),
        "customize": LayerOutputCollector,
    }[calib_mode]
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
        arg_params: those of float32, or those of `quantize_graph`.
        collector: from `quantize_graph`, after it has read batches.
        calib_mode: that of `quantize_graph`, but ``"none"``.
        quantized_dtype: that of `quantize_graph`.

    Raises:
        ParameterError: ``calib_mode`` is another, the collector is one for another, or no tensor
            was read.
    """
    one_of("quantization: calib_mode", calib_mode, ("naive", "entropy", "customize"))
    attribute = "hist_dict" if calib_mode == "entropy" else "min_max_dict"
    found = getattr(collector, attribute, None)
    expected = f"one with {attribute} for calib_mode={calib_mode!r}"
    expect(found is not None, "quantization: collector", collector, expected)
    if not found:
        raise ParameterError(
            "quantization: the collector has read no tensor; run the float32 network with "
            "collector.collect as its monitor callback first"
        )
    if calib_mode == "entropy":
        found = get_optimal_thresholds(found, quantized_dtype, logger=logger)
    check_ranges(found)
    for name in sorted(set(graph.tensors(qsym)) - set(found)):
        (logger or _LOG).warning("quantization: no range of tensor %r was collected", name)
    params = quantize_params(qsym, arg_params, found)
    return graph.with_ranges(qsym, found), params, dict(aux_params)


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
        ctx: where batches for the calibration run; default the CPU.
        excluded_sym_names: names of nodes that stay float32, often the first and the last layer.
        excluded_op_names: operators that stay float32.
        calib_mode: ``"none"``: ranges are those of each batch at prediction; ``"naive"``: the
            extremes over the calibration data; ``"entropy"``: the ranges whose histogram in 8 bits
            diverges least from that of the data.
        num_calib_examples: read this many examples; default all.
        quantized_dtype: of data between layers; ``"auto"`` is uint8 where a calibrated range has
            no negative numbers, else int8.
        quantize_mode: ``"full"`` quantizes each layer that can be; ``"smart"`` only convolutions,
            affine maps, and what lies between them.
        quantize_granularity: one range for each tensor.

    Returns:
        The symbol, its parameters and its auxiliary states.

    Raises:
        ParameterError: an argument has another value, ``calib_data`` is missing, or a name is one
            that the symbol does not have.
    """
    quantized, params, states, collector = quantize_graph(
        sym, arg_params, aux_params, ctx, excluded_sym_names, excluded_op_names, calib_mode,
        quantized_dtype, quantize_mode, quantize_granularity, logger=logger,
    )  # fmt: skip
    if collector is None:
        return quantized, params, states
    expected = f"a DataIter for calib_mode={calib_mode!r}; calib_mode='none' needs none"
    expect(isinstance(calib_data, DataIter), "quantization: calib_data", calib_data, expected)
    names = list(dict.fromkeys(graph.tensors(quantized)))
    if not names:
        return quantized, params, states
    internals = sym.get_internals()
    known = internals.list_outputs()
    shown = Symbol([internals.heads[known.index(name)] for name in names])
    arguments = shown.list_arguments()
    labels = [name for name in label_names or () if name in arguments]
    module = Module(shown, list(data_names), labels or None, context=ctx or cpu())
    data: Any = calib_data
    module.bind(data.provide_data, data.provide_label if labels else None, for_training=False)
    module.set_params(
        {name: arg_params[name] for name in arguments if name in arg_params},
        {name: aux_params[name] for name in shown.list_auxiliary_states()},
    )

    def show() -> None:
        for name, values in zip(names, module.get_outputs(), strict=True):
            collector.collect(name, values)

    data.reset()
    _read(module, data, num_calib_examples, logger, show)
    data.reset()
    return calib_graph(quantized, params, states, collector, calib_mode, quantized_dtype, logger)


quantize_model_mkldnn = quantize_model
"""`quantize_model`: XLA fuses layers where MXNet has subgraphs of oneDNN."""

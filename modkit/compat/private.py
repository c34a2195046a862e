"""Private names of MXNet's modules, which are found in modkit's while the alias is installed."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

import modkit
from modkit import base, engine, executor_manager, kvstore, model, registry
from modkit.attribute import AttrScope
from modkit.autograd.scopes import _ModeScope
from modkit.callback import LogValidationMetricsCallback
from modkit.checkpoint import save_checkpoint
from modkit.compat.module_names import check_input_names, parse_data_desc
from modkit.compat.private_arrays import ARRAYS, INTERNAL, SPARSE, _slice_along_batch_axis
from modkit.context import Context, cpu, current_context
from modkit.errors import MXNetError, NotImplementedForSymbol, expect
from modkit.initializer import Uniform
from modkit.io import DataBatch, DataDesc, DataIter
from modkit.io.array import init_data
from modkit.io.resample import chosen_interp
from modkit.kvstore.create import create_kvstore
from modkit.metric.binary import BinaryMetrics
from modkit.module.split_batch import groups_of
from modkit.ndarray import NDArray
from modkit.ops.dtypes import DTYPE_CODES
from modkit.optimizer import get_updater
from modkit.rnn.base import arrange, compose, in_turn
from modkit.symbol import Symbol
from modkit.symbol.stypes import STORAGE_CODES
from modkit.util import is_np_shape

_BY_CODE = {code: None if name == "bfloat16" else np.dtype(name).type
            for code, name in DTYPE_CODES.items()}  # fmt: skip

CODES: dict[str, Any] = {
    "_DTYPE_NP_TO_MX": {None: -1, **{v: k for k, v in _BY_CODE.items() if v is not None}},
    "_DTYPE_MX_TO_NP": {-1: None, **_BY_CODE},
    "_GRAD_REQ_MAP": {"null": 0, "write": 1, "add": 3},
    "_STORAGE_TYPE_STR_TO_ID": STORAGE_CODES,
    "_STORAGE_TYPE_ID_TO_STR": {code: name for name, code in STORAGE_CODES.items()},
    "_STORAGE_TYPE_UNDEFINED": -1,
    "_STORAGE_TYPE_DEFAULT": 0,
    "_STORAGE_TYPE_ROW_SPARSE": 1,
    "_STORAGE_TYPE_CSR": 2,
    "py_slice": slice,
}
"""MXNet's numbers of element types, storage types and gradient requests."""

_BASE: dict[str, Any] = {
    name: getattr(base, name)
    for name in ("string_types", "numeric_types", "integer_types", "py_str", "c_str", "c_array",
                 "c_array_buf", "c_str_array", "mx_real_t", "mx_uint", "mx_int", "mx_int64",
                 "check_call", "MXNetError", "NDArrayHandle", "SymbolHandle", "ExecutorHandle",
                 "KVStoreHandle", "DataIterHandle", "_LIB", "_Null")
} | {"Context": Context, "current_context": current_context, **CODES}  # fmt: skip
"""Names that most of MXNet's modules import."""


def _has_instance(data: Sequence[tuple[str, Any]], dtype: type | tuple[type, ...]) -> bool:
    """Whether one of the named arrays is an instance of a type."""
    return any(isinstance(value, dtype) for _, value in data)


def _getdata_by_idx(data: Sequence[tuple[str, Any]], idx: Any) -> list[tuple[str, NDArray]]:
    """The rows of named arrays with given numbers."""
    rows = modkit.nd.array(idx, dtype="int64")
    return [
        (name, modkit.nd.take(modkit.nd.array(value, dtype=value.dtype), rows))
        for name, value in data
    ]


def _prepare_group2ctxs(group2ctxs: Any, ctx_len: int) -> list[Any]:
    """The contexts of ``ctx_group`` attributes for each context of a module."""
    return [each or None for each in groups_of(group2ctxs, ctx_len)]


def _multiple_callbacks(callbacks: Any, *args: Any, **kwargs: Any) -> None:
    """Call a callback, or each of a list; nothing for ``None``."""
    listed = callbacks if isinstance(callbacks, list) else [callbacks]
    for callback in listed if callbacks else ():
        callback(*args, **kwargs)


def _get_interp_method(interp: int, sizes: Sequence[int] = ()) -> int:
    """The interpolation of a code, for the height and width of an image before and after."""
    expect(interp in (*range(5), 9, 10), "interp", interp, "0 to 4, 9 or 10")
    return chosen_interp(interp, sizes[:2], sizes[2:])


def _bind_exec(
    sym: Symbol, ctx: Context, input_shapes: Mapping[str, Any], param_names: Sequence[str],
    need_grad: bool | Collection[str] = False, base_exec: Any = None,
    shared_data_arrays: Any = None, input_types: Any = None, logger: Any = None,
) -> Any:  # fmt: skip
    """An executor with gradients of arguments that are no inputs: all, or the given names."""
    del logger
    given = sym.list_arguments() if need_grad is True else need_grad or ()
    requests = {
        name: "write" if name in given and name not in input_shapes else "null"
        for name in sym.list_arguments()
    }
    return sym.simple_bind(
        ctx, requests, input_types, shared_arg_names=param_names, shared_exec=base_exec,
        shared_buffer=shared_data_arrays, **input_shapes,
    )  # fmt: skip


def _create_sparse_kvstore(given: Any) -> tuple[Any, bool]:
    """A KVStore for row-sparse weights, and that the updates run on it."""
    if isinstance(given, str):
        given = kvstore.create(given)
    expect(isinstance(given, kvstore.KVStore), "kvstore", given, "a KVStore or the name of one")
    return given, True


def _normalize_sequence(
    length: int, inputs: Any, layout: str, merge: bool | None, in_layout: str | None = None
) -> tuple[Any, int]:
    """Time steps as one symbol or a list, as `modkit.rnn.base.arrange`, and the axis of time.

    Args:
        inputs: one symbol, or a list of one for each step.
        layout: the order of axes of the result.
        merge: whether it is one symbol; ``None`` leaves it as it is.
        in_layout: the order of axes of ``inputs``, if it is another.
    """
    axis = layout.find("T")
    before = axis if in_layout is None else in_layout.find("T")
    arranged = arrange(length, inputs, in_layout or layout, merge)
    if isinstance(arranged, Symbol) and before != axis:
        arranged = compose("SwapAxis", arranged, dim1=axis, dim2=before)
    return arranged, axis


_CELLS = {
    "_normalize_sequence": _normalize_sequence,
    "_cells_state_info": lambda cells: [each for cell in cells for each in cell.state_info],
    "_cells_state_shape": lambda cells: [each for cell in cells for each in cell.state_shape],
    "_cells_begin_state": lambda cells, **kwargs: [
        state for cell in cells for state in cell.begin_state(**kwargs)
    ],
    "_cells_unpack_weights": lambda cells, args: in_turn(cells, "unpack_weights", args),
    "_cells_pack_weights": lambda cells, args: in_turn(cells, "pack_weights", args),
}
_ITERATORS = {
    "_has_instance": _has_instance,
    "_getdata_by_idx": _getdata_by_idx,
    "_init_data": init_data,
    "_slice_along_batch_axis": _slice_along_batch_axis,
}
_MANAGER = {
    name: getattr(executor_manager, name)
    for name in ("_check_arguments", "_load_data", "_load_label", "_split_input_slice")
}


def _names(package: Any) -> dict[str, Any]:
    """Names of a package but dunders: ``__path__`` would turn the target into a package."""
    return {name: value for name, value in vars(package).items() if not name.startswith("__")}


def _public(package: Any) -> dict[str, Any]:
    """Names of a package, and those of a star import."""
    names = _names(package)
    return {**names, "__all__": [name for name in names if not name.startswith("_")]}


_OWN: dict[str, Mapping[str, Any]] = {
    "modkit.ndarray.ndarray": _public(modkit.nd) | ARRAYS,
    "modkit.ndarray._internal": INTERNAL,
    "modkit.ndarray.sparse": SPARSE,
    "modkit.symbol.symbol": {
        **_public(modkit.sym), "SymbolBase": Symbol, "AttrScope": AttrScope,
        "NDArray": NDArray, "is_np_shape": is_np_shape,
        "NotImplementedForSymbol": NotImplementedForSymbol, "_internal": modkit.sym._internal,
    },
    "modkit.errors": {
        "InternalError": type("InternalError", (MXNetError,), {"__doc__": "A defect."}),
        "register": base.register_error, "register_error": base.register_error,
    },
    "modkit.executor": _MANAGER,
    "modkit.io": _ITERATORS,
    "modkit.rnn": _CELLS | {"save_checkpoint": save_checkpoint, "DataBatch": DataBatch,
                            "DataDesc": DataDesc, "DataIter": DataIter},
    "modkit.module.executor_group": _MANAGER | {"_prepare_group2ctxs": _prepare_group2ctxs},
    "modkit.executor_manager": {"_bind_exec": _bind_exec},
    "modkit.autograd": {"_RecordingStateScope": _ModeScope},
    "modkit.engine": {"_BulkScope": engine.bulk},
    "modkit.util": {"_NumpyShapeScope": modkit.util.np_shape},
    "modkit.image": {"_get_interp_method": _get_interp_method},
    "modkit.module.module": {
        "_create_kvstore": create_kvstore, "_initialize_kvstore": model._initialize_kvstore,
        "_update_params": model._update_params, "_check_input_names": check_input_names,
        "_update_params_on_kvstore": model._update_params_on_kvstore,
        "_parse_data_desc": parse_data_desc,
    },
    "modkit.module.bucketing_module": {"_check_input_names": check_input_names},
    "modkit.module.base_module": {"cpu": cpu},
    "modkit.model": {
        **_MANAGER, "Context": Context, "cpu": cpu, "DataDesc": DataDesc, "Uniform": Uniform,
        "DataParallelExecutorManager": executor_manager.DataParallelExecutorManager,
        "LogValidationMetricsCallback": LogValidationMetricsCallback, "get_updater": get_updater,
        "_create_kvstore": create_kvstore, "_create_sparse_kvstore": _create_sparse_kvstore,
        "_multiple_callbacks": _multiple_callbacks, "BASE_ESTIMATOR": object,
        "_update_params_on_kvstore_nccl": model._update_params_on_kvstore,
    },
    "modkit.callback": {"save_checkpoint": save_checkpoint},
    "modkit.initializer": {"registry": registry},
    "modkit.io.recordio": {"_IR_FORMAT": "IfQQ", "_IR_SIZE": 24},
    "modkit.metric": {"registry": registry, "_BinaryClassificationMetrics": BinaryMetrics},
    "modkit.ndarray": SPARSE,
    "modkit.symbol._internal": {"SymbolBase": Symbol, "AttrScope": AttrScope},
    "modkit.optimizer": _names(modkit.nd) | {
        "_flatten_list": lambda nested: list(itertools.chain.from_iterable(nested)),
    },
    "modkit.visualization": {"_str2tuple": lambda text: re.findall(r"\d+", text)},
}  # fmt: skip
_OTHERS = (
    "attribute", "context", "contrib.autograd", "contrib.quantization", "kvstore",
    "ndarray.random", "operator", "profiler", "registry", "runtime", "symbol.contrib",
    "symbol.random",
)  # fmt: skip
ADDED: dict[str, Mapping[str, Any]] = {
    place: {**_BASE, **_OWN.get(place, {})}
    for place in (*_OWN, *(f"modkit.{name}" for name in _OTHERS))
}
"""Names by module of modkit. They are no globals there, so none hides a builtin function."""

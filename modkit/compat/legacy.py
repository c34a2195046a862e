"""Tables of MXNet's module names: their modules in modkit, extra names, and absent modules."""

from __future__ import annotations

import bz2
import collections
import contextlib
import errno
import gzip
import json
import logging
import numbers
import os
import platform
import struct
import sys
import time
import traceback
import zipfile
from typing import Any

import numpy as np

from modkit.compat.lazy_module import LazyModule
from modkit.compat.module_names import (
    as_sequence,
    check_input_names,
    check_names_match,
    parse_data_desc,
)
from modkit.context import Context, current_context
from modkit.io.array import init_data
from modkit.ndarray import array
from modkit.ops.registry import DTYPE_CODES
from modkit.runtime import Features
from modkit.symbol import Symbol
from modkit.symbol.attrs import STORAGE_CODES

PLACES: dict[str, str] = {
    "contrib.nd": "modkit.ndarray.contrib",
    "contrib.ndarray": "modkit.ndarray.contrib",
    "contrib.quant": "modkit.contrib.quantization",
    "contrib.sym": "modkit.symbol.contrib",
    "contrib.symbol": "modkit.symbol.contrib",
    "error": "modkit.errors",
    "image.image": "modkit.image",
    "img": "modkit.image",
    "io.io": "modkit.io",
    "io.utils": "modkit.io",
    "kvstore.base": "modkit.kvstore",
    "kvstore.kvstore": "modkit.kvstore",
    "misc": "modkit.compat.misc",
    "ndarray.ndarray": "modkit.ndarray",
    "ndarray.utils": "modkit.ndarray",
    "optimizer.optimizer": "modkit.optimizer",
    "recordio": "modkit.io.recordio",
    "rnn.io": "modkit.rnn",
    "rnn.rnn": "modkit.rnn",
    "rnn.rnn_cell": "modkit.rnn",
    "init": "modkit.initializer",
    "kv": "modkit.kvstore",
    "mod": "modkit.module",
    "mon": "modkit.monitor",
    "nd": "modkit.ndarray",
    "random": "modkit.ndarray.random",
    "rnd": "modkit.ndarray.random",
    "sym": "modkit.symbol",
    "symbol.symbol": "modkit.symbol",
    "viz": "modkit.visualization",
}
"""Modules of modkit by MXNet's module name (below ``mxnet``)."""

_BY_CODE = {code: None if name == "bfloat16" else np.dtype(name).type
            for code, name in DTYPE_CODES.items()}  # fmt: skip


EXTRAS: dict[str, dict[str, Any]] = {
    "ndarray.ndarray": {
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
    },
    "io.io": {"_init_data": init_data},
    "io.utils": {"_init_data": init_data},
    "module.base_module": {
        "_as_list": as_sequence,
        "_check_input_names": check_input_names,
        "_check_names_match": check_names_match,
        "_parse_data_desc": parse_data_desc,
    },
    "test_utils": {  # further names of ``from mxnet.test_utils import *``
        "np": np, "npt": np.testing, "rnd": np.random, "bz2": bz2, "errno": errno, "gzip": gzip,
        "json": json, "logging": logging, "numbers": numbers, "os": os, "platform": platform,
        "struct": struct, "sys": sys, "time": time, "traceback": traceback, "zipfile": zipfile,
        "contextmanager": contextlib.contextmanager, "Context": Context, "Features": Features,
        "Symbol": Symbol, "array": array, "current_context": current_context,
        "OrderedDict": collections.OrderedDict, "ss": LazyModule("scipy.stats"),
        "requests": LazyModule("requests"),
    },
}  # fmt: skip
"""Names of MXNet's modules that the modules of modkit do not have."""

_ARRAYS = "use NumPy, jax.numpy, or mx.nd"

ABSENT: dict[str, str] = {
    "gluon": "write the network as a Symbol; models exported by Gluon load with mx.mod.Module",
    "library": "operators are made with mx.operator.CustomOp or written in JAX",
    "notebook": "log with callbacks of mx.callback",
    "np": _ARRAYS,
    "npx": _ARRAYS,
    "numpy": _ARRAYS,
    "numpy_extension": _ARRAYS,
    "onnx": "use the onnx package",
    "rtc": "write kernels in JAX (Pallas)",
    "th": "call PyTorch itself",
    "torch": "call PyTorch itself",
    "tvmop": "write kernels in JAX (Pallas)",
}
"""Modules of MXNet that modkit does not implement, and replacements. Importing them succeeds."""

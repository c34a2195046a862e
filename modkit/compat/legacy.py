"""Tables of MXNet's module names: their modules in modkit, extra names, and absent modules."""

from __future__ import annotations

import bz2
import collections
import contextlib
import errno
import gzip
import importlib
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
from types import ModuleType
from typing import Any

import numpy as np

from modkit.base import _as_list
from modkit.compat.module_names import check_input_names, check_names_match, parse_data_desc
from modkit.context import Context, current_context
from modkit.ndarray import array
from modkit.runtime import Features
from modkit.symbol import Symbol


class LazyModule(ModuleType):
    """A stand-in for a module that may be missing; the import error comes at its first use."""

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self.__name__), name)


PLACES: dict[str, str] = {
    "_ctypes": "modkit.handles",
    "_ctypes.ndarray": "modkit.ndarray.ndarray",
    "_ctypes.symbol": "modkit.symbol.symbol",
    "contrib.amp.amp": "modkit.contrib.amp",
    "contrib.nd": "modkit.ndarray.contrib",
    "contrib.ndarray": "modkit.ndarray.contrib",
    "contrib.onnx.onnx2mx": "modkit.onnx.readers",
    "contrib.onnx.onnx2mx.import_model": "modkit.onnx.importing",
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
    "viz": "modkit.visualization",
}
"""Modules of modkit by MXNet's module name (below ``mxnet``)."""

EXTRAS: dict[str, dict[str, Any]] = {
    "module.base_module": {
        "_as_list": _as_list,
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

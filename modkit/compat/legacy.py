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

import modkit
from modkit import contrib
from modkit.base import _as_list
from modkit.compat.module_names import check_input_names, check_names_match, parse_data_desc
from modkit.context import Context, current_context
from modkit.lazy import LazyModule
from modkit.ndarray import array
from modkit.runtime import Features
from modkit.symbol import Symbol


def _other_names(package: Any) -> dict[str, str]:
    """Modules by names in a package of modkit that are not their own, such as ``nd``."""
    own = package.__name__
    modules = package._names.modules.items()
    return {name: place for name, place in modules if place != f"{own}.{name}"}


PLACES: dict[str, str] = {
    "_ctypes": "modkit.handles",
    "_ctypes.ndarray": "modkit.ndarray.ndarray",
    "_ctypes.symbol": "modkit.symbol.symbol",
    "contrib.amp.amp": "modkit.contrib.amp",
    "contrib.onnx.onnx2mx": "modkit.onnx.readers",
    "contrib.onnx.onnx2mx.import_model": "modkit.onnx.importing",
    "error": "modkit.errors",
    "image.image": "modkit.image",
    "io.io": "modkit.io",
    "io.utils": "modkit.io",
    "kvstore.base": "modkit.kvstore",
    "kvstore.kvstore": "modkit.kvstore",
    "misc": "modkit.compat.misc",
    "ndarray.utils": "modkit.ndarray",
    "optimizer.optimizer": "modkit.optimizer",
    "rnn.io": "modkit.rnn",
    "rnn.rnn": "modkit.rnn",
    "rnn.rnn_cell": "modkit.rnn",
    **_other_names(modkit),
    **{f"contrib.{name}": place for name, place in _other_names(contrib).items()},
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

"""modkit: the Apache MXNet 1.x Module API, alive on JAX.

Made by tools/make_stubs.py; do not edit.
"""

from modkit import artefacts as artefacts
from modkit import attribute as attribute
from modkit import base as base
from modkit import callback as callback
from modkit import context as context
from modkit import engine as engine
from modkit import errors as errors
from modkit import executor as executor
from modkit import initializer as initializer
from modkit import io as io
from modkit import kvstore as kvstore
from modkit import libinfo as libinfo
from modkit import log as log
from modkit import lr_scheduler as lr_scheduler
from modkit import metric as metric
from modkit import model as model
from modkit import module as module
from modkit import monitor as monitor
from modkit import name as name
from modkit import ndarray as ndarray
from modkit import operator as operator
from modkit import optimizer as optimizer
from modkit import predictor as predictor
from modkit import profiler as profiler
from modkit import registry as registry
from modkit import rnn as rnn
from modkit import runtime as runtime
from modkit import symbol as symbol
from modkit import test_utils as test_utils
from modkit import util as util
from modkit import visualization as visualization
from modkit.attribute import AttrScope as AttrScope
from modkit.context import Context as Context
from modkit.context import cpu as cpu
from modkit.context import cpu_pinned as cpu_pinned
from modkit.context import current_context as current_context
from modkit.context import gpu as gpu
from modkit.context import gpu_memory_info as gpu_memory_info
from modkit.context import num_gpus as num_gpus
from modkit.context import tpu as tpu
from modkit.errors import MXNetError as MXNetError
from modkit.io import recordio as recordio
from modkit.ndarray import random as random
from modkit.predictor import Predictor as Predictor
from modkit.util import is_np_array as is_np_array
from modkit.util import is_np_shape as is_np_shape
from modkit.util import np_array as np_array
from modkit.util import np_shape as np_shape
from modkit.util import set_np_shape as set_np_shape
from modkit.util import use_np as use_np
from modkit.util import use_np_array as use_np_array
from modkit.util import use_np_shape as use_np_shape

init = initializer
kv = kvstore
mod = module
mon = monitor
nd = ndarray
opt = optimizer
rnd = random
sym = symbol
viz = visualization

__version__: str

__all__ = [
    "AttrScope",
    "Context",
    "MXNetError",
    "Predictor",
    "artefacts",
    "attribute",
    "base",
    "callback",
    "context",
    "cpu",
    "cpu_pinned",
    "current_context",
    "engine",
    "errors",
    "executor",
    "gpu",
    "gpu_memory_info",
    "init",
    "initializer",
    "io",
    "is_np_array",
    "is_np_shape",
    "kv",
    "kvstore",
    "libinfo",
    "log",
    "lr_scheduler",
    "metric",
    "mod",
    "model",
    "module",
    "mon",
    "monitor",
    "name",
    "nd",
    "ndarray",
    "np_array",
    "np_shape",
    "num_gpus",
    "operator",
    "opt",
    "optimizer",
    "predictor",
    "profiler",
    "random",
    "recordio",
    "registry",
    "rnd",
    "rnn",
    "runtime",
    "set_np_shape",
    "sym",
    "symbol",
    "test_utils",
    "tpu",
    "use_np",
    "use_np_array",
    "use_np_shape",
    "util",
    "visualization",
    "viz",
]

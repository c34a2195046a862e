"""modkit: the Apache MXNet 1.x Module API, alive on JAX. Examples in docstrings call it ``mx``.

>>> import modkit as mx
>>> x = mx.sym.Variable("x")
>>> executor = (2 * x + 1).bind(mx.cpu(), {"x": mx.nd.array([1, 2])})
>>> executor.forward()[0].asnumpy()
array([3., 5.], dtype=float32)
"""

from modkit.absent import ABSENT as _ABSENT
from modkit.absent import install as _make_importable
from modkit.absent import refusal as _refusal
from modkit.dmlc_role import end_unless_worker as _end_unless_worker
from modkit.lazy import Names as _Names
from modkit.log import hide_library_records as _hide_library_records

_end_unless_worker()
_hide_library_records()
_make_importable()

__version__ = "0.1.0"

# Names that are those of their modules.
_MODULES = (
    "artefacts", "attribute", "autograd", "base", "callback", "context", "contrib", "engine",
    "errors", "executor", "executor_manager", "image", "initializer", "io", "kvstore", "libinfo",
    "log", "lr_scheduler", "metric", "model", "module", "monitor", "name", "ndarray", "onnx",
    "operator", "optimizer", "predictor", "profiler", "registry", "rnn", "runtime", "symbol",
    "test_utils", "util", "visualization",
)  # fmt: skip

_MEMBERS = {
    "modkit.attribute": ("AttrScope",),
    "modkit.compile.executables": ("cache_clear", "cache_info"),
    "modkit.context": (
        "Context",
        "cpu",
        "cpu_pinned",
        "current_context",
        "gpu",
        "gpu_memory_info",
        "num_gpus",
        "tpu",
    ),
    "modkit.errors": ("MXNetError",),
    "modkit.predictor": ("Predictor",),
    "modkit.util": (
        "is_np_array",
        "is_np_shape",
        "np_array",
        "np_shape",
        "set_np_shape",
        "use_np",
        "use_np_array",
        "use_np_shape",
    ),
}

_names = _Names(
    __name__,
    modules={
        **{name: f"modkit.{name}" for name in _MODULES},
        "img": "modkit.image",
        "init": "modkit.initializer",
        "kv": "modkit.kvstore",
        "mod": "modkit.module",
        "mon": "modkit.monitor",
        "nd": "modkit.ndarray",
        "opt": "modkit.optimizer",
        "random": "modkit.ndarray.random",
        "recordio": "modkit.io.recordio",
        "rnd": "modkit.ndarray.random",
        "sym": "modkit.symbol",
        "viz": "modkit.visualization",
    },
    members=_MEMBERS,
    absent={name: str(_refusal(name)) for name in _ABSENT},
)
__all__ = _names.all  # pyright: ignore[reportUnsupportedDunderAll]
__getattr__, __dir__ = _names.find, _names.listed

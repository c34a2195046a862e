"""``mx.runtime``: the build features of MXNet and their availability in modkit."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from modkit.context import num_gpus
from modkit.errors import check_known
from modkit.lazy import dir_of

__dir__ = dir_of(__name__)

_NAMES = (
    "CUDA", "CUDNN", "NCCL", "CUDA_RTC", "TENSORRT", "CPU_SSE", "CPU_SSE2", "CPU_SSE3",
    "CPU_SSE4_1", "CPU_SSE4_2", "CPU_SSE4A", "CPU_AVX", "CPU_AVX2", "OPENMP", "SSE", "F16C",
    "JEMALLOC", "BLAS_OPEN", "BLAS_ATLAS", "BLAS_MKL", "BLAS_APPLE", "LAPACK", "MKLDNN", "OPENCV",
    "CAFFE", "PROFILER", "DIST_KVSTORE", "CXX14", "INT64_TENSOR_SIZE", "SIGNAL_HANDLER", "DEBUG",
    "TVM_OP",
)  # fmt: skip

_AVAILABLE = ("LAPACK", "PROFILER", "INT64_TENSOR_SIZE")


@dataclass(frozen=True)
class Feature:
    """A build feature of MXNet and its availability in modkit."""

    name: str
    enabled: bool

    def __repr__(self) -> str:
        return f"{'✔' if self.enabled else '✖'} {self.name}"


def feature_list() -> list[Feature]:
    """All features. Those of devices depend on the devices that JAX reports."""
    device = ("CUDA", "CUDNN") if num_gpus() else ()
    return [Feature(name, name in _AVAILABLE or name in device) for name in _NAMES]


class Features(OrderedDict[str, Feature]):
    """The features by name.

    >>> Features().is_enabled("lapack")
    True
    """

    def __init__(self) -> None:
        super().__init__((f.name, f) for f in feature_list())

    def __repr__(self) -> str:
        return str(list(self.values()))

    def is_enabled(self, feature_name: str) -> bool:
        """Whether a feature is available; the name is case-insensitive.

        Raises:
            NameNotFoundError: an unknown feature.
        """
        name = feature_name.upper()
        check_known("no feature", name, self)
        return self[name].enabled

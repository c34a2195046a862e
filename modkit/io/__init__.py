"""``mx.io``: data iterators and what they hand to modules."""

from typing import Any as _Any

from modkit.errors import NotSupportedError as _NotSupportedError
from modkit.io.array import NDArrayIter as NDArrayIter
from modkit.io.base import DataBatch as DataBatch
from modkit.io.base import DataDesc as DataDesc
from modkit.io.base import DataIter as DataIter
from modkit.io.file_iter import MXDataIter as MXDataIter
from modkit.io.image_record import ImageRecordIter as ImageRecordIter
from modkit.io.image_record import ImageRecordUInt8Iter as ImageRecordUInt8Iter
from modkit.io.mnist import MNISTIter as MNISTIter
from modkit.io.prefetch import PrefetchingIter as PrefetchingIter
from modkit.io.resize import ResizeIter as ResizeIter
from modkit.io.text import CSVIter as CSVIter
from modkit.io.text import LibSVMIter as LibSVMIter

_ABSENT = {"ImageDetRecordIter", "ImageRecordInt8Iter"}


def __getattr__(name: str) -> _Any:
    if name in _ABSENT:
        raise _AbsentError(
            f"mx.io.{name} is not part of modkit; write a DataIter that reads with "
            "mx.recordio.MXIndexedRecordIO"
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class _AbsentError(_NotSupportedError, AttributeError):
    """An iterator of MXNet that modkit leaves out."""

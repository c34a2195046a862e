"""``mx.io``: data iterators and what they hand to modules.

Made by tools/make_stubs.py; do not edit.
"""

from modkit.io import recordio as recordio
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

__all__ = [
    "CSVIter",
    "DataBatch",
    "DataDesc",
    "DataIter",
    "ImageRecordIter",
    "ImageRecordUInt8Iter",
    "LibSVMIter",
    "MNISTIter",
    "MXDataIter",
    "NDArrayIter",
    "PrefetchingIter",
    "ResizeIter",
    "recordio",
]

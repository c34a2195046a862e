"""``mx.io``: data iterators and what they hand to modules."""

from modkit.io.array import NDArrayIter as NDArrayIter
from modkit.io.base import DataBatch as DataBatch
from modkit.io.base import DataDesc as DataDesc
from modkit.io.base import DataIter as DataIter
from modkit.io.file_iter import MXDataIter as MXDataIter
from modkit.io.mnist import MNISTIter as MNISTIter
from modkit.io.prefetch import PrefetchingIter as PrefetchingIter
from modkit.io.resize import ResizeIter as ResizeIter
from modkit.io.text import CSVIter as CSVIter
from modkit.io.text import LibSVMIter as LibSVMIter

"""``mx.io``: data iterators and what they hand to modules."""

from modkit.io.base import DataBatch as DataBatch
from modkit.io.base import DataDesc as DataDesc
from modkit.io.base import DataIter as DataIter

"""Shapes, order and indexing: reshape, transpose, slice, concat, gather, sort, reduce."""

from modkit.ops.array import all_close as all_close
from modkit.ops.array import broadcast_to as broadcast_to
from modkit.ops.array import cast_storage as cast_storage
from modkit.ops.array import concat as concat
from modkit.ops.array import creation as creation
from modkit.ops.array import cumsum as cumsum
from modkit.ops.array import depth_to_space as depth_to_space
from modkit.ops.array import gather_scatter as gather_scatter
from modkit.ops.array import graphs as graphs
from modkit.ops.array import index_arrays as index_arrays
from modkit.ops.array import indexing as indexing
from modkit.ops.array import reduce as reduce
from modkit.ops.array import reshape as reshape
from modkit.ops.array import sequence as sequence
from modkit.ops.array import slicing as slicing
from modkit.ops.array import sorting as sorting
from modkit.ops.array import split as split
from modkit.ops.array import tile_pad as tile_pad
from modkit.ops.array import transpose as transpose
from modkit.ops.array import where as where

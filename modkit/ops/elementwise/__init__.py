"""One result an element: unary, binary, scalar and broadcasting arithmetic, casts."""

from modkit.ops.elementwise import binary as binary
from modkit.ops.elementwise import cast as cast
from modkit.ops.elementwise import scalar as scalar
from modkit.ops.elementwise import straight_through as straight_through
from modkit.ops.elementwise import unary as unary

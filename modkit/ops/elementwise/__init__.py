"""One result an element: unary, binary, scalar and broadcasting arithmetic, casts."""

from modkit.ops.elementwise import binary, cast, scalar, straight_through, unary

"""One result an element: unary, binary, scalar and broadcasting arithmetic, casts."""

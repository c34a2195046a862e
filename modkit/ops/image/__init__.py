"""Operators on images, (height, width, channels): ``mx.nd.image`` and ``mx.sym.image``."""

from modkit.ops.image import colour, geometry, tensors

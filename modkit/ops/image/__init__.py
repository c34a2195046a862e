"""Operators on images, (height, width, channels): ``mx.nd.image`` and ``mx.sym.image``."""

from modkit.ops.image import colour as colour
from modkit.ops.image import geometry as geometry
from modkit.ops.image import tensors as tensors

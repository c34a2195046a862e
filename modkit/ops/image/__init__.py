"""Operators on images, (height, width, channels): ``mx.nd.image`` and ``mx.sym.image``."""

"""Random numbers: samplers, densities, the functions of ``mx.random``."""

from modkit.ops.random import pdf as pdf
from modkit.ops.random import sampling as sampling

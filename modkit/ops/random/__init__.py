"""Random numbers: samplers, densities, the functions of ``mx.random``."""

from modkit.ops.random import pdf, sampling

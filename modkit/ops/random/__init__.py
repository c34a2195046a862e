"""Random numbers: samplers, densities, the functions of ``mx.random``."""

"""modkit: the Apache MXNet 1.x Module API, alive on JAX."""

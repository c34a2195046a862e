"""A training step of ``Module`` relative to hand-written JAX: an MLP and LeNet.

    python -m benchmarks.step

The part of ``python -m benchmarks`` that requires no other packages, with the same options.
"""

import sys

from benchmarks.__main__ import main

if __name__ == "__main__":
    main(["--only", "mlp,lenet", "--peers", "jax", *sys.argv[1:]])

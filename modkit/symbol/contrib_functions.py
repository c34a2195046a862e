"""Functions of ``mx.sym.contrib`` that are no single operator, other than control flow."""

from __future__ import annotations

from modkit.ops.random.frontend import zipfian
from modkit.ops.update.frontend import adamw_functions
from modkit.symbol import random
from modkit.symbol.creation import full
from modkit.symbol.symbol import Symbol, invoke


def rand_zipfian(
    true_classes: Symbol, num_sampled: int, range_max: int
) -> tuple[Symbol, Symbol, Symbol]:
    """Draws from an approximately log-uniform distribution; see ``mx.nd.contrib.rand_zipfian``."""
    return zipfian(random.uniform, true_classes, num_sampled, range_max)


adamw_update, mp_adamw_update = adamw_functions(
    invoke, lambda scale, _: scale if isinstance(scale, Symbol) else full((1,), scale)
)

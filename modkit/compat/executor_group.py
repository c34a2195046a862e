"""DataParallelExecutorGroup and _split_input_slice with MXNet's signatures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from modkit.context import Context
from modkit.errors import ParameterError
from modkit.io.base import descriptions
from modkit.module.group import ExecutorGroup
from modkit.module.split_batch import even_slices
from modkit.symbol import Symbol


def _split_input_slice(batch_size: int, work_load_list: Sequence[float]) -> list[slice]:
    """Slices of a batch for several devices, in proportion to their work loads."""
    return even_slices(batch_size, work_load_list)


def _check_arguments(symbol: Symbol) -> None:
    """Check that no two arguments, and no two auxiliary states, have one name.

    Raises:
        ParameterError: they do.
    """
    for names in (symbol.list_arguments(), symbol.list_auxiliary_states()):
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ParameterError(
                f"the names {twice} occur more than once among {names}: give each Variable its own"
            )


class DataParallelExecutorGroup(ExecutorGroup):
    """`modkit.module.group.ExecutorGroup` with MXNet's arguments.

    Shapes may be pairs; ``logger`` is accepted for compatibility and not used.
    """

    def __init__(
        self,
        symbol: Any,
        contexts: Sequence[Context],
        workload: Sequence[float] | None,
        data_shapes: Any,
        label_shapes: Any,
        param_names: Sequence[str],
        for_training: bool,
        inputs_need_grad: bool,
        shared_group: ExecutorGroup | None = None,
        logger: Any = None,
        fixed_param_names: Sequence[str] | None = None,
        grad_req: Any = "write",
        state_names: Sequence[str] | None = None,
        group2ctxs: Any = None,
    ):
        del logger
        super().__init__(
            symbol,
            contexts,
            workload or [1] * len(contexts),
            descriptions(data_shapes),
            descriptions(label_shapes) if label_shapes else None,
            param_names,
            for_training,
            inputs_need_grad,
            shared_group,
            fixed_param_names,
            grad_req,
            state_names,
            group2ctxs,
        )

"""One node, ready to run, and the properties that follow from its operator and parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax

from modkit.ops.entry import Op


class NodeCall(NamedTuple):
    """One node, ready to run; a variable has no operator.

    Attributes:
        attrs: parameters; for operators of control flow ``bodies`` too, their lowered graphs.
        inputs: for each input its node and which of the node's outputs it is.
        aux: names and positions of the inputs that the operator writes.
        group: the context group.
    """

    name: str
    op: Op | None
    attrs: Mapping[str, Any]
    inputs: tuple[tuple[int, int], ...]
    aux: tuple[tuple[str, int], ...]
    group: str | None

    @property
    def operator(self) -> Op:
        """Its operator, of a node that is no variable."""
        if self.op is None:
            raise TypeError(f"{self.name!r} is a variable, which has no operator")
        return self.op

    @property
    def takes_key(self) -> bool:
        """Whether it draws random numbers."""
        return self.op is not None and self.op.takes_key

    @property
    def on_host(self) -> bool:
        """Whether it calls Python."""
        return self.op is not None and self.op.on_host

    @property
    def written_nodes(self) -> tuple[int, ...]:
        """The variables that it writes, by number."""
        return tuple(self.inputs[at][0] for _, at in self.aux)

    @property
    def ignores_cotangent(self) -> bool:
        """Whether it needs no head gradient."""
        return self.op is not None and self.op.ignores_cotangent(self.attrs)

    @property
    def has_own_gradient(self) -> bool:
        """Whether cotangents of 0 give a gradient."""
        return self.op is not None and self.op.has_own_gradient(self.attrs)

    @property
    def makes_x64(self) -> bool:
        """Whether it makes 64-bit values, by its parameters or by the operator's nature."""
        if self.op is None:
            return False
        if any(body.needs_x64 for body in self.attrs.get("bodies", ())):
            return True
        return self.op.makes_x64(self.attrs, len(self.inputs))

    def written(self, new: Mapping[str, jax.Array], train: bool) -> dict[int, jax.Array]:
        """New values of the variables that it writes, by number: later readers see them."""
        rewrites = self.op.rewrites if self.op else ()
        return {
            self.inputs[at][0]: new[name]
            for name, at in self.aux
            if name in new and (train or name not in rewrites)
        }


def is_own(op: Op) -> bool:
    """Whether an operator is modkit's, and not registered by users."""
    return (getattr(op.fn, "__module__", None) or "").split(".")[0] == __name__.split(".")[0]

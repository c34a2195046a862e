"""Two-bit compression of gradients to −t, 0 or +t, with the residual added to the next one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from modkit.errors import DTypeError, expect, not_taken, wrong
from modkit.signals import DeferredReads


@dataclass(frozen=True)
class TwoBit:
    """Quantisation to ``{−threshold, 0, +threshold}`` with a residual; a pure function.

    >>> import jax.numpy as jnp
    >>> out, residual = TwoBit(0.5)(jnp.array([0.2, 0.75, -1.0]), jnp.zeros(3))
    >>> out.tolist(), residual[1:].tolist()
    ([0.0, 0.5, -0.5], [0.25, -0.5])
    """

    threshold: float = 0.5

    def __call__(self, grad: Any, residual: Any) -> tuple[Any, Any]:
        """The quantised gradient, and the residual for the next one.

        Shapes:
            grad, residual: of one shape, float32; arrays of JAX's, or both of NumPy's.
        """
        if grad.dtype != jnp.float32:
            raise DTypeError(
                f"gradient compression: got {grad.dtype}, expected float32; "
                "cast the gradients, or train without compression"
            )
        total, level = residual + grad, np.float32(self.threshold)
        # `np.where` takes 8 times as long.
        out = (total >= level) * level - (total <= -level) * level
        return out, total - out


SMALL = 1 << 16
"""Number of elements up to which NumPy quantises arrays on the host."""


class Compressor:
    """A `TwoBit` rule and its residuals, by key and index of the value."""

    def __init__(self, rule: TwoBit):
        self.rule = rule
        self._residuals: dict[tuple[Any, int], Any] = {}

    def __repr__(self) -> str:
        return f"Compressor({self.rule})"

    def __call__(self, key: Any, place: int, grad: Any) -> Any:
        """The quantised gradient of value number ``place`` of ``key``; keeps the residual."""
        residual = self._residuals.get((key, place))
        if residual is None or residual.shape != grad.shape:
            residual = np.zeros(grad.shape, np.float32)
        if isinstance(grad, np.ndarray) and grad.size <= SMALL:  # quicker than a program
            with np.errstate(over="ignore", invalid="ignore"):  # a program warns of neither
                made = self.rule(grad, np.asarray(residual))
        else:
            with DeferredReads():  # a handler's own calls would be part of the trace
                made = _quantise(self.rule, grad, residual)
        out, self._residuals[key, place] = made
        return out

    @contextlib.contextmanager
    def restored_on_error(self) -> Iterator[list[Any]]:
        """A block that leaves the residuals as they were if it raises.

        It has a list for the keys whose quantised gradients are applied: theirs are kept.
        """
        before, applied = dict(self._residuals), []
        try:
            yield applied
        except BaseException:
            kept = {at: each for at, each in self._residuals.items() if at[0] in applied}
            self._residuals = before | kept
            raise


@jax.jit(static_argnums=0)
def _quantise(rule: TwoBit, grad: Any, residual: Any) -> tuple[jax.Array, jax.Array]:
    return rule(grad, residual)


def make_compression(params: Mapping[str, Any]) -> TwoBit | None:
    """The compression for ``{"type": "2bit", "threshold": 0.5}``; ``None`` for type ``"none"``.

    Raises:
        ParameterError: another type, or a threshold that is no positive number.
    """
    expected = "a dict such as {'type': '2bit', 'threshold': 0.5}"
    expect(isinstance(params, Mapping), "set_gradient_compression", params, expected)
    kind = params.get("type")
    unknown = sorted(set(params) - {"type", "threshold"})
    if unknown:
        raise not_taken("set_gradient_compression", unknown[0], ("type", "threshold"))
    if kind == "none":
        return None
    expect(kind == "2bit", "set_gradient_compression: type", kind, "'2bit' or 'none'")
    try:
        threshold = float(params.get("threshold", 0.5))
    except (TypeError, ValueError):
        threshold = 0.0
    if not 0 < threshold < float("inf"):
        raise wrong("set_gradient_compression: threshold", params["threshold"], "a number above 0")
    return TwoBit(threshold)

"""``_contrib_hawkesll``: the log likelihood of self-exciting point processes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from modkit.ops import loops
from modkit.ops.floating import accumulator, require_floating
from modkit.ops.parameters import Attrs
from modkit.ops.partial_shapes import Rule, Sizes, link, opened
from modkit.ops.registry import op


def _partial(ins: Sequence[Sizes], outs: Sequence[Sizes], _attrs: Attrs) -> Rule:
    """N sequences of T events with K marks."""
    names = ("lda", "alpha", "beta", "state", "lags", "marks", "valid_length", "max_time")
    axes = ("NK", "K", "K", "NK", "NT", "NT", "N", "N", "N", "NK")
    sizes = dict.fromkeys("NKT", 0)
    shapes = [
        opened(name, shape, len(letters))
        for name, shape, letters in zip(
            (*names, "output", "out_state"), (*ins, *outs), axes, strict=True
        )
    ]
    for _ in range(2):  # sizes found in a later shape fill the earlier ones
        for name, shape, letters in zip((*names, *names[:2]), shapes, axes, strict=True):
            for axis, letter in enumerate(letters):
                box = [sizes[letter]]
                link(name, box, 0, shape, axis)
                sizes[letter] = box[0]
    made: list[Sizes] = [tuple(shape) for shape in shapes]
    return made[: len(ins)], made[len(ins) :]


def _dtypes(ins: Sequence[str | None], _attrs: Attrs) -> Any:
    kind = next((t for i, t in enumerate(ins) if t and i != 5), None)
    return [kind] * 5 + ["int32"] + [kind] * 2, [kind] * 2


def _survival(
    lda: jax.Array, alpha: jax.Array, beta: jax.Array, state: jax.Array, passed: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """The compensator over the time ``passed`` since a mark's last event, and its decayed state."""
    decay = jnp.exp(-beta * passed)
    return lda * passed + alpha * state * (1 - decay), state * decay


@op(
    "_contrib_hawkesll",
    precision="float32",
    outputs=("output", "out_state"),
    partial=_partial,
    dtypes=_dtypes,
    costly=True,
)
def hawkesll(
    lda: Any,
    alpha: Any,
    beta: Any,
    state: Any,
    lags: Any,
    marks: Any,
    valid_length: Any,
    max_time: Any,
) -> Any:
    """The log likelihood of K independent Hawkes processes with exponential kernels.

    Mark k has the intensity ``λ_k(t) = μ_k + α_k β_k Σ_{t_i < t} exp(-β_k (t - t_i))`` over its own
    earlier events, and a sequence the likelihood ``Σ_i log λ_{k_i}(t_i) - Σ_k ∫₀ᵀ λ_k(t) dt``
    (Hawkes, 1971; Laub, Taimre and Pollett, 2015).

    Args:
        lda: base intensities ``μ``.
        alpha: branching ratios.
        beta: decay rates.
        state: the sums of exponentials at time 0, from the sequence before.
        lags: times between events, the first from time 0.
        marks: the mark of each event, in [0, K), of int32.
        valid_length: the number of events of each sequence; later ones are not read.
        max_time: the end ``T`` of the observation.

    Only ``lda``, ``alpha`` and ``beta`` have gradients, and only those of the likelihood.

    Shapes:
        lda, state: (N, K).
        alpha, beta: (K,).
        lags, marks: (N, T).
        valid_length, max_time: (N,).
        returns: the log likelihoods (N,), and the sums of exponentials at the end (N, K).

    Differs: a mark outside [0, K) has no effect, and a ``valid_length`` above T counts as T; MXNet
    reads other memory.
    """
    require_floating(lda, "hawkesll")
    wide = accumulator(lda)
    kind = lda.dtype
    lda, alpha, beta = (x.astype(wide) for x in (lda, alpha, beta))
    state, lags, valid_length, max_time = (
        lax.stop_gradient(x).astype(wide) for x in (state, lags, valid_length, max_time)
    )
    every = jnp.arange(lda.shape[1])

    def step(carry: Any, event: Any) -> tuple[Any, None]:
        likelihood, state, last, now = carry
        at, lag, mark = event
        happens = at < valid_length
        now = jnp.where(happens, now + lag, now)
        hit = (every == mark[:, None]) & happens[:, None]
        spent, decayed = _survival(lda, alpha, beta, state, now[:, None] - last)
        intensity = jnp.where(hit, lda + alpha * beta * decayed, 1)
        gained = jnp.where(hit, jnp.log(intensity) - spent, 0).sum(1)
        state = jnp.where(hit, decayed + 1, state)
        return (likelihood + gained, state, jnp.where(hit, now[:, None], last), now), None

    start = (jnp.zeros(len(lda), wide), state, jnp.zeros_like(state), jnp.zeros_like(max_time))
    events = (jnp.arange(lags.shape[1]).astype(wide), lags.T, marks.astype(jnp.int32).T)
    (likelihood, state, last, _), _ = loops.scan(step, start, events)
    spent, state = _survival(lda, alpha, beta, state, max_time[:, None] - last)
    return (likelihood - spent.sum(1)).astype(kind), lax.stop_gradient(state).astype(kind)

"""CTCLoss: the loss of a sequence of labels that is not aligned with its data."""

from __future__ import annotations

from typing import Any, Literal

import jax
import jax.numpy as jnp

from modkit.errors import ShapeError
from modkit.ops import loops
from modkit.ops.dtype_inference import first_by_default
from modkit.ops.floating import accumulator, require_floating
from modkit.ops.parameters import Inert
from modkit.ops.registry import op

# The logarithm of "impossible". Finite, since the gradient of a sum of infinities is NaN.
_NEVER = -1e30


def _extended(labels: jax.Array, blank: int) -> tuple[jax.Array, jax.Array]:
    """Labels with a blank before, between and after, and where a path may skip the blank before.

    Shapes:
        labels: (N, L).
        returns: (N, 2 L + 1) both.
    """
    rows, count = labels.shape
    path = jnp.full((rows, 2 * count + 1), blank, jnp.int32).at[:, 1::2].set(labels)
    two_back = jnp.concatenate([jnp.full((rows, 2), blank, jnp.int32), path[:, :-2]], 1)
    return path, (path != blank) & (path != two_back)


def _shifted(alpha: jax.Array, by: int) -> jax.Array:
    return jnp.pad(alpha, ((0, 0), (by, 0)), constant_values=_NEVER)[:, : alpha.shape[1]]


def _log_likelihood(
    log_prob: jax.Array, labels: jax.Array, steps: jax.Array, counts: jax.Array, blank: int
) -> jax.Array:
    """Logarithm of the summed probability of all alignments: the forward recursion.

    Shapes:
        log_prob: (T, N, C).
        labels: (N, L).
        steps: (N,), how many of the T count.
        counts: (N,), how many of the L count.
        returns: (N,).
    """
    path, may_skip = _extended(labels, blank)
    symbols = jnp.broadcast_to(path, (log_prob.shape[0], *path.shape))
    emitted = jnp.take_along_axis(log_prob, symbols, 2, mode="clip")
    start = jnp.where(jax.lax.broadcasted_iota(jnp.int32, path.shape, 1) < 2, emitted[0], _NEVER)
    times = jax.lax.iota(jnp.int32, log_prob.shape[0])

    def body(alpha: jax.Array, now: Any) -> tuple[jax.Array, None]:
        emitted_now, time = now
        skipped = jnp.where(may_skip, _shifted(alpha, 2), _NEVER)
        ways = jnp.stack([alpha, _shifted(alpha, 1), skipped])
        after = jax.nn.logsumexp(ways, 0) + emitted_now
        return jnp.where((time < steps)[:, None], after, alpha), None

    alpha, _ = loops.scan(body, start, (emitted[1:], times[1:]))
    last = jnp.take_along_axis(alpha, 2 * counts[:, None], 1)[:, 0]
    before = jnp.take_along_axis(alpha, jnp.maximum(2 * counts - 1, 0)[:, None], 1)[:, 0]
    return jnp.logaddexp(last, jnp.where(counts > 0, before, _NEVER))


def _check(data: jax.Array, label: jax.Array) -> None:
    if data.ndim != 3 or label.ndim != 2 or data.shape[1] != label.shape[0]:
        raise ShapeError(
            f"CTCLoss: got data {data.shape} and label {label.shape}, expected (T, N, C) and (N, L)"
        )
    if label.shape[1] > data.shape[0]:
        raise ShapeError(
            f"CTCLoss: got {label.shape[1]} labels for {data.shape[0]} steps, expected no more "
            "labels than steps"
        )


@op(
    "CTCLoss",
    precision="float32",
    costly=True,
    aliases=("ctc_loss", "_contrib_CTCLoss", "_contrib_ctc_loss"),
    params=lambda data, **_: {"data_lengths": (data[1],), "label_lengths": (data[1],)},
    dtypes=first_by_default,
    when={
        "data_lengths": lambda attrs: attrs["use_data_lengths"],
        "label_lengths": lambda attrs: attrs["use_label_lengths"],
    },
    outputs=("output0",),
)
def ctc_loss(
    data: jax.Array,
    label: jax.Array,
    data_lengths: jax.Array | None = None,
    label_lengths: jax.Array | None = None,
    *,
    use_data_lengths: Inert[bool] = False,
    use_label_lengths: Inert[bool] = False,
    blank_label: Literal["first", "last"] = "first",
) -> jax.Array:
    """Connectionist temporal classification: minus the log probability of the labels.

    The sum goes over all ways to stretch the labels, with blanks between, to the data's steps.
    A sequence that fits in no way has loss 0 and no gradient.

    Args:
        data: scores before the softmax.
        label: class numbers. With ``blank_label="first"`` class 0 is the blank and also pads;
            with ``"last"`` class C - 1 is the blank and -1 pads.
        data_lengths: steps of each sequence; with ``use_data_lengths=True`` only.
        label_lengths: labels of each sequence; with ``use_label_lengths=True`` only. Without
            it, labels end before the first padding.
        blank_label: which class is the blank.

    Shapes:
        data: (T, N, C).
        label: (N, L) with L <= T.
        data_lengths: (N,).
        label_lengths: (N,).
        returns: (N,).
    """
    require_floating(data, "CTCLoss")
    _check(data, label)
    length, rows, classes = data.shape
    blank, padding = (0, 0) if blank_label == "first" else (classes - 1, -1)
    labels = label.astype(jnp.int32)
    if data_lengths is None:
        steps = jnp.full((rows,), length, jnp.int32)
    else:
        steps = data_lengths.astype(jnp.int32)
    if label_lengths is not None:
        counts = label_lengths.astype(jnp.int32)
    else:
        going = jnp.cumprod((labels != padding).astype(jnp.int32), 1)
        counts = jnp.sum(going, 1, dtype=jnp.int32)
    # Scores after the last step are not read: a gradient of 0 times an infinity would be NaN.
    inside = jnp.arange(length)[:, None] < steps
    data = jnp.where(inside[..., None], data, 0)
    log_prob = jax.nn.log_softmax(data.astype(accumulator(data)), -1)
    likelihood = _log_likelihood(log_prob, labels, steps, counts, blank)
    return jnp.where(likelihood < _NEVER / 2, 0, -likelihood).astype(data.dtype)

"""Trees of small arrays as one array, which the host fetches as one buffer."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np


class Layout(NamedTuple):
    """Structure, shapes and types of the arrays of a `Packed`.

    Attributes:
        parts: shape and type of each leaf.
    """

    tree: Any
    parts: tuple[tuple[tuple[int, ...], str], ...]


class Packed(NamedTuple):
    """A tree of arrays as one array, a pytree with one leaf.

    Attributes:
        leaves: their bits, one array (..., words) int32; leading axes are those of replicas or
            batches.
    """

    layout: Layout
    leaves: tuple[Any]

    @property
    def words(self) -> Any:
        """The one leaf."""
        return self.leaves[0]


jax.tree_util.register_pytree_node(Packed, lambda p: (p.leaves, p.layout), Packed)


def pack(tree: Any) -> Any:
    """Traced: a tree of arrays as a `Packed`.

    The tree itself if it has fewer than two leaves, or one that is not float32, int32 or uint32.
    """
    leaves, structure = jax.tree.flatten(tree)
    leaves = list(map(jnp.asarray, leaves))
    if len(leaves) < 2 or any(x.dtype.name not in ("float32", "int32", "uint32") for x in leaves):
        return tree
    layout = Layout(structure, tuple((x.shape, x.dtype.name) for x in leaves))
    words = [jax.lax.bitcast_convert_type(x, jnp.int32).ravel() for x in leaves]
    return Packed(layout, (jnp.concatenate(words),))


def unpack(values: Sequence[Any]) -> Iterator[Any]:
    """The trees of `Packed` values whose leaf is on the host; their leaves are NumPy's.

    Values in a row that are alike are read together. Other values stay as they are.
    """
    for layout, alike in itertools.groupby(values, _layout):
        if layout is None:
            yield from alike
            continue
        records = np.stack([value.words for value in alike]).view(_record(layout.parts))[:, 0]
        columns = [records[name] for name in records.dtype.names or ()]
        yield from map(layout.tree.unflatten, zip(*columns, strict=True))


def _layout(value: Any) -> Layout | None:
    return value.layout if isinstance(value, Packed) else None


@functools.lru_cache(maxsize=256)
def _record(parts: tuple[tuple[tuple[int, ...], str], ...]) -> np.dtype:
    """A structured dtype with a field for each array."""
    return np.dtype([(f"f{at}", dtype, shape) for at, (shape, dtype) in enumerate(parts)])

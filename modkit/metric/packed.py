"""Several small arrays in one: a program returns it at the cost of one, and one read fetches it."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np


class Form(NamedTuple):
    """Structure, shapes and types of the arrays of a `Packed`.

    Attributes:
        tree: their tree.
        parts: shape and type of each leaf.
    """

    tree: Any
    parts: tuple[tuple[tuple[int, ...], str], ...]


@jax.tree_util.register_pytree_node_class
class Packed:
    """A tree of arrays as one array, a pytree with one leaf.

    Args:
        words: their bits, (..., words) int32; leading axes are those of replicas or batches.
        form: their structure.
    """

    __slots__ = ("form", "words")

    def __init__(self, words: Any, form: Form):
        self.words, self.form = words, form

    def tree_flatten(self) -> tuple[tuple[Any], Form]:
        """The leaf, and the form."""
        return (self.words,), self.form

    @classmethod
    def tree_unflatten(cls, form: Form, leaves: tuple[Any]) -> Packed:
        """From a form and the leaf."""
        return cls(leaves[0], form)


def pack(tree: Any) -> Any:
    """Traced: a tree of arrays as a `Packed`; the tree itself if one array has not 32 bits."""
    leaves, structure = jax.tree.flatten(tree)
    leaves = list(map(jnp.asarray, leaves))
    if len(leaves) < 2 or any(x.dtype.name not in ("float32", "int32", "uint32") for x in leaves):
        return tree
    form = Form(structure, tuple((x.shape, x.dtype.name) for x in leaves))
    words = [jax.lax.bitcast_convert_type(x, jnp.int32).ravel() for x in leaves]
    return Packed(jnp.concatenate(words), form)


def unpack(values: Sequence[Any]) -> Iterator[Any]:
    """The trees of `Packed` values whose leaf is on the host; their leaves are NumPy's.

    Values in a row that are alike are read together. Other values stay as they are.
    """
    for form, alike in itertools.groupby(values, _form):
        if form is None:
            yield from alike
            continue
        records = np.stack([value.words for value in alike]).view(_record(form.parts))[:, 0]
        columns = [records[name] for name in records.dtype.names or ()]
        yield from map(form.tree.unflatten, zip(*columns, strict=True))


def _form(value: Any) -> Form | None:
    return value.form if isinstance(value, Packed) else None


@functools.lru_cache(maxsize=256)
def _record(parts: tuple[tuple[tuple[int, ...], str], ...]) -> np.dtype:
    """NumPy's type of a record of these arrays."""
    return np.dtype([(f"f{at}", dtype, shape) for at, (shape, dtype) in enumerate(parts)])

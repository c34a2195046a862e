"""The base of CSR and row-sparse arrays.

They are stored on the host, as NumPy arrays that are replaced, never written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import jax.numpy as jnp
import numpy as np

from modkit.base import NotSupportedForSparseNDArray
from modkit.context import Context
from modkit.errors import (
    DeviceError,
    NotSupportedError,
    ParameterError,
    ShapeError,
    nearest,
    warn_caller,
)
from modkit.ndarray.ndarray import NDArray, array, cast_recorded
from modkit.ndarray.sparse_cell import SparseCell
from modkit.ndarray.tape import TapeEntry, check_constant, check_writable, modes
from modkit.ops.dtypes import dtype_name
from modkit.ops.sparse_values import Rows

PLACES = np.dtype(np.int64)
"""The type of row and column numbers."""


def find(known: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The positions of numbers in an array in any order, and which of them are there."""
    order = np.argsort(known, kind="stable")
    at = np.searchsorted(known, wanted, sorter=order)
    found = at < len(known)
    at = order[np.minimum(at, len(known) - 1)] if len(known) else at
    found[found] = known[at[found]] == wanted[found]
    return at, found


def pointers(counts: np.ndarray) -> np.ndarray:
    """Row pointers from the number of elements in each row."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(PLACES)


def starts(rows: np.ndarray, count: int) -> np.ndarray:
    """Row pointers from the row of each element."""
    return pointers(np.bincount(rows, minlength=count))


class BaseSparseNDArray(NDArray):
    """The base of CSR and row-sparse arrays.

    Operators take them, and results are sparse where MXNet's are: see `modkit.ops.stype`. An
    operator without a sparse form computes with ``tostype("default")``.

    Args:
        places: index arrays: ``(indptr, indices)`` of CSR, ``(indices,)`` of row-sparse arrays.
        ctx: the device of dense arrays made of this one.
    """

    __slots__ = ("_places", "_sizes", "_values")

    def __init__(
        self, values: np.ndarray, places: Sequence[np.ndarray], shape: Sequence[int], ctx: Context
    ):
        self._values, self._places = values, tuple(places)
        self._sizes, self._ctx = tuple(int(n) for n in shape), ctx
        self._entry: TapeEntry | None = None

    @property
    def _cell(self) -> Any:
        """A cell for executors and for what reads a dense value."""
        return SparseCell(self)

    def _like(self, values: np.ndarray, places: Sequence[np.ndarray], shape: Any = None) -> Any:
        return self._kind(values, places, self._sizes if shape is None else shape, self._ctx)

    @property
    def _kind(self) -> Any:
        """The class of arrays of this kind."""
        return type(self)

    # ── What it is ──────────────────────────────────────────────────────────────────────────

    @property
    def shape(self) -> tuple[int, ...]:
        return self._sizes

    @property
    def dtype(self) -> type:
        return self._values.dtype.type

    @property
    def ndim(self) -> int:
        return len(self._sizes)

    @property
    def data(self) -> Any:
        """The stored elements: a copy, as an NDArray."""
        return array(self._values, self._ctx, dtype_name(self._values.dtype))

    @data.setter
    def data(self, value: Any) -> NoReturn:
        raise self._refused("data = ...")

    @property
    def indices(self) -> NDArray:
        """Indices of the columns (CSR) or of the stored rows: a copy."""
        return array(self._places[-1], self._ctx, "int64")

    @indices.setter
    def indices(self, value: Any) -> NoReturn:
        raise self._refused("indices = ...")

    def __repr__(self) -> str:
        return f"\n<{self._kind.__name__} {'x'.join(map(str, self._sizes))} @{self._ctx}>"

    def __reduce__(self) -> Any:
        device = str(self._ctx.device_type), self._ctx.device_id
        return _rebuild, (self._kind, self._values, self._places, self._sizes, device)

    def wait_to_read(self) -> None:
        """Return at once: a sparse array is never pending."""

    def check_format(self, full_check: bool = True) -> None:
        """Check the index arrays.

        Args:
            full_check: also check that every row and column index is in range, and that they are
                strictly increasing.

        Raises:
            ParameterError: they are inconsistent.
        """
        self._check_parts()
        if full_check:
            self._check_places()
            self._check_order()

    def _wrong(self, reason: str) -> ParameterError:
        return ParameterError(f"{type(self).__name__} of shape {self._sizes}: {reason}")

    def _check_parts(self) -> None:
        raise NotSupportedError(f"{type(self).__name__}: use csr_matrix or row_sparse_array")

    _check_places = _check_order = _check_parts

    def _check_range(self, what: str, size: int) -> None:
        numbers = self._places[-1]
        wrong = numbers[(numbers < 0) | (numbers >= size)]
        if wrong.size:
            raise self._wrong(f"it has {what} {wrong[0]}, expected 0 to {size - 1}")

    # ── Copies ──────────────────────────────────────────────────────────────────────────────

    def asnumpy(self) -> np.ndarray:
        """A dense NumPy copy.

        Raises:
            ParameterError: the index arrays are inconsistent; see `check_format`.
        """
        return self._dense()

    def _dense(self) -> np.ndarray:
        self._check_parts()
        self._check_places()
        made = np.zeros(self._sizes, self._values.dtype)
        self._scatter(made)
        return made

    def _scatter(self, dense: np.ndarray) -> None:
        """Write the stored elements into a dense array of zeros."""
        raise NotSupportedError(f"{type(self).__name__}: use csr_matrix or row_sparse_array")

    def _as_dense(self) -> NDArray:
        """A dense copy."""
        made = array(self._dense(), self._ctx, dtype_name(self._values.dtype))
        return cast_recorded(self, made)

    def tostype(self, stype: str) -> NDArray:
        """A copy of the same storage type, or a dense one (``"default"``).

        Raises:
            ParameterError: the other sparse type, or an unknown type.
        """
        if stype == "default":
            return self._as_dense()
        if stype != self.stype:
            raise ParameterError(
                f"tostype: cannot make {stype!r} of {self.stype!r}; expected 'default' or "
                f"{self.stype!r}.{nearest(stype, ('default', 'csr', 'row_sparse'))}"
            )
        return cast_recorded(self, self.copy())

    def copyto(self, other: NDArray | Context) -> NDArray:
        """Copy into another array, dense or of this kind, or to a device as a new array."""
        if isinstance(other, Context):
            made = self._like(self._values.copy(), [p.copy() for p in self._places])
            made._ctx = other
            return made
        if other is self:
            warn_caller("You are attempting to copy an array to itself", RuntimeWarning)
            return other
        if other.shape != self.shape:
            raise ShapeError(f"copyto: got {other.shape} to write to, expected {self.shape}")
        other._set(self)
        return other

    def reshape(self, *shape: Any, **kwargs: Any) -> NoReturn:
        """Raise NotSupportedForSparseNDArray: a sparse array has no views."""
        raise self._refused("reshape")

    def _at(self, idx: Any) -> NoReturn:
        raise self._refused("_at")

    def _slice(self, start: int | None, stop: int | None) -> NoReturn:
        raise self._refused("_slice")

    def asscalar(self) -> NoReturn:
        """Raise NotSupportedForSparseNDArray, as in MXNet, for one element, too."""
        raise self._refused("asscalar")

    def _refused(self, what: str) -> NotSupportedForSparseNDArray:
        return NotSupportedForSparseNDArray(
            f"{what}: got a {self.stype} array, expected a dense one: array.tostype('default')"
        )

    def detach(self) -> Any:
        """A new handle of the same arrays."""
        return self._like(self._values, self._places)

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        name = dtype_name(dtype)
        if not copy and name == dtype_name(self._values.dtype):
            return self
        with np.errstate(invalid="ignore", over="ignore"):
            values = self._values.astype(jnp.dtype(name))
        return self._like(values, [p.copy() for p in self._places])

    # ── Writing ─────────────────────────────────────────────────────────────────────────────

    def _set(self, value: Any) -> None:
        """Replace everything by an array of the same shape, dense or of this kind.

        Raises:
            NotReadyError: while recording, where the tape refers to this array or to the value.
        """
        if modes.recording and value is not self:
            check_writable(self)
            if isinstance(value, NDArray):
                check_constant(value)
        self._assign(value)

    def _assign(self, value: Any) -> None:
        if value is self:
            return
        if not isinstance(value, NDArray):
            value = array(np.asarray(value), self._ctx, dtype_name(self.dtype))
        if value.shape != self.shape:
            raise ShapeError(
                f"cannot write a value of shape {value.shape} into a {self.stype} array of shape "
                f"{self.shape}"
            )
        made = value.tostype(self.stype)
        if not isinstance(made, BaseSparseNDArray):
            raise self._wrong(f"got storage type {made.stype!r} to write")
        with np.errstate(invalid="ignore", over="ignore"):
            values = made._values.astype(self.dtype)
        self._replace(values, tuple(p.copy() for p in made._places))

    def _replace(self, values: np.ndarray, places: tuple[np.ndarray, ...]) -> None:
        """Replace the stored elements and their index arrays."""
        self._values, self._places = values, places

    def _set_program(self, value: Any) -> None:
        """Replace everything by an array of JAX, or by the rows that a program computed."""
        if isinstance(value, Rows):
            ids = np.asarray(value.ids)
            count = int(np.searchsorted(ids, value.count))
            rows = np.asarray(value.rows)[:count].astype(self._values.dtype, copy=False)
            value = self._like(rows, (ids[:count].astype(PLACES),))
        self._assign(value)

    def __setitem__(self, key: Any, value: Any) -> None:
        if not isinstance(key, slice) or key != slice(None):
            raise ParameterError(f"a {self.stype} array can only be written as a whole: array[:]")
        self._set(self._filled(value) if np.ndim(value) == 0 else value)

    def _filled(self, value: Any) -> Any:
        raise ParameterError(
            f"cannot fill a {self.stype} array of shape {self.shape} with {value!r}; write an "
            "array of that shape"
        )

    def _as_key(self, key: Any) -> Any:
        """The key, if it is of a kind that is taken."""
        if isinstance(key, tuple):
            raise ParameterError(f"a {self.stype} array takes one index, got {key!r}")
        if not isinstance(key, int | np.integer | slice):
            raise ParameterError(f"a {self.stype} array takes no index {key!r}; make it dense")
        return key


def _rebuild(
    kind: type[BaseSparseNDArray],
    values: np.ndarray,
    places: tuple[np.ndarray, ...],
    shape: tuple[int, ...],
    device: tuple[str, int],
) -> BaseSparseNDArray:
    """The unpickled array; on the CPU if this machine lacks its device."""
    ctx = Context(*device)
    try:
        ctx._check()
    except DeviceError:
        ctx = Context("cpu", 0)
    return kind(values, places, shape, ctx)

"""NDArray: a mutable name for an immutable ``jax.Array``."""

from __future__ import annotations

import ctypes
import functools
import html
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from modkit.context import Context, current_context
from modkit.errors import (
    DTypeError,
    ModkitError,
    NotReadyError,
    NotSupportedError,
    ParameterError,
    ShapeError,
    nearest,
    warn_caller,
    wrong,
)
from modkit.handles import handle_of, owner_of
from modkit.interpreter import convert, quietly
from modkit.ndarray.in_place import exchange, other_threads, overwritten
from modkit.ndarray.indexing import (
    Box,
    basic_key,
    box_of,
    cast,
    fitted,
    gather,
    is_contiguous,
    is_everything,
    plain_key,
    ranges,
    rows_box,
    split_key,
    without_new_axes,
    written,
)
from modkit.ndarray.invoke import LARGEST, NO_NUMBERS, Call, CallPlan, Numbers, Results
from modkit.ndarray.storage import (
    AnyCell,
    Cell,
    LateCell,
    Refused,
    View,
    aligned,
    as_numpy,
    aval_at,
    needs_x64,
    new_cell,
    placed,
    placed_on,
    refusal_of,
    x64_for,
    x64_scope,
)
from modkit.ndarray.tape import (
    Host,
    Leaf,
    TapeEntry,
    TapeNode,
    check_constant,
    check_writable,
    depends,
    modes,
    put,
    tracked,
    uses_of,
)
from modkit.ndarray.tape_gradients import attach, backward, kept_value
from modkit.ops.absent_operators import AbsentOperators
from modkit.ops.array.split import split_v2_attrs
from modkit.ops.dtypes import DTYPE_CODES, dtype_name
from modkit.ops.elementwise.pairs import PAIRS, Pair
from modkit.ops.entry import Op
from modkit.ops.frontend import FLUENT, bind_call, named_after
from modkit.ops.methods import Methods
from modkit.ops.parameters import Traced
from modkit.ops.registry import OPS, get_op
from modkit.signals import DeferredSignals
from modkit.util import is_np_shape

_DTYPE_MX_TO_NP = {-1: None, **{n: jnp.dtype(name).type for n, name in DTYPE_CODES.items()}}
"""NumPy's type by MXNet's number, in which programs look types up."""
_DTYPE_NP_TO_MX = {kind: number for number, kind in _DTYPE_MX_TO_NP.items()}

_FEW_ELEMENTS = 1 << 16
"""Up to as many, NumPy casts halves, or to small integers, in less time than a program."""
_MANY_ELEMENTS = 1 << 22
"""The same of all other casts."""
_NUMBER = (bool, int, float, np.number, np.bool_)
_FROM_DENSE: dict[str, Callable[[NDArray], NDArray]] = {}


def from_dense(stype: str) -> Callable[[Callable[[NDArray], Any]], Callable[[NDArray], Any]]:
    """Register the decorated function as ``tostype(stype)`` of dense arrays."""

    def register(convert: Callable[[NDArray], Any]) -> Callable[[NDArray], Any]:
        _FROM_DENSE[stype] = convert
        return convert

    return register


def _operator(stem: str, *, flip: bool = False) -> Callable[[NDArray, Any], NDArray]:
    """The method of a Python operator; see `_binary`."""
    pair = PAIRS[stem]
    return lambda self, other: _binary(self, other, pair, flip)


def _inplace(stem: str) -> Callable[[NDArray, Any], NDArray]:
    pair = PAIRS[stem]

    def inplace(self: NDArray, other: Any) -> Any:
        if modes.recording:
            check_writable(self)
            if isinstance(other, NDArray):
                check_constant(other)
        if self.stype == "default":
            return _binary(self, other, pair, rest={"out": self})
        result = _binary(self, other, pair)
        if result is NotImplemented:
            return result
        self._set(result)
        return self

    return inplace


class NDArray(AbsentOperators, Methods):
    """A mutable name for an immutable ``jax.Array``.

    In-place writes (``a[:] = b``, ``a += g``) are visible through every reference to the handle.
    ``a[3]``, ``a[2:5]`` and ``a.reshape(...)`` are views that write through; other indexing copies.

    Use `array`, `zeros` or another function of ``mx.nd`` to make one.

    Args:
        handle: another array, or the handle of one; inside of modkit a cell. ``None``, as MXNet's
            pickles call it, is an array without a value, for ``__setstate__``.
        ctx: the device of a cell.
        writable: share the cell of the other array; otherwise copy its present value. The second
            argument by position may be this one, as in MXNet. A sparse array is always copied.

    Raises:
        ParameterError: ``handle`` is something else, or that of an array that is gone.

    Differs: a NumPy array or list of booleans as an index is a mask, as in NumPy; MXNet 1.9.1 takes
    its elements for the indices 1 and 0. A new axis after an index array (``a[i, None]``) stands
    where NumPy puts it; MXNet 1.9.1 puts it before the axes of that array. A truth value in a tuple
    of indices raises an error: MXNet 1.9.1 reads ``a[1, 0]`` for ``a[True, 0]``, and writes
    ``a[0]``; ``np.bool_`` and arrays of one truth value raise it alone, too. A call that writes to
    a part of what it reads (``a[1:] += a[:-1]``, ``a /= a[:1]``, ``out=a`` of ``flip`` or ``dot``)
    reads the values from before; MXNet 1.9.1 reads elements that it has written, as many as its
    threads decide: a sum to the left may come out as a running sum.
    """

    __slots__ = ("__weakref__", "_cell", "_ctx", "_entry")
    __array_priority__ = 1000.0
    _functions = "mx.nd"
    stype = "default"

    def __init__(self, handle: Any, ctx: Context | bool | None = None, writable: bool = True):
        cell: AnyCell = handle
        self._cell = cell
        self._entry: TapeEntry | None = None
        if isinstance(ctx, Context):
            self._ctx = ctx
        else:
            self._open(handle, writable if ctx is None else ctx)

    def _open(self, handle: Any, writable: bool) -> None:
        """Take the cell of another array, or a copy; or a cell, on the present device."""
        if isinstance(handle, NDArray | ctypes.c_void_p):
            other = owner_of(handle, NDArray) if isinstance(handle, ctypes.c_void_p) else handle
            other = other._as_dense()
            self._ctx = other._ctx
            if writable:
                self._cell, self._entry = other._cell, other._entry
            else:
                self._cell = new_cell(other._cell.get(), other._ctx)
        elif handle is None or (hasattr(handle, "aval") and hasattr(handle, "peek")):
            self._ctx = current_context()
        else:
            expected = "an NDArray or the handle of one; mx.nd.array makes an array of numbers"
            raise wrong("NDArray", type(handle), expected)

    # ── What it is ──────────────────────────────────────────────────────────────────────────

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the dimensions."""
        return tuple(self._cell.aval.shape)

    @property
    def dtype(self) -> type:
        """Element type, as a NumPy scalar type."""
        return self._cell.aval.dtype.type

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self._cell.aval.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def context(self) -> Context:
        """The device that the array is on."""
        return self._ctx

    ctx = context

    @property
    def writable(self) -> bool:
        """Always ``True``: every array can be written."""
        return True

    @property
    def T(self) -> NDArray:
        """The array with its dimensions in reverse order (a copy)."""
        return self if self.ndim < 2 else _call("transpose", self)

    def to_jax(self) -> jax.Array:
        """The present value, as a ``jax.Array``. Later writes to the handle do not change it."""
        return self._cell.get()

    @property
    def handle(self) -> ctypes.c_void_p:
        """A number for this array, as long as it lives; ``NDArray(handle)`` is the array again."""
        return handle_of(self)

    _as_parameter_ = handle
    """The argument that ctypes passes: ``ctypes.cast(array, NDArrayHandle)`` makes the handle."""

    @staticmethod
    def _basic_indexing_slice_is_contiguous(slc_key: Sequence[slice], shape: Sequence[int]) -> bool:
        """Whether slices of all axes select consecutive elements of an array of this shape."""
        basic, sizes = basic_key(tuple(slc_key), tuple(shape)), zip(slc_key, shape, strict=True)
        is_empty = any(not range(*k.indices(n)) for k, n in sizes)
        return is_empty or (basic is not None and is_contiguous(basic, tuple(shape)))

    # ── Gradients ───────────────────────────────────────────────────────────────────────────

    @property
    def grad(self) -> NDArray | None:
        """The array that `backward` writes the gradient to; ``None`` before `attach_grad`."""
        return None if self._entry is None else getattr(self._entry[0], "grad", None)

    @property
    def _fresh_grad(self) -> int:
        source = None if self._entry is None else self._entry[0]
        return source.fresh if isinstance(source, Leaf) else 0

    @_fresh_grad.setter
    def _fresh_grad(self, value: int) -> None:
        source = None if self._entry is None else self._entry[0]
        if not isinstance(source, Leaf):
            raise NotReadyError("_fresh_grad: the array has no gradient: attach_grad() comes first")
        source.fresh = int(value)

    def attach_grad(self, grad_req: str = "write", stype: str | None = None) -> None:
        """Make the array a variable of `modkit.autograd`, with a gradient of zeros.

        The array becomes a leaf of the tape, whatever it was computed from.

        Args:
            grad_req: ``"write"`` replaces the gradient at each `backward`, ``"add"`` adds to it,
                ``"null"`` leaves it.
            stype: storage type of the gradient: ``"default"``, ``"row_sparse"`` or ``"csr"``;
                default that of the array.

        Raises:
            DTypeError: the array holds truth values.
            ParameterError: another ``grad_req`` or ``stype``.
        """
        zeros = new(np.zeros(self.shape, self.dtype), self._ctx).tostype(stype or self.stype)
        attach(self, zeros, grad_req)

    def backward(
        self, out_grad: NDArray | None = None, retain_graph: bool = False, train_mode: bool = True
    ) -> None:
        """Compute the gradients of this array with respect to the variables behind it.

        Args:
            out_grad: the cotangent of this array; default ones.
            retain_graph: keep the tape, so that `backward` can be called again.
            train_mode: ``False`` differentiates BatchNorm with its moving statistics.

        Raises:
            NotReadyError: the array was not computed from a variable while recording, or its
                tape was freed.
            ShapeError: ``out_grad`` is of another shape.
        """
        backward([self], [out_grad], retain_graph, train_mode)

    # ── Reading ─────────────────────────────────────────────────────────────────────────────

    def asnumpy(self) -> np.ndarray:
        """A NumPy copy. Waits until the value is computed."""
        return self._cell.seen_on_host(np.array)

    def asscalar(self) -> Any:
        """The only element, as a NumPy scalar.

        Raises:
            ValueError: the array has more than one element.

        Differs: MXNet 1.9.1 returns an array where there is more than one axis, as of (1, 1).
        """
        if self.size != 1:
            raise ShapeError(
                f"asscalar: got shape {self.shape}, expected one element (float(a), int(a) and "
                "math.sqrt(a), too); asnumpy() returns all, mx.nd.sqrt(a) computes on each"
            )
        return self._cell.seen_on_host(lambda value: value.reshape(-1)[0])

    def wait_to_read(self) -> None:
        """Wait until the value is computed."""
        cell = self._cell.root  # a view needs no program that reads it
        if isinstance(cell, LateCell):
            cell.settle()
            if cell.rows is not None:
                return
        value = cell.seen(lambda value: value)
        try:
            jax.block_until_ready(value)  # without the lock under which other threads train
        except RuntimeError:
            if not value.is_deleted():  # else a step has donated it since: it was computed
                raise

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("NDArray: got copy=False, but a NumPy array of it is a copy")
        return self.asnumpy() if dtype is None else self.asnumpy().astype(dtype, copy=False)

    def __jax_array__(self) -> jax.Array:
        return self._cell.get()

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self._cell.get().__dlpack__(**kwargs)

    def __dlpack_device__(self) -> Any:
        value: Any = self._cell.get()
        return value.__dlpack_device__()

    def to_dlpack_for_read(self) -> Any:
        """The array itself, which supports DLPack (``from_dlpack`` accepts it)."""
        return self

    def to_dlpack_for_write(self) -> Any:
        """The array itself, which supports DLPack.

        Differs: JAX's buffers are immutable: write ``a[:] = x`` to change this array.
        """
        return self

    def __bool__(self) -> bool:
        if self.size == 0:
            return False
        if self.size != 1:
            raise ShapeError(
                f"the truth value of an array of shape {self.shape} is ambiguous; expected one "
                "element, as of array.asnumpy().any() or array.asnumpy().all()"
            )
        return bool(self.asscalar())

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[NDArray]:
        return (self[i] for i in range(len(self)))

    def __float__(self) -> float:
        return float(self.asscalar())

    def __int__(self) -> int:
        return int(self.asscalar())

    def __index__(self) -> int:
        if not np.issubdtype(self.dtype, np.integer):
            raise DTypeError(f"only integer arrays can be an index, got {dtype_name(self.dtype)}")
        return int(self.asscalar())

    def __repr__(self) -> str:
        sizes = "x".join(map(str, self.shape))
        return f"\n{self.asnumpy()!s}\n<{type(self).__name__} {sizes} @{self._ctx}>"

    def _repr_html_(self) -> str:
        """Shape, type, device and values, for notebooks."""
        head = f"{type(self).__name__} {self.shape} {dtype_name(self.dtype)} @{self._ctx}"
        return f"<p><code>{head}</code></p><pre>{html.escape(str(self.asnumpy()))}</pre>"

    _call_sparse: ClassVar[Callable[..., Any]]
    """Runs operators that have a sparse input or result; set by `modkit.ndarray.sparse_calls`."""

    _restore: ClassVar[Callable[[Any], NDArray]]
    """Reads the bytes of a saved array; set by `modkit.ndarray.array_format`."""

    _saved: ClassVar[Callable[[NDArray], bytearray]]
    """The bytes of a saved array; set by `modkit.ndarray.array_format`."""

    def __getstate__(self) -> dict[str, Any]:
        """The state that MXNet pickles: the bytes of a file's record."""
        return {"handle": self._saved()}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        """Restore an array that MXNet has pickled as a file's bytes; FileFormatError if damaged."""
        made = NDArray._restore(state.get("handle") or b"")
        self.__init__(made._cell, made._ctx)

    def __reduce__(self) -> Any:
        return _unpickle, (self.asnumpy(), str(self._ctx.device_type), self._ctx.device_id)

    def __hash__(self) -> int:
        return id(self)

    # ── Writing ─────────────────────────────────────────────────────────────────────────────

    def _set(self, value: Any) -> None:
        """Replace the whole value: cast, broadcast and moved to this array's device.

        While recording, this array takes the place of a value on the tape.

        Raises:
            NotReadyError: the tape refers to this array.
        """
        if modes.recording and value is not self:
            check_writable(self)
            if isinstance(value, NDArray) and depends(value):
                value = value.copyto(self._ctx).astype(self.dtype, copy=False)
                value = value if value.shape == self.shape else value.broadcast_to(self.shape)
                self._entry = value._entry
        self._assign(value)

    def _assign(self, value: Any) -> None:
        if value is self:
            return
        cell, aval = self._cell, self._cell.aval
        if isinstance(cell, View) and self._ctx._is_cpu and self._write_host(..., value):
            return
        if isinstance(value, NDArray):
            value = value._as_dense()
            refusal = refusal_of(value._cell)
            if refusal and isinstance(cell, Cell) and value.shape == aval.shape:
                cell.wait_for(refusal, aval)
                return
            if not (isinstance(cell, LateCell) and value._cell.is_on_host):
                value = value._cell.get()
            elif value.shape == aval.shape and value._cell.aval.dtype == aval.dtype:
                cell.set_rows(value._cell.lent(), aliased=True)
                return
            else:
                value = value._cell.host()
        if not isinstance(value, jax.Array):
            self._assign_host(cast(value, aval.dtype))
            return
        with x64_for(aval.dtype):
            value = fitted(value, aval.shape)
            if value.dtype != aval.dtype:
                value = value.astype(aval.dtype)
            cell.set(placed_on(value, self._ctx.jax_device), aliased=True)

    def _take(self, value: Any) -> None:
        """Replace the whole value by an array of either kind that nothing else refers to."""
        cell, aval = self._cell, self._cell.aval
        if isinstance(value, Refused):
            self._assign(NDArray(new_cell(value, self._ctx), self._ctx))
            return
        alike = value.shape == aval.shape and value.dtype == aval.dtype
        if alike and cell.keeps_rows and self._ctx._is_cpu and isinstance(value, np.ndarray):
            cell.set_rows(value, aliased=False)
        elif alike and isinstance(value, jax.Array):
            there = placed_on(value, self._ctx.jax_device)
            cell.set(there, aliased=there is not value)
        else:
            self._assign(value)

    def _assign_host(self, value: np.ndarray) -> None:
        """Replace the whole value by a NumPy array or number, broadcast."""
        aval = self._cell.aval
        fresh = aligned(aval.shape, aval.dtype)
        np.copyto(fresh, fitted(value, aval.shape) if value.ndim else value)
        if isinstance(self._cell, LateCell):
            self._cell.set_rows(fresh, aliased=False)
        else:
            self._cell.set(placed_on(fresh, self._ctx.jax_device), aliased=True)

    def __setitem__(self, key: Any, value: Any) -> None:
        whole = isinstance(key, bool) or (isinstance(key, slice) and not self.shape)
        if whole or is_everything(key):  # as in MXNet: any truth value, any slice of no axes
            self._set(value)
            return
        if modes.recording:
            check_writable(self)
            if isinstance(value, NDArray):
                check_constant(value)
        key = without_new_axes(plain_key(key, self.shape), value, self.shape)
        basic = basic_key(key, self.shape)
        if basic is not None and self._has_part(value, basic):
            return  # what `a[i] += b` ends with
        part = key if basic is None else basic
        if self._ctx._is_cpu and self._write_host(part, value, copied=basic is None):
            return
        if isinstance(value, NDArray):
            value = value._cell.peek()
        aval = self._cell.aval
        with x64_for(aval.dtype):
            if basic is not None:
                self._write_box(basic, value)
                return
            value = jnp.asarray(value).astype(aval.dtype)
            value = fitted(value, jax.eval_shape(lambda a: a[key], aval).shape)
            value = placed_on(value, self._ctx.jax_device)
            self._cell.edit(lambda here: here.at[key].set(value))

    def _has_part(self, value: Any, basic: tuple[Any, ...]) -> bool:
        """Whether a value is the view of a part of this array itself."""
        box = value._cell if isinstance(value, NDArray) else None
        return isinstance(box, Box) and box.covers(self._cell, *box_of(basic, self.shape))

    def _write_host(self, key: Any, value: Any, copied: bool = False) -> bool:
        """Write to a part of an array on the host; ``False`` where it is not there.

        Args:
            copied: elsewhere write to a copy, as XLA would compile a scatter for each size.
        """
        if isinstance(value, NDArray):
            value = value._as_dense()._cell.host()
        if isinstance(value, jax.Array):
            return False
        value = cast(value, self._cell.aval.dtype)

        def fill(rows: np.ndarray) -> None:
            rows[key] = fitted(value, rows[key].shape) if value.ndim else value

        def changed(here: Any) -> Any:
            copy = np.array(here)
            fill(copy)
            return placed_on(copy, self._ctx.jax_device)

        if self._cell.write(fill):
            return True
        if copied:
            self._cell.edit(changed, aliased=True)
        return copied

    def _write_box(self, basic: tuple[Any, ...], value: Any) -> None:
        """Write to a contiguous slice, by one program for all start indices."""
        starts, sizes, shape = box_of(basic, self.shape)
        if isinstance(value, jax.Array):
            value = placed_on(value, self._ctx.jax_device)
        else:
            value = cast(value, self._cell.aval.dtype)
        if 0 in sizes:
            fitted(jnp.asarray(value), shape)
            return
        write = written(sizes, shape)
        self._cell.edit(lambda here: write(here, value, starts))

    def __getitem__(self, key: Any) -> NDArray:
        boxed = rows_box(key, self._cell.aval.shape)
        if boxed is None:
            if isinstance(key, bool):
                return self[int(key)]
            key = plain_key(key, self.shape)
            if is_everything(key):
                return self
            basic = basic_key(key, self.shape)
            if basic is None or not is_contiguous(basic, self.shape):
                return self._copy_at(key)
            boxed = box_of(basic, self.shape)
        starts, sizes, shape = boxed
        box = Box(self._cell, starts, sizes, shape)
        made = NDArray(box, self._ctx)
        if tracked([self]):
            call = Call(box.program, None, list(starts), needs_x64(self._cell.aval.dtype))
            ends = tuple(map(operator.add, starts, sizes))
            symbol = ("slice", {"begin": starts, "end": ends}), ("Reshape", {"shape": shape})
            put(TapeNode(call, uses_of([self], [kept_value(self)]), self._ctx, symbol), [made])
        return made

    def _slice(self, start: int | None, stop: int | None) -> NDArray:
        """A view of rows, as programs for MXNet call it."""
        return self[slice(start, stop)]

    def _at(self, idx: Any) -> NDArray:
        """A view of one row, as programs for MXNet call it."""
        return self[operator.index(idx)]

    def _sync_copyfrom(self, source_array: Any) -> None:
        """Write an array of this shape, as programs for MXNet call it."""
        if np.shape(source_array) != self.shape:
            raise ShapeError(f"got shape {np.shape(source_array)}, expected {self.shape}")
        self[:] = source_array

    def _copy_at(self, key: Any) -> NDArray:
        if tracked([self]):
            form, places = split_key(key)
            return _recorded(Call(gather(form), places, [], needs_x64(self._cell.aval.dtype)), self)
        if self._ctx._is_cpu and (found := self._host_at(key)) is not None:
            return NDArray(LateCell(found, self._ctx, aliased=False), self._ctx)
        value = self._cell.peek()
        with x64_for(value.dtype):
            out = value[key]
            return from_jax(out.reshape(1) if out.ndim == 0 else out, self._ctx)

    def _host_at(self, key: Any) -> np.ndarray | None:
        """A copy of elements on the host; ``None`` where the array is not there."""

        def part(value: Any) -> np.ndarray | None:
            if isinstance(value, jax.Array):
                return None
            found = np.array(value[key], order="C")
            return found.reshape(1) if found.ndim == 0 else found

        return self._cell.seen_on_host(part)

    def slice_assign(self, rhs: NDArray, begin: Any, end: Any, step: Any) -> NDArray:
        """Assign ``rhs`` to the given range, in place."""
        self[ranges(begin, end, step)] = rhs
        return self

    def slice_assign_scalar(self, value: float, begin: Any, end: Any, step: Any) -> NDArray:
        """Assign a number to the given range, in place."""
        self[ranges(begin, end, step)] = value
        return self

    # ── Copies and views ────────────────────────────────────────────────────────────────────

    def copy(self) -> NDArray:
        """A new array with the same value, on the same device."""
        return self.copyto(self._ctx)

    def copyto(self, other: NDArray | Context) -> NDArray:
        """Copy into another array, or to a device as a new array.

        Differs: ``x.copyto(x)`` warns and returns ``x``; MXNet 1.9.1 warns and returns False.
        """
        if isinstance(other, NDArray):
            if other.shape != self.shape:
                raise ShapeError(f"copyto: got {other.shape} to write to, expected {self.shape}")
            if other is self:
                warn_caller("You are attempting to copy an array to itself", RuntimeWarning)
            other._set(self)
            return other
        if not isinstance(other, Context):
            raise TypeError(f"copyto: got {type(other).__name__}, expected an NDArray or a Context")
        if tracked([self]):
            return self._recorded_copy(other)
        if refusal := refusal_of(self._cell):
            return NDArray(new_cell(Refused(refusal, self), other), other)
        if other._is_cpu and self._ctx._is_cpu and self._cell.reads_on_host:
            return NDArray(LateCell(self._cell.lent(), other), other)
        value = self._cell.get()
        return from_jax(value, other)

    def _recorded_copy(self, ctx: Context) -> NDArray:
        value, here = self._cell.get(), self._ctx.jax_device
        if ctx.jax_device == here:
            op = OPS["_copy"]
            return _apply(op, [self], op.parse({}), None, ctx)
        made = from_jax(value, ctx)
        uses = uses_of([self], [value])
        copy = [made._cell.get()]
        put(Host("copyto", copy, lambda back: [placed_on(back[0], here)], uses, ctx), [made])
        return made

    def as_in_context(self, context: Context) -> NDArray:
        """This array if it is on ``context``, else a copy there."""
        return self if context == self._ctx else self.copyto(context)

    def as_nd_ndarray(self) -> NDArray:
        """This array."""
        return self

    def as_np_ndarray(self) -> Any:
        """Raise: ``mx.np`` is not part of modkit."""
        raise NotSupportedError("mx.np is not part of modkit; use asnumpy() or to_jax()")

    def detach(self) -> NDArray:
        """A new handle of the same cell."""
        return NDArray(self._cell, self._ctx)

    def astype(self, dtype: Any, copy: bool = True) -> NDArray:
        """The array cast to ``dtype``; with ``copy=False`` itself if it is of that type."""
        name = dtype_name(np.float32 if dtype is None else dtype)
        if not copy and name == dtype_name(self.dtype):
            return self
        plain = self._cell.aval.dtype.kind in "biuf" and name != "bfloat16"
        if plain and self._ctx._is_cpu and not tracked([self]) and not refusal_of(self._cell):
            found = self._cell.host()
            narrow = name in ("int8", "uint8", "int16", "uint16")  # around, as in `Cast`
            slow = narrow or "float16" in (name, self._cell.aval.dtype)
            most = _FEW_ELEMENTS if slow else _MANY_ELEMENTS
            if not isinstance(found, jax.Array) and found.size <= most:
                found = quietly(convert, found, np.dtype(np.int32)) if narrow else found
                made = quietly(convert, found, np.dtype(name))
                made = np.array(found, order="C") if made is found else np.asarray(made, order="C")
                return NDArray(LateCell(made, self._ctx, aliased=False), self._ctx)
        return _call("Cast", self, dtype=name)

    def reshape(self, *shape: Any, **kwargs: Any) -> NDArray:
        """A view of another shape. Takes MXNet's codes 0, -1, -2, -3 and -4.

        Raises:
            ShapeError: the sizes do not fit.
        """
        if not shape and not kwargs:
            raise ShapeError("reshape: got no shape, expected sizes, or () for one element")
        if len(shape) == 1 and isinstance(shape[0], tuple | list):
            shape = tuple(shape[0])
        shape = kwargs.pop("shape", shape)
        before = self.shape
        plain = not kwargs and type(shape) is tuple and _INT.issuperset(map(type, shape))
        attrs, after = (_reshaped if plain else _reshaped.__wrapped__)(before, shape, **kwargs)
        made = NDArray(
            View(
                self._cell,
                lambda a: a.reshape(after),
                lambda _, v: v.reshape(before),
                aval_at(after, self._cell.aval.dtype),
                window=lambda rows: rows.reshape(after),
            ),
            self._ctx,
        )
        if tracked([self]):
            op, value = get_op("Reshape"), kept_value(self)
            call = CallPlan(op, attrs, [self._cell.aval], train=False).call()
            put(TapeNode(call, uses_of([self], [value]), self._ctx, [(op.name, attrs)]), [made])
        return made

    def broadcast_to(  # pyright: ignore[reportIncompatibleMethodOverride] - a call of one kind
        self, shape: Sequence[int]
    ) -> NDArray:
        """The array repeated along dimensions of size 1 until it has ``shape``."""
        if len(shape) > self.ndim:
            return self.reshape((1,) * (len(shape) - self.ndim) + self.shape).broadcast_to(shape)
        return invoke(OPS["broadcast_to"], (self,), {"shape": tuple(shape)})

    def broadcast_like(  # pyright: ignore[reportIncompatibleMethodOverride] - as broadcast_to
        self, other: NDArray
    ) -> NDArray:
        """The array repeated along dimensions of size 1 until it has the shape of ``other``."""
        return self.broadcast_to(other.shape)

    def flatten(self, inplace: bool = False, **kwargs: Any) -> NDArray:
        """All axes but the first as one; with ``inplace``, a view."""
        return self._reshaped("Flatten", inplace, kwargs)

    def squeeze(
        self, axis: int | Sequence[int] | None = None, inplace: bool = False, **kwargs: Any
    ) -> NDArray:
        """The array without axes of size 1, all or those of ``axis``; with ``inplace``, a view."""
        return self._reshaped("squeeze", inplace, {"axis": axis, **kwargs})

    def expand_dims(self, axis: int, inplace: bool = False, **kwargs: Any) -> NDArray:
        """The array with a new axis of size 1 at ``axis``; with ``inplace``, a view."""
        return self._reshaped("expand_dims", inplace, {"axis": axis, **kwargs})

    def _reshaped(self, name: str, inplace: bool, kwargs: Mapping[str, Any]) -> NDArray:
        """The result of an operator that changes the shape only, or a view of that shape."""
        made = invoke(get_op(name), (self,), kwargs)
        return self.reshape(made.shape) if inplace else made

    def split_v2(self, *args: Any, **kwargs: Any) -> Any:
        """The same as ``mx.nd.split_v2(self, ...)``."""
        cut = split_v2_attrs(self.shape, *args, **kwargs)
        return invoke(get_op("_split_v2"), (self,), cut)

    def _as_dense(self) -> NDArray:
        """This array; of a sparse one a dense copy."""
        return self

    def tostype(self, stype: str) -> NDArray:
        """A copy in a storage type: ``"csr"``, ``"row_sparse"``, or ``"default"``.

        Raises:
            ParameterError: another storage type, or a CSR array that has not two dimensions.
        """
        if stype == "default":
            return self.copy()
        if stype not in _FROM_DENSE:
            known = ("default", *_FROM_DENSE)
            raise ParameterError(f"tostype: no storage type {stype!r}.{nearest(stype, known)}")
        return cast_recorded(self, _FROM_DENSE[stype](self))

    # ── Arithmetic ──────────────────────────────────────────────────────────────────────────

    __add__ = __radd__ = _operator("add")
    __iadd__ = _inplace("add")
    __sub__, __rsub__ = _operator("sub"), _operator("sub", flip=True)
    __isub__ = _inplace("sub")
    __mul__ = __rmul__ = _operator("mul")
    __imul__ = _inplace("mul")
    __truediv__ = __div__ = _operator("div")
    __rtruediv__ = __rdiv__ = _operator("div", flip=True)
    __itruediv__ = __idiv__ = _inplace("div")
    __mod__, __rmod__ = _operator("mod"), _operator("mod", flip=True)
    __imod__ = _inplace("mod")
    # As in MXNet there is no __ipow__.
    __pow__, __rpow__ = _operator("power"), _operator("power", flip=True)
    __gt__ = _operator("greater")
    __ge__ = _operator("greater_equal")
    __lt__ = _operator("lesser")
    __le__ = _operator("lesser_equal")

    def __neg__(self) -> NDArray:
        return self * -1.0

    def __pos__(self) -> NDArray:
        return self

    def __abs__(self) -> NDArray:
        return _call("abs", self)

    def __round__(self, digits: int | None = None) -> NDArray:
        return _call("round", self) if not digits else round(self * 10.0**digits) / 10.0**digits

    def __format__(self, spec: str) -> str:
        return format(self.asscalar(), spec) if spec else str(self)

    def __eq__(self, other: object) -> Any:
        return _compare(self, other, "equal", unlike=False)

    def __ne__(self, other: object) -> Any:
        return _compare(self, other, "not_equal", unlike=True)


def cast_recorded(array: NDArray, made: NDArray) -> NDArray:
    """``made``, which is ``array`` in another storage type, on the tape."""
    if tracked([array]):
        ctx = array._ctx
        uses = uses_of([array], [kept_value(array)])
        put(Host("cast_storage", [kept_value(made)], lambda back: back, uses, ctx), [made])
    return made


def _compare(array: NDArray, other: Any, name: str, *, unlike: bool) -> Any:
    if isinstance(other, (NDArray, np.ndarray, jax.Array, list, tuple, *_NUMBER)):
        return _binary(array, other, PAIRS[name])
    return unlike


_NO_REST: Mapping[str, Any] = {}


def _binary(
    array: NDArray, other: Any, pair: Pair, flip: bool = False, rest: Mapping[str, Any] = _NO_REST
) -> Any:
    """``array ∘ other``, or with ``flip`` ``other ∘ array``; ``rest`` may have an ``out``."""
    if isinstance(other, _NUMBER):
        name = pair.after_number if flip else pair.with_number
        return _call(name, array, scalar=float(other), **rest)
    if isinstance(other, np.ndarray | jax.Array):
        other = as_ndarray(other, array._ctx)
    text = pair.stem == "mul" and isinstance(other, str | bytes | bytearray)
    if text or isinstance(other, list | tuple):  # which take an array for a number of copies
        raise DTypeError(
            f"{pair.stem}: got a {type(other).__name__}, expected an NDArray or a number; make an "
            "array of it: mx.nd.array(...)"
        )
    if not isinstance(other, NDArray):
        return NotImplemented
    if flip:
        array, other = other, array
    if array.stype != "default" and array.shape == other.shape and pair.keeps_sparse:
        return _call(pair.alike, array, other, **rest)
    return _call(pair.wide, array, other, **rest)


def _install_fluent() -> None:
    def make(name: str) -> Callable[..., Any]:
        def method(self: NDArray, *args: Any, **kwargs: Any) -> Any:
            return invoke(get_op(name), (self, *args), kwargs)

        method.__name__ = name
        method.__doc__ = f"The same as ``mx.nd.{name}(self, ...)``."
        return method

    for name in FLUENT:
        if name not in NDArray.__dict__:
            setattr(NDArray, name, make(name))


_install_fluent()


# ── Calling operators ───────────────────────────────────────────────────────────────────────


def invoke(op: Op, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Call an operator on NDArrays: the implementation of every function ``mx.nd.<name>``.

    Arguments besides those of the operator: ``out`` (an array or a list of them to write to),
    ``name`` (ignored: eager calls have no names) and, for operators without inputs, ``ctx``.
    """
    out = ctx = None
    if len(args) > op.most_arguments:
        kwargs = dict(kwargs)
        args = named_after(op, args, kwargs, ("out", "name"))
    if kwargs and not _ASIDE.isdisjoint(kwargs):
        kwargs = dict(kwargs)
        out = kwargs.pop("out", None)
        kwargs.pop("name", None)
        ctx = kwargs.pop("ctx", None) if "ctx" not in op.types else None
        if op.takes_key and isinstance(out, NDArray):
            _draw_for(op, out, kwargs)
    if (found := _found(op, args, kwargs)) is not None:
        inputs, plan, numbers = found
        ctx = inputs[0]._ctx if inputs else _as_context(ctx or plan.attrs.get("ctx") or None)
        return _run(plan, inputs, numbers, out, ctx)
    tensors, given = bind_call(op, args, kwargs, _is_tensor)
    attrs = op.parse(given)
    inputs = tensors if isinstance(tensors, list) else _in_order(op, tensors, attrs)
    inputs = [as_ndarray(x) for x in inputs]
    ctx = inputs[0]._ctx if inputs else _as_context(ctx or attrs.get("ctx") or None)
    return _apply(op, inputs, attrs, out, ctx)


def _draw_for(op: Op, out: NDArray, kwargs: dict[str, Any]) -> None:
    """Add the shape and type of ``out`` where those of a draw are not given."""
    if "shape" in op.types and not op.inputs:
        kwargs.setdefault("shape", out.shape)
    if "dtype" in op.types and op.defaults["dtype"] is None:
        kwargs.setdefault("dtype", dtype_name(out.dtype))


_ASIDE = frozenset(("out", "name", "ctx"))
"""Arguments that are not those of operators."""

_ALIKE = frozenset((int, str, bool, type, type(None)))
"""Types whose equal values are one parameter."""
_IN_TUPLES = frozenset((int, float, str, bool, type(None)))
_REAL = frozenset((int, float))
_INT = frozenset((int,))


def _found(
    op: Op, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[Sequence[NDArray], CallPlan, Numbers] | None:
    """The inputs of a call in the operator's order, its plan, and its own traced parameters.

    One look-up by the operator, the parameters as they are given, and shapes and types of the
    arrays. ``None`` where dense arrays, plain values and tuples of these are not all there is.
    """
    arrays: list[NDArray] = []
    numbers: dict[str, float] = {}
    key: list[Any] = [op, op.takes_train and modes.training]
    for value in args:
        kind = type(value)
        if kind is NDArray:
            arrays.append(value)
            key.append(value._cell.aval)
        elif (spelled := _spelled(kind, value)) is not None:
            key += spelled
        else:
            return None
    for name, value in kwargs.items():
        key.append(name)
        kind = type(value)
        if kind is NDArray:
            arrays.append(value)
            key.append(value._cell.aval)
        elif kind in _REAL and not abs(value) >= LARGEST and op.types.get(name) is Traced:
            numbers[name] = float(value)
        elif (spelled := _spelled(kind, value)) is not None:
            key += spelled
        else:
            return None
    site = _site(tuple(key))
    if site.plan is None:
        site.open(op, args, kwargs, arrays)
        if site.plan is None:
            return None
    order = site.order
    return [arrays[at] for at in order] if order else arrays, site.plan, numbers


def _spelled(kind: type, value: Any) -> tuple[Any, Any] | None:
    """A parameter as part of a key; ``None`` for one that is not plain."""
    if kind in _ALIKE:
        return kind, value
    if kind is float:
        return kind, value or repr(value)  # zeros of both signs are equal
    if kind is tuple and _IN_TUPLES.issuperset(map(type, value)):
        return kind, repr(value)
    return None


def _may_be_sparse(op: Op, attrs: Mapping[str, Any]) -> bool:
    """Whether dense arrays can have a sparse result or gradient."""
    if not op.storage.from_dense:
        return False
    stypes = ("default",) * len(op.inputs)
    return op.storage.picks_rows(attrs) or op.storage.result(stypes, attrs) != "default"


class _Place(int):
    """The place of an array in a call."""


class _Site:
    """The calls that differ in the elements of their arrays and in traced numbers only.

    Attributes:
        plan: how they run; ``None`` before the first, and where sparse arrays may be made.
        order: the places of the operator's inputs; empty for the order of the call.
    """

    __slots__ = ("order", "plan")

    def __init__(self) -> None:
        self.plan: CallPlan | None = None
        self.order: Sequence[int] = ()

    def open(
        self, op: Op, args: Sequence[Any], kwargs: Mapping[str, Any], arrays: Sequence[NDArray]
    ) -> None:
        """Sort the arguments and parse the parameters, if that raises no error."""
        places = list(map(_Place, range(len(arrays))))
        left = iter(places)
        args = [next(left) if isinstance(x, NDArray) else x for x in args]
        kwargs = {n: next(left) if isinstance(x, NDArray) else x for n, x in kwargs.items()}
        try:
            tensors, given = bind_call(op, args, kwargs, lambda x: isinstance(x, _Place))
            attrs = op.parse(given)
            order = tensors if isinstance(tensors, list) else _in_order(op, tensors, attrs)
        except (ModkitError, TypeError):  # raised again with the arrays themselves
            return
        if _may_be_sparse(op, attrs):
            return
        self.order = () if order == places else order
        avals = [arrays[at]._cell.aval for at in order]
        self.plan = CallPlan(op, attrs, avals, modes.training, given)


@functools.lru_cache(maxsize=4096)
def _site(key: tuple[Any, ...]) -> _Site:
    """The site of one key; least recently used ones are forgotten."""
    return _Site()


def _apply(op: Op, inputs: Sequence[NDArray], attrs: Mapping[str, Any], out: Any, ctx: Any) -> Any:
    """Run an operator with parsed parameters."""
    if op.storage.from_dense or [x for x in inputs if x.stype != "default"]:
        done = NDArray._call_sparse(op, inputs, attrs, out, ctx)
        if done is not NotImplemented:
            return done
    return apply_dense(op, inputs, attrs, out, ctx)


def apply_dense(
    op: Op, inputs: Sequence[NDArray], attrs: Mapping[str, Any], out: Any, ctx: Any
) -> Any:
    """Run an operator with parsed parameters on dense arrays; its result is dense."""
    plan = CallPlan(op, attrs, [x._cell.aval for x in inputs], modes.training)
    return _run(plan, inputs, NO_NUMBERS, out, ctx)


def _run(
    plan: CallPlan, inputs: Sequence[NDArray], numbers: Numbers, out: Any, ctx: Context
) -> Any:
    """Run an operator on dense arrays, and record it where an input depends on a variable."""
    if out is not None and plan.attrs.get("init_output") is False:
        return _times_older(plan, inputs, out, ctx)
    recorded = tracked(inputs)

    def values(on_host: bool, kept: Mapping[int, Any] | None = None) -> list[Any]:
        """The inputs' values; ``kept`` has those that have been read, by their places."""
        if kept:
            here = [x._cell.lent if on_host else x._cell.get for x in inputs]
            return [kept[at] if at in kept else read() for at, read in enumerate(here)]
        if on_host:
            return [x._cell.lent() if recorded else x._cell.host() for x in inputs]
        return [x._cell.get() if recorded else x._cell.peek() for x in inputs]

    near = ctx._is_cpu and not [x for x in inputs if x._ctx is not ctx and x._ctx != ctx]
    if (out is not None or plan.changes) and other_threads():
        own, cells = overwritten(plan, inputs, out if isinstance(out, list | tuple) else [out])
        if own:
            return exchange(
                own, cells,
                lambda kept=None: plan.run(
                    functools.partial(values, kept=kept), near, numbers, raises=recorded
                ),
                functools.partial(_finish, plan, inputs, numbers, out, ctx, recorded),
            )  # fmt: skip
    results = plan.run(values, near, numbers, raises=recorded)
    return _finish(plan, inputs, numbers, out, ctx, recorded, results)


def _finish(
    plan: CallPlan,
    inputs: Sequence[NDArray],
    numbers: Numbers,
    out: Any,
    ctx: Context,
    recorded: bool,
    results: Results,
) -> Any:
    """Write the results of a call, and record it."""
    outputs, changed, call, read = results
    if not isinstance(out, list | tuple) or len(out) != len(outputs):
        outputs = outputs[: plan.visible]  # out may have arrays for all of them, as in MXNet
    uses = uses_of(inputs, read) if recorded else []
    if out is not None:
        _check_targets(plan, outputs, out if isinstance(out, list | tuple) else [out])
    if changed:
        names = plan.op.input_names(plan.attrs)
        with DeferredSignals():  # states and results: all of them or none
            for name, value in changed.items():
                inputs[names.index(name)]._take(value)
            result = _deliver(plan, outputs, out, ctx)
    else:
        result = _deliver(plan, outputs, out, ctx)
    if recorded:
        made = result if isinstance(result, list | tuple) else [result]
        put(TapeNode(call, uses, ctx, [(plan.op.name, plan.attrs_of(numbers))]), made)
    return result


def _times_older(plan: CallPlan, inputs: Sequence[NDArray], out: Any, ctx: Context) -> Any:
    """Multiply the answer in ``out`` by that of `all_finite`, or of `multi_all_finite`."""
    answer = _apply(plan.op, inputs, {**plan.attrs, "init_output": True}, None, ctx)
    targets = out if isinstance(out, list | tuple) else [out]
    _check_targets(plan, [answer], targets)
    targets[0][:] = targets[0] * answer
    return out


def _deliver(plan: CallPlan, outputs: Sequence[Any], out: Any, ctx: Context) -> Any:
    if out is not None:
        targets = out if isinstance(out, list | tuple) else [out]
        for target, value in zip(targets, outputs, strict=True):
            target._take(value)
        return out
    if not plan.op.inputs and not plan.op.variadic:
        if "shape" in plan.op.types:
            _require_sizes(plan.op.name, outputs)
        made = [_moved(v, ctx) for v in outputs]
    else:
        made = [NDArray(new_cell(v, ctx, aliased=False), ctx) for v in outputs]
    return made[0] if len(made) == 1 else made


def _check_targets(plan: CallPlan, outputs: Sequence[Any], targets: Sequence[Any]) -> None:
    """Raise unless ``out`` has an array of the right shape and type for each output."""
    name = plan.op.name
    if len(targets) != len(outputs):
        raise ParameterError(f"{name}: out: got {len(targets)} arrays, expected {len(outputs)}")
    for target, value in zip(targets, outputs, strict=True):
        require_array(f"{name}: out", target)
        check_writable(target)
        aval = target._cell.aval
        if aval.shape != value.shape:
            raise ShapeError(f"{name}: out: got shape {aval.shape}, expected {value.shape}")
        if aval.dtype != value.dtype:
            raise DTypeError(
                f"{name}: out: got {dtype_name(aval.dtype)}, expected {dtype_name(value.dtype)}; "
                "an array of that type can be cast: result.astype(...)"
            )


def _require_sizes(name: str, outputs: Sequence[Any]) -> None:
    """Raise for arrays without elements, whose size of 0 is one that is not known in MXNet."""
    for value in outputs:
        if 0 in value.shape and not is_np_shape():
            raise ShapeError(
                f"{name}: got the shape {value.shape}, expected sizes of 1 or more; `with "
                "mx.np_shape():` allows 0"
            )


def _moved(value: Any, ctx: Context) -> NDArray:
    """An array of a value that a program without inputs has left on JAX's own device."""
    if isinstance(value, np.ndarray | Refused):
        return NDArray(new_cell(value, ctx, aliased=False), ctx)
    # On a CPU placing takes three times as long as drawing a few numbers.
    value = as_numpy(value) if ctx._is_cpu else placed_on(value, ctx.jax_device)
    return NDArray(new_cell(value, ctx), ctx)


@functools.lru_cache(maxsize=4096)
def _reshaped(
    before: tuple[int, ...], shape: Any, **kwargs: Any
) -> tuple[Mapping[str, Any], tuple[int, ...]]:
    """The parameters of ``Reshape``, and the shape made; ShapeError where sizes do not fit."""
    op = get_op("Reshape")
    attrs = op.parse({"shape": shape, **kwargs})
    try:
        aval = jax.ShapeDtypeStruct(before, np.float32)
        return attrs, jax.eval_shape(lambda a: op.call([a], attrs)[0][0], aval).shape
    except (TypeError, ValueError) as error:
        raise ShapeError(f"reshape: {before} cannot become {attrs['shape']}: {error}") from error


def _in_order(op: Op, tensors: Mapping[str, Any], attrs: Mapping[str, Any]) -> list[Any]:
    names = op.input_names(attrs)
    missing = [n for n in names if n not in tensors]
    if missing:
        raise ParameterError(
            f"{op.name}: input {missing[0]!r} is missing (expected {', '.join(names)})"
        )
    extra = [n for n in tensors if n not in names]
    if extra:
        raise ParameterError(f"{op.name}: input {extra[0]!r} does not exist for these parameters")
    return [tensors[n] for n in names]


def _is_tensor(value: Any) -> bool:
    return isinstance(value, NDArray | np.ndarray | jax.Array)


def _as_context(ctx: Any) -> Context:
    if ctx is None:
        return current_context()
    if isinstance(ctx, Context):
        return ctx
    if isinstance(ctx, str):
        kind, _, index = ctx.partition("(")
        return Context(kind, int(index.rstrip(")") or 0))
    raise wrong("ctx", ctx, "a Context such as mx.cpu(0)")


def _call(name: str, *arrays: NDArray, **attrs: Any) -> Any:
    """Call an operator with parameters of their types."""
    return invoke(OPS[name], arrays, attrs)


def _recorded(call: Call, array: NDArray) -> NDArray:
    """The output of a recorded call that is not an operator."""
    value = array._cell.get()
    with x64_scope(call.needs_x64):
        (output,), _ = call.fn([value], call.key_data, call.numbers)
    made = NDArray(new_cell(output, array._ctx, aliased=False), array._ctx)
    put(TapeNode(call, uses_of([array], [value]), array._ctx), [made])
    return made


# ── Making arrays ───────────────────────────────────────────────────────────────────────────


_WORTH_ALIGNING = 1 << 14
"""Bytes from which on a copy by JAX takes longer than an aligned allocation."""


def array(source_array: Any, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """A new array from a list, NumPy array, ``jax.Array`` or NDArray.

    Args:
        ctx: device; default the current one.
        dtype: default that of an NDArray or ``jax.Array``, else float32.
    """
    ctx = _as_context(ctx)
    if isinstance(source_array, NDArray):
        source_array = source_array._cell.get()
    if isinstance(source_array, jax.Array):
        name = dtype_name(dtype or source_array.dtype)
        with x64_for(name, source_array.dtype):
            return from_jax(source_array.astype(name), ctx)
    name = dtype_name("float32" if dtype is None else dtype)
    kind = jnp.dtype(name)
    try:
        if isinstance(source_array, np.ndarray) and source_array.nbytes >= _WORTH_ALIGNING:
            value = aligned(source_array.shape, kind)
            np.copyto(value, source_array, casting="unsafe")
        else:
            value = _converted(source_array, kind)
    except (ValueError, TypeError, OverflowError) as error:
        raise DTypeError(
            f"array: {type(source_array).__name__} cannot become an array of {name}: {error}"
        ) from error
    return new(value, ctx)


def _converted(numbers: Any, kind: np.dtype[Any]) -> np.ndarray:
    """A new array of numbers; whole ones that the type does not hold wrap around, as in MXNet."""
    try:
        return np.array(numbers, dtype=kind)
    except OverflowError:
        return cast(np.asarray(numbers), kind)


def new(value: np.ndarray, ctx: Context) -> NDArray:
    """An NDArray of an immutable NumPy array."""
    (cell,) = placed([value], [ctx])
    return NDArray(cell, ctx)


def require_array(what: str, value: Any) -> None:
    """Raise ParameterError for something else than an NDArray."""
    if not isinstance(value, NDArray):
        raise wrong(what, type(value), "an NDArray; mx.nd.array(...) makes one")


def as_ndarray(value: Any, ctx: Context | None = None) -> NDArray:
    """``value`` if it is an NDArray, else a new one of the same type."""
    if isinstance(value, NDArray):
        return value
    if isinstance(value, jax.Array):
        return from_jax(value, ctx)
    return array(value, ctx, dtype=value.dtype)


def from_jax(value: jax.Array, ctx: Context | None = None) -> NDArray:
    """A handle for a ``jax.Array``, without a copy."""
    ctx = ctx or current_context()
    return NDArray(new_cell(placed_on(value, ctx.jax_device), ctx), ctx)


def _unpickle(value: np.ndarray, device_type: str, device_id: int) -> NDArray:
    ctx = Context(device_type, device_id)
    if device_type == "gpu" and jax.default_backend() == "cpu":
        ctx = Context("cpu", 0)
    return array(value, ctx, dtype=value.dtype)

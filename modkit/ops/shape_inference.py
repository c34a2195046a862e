"""Shapes of one operator's inputs and outputs, inferred in both directions."""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from modkit.errors import DTypeError, ModkitError, ShapeError
from modkit.interpreter.tracing import jaxpr_for_numpy
from modkit.ops.dtypes import WIDE
from modkit.ops.entry import Op
from modkit.ops.parameters import Attrs, Params, Shape, as_mapping
from modkit.ops.partial_shapes import (
    Sizes,
    check_elements,
    complete,
    known_sizes,
    merge,
    plain_sizes,
)

_STAND_INS = (5040, 10080), (360, 720)
"""Two sizes, divisible by much, to be tried in place of an unknown one; smaller ones for arrays of
several unknown sizes, which `check_elements` refuses with the first."""


def size_bytes(shape: Sizes) -> int:
    """The bytes of a float32 array of this shape; 0 where a size is unknown."""
    return 4 * math.prod(shape) if shape is not None else 0


def merge_all(
    first: Sequence[Sizes], second: Sequence[Sizes], names: Sequence[str]
) -> tuple[Sizes, ...]:
    """Several shapes, each from two partly known sources; ShapeError where they contradict."""
    return tuple(merge(n, a, b) for a, b, n in zip(first, second, names, strict=True))


@functools.lru_cache(maxsize=8192)  # keys hold the bodies of loops: a few KB each
def refine(
    op: Op, params: Params, ins: tuple[Sizes, ...], outs: tuple[Sizes, ...]
) -> tuple[tuple[Sizes, ...], tuple[Sizes, ...]]:
    """All shapes that follow from the known ones; ShapeError if contradictory or refused."""
    attrs = as_mapping(params)
    out_names = op.output_names(attrs)
    ins, outs = by_rules(op, attrs, ins, outs)
    if op.bodies or op.sized_by_values or has_open_shape(op, attrs):
        return ins, outs
    if all(complete(s) for s in ins):
        return ins, merge_all(outs, _evaluate(op, params, ins), out_names)
    if None not in ins and not op.partial_is_complete:
        return _refine_partly(op, params, ins, outs)
    return ins, outs


def by_rules(
    op: Op, attrs: Attrs, ins: tuple[Sizes, ...], outs: tuple[Sizes, ...]
) -> tuple[tuple[Sizes, ...], tuple[Sizes, ...]]:
    """The shapes that follow by the operator's rules, untraced; ShapeError where one breaks."""
    names, out_names = op.input_names(attrs), op.output_names(attrs)
    if op.same_shape:
        ins, outs = _unify(ins, outs, [*names, *out_names])
    if op.partial is not None:
        new_ins, new_outs = _guarded(op.partial, list(ins), list(outs), attrs)
        ins, outs = merge_all(ins, new_ins, names), merge_all(outs, new_outs, out_names)
    return _fill_params(op, attrs, ins, names), outs


def has_open_shape(op: Op, attrs: Attrs) -> bool:
    """Whether an operator without inputs leaves sizes of its result to the rest of the graph.

    Sizes of 0 and -1 do; which of them stands for an unknown one depends on the caller's
    ``np_shape``. What is below -1 is no size, and the operator says so. All sizes of a range
    without an end (``infer_range``) are open.
    """
    if op.inputs or op.variadic:
        return False
    if "shape" not in attrs:
        return bool(attrs.get("infer_range")) and attrs["stop"] is None
    return -2 < min(attrs["shape"] or (0,)) < 1


def with_open_shape(attrs: Attrs, shape: Sizes) -> Attrs:
    """The parameters of an operator of an open shape, with the shape that the graph decides."""
    return {**attrs, "shape" if "shape" in attrs else "infer_range": shape}


def _guarded(rule: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call an operator's shape rule, with Python's own errors as a ``ShapeError``."""
    try:
        return rule(*args, **kwargs)
    except ModkitError as error:
        vars(error).pop("__notes__", None)  # JAX's, on frames that it hides
        raise
    except (TypeError, ValueError, LookupError, ArithmeticError, MemoryError, RecursionError) as e:
        raise ShapeError(str(e)) from e


def _unify(
    ins: tuple[Sizes, ...], outs: tuple[Sizes, ...], names: Sequence[str]
) -> tuple[tuple[Sizes, ...], tuple[Sizes, ...]]:
    shape: Sizes = None
    for each, name in zip((*ins, *outs), names, strict=True):
        shape = merge(name, each, shape)
    return (shape,) * len(ins), (shape,) * len(outs)


def _fill_params(
    op: Op, attrs: Attrs, ins: tuple[Sizes, ...], names: Sequence[str]
) -> tuple[Sizes, ...]:
    """Shapes of weights from the data's."""
    rule = op.params
    if rule is None or not ins or (data := ins[0]) is None:
        return ins
    if complete(data):
        found = {n: s and known_sizes(s) for n, s in _guarded(rule, data, **attrs).items()}
    else:
        tried = _tried(lambda size: _guarded(rule, tuple(n or size for n in data), **attrs))
        if tried is None:
            return ins
        _, low, high = tried
        found = {n: _agreed(low[n], high[n]) for n in low}
    return tuple(
        merge(n, s, found[n]) if n in found else s for n, s in zip(names, ins, strict=True)
    )


def _agreed(first: Sizes, second: Sizes) -> Sizes:
    """Sizes that do not depend on the stand-in; 0 for those that do."""
    if first is None or second is None or len(first) != len(second):
        return None
    return tuple(a if a == b else 0 for a, b in zip(first, second, strict=True))


def _attempt(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    try:
        return fn(*args, **kwargs)
    except ModkitError:
        return None


def _tried(fn: Callable[[int], Any]) -> tuple[tuple[int, int], Any, Any] | None:
    """Two stand-ins and a function's results for them; ``None`` if it refuses all."""
    for small, large in _STAND_INS:
        low, high = _attempt(fn, small), _attempt(fn, large)
        if low is not None and high is not None:
            return (small, large), low, high
    return None


def _refine_partly(
    op: Op, params: Params, ins: tuple[Sizes, ...], outs: tuple[Sizes, ...]
) -> tuple[tuple[Sizes, ...], tuple[Sizes, ...]]:
    """Outputs whose sizes do not depend on the unknown ones, and inputs that outputs decide."""
    shapes = [s for s in ins if s is not None]
    trial = functools.partial(_trial, op, params, shapes)
    tried = _tried(lambda size: trial(size, {}))
    if tried is None:
        return ins, outs
    stand_ins, low, high = tried
    names = op.output_names(as_mapping(params))
    outs = merge_all(outs, [_agreed(a, b) for a, b in zip(low, high, strict=True)], names)
    if not _decides(low, high, outs):
        return ins, outs
    found = [list(s) for s in shapes]
    for i, shape in enumerate(shapes):
        for axis, size in enumerate(shape):
            if not size:
                found[i][axis] = _solve(trial, (i, axis), stand_ins, low, outs)
    return tuple(tuple(s) for s in found), outs


def _trial(
    op: Op,
    params: Params,
    shapes: Sequence[Shape],
    size: int,
    chosen: Mapping[tuple[int, int], int],
) -> tuple[Shape, ...]:
    """Output shapes with ``size`` for every unknown size, but for those that are ``chosen``."""
    trial = [
        tuple(n or chosen.get((i, axis), size) for axis, n in enumerate(shape))
        for i, shape in enumerate(shapes)
    ]
    if op.params is not None and 0 in shapes[0]:
        # A weight that is known would not fit a stand-in for the channels of the data.
        attrs = as_mapping(params)
        fitting = _guarded(op.params, trial[0], **attrs)
        trial = [fitting.get(n, t) for n, t in zip(op.input_names(attrs), trial, strict=True)]
    return _evaluate(op, params, tuple(trial))


def _decides(low: Sequence[Shape], high: Sequence[Shape], outs: Sequence[Sizes]) -> bool:
    """Whether a size of an output is known that depends on an unknown one of the inputs."""
    return any(
        out is not None
        and len(before) == len(after) == len(out)
        and any(size and b != a for b, a, size in zip(before, after, out, strict=True))
        for before, after, out in zip(low, high, outs, strict=True)
    )


def _solve(
    trial: Callable[..., Any],
    unknown: tuple[int, int],
    stand_ins: tuple[int, int],
    low: Sequence[Shape],
    outs: Sequence[Sizes],
) -> int:
    """One unknown size from a known output size that grows with it one for one; 0 if none does."""
    small, large = stand_ins
    moved = _attempt(trial, small, {unknown: large})
    if moved is None:
        return 0
    for before, after, out in zip(low, moved, outs, strict=True):
        if out is None or not len(before) == len(after) == len(out):
            continue
        for b, a, size in zip(before, after, out, strict=True):
            if size and a - b == large - small and size - (b - small) > 0:
                return size - (b - small)
    return 0


@functools.lru_cache(maxsize=8192)
def _evaluate(op: Op, params: Params, ins: tuple[Shape, ...]) -> tuple[Shape, ...]:
    """Output shapes for complete input shapes, traced; ShapeError if the operator refuses."""
    try:
        return _trace(op, params, ins, [np.float32] * len(ins))
    except DTypeError:
        # Operators on 8 bits say by their rule of types which inputs have others.
        if op.dtypes is None:
            raise
        types = op.dtypes([None] * len(ins), as_mapping(params))[0]
        return _trace(op, params, ins, [each or np.int8 for each in types])
    except ShapeError as refusal:
        # Operators on whole numbers only (bit operations, say) refuse floats whatever the shape.
        if isinstance(refusal.__cause__, TypeError):
            with contextlib.suppress(ShapeError):
                return _trace(op, params, ins, [np.int32] * len(ins))
        raise


def _trace(
    op: Op, params: Params, ins: tuple[Shape, ...], types: Sequence[Any]
) -> tuple[Shape, ...]:
    attrs = as_mapping(params)
    for name, shape in zip(op.input_names(attrs), ins, strict=True):
        check_elements(name, shape)
    specs = [jax.ShapeDtypeStruct(plain_sizes(s), t) for s, t in zip(ins, types, strict=True)]

    def call(arrays: Sequence[jax.Array]) -> Any:
        key = jax.random.key(0) if op.takes_key else None
        return op.call(arrays, attrs, key=key, train=True)[0]

    wide = op.makes_x64(attrs, len(ins)) or any(str(np.dtype(t)) in WIDE for t in types)
    with jax.enable_x64(True) if wide else contextlib.nullcontext():
        _, made = _guarded(jaxpr_for_numpy, call, specs)
    return tuple(known_sizes(out.shape) for out in made)

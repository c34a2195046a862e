"""Eager calls: one operator, compiled once per set of parameters, over arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax

from modkit import stream
from modkit.cache import Eager
from modkit.errors import ModkitError, ParameterError
from modkit.ndarray.cell import needs_x64, x64_scope
from modkit.ops import dtype_inference, shape_inference
from modkit.ops.registry import Op
from modkit.tuning.seam import current


@functools.lru_cache(maxsize=4096)
def _compiled(
    op: Op, fixed: tuple[tuple[str, Any], ...], names: tuple[str, ...], train: bool
) -> Callable:
    """The operator as a compiled function of arrays, a key and the traced parameters ``names``."""

    def run(arrays: Sequence[jax.Array], key_data: Any, numbers: Sequence[float]) -> Any:
        attrs = {**dict(fixed), **dict(zip(names, numbers, strict=True))}
        key = stream.as_key(key_data) if op.takes_key else None
        results = op.call(arrays, attrs, key=key, train=train, fn=current().form(op))
        # Runs while tracing, once for a signature. The operator's own errors come first.
        _check(op, arrays, attrs)
        return results

    run.__name__ = op.name
    return Eager(run)


def _check(op: Op, arrays: Sequence[jax.Array], attrs: Mapping[str, Any]) -> None:
    """Check inputs by the inference rules of bound symbols.

    Raises:
        ShapeError: the shapes break a rule of the operator.
        DTypeError: the element types do.
    """
    ins = tuple(tuple(a.shape) for a in arrays)
    types = tuple(str(a.dtype) for a in arrays)
    names, unknown = op.input_names(attrs), (None,) * len(op.output_names(attrs))
    try:
        if len(names) != len(ins):
            raise ParameterError(
                f"got {len(ins)} inputs, expected {len(names)}: {', '.join(names)}"
            )
        shape_inference.by_rules(op, attrs, ins, unknown)
        dtype_inference.by_rules(op, attrs, types, unknown)
    except ModkitError as error:
        got = ", ".join(f"{t}{list(s)}" for t, s in zip(types, ins, strict=True))
        raise type(error)(f"{op.name}({got}): {error}") from error


class Call(NamedTuple):
    """An operator with its parameters.

    Attributes:
        fn: the compiled function of arrays, ``key_data`` and ``numbers``.
        key_data: key data, or ``None``.
        numbers: the traced parameters.
        needs_x64: whether it runs in an enable_x64 scope.
        predicting: for an operator with auxiliary states in training mode, the same in
            prediction mode.
    """

    fn: Callable[..., Any]
    key_data: Any
    numbers: list[Any]
    needs_x64: bool
    predicting: Callable[..., Any] | None = None


def prepared(op: Op, arrays: Sequence[jax.Array], attrs: Mapping[str, Any], train: bool) -> Call:
    """An operator with parsed attributes, ready to run on arrays; draws its key data."""
    # Beyond 2²⁴ a float32 argument would round the value for an integer array.
    names = tuple(n for n in op.traced() if _fits(attrs[n]))
    fixed = tuple(sorted((n, v) for n, v in attrs.items() if n not in names))
    return Call(
        fn=_compiled(op, fixed, names, train and op.takes_train),
        key_data=stream.draw() if op.takes_key else None,
        numbers=[attrs[n] for n in names],
        needs_x64=needs_x64(*(a.dtype for a in arrays), *_result_types(op, arrays, attrs)),
        predicting=_compiled(op, fixed, names, False) if train and op.aux else None,
    )


def run_op(op: Op, arrays: Sequence[jax.Array], attrs: Mapping[str, Any]) -> tuple[jax.Array, ...]:
    """Run an operator on arrays with parsed attributes; visible outputs only. See `run_whole`."""
    return run_whole(op, arrays, attrs)[0]


def run_whole(
    op: Op, arrays: Sequence[jax.Array], attrs: Mapping[str, Any], train: bool = False
) -> tuple[tuple[jax.Array, ...], dict[str, jax.Array], Call]:
    """Run an operator on arrays with parsed attributes.

    Returns:
        The visible outputs, the new values of inputs that the operator changes, by name, and the
        call that computes both again.

    Raises:
        ModkitError: the operator rejects these shapes or types; the error names both.
    """
    call = prepared(op, arrays, attrs, train)
    try:
        if op.check_values is not None:
            op.check_values(arrays, attrs)
        with x64_scope(call.needs_x64):
            outputs, changed = call.fn(list(arrays), call.key_data, call.numbers)
    except ModkitError:
        raise
    except (TypeError, ValueError, IndexError, ZeroDivisionError) as error:
        got = ", ".join(f"{a.dtype}{list(a.shape)}" for a in arrays)
        raise _blame(error, f"{op.name}({got}): {error}") from error
    return outputs[: op.visible_outputs(attrs)], changed, call


def _fits(number: Any) -> bool:
    """Whether float32 holds a number, or all numbers of a tuple, without rounding integers."""
    numbers = number if isinstance(number, tuple) else (number,)
    return not any(abs(n) >= 2**24 for n in numbers)


def _result_types(
    op: Op, arrays: Sequence[jax.Array], attrs: Mapping[str, Any]
) -> Sequence[str | None]:
    """Element types of the outputs that are not decided by those of the inputs."""
    if op.dtypes is None:
        return (attrs.get("dtype"),)
    return op.dtypes([str(a.dtype) for a in arrays], attrs)[1]


def _blame(error: Exception, message: str) -> ModkitError:
    """A modkit error that is also of the built-in class of ``error``."""
    from_class = type(error)
    name = f"Operator{from_class.__name__}"
    return _error_class(name, from_class)(message)


@functools.cache
def _error_class(name: str, builtin: type[Exception]) -> type[ModkitError]:
    return type(name, (ModkitError, builtin), {"__doc__": "An operator refused its inputs."})

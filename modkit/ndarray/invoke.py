"""Eager calls: one operator, compiled once per set of parameters, over arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax

from modkit import stream
from modkit.errors import ModkitError
from modkit.ndarray.cell import wide
from modkit.ops.registry import Op


@functools.lru_cache(maxsize=4096)
def _compiled(op: Op, fixed: tuple[tuple[str, Any], ...], names: tuple[str, ...]) -> Callable:
    """The operator as a compiled function of arrays, a key and the traced parameters ``names``."""

    def run(arrays: Sequence[jax.Array], words: Any, numbers: Sequence[float]) -> Any:
        attrs = {**dict(fixed), **dict(zip(names, numbers, strict=True))}
        key = stream.as_key(words) if op.takes_key else None
        return op.call(arrays, attrs, key=key)

    run.__name__ = op.name
    return jax.jit(run)


def run_op(op: Op, arrays: Sequence[jax.Array], attrs: Mapping[str, Any]) -> tuple[jax.Array, ...]:
    """Run an operator on arrays with parsed attributes; visible outputs only. See `run_whole`."""
    return run_whole(op, arrays, attrs)[0]


def run_whole(
    op: Op, arrays: Sequence[jax.Array], attrs: Mapping[str, Any]
) -> tuple[tuple[jax.Array, ...], dict[str, jax.Array]]:
    """Run an operator on arrays with parsed attributes.

    Returns:
        The visible outputs, and the new values of inputs that the operator changes, by name.

    Raises:
        ModkitError: the operator refuses these shapes or types; names it and what it got.
    """
    # Beyond 2²⁴ a float32 argument would round what is meant for a whole-number array.
    names = tuple(n for n in op.traced() if _fits(attrs[n]))
    fixed = tuple(sorted((n, v) for n, v in attrs.items() if n not in names))
    numbers = [attrs[n] for n in names]
    words = stream.draw() if op.takes_key else None
    try:
        with wide(*(a.dtype for a in arrays), *_result_types(op, arrays, attrs)):
            outputs, changed = _compiled(op, fixed, names)(list(arrays), words, numbers)
    except ModkitError:
        raise
    except (TypeError, ValueError, IndexError, ZeroDivisionError) as error:
        shapes = ", ".join(f"{a.dtype}{list(a.shape)}" for a in arrays)
        raise _blame(error, f"{op.name}({shapes}): {error}") from error
    return outputs[: op.visible_outputs(attrs)], changed


def _fits(number: Any) -> bool:
    """Whether float32 arguments hold a number, or all of a tuple, without rounding a whole one."""
    numbers = number if isinstance(number, tuple) else (number,)
    return not any(abs(n) >= 2**24 for n in numbers)


def _result_types(
    op: Op, arrays: Sequence[jax.Array], attrs: Mapping[str, Any]
) -> Sequence[str | None]:
    """Element types of the outputs, where something else than the inputs' types decides them."""
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

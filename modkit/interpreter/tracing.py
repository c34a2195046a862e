"""Traces that NumPy is to run."""

from __future__ import annotations

import contextlib
import functools
import importlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
from jax.core import ShapedArray, Trace
from jax.interpreters.partial_eval import trace_to_jaxpr_dynamic


class _Trace(threading.local):
    for_numpy = False


_trace = _Trace()


@contextlib.contextmanager
def for_numpy(is_so: bool = True) -> Iterator[None]:
    """A block that traces functions under `jax.jit` as their primitives, and CPU forms alone.

    With ``False``, a block of a trace for XLA, wherever it stands.

    A function of JAX's that is compiled by itself, such as `jax.numpy.where`, would be a jaxpr in
    the jaxpr: differentiating that takes twice the time, and JAX keeps each. `jax.disable_jit`
    also unrolls loops, except for those of `modkit.ops.loops`.
    """
    before, _trace.for_numpy = _trace.for_numpy, is_so
    try:
        with jax.disable_jit(is_so):
            yield
    finally:
        _trace.for_numpy = before


@functools.cache
def _extend() -> Any:
    """JAX's modules for extensions, which take 20 ms to import: not before the first trace."""
    return importlib.import_module("jax.extend")


def within(trace: Any) -> contextlib.AbstractContextManager[None]:
    """A block that runs primitives in a trace."""
    return _extend().core.set_current_trace(trace)


def outside() -> contextlib.AbstractContextManager[Any]:
    """A block outside of the present trace, which it yields."""
    return _extend().core.take_current_trace()


class Passing(Trace):
    """Runs primitives in the trace around it, and functions as if they had no own derivatives.

    These are for differentiation, and what differentiates stands inside of this trace.
    """

    def __init__(self, parent: Any):
        super().__init__()
        self.requires_low = False
        self.parent_trace = parent

    def stage_value(self, val: Any) -> Any:
        """For JAX: a value as one of the trace."""
        return self.parent_trace.stage_value(val)

    def process_primitive(self, primitive: Any, tracers: Sequence[Any], params: Any, /) -> Any:
        """For JAX: the result of a primitive."""
        return self.parent_trace.process_primitive(primitive, tracers, params)

    def process_custom_jvp_call(self, primitive: Any, fun: Any, *rest: Any, **params: Any) -> Any:
        """For JAX: the results of a function with a derivative of its own."""
        del primitive, params
        with within(self):
            return fun.call_wrapped(*rest[-1])

    process_custom_vjp_call = process_custom_jvp_call


def jaxpr_for_numpy(fn: Callable[..., Any], *args: Any) -> Any:
    """The jaxpr of a function for NumPy, and the structure of its results with their avals.

    `jax.make_jaxpr` takes 0.3 ms more.
    """
    leaves, layout = jax.tree.flatten(args)
    avals_in = [x if isinstance(x, ShapedArray) else jax.typeof(x) for x in leaves]
    structure: Any = None

    def run(*values: Any) -> list[Any]:
        nonlocal structure
        with outside() as parent, within(Passing(parent)):
            made, structure = jax.tree.flatten(fn(*jax.tree.unflatten(layout, values)))
        return made

    extend = _extend()
    source = extend.core.DebugInfo("for NumPy", "a function for NumPy", None, None)
    with for_numpy():
        jaxpr, avals, consts = trace_to_jaxpr_dynamic(
            extend.linear_util.wrap_init(run, debug_info=source), avals_in
        )
    return extend.core.ClosedJaxpr(jaxpr, consts), jax.tree.unflatten(structure, avals)


def is_for_numpy() -> bool:
    """Whether the present trace is one that NumPy is to run."""
    return _trace.for_numpy


def platform_dependent(*args: Any, cpu: Callable[..., Any], default: Callable[..., Any]) -> Any:
    """`jax.lax.platform_dependent`; in a trace for NumPy the form for CPUs alone."""
    if is_for_numpy():
        return cpu(*args)
    return jax.lax.platform_dependent(*args, cpu=cpu, default=default)

"""Custom: an operator that a user wrote in Python, called from inside compiled programs."""

from __future__ import annotations

import contextlib
import functools
import itertools
import logging
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_derivatives import SymbolicZero
from jax.experimental import io_callback

from modkit.errors import (
    DTypeError,
    ModkitError,
    MXNetError,
    NameNotFoundError,
    NotSupportedError,
    ParameterError,
    ShapeError,
    nearest,
)
from modkit.ops.dtypes import WIDE
from modkit.ops.entry import Op
from modkit.ops.nn.batch_norm import REPLICAS, mapped_over
from modkit.ops.parameters import Attrs, Shape
from modkit.ops.partial_shapes import NONE_LEFT, Sizes
from modkit.ops.registry import op
from modkit.ops.stype import Storage

Host = list[np.ndarray]
Arrays = Sequence[Any]
"""Arrays of NumPy, or NDArrays, which `numpy.asarray` takes."""


class Bridge(Protocol):
    """Interface between the registry and a user's operator, implemented by `modkit.operator`."""

    arguments: tuple[str, ...]
    outputs: tuple[str, ...]
    aux: tuple[str, ...]
    need_top_grad: bool

    def infer_shape(self, shapes: Sequence[Sequence[int]]) -> tuple[list[Shape], ...]:
        """Shapes of arguments, outputs and auxiliary states from those of the arguments."""
        ...

    def infer_type(self, dtypes: Sequence[Any]) -> tuple[list[str | None], ...]:
        """Names of the element types of arguments, outputs and auxiliary states."""
        ...

    def require_fit(self, shapes: Sequence[Shape]) -> None:
        """Check shapes of arguments and auxiliary states."""
        ...

    def storage(self, stypes: Sequence[str]) -> Sequence[Sequence[str]]:
        """Storage types of arguments, outputs and auxiliary states; see `Op.output_stypes`."""
        ...

    def own(self, node: str, stypes: Sequence[str]) -> Bridge:
        """A bridge for one node, which shares no instance of the user's operator; see `Op.own`."""
        ...

    def renew(self) -> None:
        """Drop the instances of the user's operator; later calls make new ones."""
        ...

    def forward(
        self, replica: int, train: bool, data: Arrays, aux: Arrays
    ) -> tuple[Arrays, Arrays]:
        """The outputs, and the new auxiliary states, as NDArrays."""
        ...

    def backward(
        self,
        replica: int,
        wanted: Sequence[bool],
        heads: Arrays,
        data: Arrays,
        outputs: Arrays,
        aux: Arrays,
    ) -> tuple[Arrays, Arrays]:
        """The gradients of the arguments, and the new auxiliary states, as NDArrays.

        Args:
            replica: number of the replica, each of which has its own instance.
            wanted: for each argument, whether its gradient is used.
            heads: gradients of the outputs.
            outputs: what `forward` gave.
            aux: the auxiliary states after `forward`.
        """
        ...


Maker = Callable[[Mapping[str, str]], Bridge]

MAKERS: dict[str, Maker] = {}
"""By ``op_type``; filled by ``mx.operator.register``."""


@functools.lru_cache(maxsize=4096)
def _made(maker: Maker, params: tuple[tuple[str, str], ...]) -> Bridge:
    return maker(dict(params))


class CustomOperator(Op):
    """The operator ``Custom``, whose inputs, outputs and parameters its ``op_type`` decides."""

    on_host = True

    def takes(self, name: str) -> bool:
        """Any name but those of the form ``__x__``."""
        return not name.startswith("__")

    def is_known(self, attrs: Attrs) -> bool:
        """True if an operator of this name is registered."""
        return attrs.get("op_type") in MAKERS

    def parse(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """``op_type``, the other parameters as strings, and the ``bridge`` that they make."""
        if not given.get("op_type"):
            hints = [f"; got {n!r}.{hint}" for n in given if (hint := nearest(n, ["op_type"]))]
            raise ParameterError(
                f"Custom: required parameter 'op_type' is missing{''.join(hints[:1])}"
            )
        params = {name: str(value) for name, value in given.items()}
        op_type = params["op_type"]
        if op_type not in MAKERS:
            raise NameNotFoundError(
                f"Custom: operator {op_type!r} is not registered.{nearest(op_type, MAKERS)} Import "
                "the module that calls mx.operator.register for it first"
            )
        rest = tuple(sorted((n, v) for n, v in params.items() if n != "op_type"))
        return {**params, "bridge": _made(MAKERS[op_type], rest)}

    def makes_x64(self, attrs: Attrs, count: int) -> bool:
        """See `Op.makes_x64`: from inputs of float32."""
        bridge: Bridge = attrs["bridge"]
        with contextlib.suppress(Exception):  # inference raises it again
            found = bridge.infer_type([np.float32] * len(bridge.arguments))
            return any(t in WIDE for part in found for t in part)
        return super().makes_x64(attrs, count)

    def own(self, attrs: Attrs, name: str, stypes: Sequence[str]) -> Mapping[str, Any]:
        """See `Op.own`: a bridge with instances of its own."""
        return {**attrs, "bridge": attrs["bridge"].own(name, stypes)}

    def output_stypes(self, attrs: Attrs, stypes: Sequence[str]) -> Sequence[str]:
        """See `Op.output_stypes`: those that the user's operator infers."""
        return attrs["bridge"].storage(stypes)[1]

    def renew(self, attrs: Attrs) -> None:
        """See `Op.renew`: the bridge gets new instances."""
        attrs["bridge"].renew()

    @property
    def may_have_aux(self) -> bool:
        return True

    def aux_names(self, attrs: Attrs) -> Sequence[str]:
        """Those of the user's operator."""
        return attrs["bridge"].aux

    def call(
        self,
        arrays: Sequence[Any],
        attrs: Attrs,
        *,
        key: Any = None,
        train: bool = False,
        fn: Callable[..., Any] | None = None,
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        bridge: Bridge = attrs["bridge"]
        count = len(bridge.arguments)
        replica = jax.lax.axis_index(REPLICAS) if REPLICAS in mapped_over() else 0
        data, aux = tuple(arrays[:count]), tuple(arrays[count:])
        result: Any = _traced(bridge, train, replica, data, aux)
        outputs, new_aux = result
        return tuple(outputs), dict(zip(bridge.aux, new_aux, strict=True))


# ── Calling ─────────────────────────────────────────────────────────────────────────────────


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def _traced(bridge: Bridge, train: bool, replica: Any, data: Any, aux: Any) -> Any:
    """Outputs and new auxiliary states, computed on the host when the program runs.

    ``io_callback`` runs exactly once a run of the program, which operators with state need;
    ``pure_callback`` may be left out or repeated.
    """
    shapes = bridge.infer_shape([x.shape for x in data])
    dtypes = bridge.infer_type([x.dtype for x in data])
    specs = [
        jax.ShapeDtypeStruct(s, np.dtype(t)) for s, t in zip(shapes[1], dtypes[1], strict=True)
    ]

    def run(replica: Any, data: Any, aux: Any) -> Any:
        with _noted():
            outputs, states = bridge.forward(int(replica), train, _host(data), _host(aux))
            return _host(outputs), _host(states)

    return io_callback(run, (specs, _specs(aux)), replica, data, aux)


def _forward(bridge: Bridge, train: bool, replica: Any, data: Any, aux: Any) -> Any:
    # Empty trees: which arguments have gradients is known while tracing, not an array.
    wanted = [() if x.perturbed else None for x in data]
    replica, data, aux = jax.tree.map(lambda x: x.value, (replica, data, aux))
    result: Any = _traced(bridge, train, replica, data, aux)
    return result, (replica, data, *result, wanted)


def _backward(bridge: Bridge, train: bool, saved: Any, heads: Any) -> Any:
    """Gradients of the arguments; in place of those of the states, the states themselves.

    The cotangent of a new state is its value before `backward`, that of the old state the value
    after it: so states pass through the nodes in the order in which these run.
    """
    replica, data, outputs, aux, marks = saved
    wanted = [mark is not None for mark in marks]
    aux = [a if _is_zero(h) else h for a, h in zip(aux, heads[1], strict=True)]
    if not any(wanted) or all(map(_is_zero, heads[0])):
        return None, None, _tangents(aux)

    def run(replica: Any, heads: Any, data: Any, outputs: Any, aux: Any) -> Any:
        with _noted():
            arrays = list(map(_host, (heads, data, outputs, aux)))
            grads, states = map(_host, bridge.backward(int(replica), wanted, *arrays))
            _require_kept(bridge.aux, arrays[-1], states)
            return grads, states

    given = [
        jnp.zeros_like(y) if _is_zero(h) else h for y, h in zip(outputs, heads[0], strict=True)
    ]
    specs = _specs(data), _specs(aux)
    grads, states = io_callback(run, specs, replica, given, data, outputs, aux)
    return None, _tangents(grads), _tangents(states)


_traced.defvjp(_forward, _backward, symbolic_zeros=True)


def _require_kept(names: Sequence[str], before: Host, after: Host) -> None:
    """Raise NotSupportedError where `backward` has written integers, which have no cotangents."""
    for name, old, new in zip(names, before, after, strict=True):
        if not np.issubdtype(old.dtype, np.inexact) and (old != new).any():
            raise NotSupportedError(
                f"auxiliary state {name!r} of dtype {old.dtype}: backward has written it, which "
                "only floating point states allow: declare it as float32 in infer_type, or write "
                "it in forward"
            )


def _is_zero(cotangent: Any) -> bool:
    """Whether nothing depends on the value, or its type has no gradients."""
    return isinstance(cotangent, SymbolicZero) or cotangent.dtype == jax.dtypes.float0


def _tangents(values: Sequence[Any]) -> tuple[Any, ...]:
    """The values as cotangents: ``None`` for integers."""
    return tuple(x if np.issubdtype(x.dtype, np.inexact) else None for x in values)


def _specs(arrays: Sequence[Any]) -> list[jax.ShapeDtypeStruct]:
    return [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in arrays]


class CallbackError(ModkitError, RuntimeError):
    """An exception in a user's operator; while a program runs, JAX passes on only its text."""


_raised: OrderedDict[str, Exception] = OrderedDict()
"""The latest exceptions of users' operators, by the mark that `CallbackError` has in its text."""

_marks = itertools.count()


@contextlib.contextmanager
def _noted() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        mark = f"[callback {next(_marks)}]"
        _raised[mark] = error
        while len(_raised) > 64:
            _raised.popitem(last=False)
        raise CallbackError(f"{type(error).__name__}: {error} {mark}") from error


def raised_by_callback(error: Exception) -> Exception | None:
    """The exception of a user's operator that the runtime reports by ``error``, if it does."""
    found = re.search(r"\[callback \d+\]", str(error))
    return _raised.pop(found.group(), None) if found else None


# Without JAX's log record of an exception of a user's operator, which is raised.
logging.getLogger(io_callback.__module__).addFilter(
    lambda record: not (record.exc_info and isinstance(record.exc_info[1], CallbackError))
)


def _host(arrays: Sequence[Any]) -> Host:
    return [np.asarray(a) for a in arrays]


# ── Inference ───────────────────────────────────────────────────────────────────────────────


class Blamed:
    """A block that raises a user's exceptions as errors of one kind, but those of ``passed``.

    No ``contextmanager``: that lets a StopIteration of the block pass as it is.
    """

    def __init__(self, where: str, kind: type[ModkitError], passed: Any = MXNetError):
        self._where, self._kind, self._passed = where, kind, passed

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if isinstance(error, Exception) and not isinstance(error, self._passed):
            raise self._kind(f"{self._where} raised {type(error).__name__}: {error}") from error


def _shapes(ins: Sequence[Any], outs: Sequence[Any], attrs: Attrs) -> Any:
    """The user's rule, which gets ``[]`` for a shape that is not known, and -1 for a size."""
    bridge: Bridge = attrs["bridge"]
    given = ins[: len(bridge.arguments)]
    with Blamed("infer_shape", ShapeError):
        found = bridge.infer_shape([tuple(int(n) if n else -1 for n in s or ()) for s in given])
    empty = any(NONE_LEFT in s for s in given if s)

    def read(shape: Shape) -> Sizes:
        """A shape that the rule returned; 0 and () are known ones only where inputs have such."""
        sizes = tuple(NONE_LEFT if n == 0 and empty else max(n, 0) for n in shape)
        return sizes if sizes or () in given else None

    sized = [[read(s) for s in part] for part in found]
    if None in given:
        # A rule that copies an unknown shape says nothing about it.
        sized[1] = [s if s and 0 not in s else None for s in sized[1]]
    return [*sized[0], *sized[2]], sized[1]


def _dtypes(ins: Sequence[str | None], attrs: Attrs) -> Any:
    bridge: Bridge = attrs["bridge"]
    given = ins[: len(bridge.arguments)]
    if given and given[0] is None:
        return list(ins), [None] * len(bridge.outputs)
    with Blamed("infer_type", DTypeError):
        found = bridge.infer_type([None if t is None else np.dtype(t) for t in given])
    return [*found[0], *found[2]], found[1]


@op(
    "Custom",
    precision="float32",
    names=lambda attrs: [*attrs["bridge"].arguments, *attrs["bridge"].aux],
    outputs=lambda attrs: attrs["bridge"].outputs,
    partial=_shapes,
    dtypes=_dtypes,
    gradient=lambda attrs: "added" if attrs["bridge"].need_top_grad else "loss",
    kind=CustomOperator,
    storage=Storage(from_dense=True),
)
def custom(*, op_type: str) -> Any:
    """An operator written in Python: a `modkit.operator.CustomOp`.

    Args:
        op_type: the name it was registered under. Its other parameters are taken by name, as
            strings; its inputs by position or by name.

    Differs: the Python code runs on the host, on CPU arrays, also where the graph runs on another
    device.
    """
    raise MXNetError(f"Custom: {op_type!r} is called through its schema")

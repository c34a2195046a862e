"""Custom: an operator that a user wrote in Python, called from inside compiled programs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import jax
import numpy as np

from modkit.errors import MXNetError, NameNotFoundError, ParameterError, ShapeError, nearest
from modkit.ops.registry import OPS, Op, Shape, op

Host = list[np.ndarray]


class Bridge(Protocol):
    """What `modkit.operator` makes of a user's operator with its parameters."""

    arguments: tuple[str, ...]
    outputs: tuple[str, ...]
    aux: tuple[str, ...]
    need_top_grad: bool

    def infer_shape(self, shapes: Sequence[Sequence[int]]) -> tuple[list[Shape], ...]:
        """Shapes of arguments, outputs and auxiliary states from those of the arguments."""
        ...

    def infer_type(self, dtypes: Sequence[Any]) -> tuple[list[str], ...]:
        """Names of the element types of arguments, outputs and auxiliary states."""
        ...

    def forward(self, train: bool, data: Host, aux: Host) -> tuple[Host, Host]:
        """The outputs, and the new auxiliary states."""
        ...

    def backward(self, heads: Host, data: Host, outputs: Host, aux: Host) -> Host:
        """The gradients of the arguments."""
        ...


Maker = Callable[[Mapping[str, str]], Bridge]

MAKERS: dict[str, Maker] = {}
"""By ``op_type``; filled by ``mx.operator.register``."""


@functools.lru_cache(maxsize=4096)
def _made(maker: Maker, params: tuple[tuple[str, str], ...]) -> Bridge:
    return maker(dict(params))


class CustomOp(Op):
    """The operator ``Custom``, whose inputs, outputs and parameters its ``op_type`` decides."""

    def takes(self, name: str) -> bool:
        """Any name but those of the form ``__x__``."""
        return not name.startswith("__")

    def is_known(self, attrs: Mapping[str, Any]) -> bool:
        """Whether somebody has registered it."""
        return attrs.get("op_type") in MAKERS

    def parse(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """``op_type``, the other parameters as strings, and the ``bridge`` that they make."""
        if not given.get("op_type"):
            raise ParameterError("Custom: required parameter 'op_type' is missing")
        params = {name: str(value) for name, value in given.items()}
        op_type = params["op_type"]
        if op_type not in MAKERS:
            raise NameNotFoundError(
                f"Custom: operator {op_type!r} is not registered.{nearest(op_type, MAKERS)} Import "
                "the module that calls mx.operator.register for it first"
            )
        rest = tuple(sorted((n, v) for n, v in params.items() if n != "op_type"))
        return {**params, "bridge": _made(MAKERS[op_type], rest)}

    @property
    def on_host(self) -> bool:
        """Yes."""
        return True

    @property
    def may_have_aux(self) -> bool:
        """Yes."""
        return True

    def aux_names(self, attrs: Mapping[str, Any]) -> Sequence[str]:
        """Those of the user's operator."""
        return attrs["bridge"].aux

    def is_loss(self, attrs: Mapping[str, Any]) -> bool:
        """Whether the user's operator needs no gradient of its output."""
        return not attrs["bridge"].need_top_grad

    def call(
        self,
        arrays: Sequence[Any],
        attrs: Mapping[str, Any],
        *,
        key: Any = None,
        train: bool = False,
        fn: Callable[..., Any] | None = None,
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """See `Op.call`."""
        del key, fn
        bridge: Bridge = attrs["bridge"]
        count = len(bridge.arguments)
        result: Any = _traced(bridge, train, tuple(arrays[:count]), tuple(arrays[count:]))
        outputs, new_aux = result
        changed = dict(zip(bridge.aux, new_aux, strict=True)) if train else {}
        return tuple(outputs), changed


# ── Calling ─────────────────────────────────────────────────────────────────────────────────


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def _traced(bridge: Bridge, train: bool, data: Any, aux: Any) -> Any:
    """Outputs and new auxiliary states, computed on the host when the program runs."""
    shapes = bridge.infer_shape([x.shape for x in data])
    dtypes = bridge.infer_type([x.dtype for x in data])
    specs = [
        jax.ShapeDtypeStruct(s, np.dtype(t)) for s, t in zip(shapes[1], dtypes[1], strict=True)
    ]
    kept = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in aux]

    def run(data: Any, aux: Any) -> Any:
        return bridge.forward(train, _host(data), _host(aux))

    result: Any = (specs, kept)
    return jax.pure_callback(run, result, data, aux, vmap_method="sequential")


def _forward(bridge: Bridge, train: bool, data: Any, aux: Any) -> Any:
    result: Any = _traced(bridge, train, data, aux)
    return result, (data, *result)


def _backward(bridge: Bridge, train: bool, saved: Any, heads: Any) -> Any:
    del train
    data, outputs, aux = saved
    specs = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in data]

    def run(heads: Any, data: Any, outputs: Any, aux: Any) -> Any:
        return bridge.backward(_host(heads), _host(data), _host(outputs), _host(aux))

    grads: Any = jax.pure_callback(
        run, specs, heads[0], data, outputs, aux, vmap_method="sequential"
    )
    whole = [np.issubdtype(x.dtype, np.inexact) for x in data]
    return tuple(g if w else None for g, w in zip(grads, whole, strict=True)), None


_traced.defvjp(_forward, _backward)


def _host(arrays: Sequence[Any]) -> Host:
    return [np.asarray(a) for a in arrays]


# ── Inference ───────────────────────────────────────────────────────────────────────────────


def _shapes(ins: Sequence[Any], outs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """The user's rule; where shapes are missing that it needs, nothing follows yet."""
    bridge: Bridge = attrs["bridge"]
    count = len(bridge.arguments)
    given = ins[:count]
    known = all(s is not None and 0 not in s for s in given)
    try:
        found = bridge.infer_shape([() if s is None else s for s in given])
    except MXNetError:
        raise
    except Exception as error:
        if known:
            raise ShapeError(f"infer_shape raised {type(error).__name__}: {error}") from error
        return ins, outs
    sized = [[tuple(s) or None for s in part] for part in found]
    if not known and None in given:
        # A rule that copies an unknown shape says nothing about it.
        sized[1] = [s if s and 0 not in s else None for s in sized[1]]
    return [*sized[0], *sized[2]], sized[1]


def _dtypes(ins: Sequence[str | None], attrs: Mapping[str, Any]) -> Any:
    bridge: Bridge = attrs["bridge"]
    given = ins[: len(bridge.arguments)]
    if given and given[0] is None:
        return list(ins), [None] * len(bridge.outputs)
    found = bridge.infer_type([None if t is None else np.dtype(t) for t in given])
    return [*found[0], *found[2]], found[1]


@op(
    "Custom",
    names=lambda attrs: [*attrs["bridge"].arguments, *attrs["bridge"].aux],
    outputs=lambda attrs: attrs["bridge"].outputs,
    partial=_shapes,
    dtypes=_dtypes,
)
def custom(*, op_type: str) -> Any:
    """An operator written in Python: a `modkit.operator.CustomOp`.

    Args:
        op_type: the name it was registered under. Its other parameters are taken by name, as
            strings; its inputs by position or by name.

    Differs:
        The Python code runs on the host, on CPU arrays, also where the graph runs on another
        device. Executors of equal graphs share one instance of it.
    """
    raise MXNetError(f"Custom: {op_type!r} is called through its schema")


_entry = OPS["Custom"]
OPS["Custom"] = CustomOp(**{f: getattr(_entry, f) for f in Op.__dataclass_fields__})

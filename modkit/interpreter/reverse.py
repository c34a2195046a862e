"""Reverse-mode differentiation of traces for NumPy, primitive by primitive.

`jax.vjp` linearizes each primitive by a trace of its own and transposes the linear program, which
takes several times the trace of the function. Here the function runs once; the primitives that read
a differentiated value are recorded, and the pullback applies JAX's own rules of them in reverse.
`jax.vjp` differentiates primitives that no table below names, loops and branches among them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import lax
from jax.core import ShapedArray, Trace, Tracer
from jax.interpreters import ad

from modkit.interpreter.tracing import (
    Lister,
    Value,
    filled,
    is_for_numpy,
    jaxpr_for_numpy,
    outside,
    within,
)


def vjp(fn: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """`jax.vjp`, which is quicker to trace where the trace is for NumPy."""
    if not is_for_numpy() or not rules_are_known():
        return jax.vjp(fn, *primals, has_aux=has_aux)
    return recorded_vjp(fn, *primals, has_aux=has_aux)


@functools.cache
def rules_are_known() -> bool:
    """Whether this version of JAX calls rules of derivatives as this module does."""
    if jax.__version_info__ < (0, 13):
        return True  # the tests run on these; the probe takes 5 ms

    def probe(x: Any) -> Any:
        scaled = jax.custom_vjp(lambda x, y: x * y)
        scaled.defvjp(lambda x, y: (x * y, (x, -y)), lambda kept, given: (given * kept[1], None))
        raised = jax.custom_jvp(lambda x: x + 1)
        raised.defjvp(lambda primals, tangents: (raised(*primals), tangents[0] * 2))
        longest = lax.reduce_max(lax.sin(raised(x))[1:], (0,))
        return scaled(longest, longest), lax.sort(x)

    def slopes(x: Any) -> Any:
        made, pull = recorded_vjp(probe, x)
        return pull(made)

    try:
        with outside():
            _, (slope,) = jaxpr_for_numpy(slopes, ShapedArray((3,), np.float32))
    except Exception:  # whatever another version of JAX raises
        return False
    return slope.shape == (3,)


def recorded_vjp(fn: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """`jax.vjp` in a trace for NumPy, by the rules of this module."""
    leaves, layout = jax.tree.flatten(primals)
    with outside() as parent:
        recorder = Recorder(parent)
        inputs = [recorder.variable(x) for x in leaves]
        with within(recorder):
            made = fn(*jax.tree.unflatten(layout, inputs))
    made, aux = made if has_aux else (made, None)
    outputs, shown = jax.tree.flatten(made)
    values, ends = recorder.lowered(outputs)
    starts, avals = recorder.lowered(inputs)[1], list(map(jax.typeof, leaves))
    pull = recorder.pullback(layout, starts, avals, ends)
    made = jax.tree.unflatten(shown, values)
    if not has_aux:
        return made, pull
    return made, pull, jax.tree.map(lambda x: recorder.lowered([x])[0][0], aux)


Slots = Sequence[int | None]
"""By value, the number under which its cotangents are added; ``None`` for one without."""

Back = Callable[[Any, Sequence[Any]], Sequence[Any]]
"""From what the forward pass kept and the results' cotangents to those of the operands."""


class _Record(NamedTuple):
    """A primitive that read variables: slots of operands and results, and its pullback.

    The pullback reads zeros of these avals for results without a cotangent, ``None`` where it is.
    """

    ins: Slots
    outs: Slots
    avals: Sequence[Any]
    back: Back


@dataclass(frozen=True, eq=False)
class _Structure:
    """All of a pullback but its arrays, which programs may return; equal to itself alone.

    Attributes:
        records: in the order of the forward pass.
        kept: the tree of what each record kept, and its leaves: a `_Place`, or a constant.
        starts: slots of the primals, with their avals and the tree that they are in.
        ends: slots of the outputs.
    """

    records: Sequence[_Record]
    kept: tuple[Any, Sequence[Any]]
    starts: tuple[Any, Slots, Sequence[Any]]
    ends: Slots


class _Place(NamedTuple):
    """The position of a kept value among the arrays."""

    at: int


@jax.tree_util.register_pytree_node_class
class Pullback:
    """A function from cotangents of outputs to those of primals, as a tree of arrays."""

    def __init__(self, arrays: Sequence[Any], structure: _Structure):
        self._arrays, self._structure = arrays, structure

    def tree_flatten(self) -> tuple[Sequence[Any], _Structure]:
        """For JAX."""
        return self._arrays, self._structure

    @classmethod
    def tree_unflatten(cls, structure: _Structure, arrays: Sequence[Any]) -> Pullback:
        """For JAX."""
        return cls(arrays, structure)

    def __call__(self, cotangents: Any) -> Any:
        layout, _, avals = self._structure.starts
        found = self.sums(jax.tree.leaves(cotangents))
        return layout.unflatten(
            [_zeros(a) if x is None else x for x, a in zip(found, avals, strict=True)]
        )

    def sums(self, cotangents: Sequence[Any]) -> list[Any]:
        """The cotangents of the primals' arrays from those of the outputs'; ``None`` for zeros."""
        structure, sums = self._structure, _Sums()
        layout, leaves = structure.kept
        kept = [self._arrays[x.at] if isinstance(x, _Place) else x for x in leaves]
        sums.add(structure.ends, cotangents)
        for record, needed in zip(
            reversed(structure.records), reversed(layout.unflatten(kept)), strict=True
        ):
            if any(slot in sums for slot in record.outs):
                sums.add(record.ins, record.back(needed, sums.take(record.outs, record.avals)))
        starts = structure.starts[1]
        return sums.take(starts, [None] * len(starts))


class _Sums(dict[int | None, Any]):
    """Sums of cotangents by slot."""

    def add(self, slots: Slots, cotangents: Sequence[Any]) -> None:
        """Add cotangents; ``None`` and JAX's symbolic zeros add nothing."""
        for slot, value in zip(slots, cotangents, strict=True):
            if slot is not None and value is not None and type(value) is not ad.Zero:
                self[slot] = ad.add_jaxvals(self[slot], value) if slot in self else value

    def take(self, slots: Slots, avals: Sequence[Any]) -> list[Any]:
        """The sums of slots, which are used up; without one zeros, or ``None`` without an aval."""
        return [
            self.pop(slot) if slot in self else None if aval is None else _zeros(aval)
            for slot, aval in zip(slots, avals, strict=True)
        ]


@functools.lru_cache(maxsize=64)
def _is_inexact(dtype: Any) -> bool:
    return jax.numpy.issubdtype(dtype, np.inexact)


def _zeros(aval: Any) -> Any:
    """Zeros as the tangent or cotangent of a value."""
    if _is_inexact(aval.dtype):
        return filled(aval.shape, 0, aval.dtype)
    return np.zeros(aval.shape, jax.dtypes.float0)


class _Variable(Value):
    """A value with a slot for its cotangents."""

    __slots__ = ("slot", "value")

    def __init__(self, trace: Recorder, value: Any, slot: int):
        super().__init__(trace, jax.typeof(value))
        self.value, self.slot = value, slot


class Recorder(Trace):
    """Runs primitives in the trace around it, and records those that read variables."""

    def __init__(self, parent: Any):
        super().__init__()
        self.requires_low = False
        self.parent_trace = parent
        self._records: list[_Record] = []
        self._kept: list[Any] = []
        self._slots = 0

    def variable(self, value: Any, slot: int | None = None) -> Any:
        """A value with a slot, a new one by default; whole numbers have none."""
        if not _is_inexact(jax.typeof(value).dtype):
            return value
        self._slots += slot is None
        return _Variable(self, value, self._slots if slot is None else slot)

    def lowered(self, values: Sequence[Any]) -> tuple[list[Any], list[int | None]]:
        """Values of the trace around this one, and their slots."""
        lowered: list[Any] = []
        slots: list[int | None] = []
        for x in values:
            own = type(x) is _Variable and x._trace is self
            lowered.append(x.value if own else x)
            slots.append(x.slot if own else None)
        return lowered, slots

    def pullback(self, layout: Any, starts: Slots, avals: Sequence[Any], ends: Slots) -> Pullback:
        """The derivative of what was recorded; each array is kept once."""
        leaves, tree = jax.tree.flatten(self._kept)
        arrays = {id(x): x for x in leaves if isinstance(x, Tracer)}
        places = {each: _Place(at) for at, each in enumerate(arrays)}
        kept = tree, [places.get(id(x), x) for x in leaves]
        structure = _Structure(self._records, kept, (layout, starts, avals), ends)
        return Pullback(list(arrays.values()), structure)

    def stage_value(self, val: Any) -> Any:
        """For JAX: a value as one of the trace."""
        (value,), (slot,) = self.lowered([val])
        staged = self.parent_trace.stage_value(value)
        return staged if slot is None else self.variable(staged, slot)

    def process_primitive(self, primitive: Any, tracers: Sequence[Any], params: Any, /) -> Any:
        """For JAX: the result of a primitive."""
        values, slots = self.lowered(tracers)
        moving = [slot is not None for slot in slots]
        if primitive.name in _FLAT or not any(moving):
            return self.parent_trace.process_primitive(primitive, values, params)
        if primitive.name in _BY_TANGENTS and primitive in ad.primitive_jvps:
            rule = functools.partial(ad.primitive_jvps[primitive], **params)
            return self._by_tangents(lambda *args: [[y] for y in rule(*args)], values, slots)[0]
        if (found := _derivative(primitive, values, moving, params)) is None:
            with within(self.parent_trace):
                made, back, kept = _by_jax(primitive, values, moving, params)
        else:
            back, kept = found
            made = self.parent_trace.process_primitive(primitive, values, params)
        outputs = self.recorded(slots, made if primitive.multiple_results else [made], back, kept)
        return outputs if primitive.multiple_results else outputs[0]

    def recorded(
        self, ins: Slots, made: Sequence[Any], back: Back, kept: Any, *, zeros: bool = True
    ) -> list[Any]:
        """Results as variables, whose pullback reads zeros or ``None`` for missing cotangents."""
        outputs = list(map(self.variable, made))
        avals = [jax.typeof(x) if zeros else None for x in made]
        self._records.append(_Record(ins, self.lowered(outputs)[1], avals, back))
        self._kept.append(kept)
        return outputs

    def _by_tangents(
        self, rule: Callable[..., Any], values: Sequence[Any], slots: Slots
    ) -> list[Any]:
        """The results of a forward-mode rule, from operands and tangents to results and tangents.

        The rule is run on tangents of 0: as it is linear in them, its derivative is its transpose.
        """
        with within(self.parent_trace):
            zeros = [_zeros(jax.typeof(x)) for x in values]
        tangents = self._with_slots(zeros, slots)
        with within(self):
            made, tangents = rule(values, tangents)
        return self._with_slots(made, self.lowered(tangents)[1])

    def _with_slots(self, values: Sequence[Any], slots: Slots) -> list[Any]:
        return [
            x if slot is None else self.variable(x, slot)
            for x, slot in zip(values, slots, strict=True)
        ]

    def with_rule(self, fn: Any, args: Sequence[Any]) -> Any:
        """The results of a function of modkit's with a derivative of its own."""
        fixed = [args[at] for at in fn.nondiff_argnums]
        rest = [at for at in range(len(args)) if at not in fn.nondiff_argnums]
        leaves, layout = jax.tree.flatten([args[at] for at in rest])
        values, slots = self.lowered(leaves)
        if slots.count(None) == len(slots):
            with within(self.parent_trace):
                return fn(*args)
        if isinstance(fn, CustomVjp):
            given = list(args)
            for at, value in zip(rest, layout.unflatten(values), strict=True):
                given[at] = value
            return self._with_pullback(fn, given, fixed, layout, slots)
        shown: Any = None

        def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
            nonlocal shown
            made, moved = fn.jvp(*fixed, layout.unflatten(primals), layout.unflatten(tangents))
            made, shown = jax.tree.flatten(made)
            return made, jax.tree.leaves(moved)

        made = self._by_tangents(rule, values, slots)
        return shown.unflatten(made)

    def _with_pullback(
        self, fn: Any, args: Sequence[Any], fixed: Sequence[Any], layout: Any, slots: Slots
    ) -> Any:
        with within(self.parent_trace):
            made, kept = fn.fwd(*args)
        made, shown = jax.tree.flatten(made)
        counts = [each.num_leaves for each in layout.children()]

        def back(kept: Any, cotangents: Sequence[Any]) -> Sequence[Any]:
            found = fn.bwd(*fixed, kept, shown.unflatten(cotangents))
            return [
                leaf
                for each, count in zip(found, counts, strict=True)
                for leaf in (
                    [None] * count
                    if each is None
                    else jax.tree.leaves(each, is_leaf=lambda value: value is None)
                )
            ]

        return shown.unflatten(self.recorded(slots, made, back, kept))

    def process_custom_jvp_call(self, primitive: Any, fun: Any, *rest: Any, **params: Any) -> Any:
        """For JAX: the results of a function with a forward-mode rule of its own."""
        jvp, tracers = rest
        values, slots = self.lowered(tracers)
        if slots.count(None) == len(slots):
            return self.parent_trace.process_custom_jvp_call(primitive, fun, jvp, values, **params)

        def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
            made = jvp.call_wrapped(*primals, *tangents)
            return made[: len(made) // 2], made[len(made) // 2 :]

        return self._by_tangents(rule, values, slots)

    def process_custom_vjp_call(
        self, primitive: Any, fun: Any, *rest: Any, out_trees: Any, **params: Any
    ) -> Any:
        """For JAX: the results of a function with a pullback of its own."""
        fwd, bwd, tracers = rest
        values, slots = self.lowered(tracers)
        if slots.count(None) == len(slots):
            return self.parent_trace.process_custom_vjp_call(
                primitive, fun, fwd, bwd, values, out_trees=out_trees, **params
            )
        pairs = [(x, slot is not None) for x, slot in zip(values, slots, strict=True)]
        with within(self.parent_trace):
            given = fwd.call_wrapped(*(each for pair in pairs for each in pair))
        operands = out_trees()[2]  # for each residual the operand that it is, if it is one
        own = operands.count(None)
        residuals = iter(given[:own])
        kept = [next(residuals) if at is None else values[at] for at in operands]

        def back(kept: Any, given: Sequence[Any]) -> Sequence[Any]:
            found = bwd.call_wrapped(*kept, *given)
            # from JAX 0.12 on a pair: the cotangents, and what the pullback logs
            return found[0] if isinstance(found[0], (list, tuple)) else found

        return self.recorded(slots, given[own:], back, kept)


def own_trace() -> Any:
    """The present trace, if it is for NumPy and none of JAX's."""
    if not is_for_numpy():
        return None
    with outside() as trace:
        return trace if isinstance(trace, Lister | Recorder) else None


def _called(fn: Any, args: Sequence[Any], usual: Callable[..., Any]) -> Any:
    trace = own_trace()
    if trace is None:
        return usual(*args)
    return trace.with_rule(fn, args) if isinstance(trace, Recorder) else fn.fun(*args)


class CustomJvp(jax.custom_jvp):
    """`jax.custom_jvp`, which is quicker to trace where the trace is for NumPy."""

    def __call__(self, *args: Any) -> Any:
        return _called(self, args, super().__call__)


class CustomVjp(jax.custom_vjp):
    """`jax.custom_vjp`, which is quicker to trace where the trace is for NumPy."""

    def __call__(self, *args: Any) -> Any:
        return _called(self, args, super().__call__)


def _derivative(
    primitive: Any, values: Sequence[Any], moving: Sequence[bool], params: Any
) -> tuple[Back, Any] | None:
    """The pullback of a primitive, and what it keeps; ``None`` where no table has it."""
    name = primitive.name
    if name in _ELEMENTWISE and primitive in ad.primitive_jvps:
        back, kept = _elementwise, values
    elif name == "slice":
        back, kept = _unsliced, ()
    elif name in _CHOOSES and set(params["base_dilation"] + params["window_dilation"]) == {1}:
        back, kept = _scattered, values
    elif primitive not in ad.primitive_transposes:
        return None
    elif name in _LINEAR:
        back, kept = _linear, [None if m else x for m, x in zip(moving, values, strict=True)]
    elif name in _BILINEAR:
        other = moving[::-1]
        back, kept = _bilinear, [x if m else None for x, m in zip(values, other, strict=True)]
    else:
        return None
    return functools.partial(back, primitive, params, moving, list(map(jax.typeof, values))), kept


def _elementwise(
    primitive: Any, params: Any, moving: Any, avals: Any, kept: Any, given: Any
) -> Sequence[Any]:
    return [
        _partial(primitive, kept, at, given[0], params) if m else None
        for at, m in enumerate(moving)
    ]


def _linear(
    primitive: Any, params: Any, moving: Any, avals: Any, kept: Any, given: Any
) -> Sequence[Any]:
    operands = _undefined(avals, kept, moving)
    cotangents = given if primitive.multiple_results else given[0]
    return ad.primitive_transposes[primitive](cotangents, *operands, **params)


def _bilinear(
    primitive: Any, params: Any, moving: Any, avals: Any, kept: Any, given: Any
) -> Sequence[Any]:
    transpose = ad.primitive_transposes[primitive]
    return [
        transpose(given[0], *_undefined(avals, kept, (not at, bool(at))), **params)[at]
        if m
        else None
        for at, m in enumerate(moving)
    ]


def _undefined(avals: Sequence[Any], values: Sequence[Any], which: Sequence[bool]) -> list[Any]:
    """Operands of a transpose."""
    return [
        ad.UndefinedPrimal(aval) if undefined else x
        for aval, x, undefined in zip(avals, values, which, strict=True)
    ]


def _partial(primitive: Any, values: Any, at: int, cotangent: Any, params: Any) -> Any:
    """The cotangent of an operand of an elementwise primitive.

    The derivative is a diagonal matrix, which is its own transpose.
    """
    tangents = [cotangent if i == at else ad.Zero(jax.typeof(x)) for i, x in enumerate(values)]
    made = ad.primitive_jvps[primitive](values, tangents, **params)[1]
    if type(made) is ad.Zero:
        return None
    repeated = tuple(i for i, n in enumerate(made.shape) if n != values[at].shape[i])
    return made.sum(repeated, keepdims=True) if repeated else made


def _unsliced(
    primitive: Any, params: Any, moving: Any, avals: Any, kept: Any, given: Any
) -> Sequence[Any]:
    """The cotangent of an array from that of a slice of it."""
    (cotangent,), shape = given, avals[0].shape
    starts, steps = params["start_indices"], params["strides"] or (1,) * len(shape)
    pads = [
        (low, size - low - (1 + (count - 1) * step if count else 0), step - 1)
        for low, size, step, count in zip(starts, shape, steps, cotangent.shape, strict=True)
    ]
    return [lax.pad(cotangent, np.zeros((), cotangent.dtype), pads)]


def _scattered(
    primitive: Any, params: Any, moving: Any, avals: Any, kept: Any, given: Any
) -> Sequence[Any]:
    """The cotangent of an array from that of the largest or smallest element of its windows."""
    names = ("window_dimensions", "window_strides", "padding")
    options = {name: params[name] for name in names}
    select = _CHOOSES[primitive.name]
    return [lax.select_and_scatter_add_p.bind(given[0], *kept, select_prim=select, **options)]


def _by_jax(
    primitive: Any, values: Sequence[Any], moving: Sequence[bool], params: Any
) -> tuple[Any, Back, Any]:
    """The result of a primitive, its pullback by `jax.vjp`, and what that keeps."""
    moved = [at for at, m in enumerate(moving) if m]

    def run(*given: Any) -> Any:
        operands = list(values)
        for at, value in zip(moved, given, strict=True):
            operands[at] = value
        return primitive.bind(*operands, **params)

    made, pull = jax.vjp(run, *(values[at] for at in moved))
    layout = jax.tree.structure(made)

    def back(kept: Any, given: Sequence[Any]) -> Sequence[Any]:
        found = dict(zip(moved, kept(layout.unflatten(given)), strict=True))
        return [found.get(at) for at in range(len(moving))]

    return made, back, pull


_FLAT = frozenset({
    "ceil", "eq", "floor", "ge", "gt", "is_finite", "le", "lt", "ne", "round", "sign",
    "stop_gradient",
})  # fmt: skip
"""Primitives whose derivative is 0."""

_BY_TANGENTS = frozenset({"reduce_max", "reduce_min", "reduce_prod"})
"""Primitives of one operand whose forward-mode rule is made of the primitives below."""

_CHOOSES = {"reduce_window_max": lax.ge_p, "reduce_window_min": lax.le_p}
"""Reductions of windows to an element, and the comparison by which it stays before another."""

_ELEMENTWISE = frozenset({
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "clamp", "cos",
    "cosh", "digamma", "div", "erf", "erf_inv", "erfc", "exp", "exp2", "expm1", "integer_pow",
    "lgamma", "log", "log1p", "logistic", "max", "min", "pow", "rem", "rsqrt", "sin", "sinh",
    "sqrt", "square", "tan", "tanh",
})  # fmt: skip

_BILINEAR = frozenset({"conv_general_dilated", "dot_general", "mul"})

_LINEAR = frozenset({
    "add", "add_any", "broadcast_in_dim", "concatenate", "convert_element_type", "copy", "cumsum",
    "gather", "neg", "optimization_barrier", "pad", "reduce_precision", "reduce_sum",
    "reduce_window_sum", "reshape", "rev", "scatter-add", "select_n", "split", "squeeze", "stack",
    "sub", "tile", "transpose", "unstack",
})  # fmt: skip
"""Primitives that are linear in all operands of floating point."""

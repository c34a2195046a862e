"""A traced function as a list of NumPy calls.

A jaxpr becomes `Step`s over numbered values: calls inside it are inlined, each primitive is looked
up by name in the tables of this package. A jaxpr with another primitive, or another type than
NumPy's own, has no such program, and XLA compiles it.
"""

from __future__ import annotations

import contextvars
import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from modkit.interpreter import array_primitives, bits, matrices, windows
from modkit.interpreter.ahead import FEWEST_KEYS, MOST, Ahead, by_row
from modkit.interpreter.array_primitives import Array, Run
from modkit.interpreter.costs import MANY_STEPS, compilation_s
from modkit.interpreter.elementwise import (
    COSTLY,
    ELEMENTWISE,
    FLOATS,
    SHIFTS,
    convert,
    reduce_precision,
)

MAKERS = {
    **array_primitives.MAKERS,
    **windows.MAKERS,
    **bits.MAKERS,
    **matrices.MAKERS,
    "reduce_precision": reduce_precision,
}

_IDENTITIES = frozenset({
    "copy", "copy_p", "device_put", "optimization_barrier", "random_unwrap", "random_wrap",
    "stop_gradient",
})  # fmt: skip
_NEUTRAL = {"max": -math.inf, "mul": 1.0}
"""Operands with which elementwise primitives return the other one."""
_KINDS = frozenset("biuf")
_STEP_S = 1.2e-6
_ELEMENT_S = 0.6e-9
_STEPS = {"conv_general_dilated": 8, "erf_inv": 20, "random_bits": 50}
"""Primitives that take more than one step."""
_IN_CACHE = 1 << 16
"""Largest number of elements that stay in the cache; beyond it an addition takes three times as
long."""
_MOST_KEPT = 1 << 12
"""Largest number of elements of a constant result, which is computed once."""
_MATRIX = 1e4
"""Number of elements that are added in the time of a call of LAPACK."""
_ON_ONE_THREAD = 1 << 20
"""Multiplications of a convolution's product, at most, that do not wait for BLAS's threads."""
_TURNS = 4
"""Number of steps that a loop with random numbers is taken to make."""


_quiet = contextvars.Context()
"""A context in which NumPy ignores errors; entering a copy takes a tenth of `numpy.errstate`."""
_quiet.run(np.seterr, all="ignore")


def quietly(run: Callable[..., Any], *args: Any) -> Any:
    """The result of ``run(*args)``, in which NumPy warns of no overflow, NaN or division by 0."""
    return _quiet.copy().run(run, *args)


class Step(NamedTuple):
    """One call: ``values[outs] = run(*values[ins])``; ``dtype`` is that of a single result."""

    run: Run
    ins: tuple[int, ...]
    outs: tuple[int, ...]
    dtype: Any


class NumPyProgram:
    """A function of NumPy arrays.

    Attributes:
        cost_s: an estimate of its time in seconds, from the numbers of steps and elements.
        steps: the number of steps, those of inner programs too.
        compilation_s: an estimate of the time that XLA takes to compile it.
        any_shape: whether all steps are elementwise, so that it computes the same function of
            arrays of any one shape.
    """

    __slots__ = (
        "_constants", "_outputs", "_steps", "any_shape", "compilation_s", "cost_s", "steps",
    )  # fmt: skip

    def __init__(
        self, steps: Sequence[Step], constants: Sequence[Any], outputs: list[int],
        cost_s: float, all_steps: int, draws: int, any_shape: bool,
    ):  # fmt: skip
        self._steps, self._constants, self._outputs = tuple(steps), tuple(constants), outputs
        self.cost_s, self.any_shape = cost_s, any_shape
        self.steps = all_steps
        self.compilation_s = compilation_s(all_steps, draws)

    def __call__(self, *arrays: Array) -> list[Array]:
        """The results; they may share memory with the arguments."""
        return quietly(self.run, arrays)

    def run(self, arrays: Sequence[Array]) -> list[Array]:
        """The results, for a caller that ignores NumPy's errors."""
        values = [*arrays, *self._constants]
        for run, ins, outs, dtype in self._steps:
            count = len(ins)
            if count == 1:
                value = run(values[ins[0]])
            elif count == 2:
                value = run(values[ins[0]], values[ins[1]])
            else:
                value = run(*[values[at] for at in ins])
            if dtype is not None:
                values[outs[0]] = value if value.dtype == dtype else value.astype(dtype)
                continue
            for at, each in zip(outs, value, strict=True):
                values[at] = each
        return [values[at] for at in self._outputs]


def program_of(closed: Any) -> NumPyProgram | None:
    """The NumPy program of a closed jaxpr; ``None`` where the tables do not cover it."""
    try:
        return _Builder().whole(closed, ahead=True)
    except NotImplementedError:
        return None


def _is_literal(atom: Any) -> bool:
    return hasattr(atom, "val")


def _checked(aval: Any) -> Any:
    if not isinstance(aval.dtype, np.dtype) or aval.dtype.kind not in _KINDS:
        raise NotImplementedError(f"values of {aval.dtype}")
    return aval


class Drawn(NamedTuple):
    """A value that depends on key data alone.

    Attributes:
        key: the input that it depends on.
        shape: its shape, with the words of keys as the last axis.
        run: the function of its step for rows of operands; ``None`` for the input itself.
        draws: whether random bits are drawn for it.
    """

    key: int
    shape: tuple[int, ...]
    run: Run | None
    draws: bool


class _Builder:
    """Steps, and the number of each value."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.constants: list[Any] = []
        self.costs_s: dict[tuple[int, ...], float] = {}  # by the results of a step
        self.cost_s = 0.0  # of inner programs
        self.inner_steps = 0
        self.draws = 0
        self.any_shape = True
        self.iotas: dict[int, int] = {}  # positions along an axis
        self.natural: dict[int, tuple[int, ...]] = {}  # values without negative numbers, by shape
        self.never: set[int] = set()  # conditions that are false everywhere
        self.drawn: dict[int, Drawn] = {}  # what depends on one input of key data alone

    def whole(self, closed: Any, *, ahead: bool = False) -> NumPyProgram:
        for var in closed.jaxpr.invars:
            if not _is_key(var.aval):
                _checked(var.aval)
        inputs = [self.slot() for _ in closed.jaxpr.invars]
        if ahead:
            for at, var in zip(inputs, closed.jaxpr.invars, strict=True):
                if _is_key(var.aval) or (var.aval.dtype == np.uint32 and var.aval.ndim == 1):
                    self.drawn[at] = Drawn(at, _shape(var.aval), None, False)
        outputs = self.inlined(closed.jaxpr, closed.consts, inputs)
        needed = _needed(self.steps, outputs)
        if self.draws:
            needed = self.with_ahead(needed, outputs, len(inputs))
        cost_s = self.cost_s + sum(self.costs_s.get(step.outs, 0.0) for step in needed)
        needed, outputs = _in_few_slots(needed, outputs)
        constants, all_steps = self.constants[len(inputs) :], len(needed) + self.inner_steps
        return NumPyProgram(
            needed, constants, outputs, cost_s, all_steps, self.draws, self.any_shape
        )

    def slot(self, value: Any = None) -> int:
        if value is not None:  # a result may be a constant itself: nothing may write to it
            value = np.asarray(value).view()
            value.flags.writeable = False
        self.constants.append(value)
        return len(self.constants) - 1

    def inlined(self, jaxpr: Any, consts: Sequence[Any], inputs: Sequence[int]) -> list[int]:
        """Add a jaxpr's equations; the slots of its results."""
        place: dict[Any, int] = dict(zip(jaxpr.invars, inputs, strict=True))
        for var, value in zip(jaxpr.constvars, consts, strict=True):
            place[var] = self.slot(np.asarray(value))

        def at(atom: Any) -> int:
            if _is_literal(atom):
                return self.slot(np.asarray(atom.val, _checked(atom.aval).dtype))
            return place[atom]

        thin = _thin(jaxpr)
        for equation in jaxpr.eqns:
            ins = [at(each) for each in equation.invars]
            if equation.outvars and equation.outvars[0] in thin:
                outs = [self.thin(equation, ins[0])]
            else:
                outs = self.equation(equation, ins)
            place.update(zip(equation.outvars, outs, strict=True))
            if len(self.steps) > MANY_STEPS:
                raise NotImplementedError("many steps")
        return [at(each) for each in jaxpr.outvars]

    def inside(self, equation: Any, ins: list[int]) -> list[int] | None:
        """The results of an equation that is no step itself; ``None`` for another."""
        name, params = equation.primitive.name, equation.params
        if name in _IDENTITIES or _is_same_cast(name, equation):
            return ins
        if name in _NEUTRAL and (at := self.unchanged(equation, _NEUTRAL[name])) is not None:
            return [ins[at]]
        if name in _CALLS:
            inner = params[_CALLS[name]]
            jaxpr, consts = getattr(inner, "jaxpr", inner), getattr(inner, "consts", ())
            return self.inlined(jaxpr, consts, ins)
        if name == "custom_linear_solve":
            solve, count = params["jaxprs"].solve, params["const_lengths"]
            used = ins[count.matvec + count.vecmat :][: count.solve] + ins[sum(count) :]
            return self.inlined(solve.jaxpr, solve.consts, used)
        if name == "cond" and (which := self.constants[ins[0]]) is not None:
            branch = params["branches"][int(which)]
            return self.inlined(branch.jaxpr, branch.consts, ins[1:])
        if name == "platform_index":
            platforms = enumerate(params["platforms"])
            own = next(i for i, names in platforms if names is None or "cpu" in names)
            return [self.slot(np.int32(own))]
        if name == "select_n" and ins[0] in self.never:
            whole = self.natural.get(ins[1]) == equation.outvars[0].aval.shape
            return ins[1:2] if whole else None
        return None

    def equation(self, equation: Any, ins: list[int]) -> list[int]:
        if (outs := self.inside(equation, ins)) is not None:
            return outs
        name, params = equation.primitive.name, equation.params
        avals = [var.aval for var in equation.outvars]
        self.any_shape &= name in ELEMENTWISE or name == "convert_element_type"
        if name in _CONTROL:
            run: Run = _CONTROL[name](self, equation)
            return self.add(run, ins, avals, single=False)
        if name == "sort" and len(ins) == 2 and params["num_keys"] == 1:
            return self.ordered(equation, ins, avals)
        several = len(avals) != 1 or name in ("split", "unstack")
        if name in SHIFTS and self.shifts_plainly(name, ins[1], avals[0]):
            run = SHIFTS[name][0]
        else:
            run = _primitive(name, tuple(avals) if several else avals[0], params)
        operands = [self.constants[at] for at in ins]
        known = not several and all(each is not None for each in operands)
        if known and math.prod(avals[0].shape) <= _MOST_KEPT:
            outs = [self.slot(np.asarray(quietly(run, *operands), _dtype(avals[0])))]
            self.note(name, params, ins, outs[0], avals[0])
            return outs
        outs = self.add(run, ins, avals, single=not several)
        self.costs_s[tuple(outs)] = self.cost_of(name, equation, avals)
        if not several:
            self.draw(name, run, ins, outs[0], avals[0])
            self.note(name, params, ins, outs[0], avals[0])
        return outs

    def ordered(self, equation: Any, ins: Sequence[int], avals: Sequence[Any]) -> list[int]:
        """A sort of keys with values, as steps of their own; positions sorted so are the order."""
        axis = equation.params["dimension"]
        find = functools.partial(np.argsort, axis=axis, kind="stable")
        take = functools.partial(np.take_along_axis, axis=axis)
        is_order = self.iotas.get(ins[1]) == axis
        place = avals[1] if is_order else avals[1].update(dtype=np.dtype(np.int64))
        order = self.add(find, ins[:1], [place], single=True)
        self.costs_s[tuple(order)] = self.cost_of("sort", equation, avals)
        self.natural[order[0]] = place.shape
        outs = self.add(take, [ins[0], *order], avals[:1], single=True)
        if is_order:
            return outs + order
        outs += self.add(take, [ins[1], *order], avals[1:], single=True)
        if ins[1] in self.natural:
            self.natural[outs[1]] = avals[1].shape
        return outs

    def note(self, name: str, params: Any, ins: Sequence[int], out: int, aval: Any) -> None:
        """Note positions, and what follows from numbers that are not negative."""
        if name == "iota":
            self.iotas[out] = params["dimension"]
        if name == "lt" and ins[0] in self.natural and np.all(self.constants[ins[1]] == 0):
            self.never.add(out)
        known = [at in self.natural or _is_natural(self.constants[at]) for at in ins]
        if name in _NATURAL or (name == "max" and any(known)) or (name in _KEEPING and all(known)):
            self.natural[out] = aval.shape

    def draw(self, name: str, run: Run, ins: Sequence[int], out: int, aval: Any) -> None:
        """Note a step that depends on one input of key data alone and that takes rows."""
        read = [self.drawn[at] for at in ins if at in self.drawn]
        known = [self.constants[at] is not None for at in ins if at not in self.drawn]
        if not read or not all(known) or len({each.key for each in read}) != 1:
            return
        shape = _shape(aval)
        rows = by_row(name, run, shape, [each.shape for each in read])
        if rows is not None and 0 < math.prod(shape) <= MOST:
            draws = name == "random_bits" or any(each.draws for each in read)
            self.drawn[out] = Drawn(read[0].key, shape, rows, draws)

    def with_ahead(self, needed: list[Step], outputs: Sequence[int], count: int) -> list[Step]:
        """The steps, with one `Ahead` for those that draw from one of ``count`` inputs alone."""
        drawn, none = self.drawn, Drawn(-1, (), None, False)
        for key in {drawn[at].key for step in needed for at in step.outs if at in drawn}:
            steps = [step for step in needed if drawn.get(step.outs[0], none).key == key]
            rest = [step for step in needed if drawn.get(step.outs[0], none).key != key]
            read = {at for step in rest for at in step.ins}.union(outputs)
            outs = [step.outs[0] for step in steps if step.outs[0] in read]
            if not any(drawn[at].draws for at in outs):
                continue
            rows: list[Any] = [step._replace(run=drawn[step.outs[0]].run) for step in steps]
            program = NumPyProgram(rows, self.constants[count:], outs, 0.0, 0, 0, any_shape=False)

            def run(keys: Array, program: Any = program, key: int = key) -> list[Array]:
                return program.run([keys if at == key else None for at in range(count)])

            cost_s = sum(self.costs_s.get(step.outs, 0.0) for step in steps)
            self.costs_s[tuple(outs)] = cost_s / FEWEST_KEYS
            ahead = Ahead(run, max(math.prod(drawn[step.outs[0]].shape) for step in steps))
            needed = [Step(ahead, (key,), tuple(outs), None), *rest]
        return needed

    def unchanged(self, equation: Any, neutral: float) -> int | None:
        """The operand that is the result since the other is neutral; ``None`` where none is."""
        for at, other in ((0, 1), (1, 0)):
            value = equation.invars[at]
            if _is_literal(value) and np.all(np.asarray(value.val) == neutral):
                return other if equation.invars[other].aval == equation.outvars[0].aval else None
        return None

    def shifts_plainly(self, name: str, distance: int, aval: Any) -> bool:
        """Whether NumPy's shift has XLA's result: by a constant that is less than the width."""
        by, dtype = self.constants[distance], aval.dtype
        inside = by is not None and np.all((by >= 0) & (by < 8 * dtype.itemsize))
        return bool(inside) and dtype.kind in SHIFTS[name][1]

    def thin(self, equation: Any, operand: int) -> int:
        """A broadcast without its repetition: axes of size 1 are inserted, or nothing is."""
        before, after = equation.invars[0].aval.shape, equation.outvars[0].aval.shape
        self.any_shape &= before == ()
        if before == () or equation.params["broadcast_dimensions"] == tuple(
            range(len(after) - len(before), len(after))
        ):
            return operand
        kept = dict(zip(equation.params["broadcast_dimensions"], before, strict=True))
        shape = tuple(kept.get(axis, 1) for axis in range(len(after)))
        run: Run = operator.methodcaller("reshape", shape)
        return self.add(run, [operand], [equation.outvars[0].aval], single=True)[0]

    def add(self, run: Run, ins: Sequence[int], avals: Sequence[Any], *, single: bool) -> list[int]:
        outs = [self.slot() for _ in avals]
        dtype = _dtype(avals[0]) if single else None
        self.steps.append(Step(run, tuple(ins), tuple(outs), dtype))
        return outs

    def cost_of(self, name: str, equation: Any, avals: Sequence[Any]) -> float:
        """The time of an equation."""
        sizes = [math.prod(a.shape) for a in avals]
        sizes += [math.prod(var.aval.shape) for var in equation.invars]
        each = _ELEMENT_S * _weight(name, equation) * (1 if max(sizes) <= _IN_CACHE else 3)
        if name in ("conv_general_dilated", "dot_general"):  # weights of elements of the result
            return _STEP_S * _STEPS.get(name, 1) + each * sizes[0]
        if name.startswith(("gather", "scatter")):
            return _indexed_s(name, equation) + each * sizes[0]  # of a scatter a copy
        self.draws += name == "random_bits"
        return _STEP_S * _STEPS.get(name, 1) + each * max(sizes)


_NATURAL = frozenset({"argmax", "argmin", "iota"})
_KEEPING = frozenset({
    "broadcast_in_dim", "expand_dims", "min", "reshape", "rev", "slice", "squeeze", "transpose",
})  # fmt: skip
"""Primitives whose results are never negative, and those that keep this of their operands."""


def _is_natural(value: Any) -> bool:
    """Whether a constant is a whole number that is not negative."""
    return value is not None and value.ndim == 0 and value.dtype.kind in "iu" and value >= 0


def _needed(steps: Sequence[Step], outputs: Sequence[int]) -> list[Step]:
    """The steps on which the outputs depend."""
    read, kept = set(outputs), []
    for step in reversed(steps):
        if not read.isdisjoint(step.outs):
            read.update(step.ins)
            kept.append(step)
    return kept[::-1]


def _in_few_slots(steps: Sequence[Step], outputs: Sequence[int]) -> tuple[list[Step], list[int]]:
    """The steps and outputs in slots that are used again: memory is free after the last use."""
    last = {at: now for now, step in enumerate(steps) for at in (*step.ins, *step.outs)}
    last |= dict.fromkeys(outputs, len(steps))
    made: dict[int, int] = {}  # the slot of each result
    free: list[int] = []
    moved = []
    for now, step in enumerate(steps):
        ins = tuple([made.get(at, at) for at in step.ins])
        made |= {at: free.pop() if free else at for at in step.outs}
        free += [made[at] for at in {*step.ins, *step.outs} if last[at] == now and at in made]
        moved.append(step._replace(ins=ins, outs=tuple([made[at] for at in step.outs])))
    return moved, [made.get(at, at) for at in outputs]


def _dtype(aval: Any) -> np.dtype[Any]:
    return np.dtype(np.uint32) if _is_key(aval) else aval.dtype


def _thin(jaxpr: Any) -> set[Any]:
    """Broadcasts that only elementwise primitives read, beside an operand of the full shape.

    NumPy broadcasts these by itself.
    """
    wide = {e.outvars[0] for e in jaxpr.eqns if e.primitive.name == "broadcast_in_dim"}
    thin = {v for v in wide if v not in jaxpr.outvars}
    for equation in jaxpr.eqns:
        variables = [v for v in equation.invars if not _is_literal(v)]
        shapes = [v.aval.shape for v in equation.outvars]
        if equation.primitive.name not in _BROADCASTING or not any(
            v not in wide and v.aval.shape in shapes for v in variables
        ):
            thin.difference_update(variables)
    return thin


_BROADCASTING = frozenset({
    "add", "add_any", "and", "atan2", "div", "eq", "ge", "gt", "le", "lt", "max", "min", "mul",
    "ne", "or", "pow", "select_n", "sub", "xor",
})  # fmt: skip


def _is_same_cast(name: str, equation: Any) -> bool:
    """Whether an equation is a cast to the type that the operand has."""
    if name != "convert_element_type":
        return False
    return equation.invars[0].aval.dtype == equation.outvars[0].aval.dtype


def _shape(aval: Any) -> tuple[int, ...]:
    return (*aval.shape, 2) if _is_key(aval) else aval.shape


def _is_key(aval: Any) -> bool:
    """Whether a value is an array of random keys, which NumPy holds as pairs of words."""
    dtype = aval.dtype
    return not isinstance(dtype, np.dtype) and jax.numpy.issubdtype(dtype, jax.dtypes.prng_key)


def _indexed_s(name: str, equation: Any) -> float:
    """The time of a gather or scatter, by the elements, or whole rows, that indices move."""
    operand, moved = equation.invars[0].aval, equation.invars[-1].aval
    if name == "gather":
        moved, row = equation.outvars[0].aval, operand.shape[1:]
        if equation.params["slice_sizes"] == (1, *row):
            return 5 * _STEP_S + 40 * _ELEMENT_S * math.prod(moved.shape) / max(1, math.prod(row))
    return 20 * _STEP_S + 40 * _ELEMENT_S * math.prod(moved.shape)


def _weight(name: str, equation: Any) -> float:
    """The time of an element, in `_ELEMENT_S`: an addition of single precision takes 0.4."""
    if name == "dot_general":
        (left, _), _ = equation.params["dimension_numbers"]
        sizes = equation.invars[0].aval.shape
        return 0.1 * math.prod(sizes[at] for at in left)
    if name == "conv_general_dilated":
        shape, made = equation.invars[1].aval.shape, equation.outvars[0].aval.shape
        numbers = equation.params["dimension_numbers"]
        window = math.prod(n for axis, n in enumerate(shape) if axis != numbers.rhs_spec[0])
        alone = window * math.prod(made) <= _ON_ONE_THREAD * made[numbers.out_spec[0]]
        return window * (0.2 if alone else 2.5)
    if name in matrices.MAKERS:
        sizes = equation.invars[0].aval.shape[-2:]
        return _MATRIX / math.prod(sizes) + sizes[-1]
    if name.startswith("reduce_window"):
        return float(sum(n for n in equation.params["window_dimensions"] if n > 1))
    if name.startswith("select_and_"):
        return 4.0 * math.prod(equation.params["window_dimensions"])
    if name in ("sort", "top_k"):
        return 40.0
    if name.startswith("random_"):
        return 150.0
    if name.startswith(("arg", "cum", "reduce_")):
        return 6.0 if name.startswith("cum") else 2.0
    if name in _BY_VECTORS and equation.outvars[0].aval.dtype == np.float32:
        return 3.0
    return 10.0 if name in COSTLY else _WEIGHTS.get(name, 0.4)


_BY_VECTORS = frozenset({"exp", "log", "logistic", "tanh"})
"""Costly primitives that NumPy computes by vector instructions, in single precision."""
_WEIGHTS = {"concatenate": 1.0, "select_n": 2.0, "sign": 2.0, "sqrt": 0.8, "transpose": 1.0}
"""Weights of other primitives that are not those of an addition."""

_CALLS = {
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "remat": "jaxpr",
    "checkpoint": "jaxpr",
}
"""Primitives that run a jaxpr as it is, and its parameter."""


def _primitive(name: str, out: Any, params: Any) -> Run:
    if not isinstance(out, tuple) and _is_key(out):
        return _of_keys(name, out, params)
    for each in out if isinstance(out, tuple) else (out,):
        if not (name == "unstack" and _is_key(each)):  # as `jax.random.split(key)` is unpacked
            _checked(each)
    if name == "convert_element_type":
        dtype = _checked(out).dtype
        return lambda x, *_: convert(x, dtype)
    if name in ELEMENTWISE:
        floats = not isinstance(out, tuple) and out.dtype.kind == "f"
        fn = FLOATS.get(name, ELEMENTWISE[name]) if floats else ELEMENTWISE[name]
        kept = {n: v for n, v in params.items() if n in _KEPT}
        return (lambda *args: fn(*args, **kept)) if kept else fn
    if name in MAKERS:
        return MAKERS[name](out, params)
    raise NotImplementedError(name)


def _of_keys(name: str, out: Any, params: Any) -> Run:
    """A primitive whose result is an array of keys."""
    if name in ("squeeze", "reshape", "expand_dims"):
        shape = (*out.shape, 2)
        return lambda keys: np.reshape(keys, shape)
    if name == "slice":
        ends = zip(("start_indices", "limit_indices", "strides"), (0, 2, 1), strict=True)
        params = {n: (*(params[n] or (1,) * len(out.shape)), end) for n, end in ends}
    if name == "slice" or name in bits.MAKERS:
        return MAKERS[name](out, params)
    raise NotImplementedError(f"{name} of keys")


_KEPT = frozenset({"rounding_method", "y", "new_dtype"})


# ── Control flow ────────────────────────────────────────────────────────────────────────────


def _inner(builder: _Builder, closed: Any, times: int = 1) -> NumPyProgram:
    inner = _Builder()
    made = inner.whole(closed)
    if inner.draws:
        times = min(times, _TURNS)
    builder.cost_s += times * (made.cost_s + _STEP_S)
    builder.inner_steps += len(inner.steps) + inner.inner_steps
    builder.draws += inner.draws
    return made


def _cond(builder: _Builder, equation: Any) -> Run:
    branches = [_inner(builder, each) for each in equation.params["branches"]]

    def run(which: Array, *args: Array) -> Any:
        return branches[min(max(int(which), 0), len(branches) - 1)].run(args)

    return run


def _scan(builder: _Builder, equation: Any) -> Run:
    params = equation.params
    body = _inner(builder, params["jaxpr"], params["length"])
    if "num_consts" in params:
        consts, carried = params["num_consts"], params["num_carry"]
    else:  # from JAX 0.11 on: trees of constants, of what is carried, and of what is scanned
        consts, carried, _ = map(len, params["ft_in"].unpack())
    length = params["length"]
    order = range(length)[::-1] if params["reverse"] else range(length)
    if not length:
        raise NotImplementedError("no steps")

    def run(*args: Array) -> Any:
        fixed, state = args[:consts], list(args[consts : consts + carried])
        columns, rows = args[consts + carried :], []
        for at in order:
            out = body.run([*fixed, *state, *(each[at] for each in columns)])
            state = out[:carried]
            rows.append(out[carried:])
        rows = rows[::-1] if params["reverse"] else rows
        return (*state, *(np.stack(each) for each in zip(*rows, strict=True)))

    return run


def _while(builder: _Builder, equation: Any) -> Run:
    """A loop; its estimate is that of as many steps as the longest axis of its carry.

    One that draws random numbers rejects some of them, and ends after a few steps.
    """
    params = equation.params
    if "cond_nconsts" not in params:  # as `_scan`
        raise NotImplementedError("parameters of while")
    ahead, fixed = params["cond_nconsts"], params["body_nconsts"]
    times = max([1, *(n for var in equation.outvars for n in var.aval.shape)])
    test = _inner(builder, params["cond_jaxpr"], times)
    body = _inner(builder, params["body_jaxpr"], times)

    def run(*args: Array) -> Any:
        read, kept, state = args[:ahead], args[ahead : ahead + fixed], list(args[ahead + fixed :])
        while (going := np.asarray(test.run([*read, *state])[0])).any():
            new = body.run([*kept, *state])
            if not going.all():
                new = [_chosen(going, *two) for two in zip(new, state, strict=True)]
            state = new
        return state

    return run


def _chosen(which: Array, new: Array, old: Array) -> Array:
    """Rows of ``new`` where ``which``, else of ``old``: a loop of a batch ends row by row."""
    return np.where(which.reshape(which.shape + (1,) * (new.ndim - which.ndim)), new, old)


_CONTROL: dict[str, Callable[[_Builder, Any], Run]] = {
    "cond": _cond,
    "scan": _scan,
    "while": _while,
}

"""Eager calls: one operator over arrays, run by NumPy or compiled once per set of parameters.

Arrays of CPU contexts lie on the host. A call whose shapes are new is traced; NumPy runs the trace
(`modkit.interpreter`) where that is quick, so that nothing waits for XLA. A signature that takes
longer is compiled once the calls by NumPy have taken about as long as a compilation. That depends
on its sizes and on the number of calls, never on time, so a program gives the same bits twice.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import jax
import numpy as np

from modkit import profiler, stream
from modkit.cache import Eager
from modkit.errors import ModkitError, ParameterError, ShapeError
from modkit.fork import process
from modkit.interpreter import Program, program_of
from modkit.ndarray.cell import needs_x64, x64_scope
from modkit.ops import dtype_inference, shape_inference
from modkit.ops.registry import Op
from modkit.tuning.seam import current


@functools.lru_cache(maxsize=4096)
def _compiled(
    op: Op, fixed: tuple[tuple[str, Any], ...], names: tuple[str, ...], train: bool
) -> Operator:
    """The operator as a compiled function of arrays, a key and the traced parameters ``names``."""
    return Operator(op, fixed, names, train)


class Operator(Eager):
    """An operator with fixed parameters: a function of arrays, key data and traced parameters."""

    def __init__(
        self, op: Op, fixed: tuple[tuple[str, Any], ...], names: tuple[str, ...], train: bool
    ):
        self._op, self._fixed, self._names, self._train = op, fixed, names, train
        self.elementwise = op.elementwise

        def run(arrays: Sequence[jax.Array], key_data: Any, numbers: Sequence[float]) -> Any:
            return self._run(arrays, key_data, numbers, current().form(op))

        run.__name__ = op.name
        super().__init__(run)

    def _run(
        self, arrays: Sequence[Any], key_data: Any, numbers: Sequence[float], form: Any
    ) -> Any:
        op = self._op
        attrs = {**dict(self._fixed), **dict(zip(self._names, numbers, strict=True))}
        key = stream.as_key(key_data) if op.takes_key else None
        results = op.call(arrays, attrs, key=key, train=self._train, fn=form)
        # Runs while tracing, once for a signature. The operator's own errors come first.
        _check(op, arrays, attrs)
        return results

    def traced(self, avals: Sequence[Any], key_data: Any, numbers: Sequence[Any]) -> Any:
        """The jaxpr for these shapes and types, and the structure of the results."""
        return jax.make_jaxpr(functools.partial(self._run, form=None), return_shape=True)(
            list(avals), key_data, numbers
        )


_CALL_S = 40e-6
"""Programs that take less are not compiled: a call of a compiled one takes about as long."""


_MOST_SHAPES = 4096
"""Shapes whose calls are counted for a program of any shape."""


class Traceable(Protocol):
    """A function of arrays, key data and traced parameters that NumPy may run."""

    elementwise: bool

    def traced(self, avals: Sequence[Any], key_data: Any, numbers: Sequence[Any]) -> Any:
        """The jaxpr for these shapes and types, and the structure of the results."""
        ...


class OnHost:
    """A function of one signature, run by NumPy.

    Attributes:
        most: the number of calls of one shape after which XLA compiles it; ``None`` for no bound.
        any_shape: whether it serves arrays of other shapes too, if all have one.
    """

    __slots__ = ("_calls", "_layout", "_program", "_types", "any_shape", "most")

    def __init__(self, fn: Traceable, avals: Sequence[Any], call: Call):
        closed, shapes = fn.traced(avals, call.key_data, call.numbers)
        self._program: Program | None = program_of(closed)
        self.any_shape = self._program is not None and self._program.any_shape
        self._types = [var.aval.dtype for var in closed.jaxpr.invars[len(avals) :]]
        self._layout = jax.tree.structure(shapes)
        self.most: int | None = 0
        self._calls: dict[tuple[int, ...], int] = {}
        if self._program is not None:
            cost_s = self._program.cost_s
            self.most = None if cost_s <= _CALL_S else int(self._program.compilation_s / cost_s)
        if self.most == 0:
            self._program = None

    def begin(self, shape: tuple[int, ...] = ()) -> bool:
        """Whether NumPy runs this call; counts it.

        XLA compiles each shape, so a program for any shape counts the calls of each.
        """
        if self.most is not None:
            calls = self._calls.get(shape, 0)
            if calls >= self.most:
                return False
            if len(self._calls) > _MOST_SHAPES:
                self._calls.clear()
            self._calls[shape] = calls + 1
        return True

    def run(self, arrays: Sequence[Any], call: Call) -> Any:
        """The results, which share no memory with the arguments."""
        program = self._program
        if program is None:
            raise RuntimeError("an operator without a NumPy program")
        given = list(arrays)
        if self._types:
            given += [
                x if isinstance(x, np.ndarray) else t.type(x)
                for x, t in zip(_flat(call), self._types, strict=True)
            ]
        found = program(*given)
        taken: set[int] = set(map(id, given))
        return jax.tree.unflatten(self._layout, [_own(x, taken) for x in found])


def _flat(call: Call) -> list[Any]:
    """Key data and traced parameters, one by one."""
    if isinstance(call.key_data, list):  # of several operators
        return jax.tree.leaves((call.key_data, call.numbers))
    rest = [] if call.key_data is None else [call.key_data]
    for each in call.numbers:
        rest += each if isinstance(each, tuple) else (each,)
    return rest


def _own(value: Any, taken: set[int]) -> np.ndarray:
    """A result as an array of its own memory, in row-major order."""
    if isinstance(value, np.ndarray) and id(value) not in taken:
        flags = value.flags
        if flags.owndata and flags.c_contiguous and flags.writeable:
            taken.add(id(value))
            return value
    return np.array(value, order="C")


@functools.lru_cache(maxsize=2048)
def _on_host(fn: Traceable, signature: tuple[Any, ...], weak: tuple[Any, ...]) -> list[OnHost]:
    """The place of a signature's program, as a list; least recently used ones are forgotten."""
    del fn, signature, weak
    return []


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
        expected, _ = shape_inference.by_rules(op, attrs, ins, unknown)
        for name, shape, full in zip(names, ins, expected, strict=True):
            if 0 in shape and shape != full:  # rules take 0 for a size that is not known
                raise ShapeError(f"{name}: got shape {shape}, expected {full}")
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

    fn: Any
    key_data: Any
    numbers: list[Any]
    needs_x64: bool
    predicting: Callable[..., Any] | None = None


def prepared(op: Op, avals: Sequence[Any], attrs: Mapping[str, Any], train: bool) -> Call:
    """An operator with parsed attributes, ready to run on arrays; draws its key data."""
    # Beyond 2²⁴ a float32 argument would round the value for an integer array.
    names = _traced(op)
    if names:
        names = tuple([n for n in names if _fits(attrs[n])])
    fixed = tuple(sorted([item for item in attrs.items() if item[0] not in names]))
    return Call(
        fn=_compiled(op, fixed, names, train and op.takes_train),
        key_data=stream.draw() if op.takes_key else None,
        numbers=[attrs[n] for n in names],
        needs_x64=_needs_x64(op, fixed, tuple([a.dtype for a in avals])),
        predicting=_compiled(op, fixed, names, False) if train and op.aux else None,
    )


@functools.cache
def _traced(op: Op) -> tuple[str, ...]:
    return op.traced()


@functools.lru_cache(maxsize=4096)
def _needs_x64(op: Op, fixed: tuple[tuple[str, Any], ...], types: tuple[Any, ...]) -> bool:
    return needs_x64(*types, *_result_types(op, types, dict(fixed)))


def host_form(call: Call, avals: Sequence[Any]) -> OnHost | None:
    """The NumPy form of a call, if NumPy is to run it."""
    signature = tuple([(a.shape, a.dtype) for a in avals])
    form = None
    if call.fn.elementwise and avals and (line := _line(avals)):
        form = _form(call, tuple([(line, dtype) for _, dtype in signature]))
    if form is None or not form.any_shape:
        form = _form(call, signature)
        return form if form.begin() else None
    return form if form.begin(avals[0].shape) else None


def _line(avals: Sequence[Any]) -> tuple[int, ...] | None:
    """A shape of one axis, the next power of two, for arrays that all have one shape."""
    shape = avals[0].shape
    if len(avals) > 1 and [a for a in avals if a.shape != shape]:
        return None
    return (1 << (math.prod(shape) - 1).bit_length(),) if 0 not in shape else None


def _form(call: Call, signature: tuple[Any, ...]) -> OnHost:
    sizes = tuple([len(n) if isinstance(n, (tuple, list)) else 0 for n in call.numbers])
    place = _on_host(call.fn, signature, sizes)
    if not place:
        if process.forked:
            raise process.error()
        shapes = [jax.ShapeDtypeStruct(*each) for each in signature]
        with x64_scope(call.needs_x64):
            place.append(OnHost(call.fn, shapes, call))
    return place[0]


class Inputs(NamedTuple):
    """The inputs of a call, read when it is known what runs it.

    Attributes:
        avals: shapes and types.
        values: ``values(on_host)``: arrays of NumPy or JAX.
        on_host: whether NumPy may run the call.
    """

    avals: Sequence[Any]
    values: Callable[[bool], Sequence[Any]]
    on_host: bool


def run_op(op: Op, arrays: Sequence[jax.Array], attrs: Mapping[str, Any]) -> tuple[jax.Array, ...]:
    """Run an operator on arrays with parsed attributes; visible outputs only. See `run_whole`."""
    return run_whole(op, Inputs(arrays, lambda _: arrays, False), attrs).outputs


class Results(NamedTuple):
    """The results of a call.

    Attributes:
        outputs: the visible outputs.
        changed: the new values of inputs that the operator changes, by name.
        call: the call that computes both again.
        values: the inputs that it read.
    """

    outputs: tuple[Any, ...]
    changed: dict[str, Any]
    call: Call
    values: Sequence[Any]


def run_whole(op: Op, inputs: Inputs, attrs: Mapping[str, Any], train: bool = False) -> Results:
    """Run an operator with parsed attributes.

    Raises:
        ModkitError: the operator rejects these shapes or types; the error names both.
    """
    if "operators" in profiler.aggregated:
        return profiler.timed(op.name, lambda: _run_whole(op, inputs, attrs, train))
    return _run_whole(op, inputs, attrs, train)


def _run_whole(op: Op, inputs: Inputs, attrs: Mapping[str, Any], train: bool) -> Results:
    avals = inputs.avals
    call = prepared(op, avals, attrs, train)
    try:
        host = host_form(call, avals) if inputs.on_host else None
        values = inputs.values(host is not None)
        if op.check_values is not None:
            op.check_values(values, attrs)
        if host is not None and not [v for v in values if v.__class__ is not np.ndarray]:
            outputs, changed = host.run(values, call)
        else:
            with x64_scope(call.needs_x64):
                outputs, changed = call.fn(list(values), call.key_data, call.numbers)
    except ModkitError:
        raise
    except (TypeError, ValueError, IndexError, ZeroDivisionError) as error:
        got = ", ".join(f"{a.dtype}{list(a.shape)}" for a in avals)
        raise _blame(error, f"{op.name}({got}): {error}") from error
    return Results(outputs[: op.visible_outputs(attrs)], changed, call, values)


def _fits(number: Any) -> bool:
    """Whether float32 holds a number, or all numbers of a tuple, without rounding integers."""
    numbers = number if isinstance(number, tuple) else (number,)
    return not any(abs(n) >= 2**24 for n in numbers)


def _result_types(op: Op, types: Sequence[Any], attrs: Mapping[str, Any]) -> Sequence[str | None]:
    """Element types of the outputs that are not decided by those of the inputs."""
    if op.dtypes is None:
        return (attrs.get("dtype"),)
    return op.dtypes(list(map(str, types)), attrs)[1]


def _blame(error: Exception, message: str) -> ModkitError:
    """A modkit error that is also of the built-in class of ``error``."""
    from_class = type(error)
    name = f"Operator{from_class.__name__}"
    return _error_class(name, from_class)(message)


@functools.cache
def _error_class(name: str, builtin: type[Exception]) -> type[ModkitError]:
    return type(name, (ModkitError, builtin), {"__doc__": "An operator refused its inputs."})

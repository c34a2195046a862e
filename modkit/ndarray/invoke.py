"""Eager calls: one operator over arrays, run by NumPy or compiled once per set of parameters.

Arrays of CPU contexts lie on the host. A call whose shapes are new is traced; NumPy runs the trace
(`modkit.interpreter`) where that is quick, so that nothing waits for XLA. A signature that takes
longer is compiled once the calls by NumPy have taken about as long as a compilation. That depends
on its sizes and on the number of calls, never on time, so a program gives the same bits twice.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import jax
import numpy as np

from modkit import profiler, stream
from modkit.compile.executables import Eager
from modkit.engine import raises_at_calls
from modkit.errors import ModkitError, ParameterError, ShapeError
from modkit.fork import process
from modkit.interpreter import NumPyProgram, program_of, quietly
from modkit.interpreter.costs import calls_of_program
from modkit.interpreter.tracing import jaxpr_for_numpy
from modkit.ndarray.storage import Refusal, Refused, needs_x64, x64_scope
from modkit.ops import dtype_inference, shape_inference
from modkit.ops.array.creation import require_shape
from modkit.ops.entry import Op
from modkit.tuning.config import current


@functools.lru_cache(maxsize=4096)
def _compiled(
    op: Op, fixed: tuple[tuple[str, Any], ...], spelled: str, names: tuple[str, ...], train: bool
) -> Operator:
    """The operator as a compiled function of arrays, a key and the traced parameters ``names``."""
    del spelled  # zeros of both signs are equal
    return Operator(op, fixed, names, train)


class Operator(Eager):
    """An operator with fixed parameters: a function of arrays, key data and traced parameters."""

    def __init__(
        self, op: Op, fixed: tuple[tuple[str, Any], ...], names: tuple[str, ...], train: bool
    ):
        self._op, self._fixed, self._names, self._train = op, fixed, names, train
        self.elementwise = op.elementwise
        attrs = dict(fixed)
        self.has_own_gradient = op.has_own_gradient(attrs)
        self.refuses_gradients = op.gradient == "refused"
        self.ignores_cotangent = op.ignores_cotangent(attrs) and not attrs.get("out_grad")

        def run(arrays: Sequence[jax.Array], key_data: Any, numbers: Sequence[float]) -> Any:
            return self._run(arrays, key_data, numbers, current().form(op))

        run.__name__ = op.name
        super().__init__(run)
        self.plain = functools.partial(self._run, form=None)  # of no device

    def _run(
        self, arrays: Sequence[Any], key_data: Any, numbers: Sequence[float], form: Any
    ) -> Any:
        op = self._op
        attrs = {**dict(self._fixed), **dict(zip(self._names, numbers, strict=True))}
        key = stream.as_key(key_data) if op.takes_key else None
        # Runs while tracing, once for a signature. Errors: the operator's own, of rules, JAX's.
        try:
            results = op.call(arrays, attrs, key=key, train=self._train, fn=form)
        except (TypeError, ValueError) as error:
            if not isinstance(error, ModkitError):
                _check(op, arrays, attrs)
            raise
        _check(op, arrays, attrs)
        return results

    def as_function(self) -> tuple[Callable[[Sequence[Any]], Any], Any]:
        """See `Op.as_function`; of an operator whose parameters are all fixed."""
        run, key = self._op.as_function(dict(self._fixed), self._train)
        return run, key()

    def traced(self, avals: Sequence[Any], key_data: Any, numbers: Sequence[Any]) -> Any:
        """The jaxpr for these shapes and types, and the structure of the results."""
        return jaxpr_for_numpy(self.plain, list(avals), key_data, numbers)


class Traceable(Protocol):
    """A function of arrays, key data and traced parameters that NumPy may run.

    Attributes:
        elementwise: whether it is elementwise in all arrays.
    """

    elementwise: bool

    def traced(self, avals: Sequence[Any], key_data: Any, numbers: Sequence[Any]) -> Any:
        """The jaxpr for these shapes and types, and the structure of the results."""
        ...


@functools.lru_cache(maxsize=256)
def _given(shape: tuple[int, ...], dtype: Any) -> Eager:
    """The function of a call whose result was drawn: it returns its traced parameter."""

    def drawn(arrays: Sequence[Any], key_data: Any, numbers: Sequence[Any]) -> Any:
        return tuple(numbers), {}

    return Eager(drawn)


class OnHost:
    """A function of one signature, run by NumPy.

    Attributes:
        most: number of calls of one shape that NumPy runs before XLA compiles it.
        any_shape: whether it serves arrays of other shapes too, if all have one.
    """

    __slots__ = ("_layout", "_program", "_types", "any_shape", "most")

    def __init__(self, fn: Traceable, avals: Sequence[Any], call: Call):
        closed, shapes = fn.traced(avals, call.key_data, call.numbers)
        self._program: NumPyProgram | None = program_of(closed)
        self.any_shape = self._program is not None and self._program.any_shape
        self._types = [var.aval.dtype.type for var in closed.jaxpr.invars[len(avals) :]]
        self._layout = jax.tree.structure(shapes)
        self.most = 0.0
        if self._program is not None:
            self.most = calls_of_program(self._program.cost_s, self._program.compilation_s)
        if not self.most:
            self._program = None

    def run(self, arrays: Sequence[Any], call: Call) -> Any:
        """The results, which share no memory with the arguments."""
        if self._program is None:
            raise RuntimeError("an operator without a NumPy program")
        given = list(arrays)
        if self._types:
            given += flat_numbers(call, self._types)
        taken = set(map(id, given))
        return self._layout.unflatten([owned(x, taken) for x in self._program(*given)])


def flat_numbers(call: Call, types: Sequence[Any]) -> list[Any]:
    """Key data and traced parameters, one by one, as NumPy's numbers of these types."""
    if isinstance(call.key_data, list):  # of several operators
        rest = jax.tree.leaves((call.key_data, call.numbers))
    else:
        rest = [] if call.key_data is None else [call.key_data]
        for each in call.numbers:
            rest += each if isinstance(each, tuple) else (each,)
    return [
        x if isinstance(x, np.ndarray) else kind(x) for x, kind in zip(rest, types, strict=True)
    ]


def owned(value: Any, taken: set[int]) -> np.ndarray:
    """A result as an array of its own memory, in row-major order."""
    if isinstance(value, np.ndarray) and id(value) not in taken:
        flags = value.flags
        if flags.owndata and flags.c_contiguous and flags.writeable:
            taken.add(id(value))
            return value
    return np.array(value, order="C")


Types = tuple[tuple[tuple[int, ...], Any], ...]
"""Shapes and element types of the inputs of a call."""


def types_of(arrays: Sequence[Any]) -> Types:
    """Shapes and element types of arrays, or of their avals."""
    return tuple([(a.shape, a.dtype) for a in arrays])


class Calls:
    """The calls of a function with arrays of certain shapes and types.

    Attributes:
        form: NumPy's form of it, which arrays of other shapes may share; ``None`` before the first.
        left: the number of calls that NumPy still runs; each shape has its own, as XLA compiles it.
    """

    __slots__ = ("form", "left")

    def __init__(self) -> None:
        self.form: OnHost | None = None
        self.left = 0.0

    def next(self) -> OnHost | None:
        """The form, if NumPy is to run the next call; counts it."""
        self.left -= 1
        return self.form if self.left >= 0 else None


@functools.lru_cache(maxsize=4096)
def _calls(fn: Traceable, types: Types, sizes: tuple[int, ...]) -> Calls:
    """The calls of one signature; least recently used ones are forgotten."""
    return Calls()


def check_count(op: Op, count: int, attrs: Mapping[str, Any]) -> Sequence[str]:
    """The names of an operator's inputs; ParameterError where they are not as many as are given."""
    names = op.input_names(attrs)
    if len(names) != count:
        raise ParameterError(
            f"{op.name}: got {count} inputs, expected {len(names)}: {', '.join(names)}"
        )
    return names


def _check(op: Op, arrays: Sequence[Any], attrs: Mapping[str, Any]) -> None:
    """Raise ShapeError or DTypeError where inputs break the inference rules of bound symbols."""
    ins = tuple(tuple(a.shape) for a in arrays)
    types = tuple(str(a.dtype) for a in arrays)
    names, unknown = check_count(op, len(ins), attrs), (None,) * len(op.output_names(attrs))
    try:
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
        needs_x64: whether it runs in an enable_x64 scope.
        predicting: for an operator with auxiliary states in training mode, the same in
            prediction mode.
    """

    fn: Any
    key_data: Any
    numbers: list[Any]
    needs_x64: bool
    predicting: Callable[..., Any] | None = None


@functools.cache
def traced_names(op: Op) -> tuple[str, ...]:
    """The parameters of an operator that are arguments of its compiled function, if they fit."""
    return op.traced()


@functools.lru_cache(maxsize=4096)
def _needs_x64(op: Op, fixed: tuple[tuple[str, Any], ...], kinds: tuple[Any, ...]) -> bool:
    return needs_x64(*kinds, *_result_types(op, kinds, dict(fixed)))


def host_form(call: Call, types: Types) -> OnHost | None:
    """The NumPy form of a call, if NumPy is to run it; counts the call."""
    return _calls_of(call, types).next()


def _calls_of(call: Call, types: Types) -> Calls:
    """The calls of one signature, traced at the first."""
    sizes = tuple([len(n) if isinstance(n, (tuple, list)) else 0 for n in call.numbers])
    calls = _calls(call.fn, types, sizes)
    if calls.form is None:
        line = _line(types) if call.fn.elementwise else None
        form = _form(call, line, sizes) if line else None
        if form is None or not form.any_shape:
            form = _form(call, types, sizes)
        calls.form, calls.left = form, form.most
    return calls


def _line(types: Types) -> Types | None:
    """Types of the arrays flattened to a power of two; ``None`` if shapes differ or are empty."""
    shapes = {shape for shape, _ in types}
    if len(shapes) != 1 or 0 in types[0][0]:
        return None
    line = (1 << (math.prod(*shapes) - 1).bit_length(),)
    return tuple([(line, dtype) for _, dtype in types])


def _form(call: Call, types: Types, sizes: tuple[int, ...]) -> OnHost:
    """The form of a signature, traced once."""
    calls = _calls(call.fn, types, sizes)
    if calls.form is None:
        if process.forked:
            raise process.error()
        with x64_scope(call.needs_x64):
            calls.form = OnHost(call.fn, [jax.ShapeDtypeStruct(*t) for t in types], call)
        calls.left = calls.form.most
    return calls.form


Results = tuple[tuple[Any, ...], dict[str, Any], Call, Sequence[Any]]
"""All outputs of a call, visible ones first; the new values of inputs that it changes, by name; the
call, which computes both again; and the values of its inputs."""

_ON_HOST = frozenset({np.ndarray})

Numbers = Mapping[str, float]
"""The traced parameters of a call that are its own."""

NO_NUMBERS: Numbers = {}


_FIXED = (-1.0, 0.0, 1.0)
"""Values of which sums and products round alike as constants and as arguments of a program."""


class CallPlan:
    """An operator with parsed parameters, on arrays of certain shapes and types.

    Args:
        given: the parameters that calls give; ``None`` for all. The others are at their defaults.

    Attributes:
        changes: places of the inputs that a call may write.
        visible: the number of outputs that show.
    """

    __slots__ = ("_call", "_calls", "_traced", "_types", "attrs", "changes", "op", "visible")

    def __init__(
        self,
        op: Op,
        attrs: Mapping[str, Any],
        avals: Sequence[Any],
        train: bool,
        given: Collection[str] | None = None,
    ):
        self.op, self.attrs, self._types = op, attrs, types_of(avals)
        traced = [n for n in traced_names(op) if _fits(attrs[n])]
        if given is not None:  # a default of 1, or a bound of -1, takes no step
            traced = [n for n in traced if n in given or attrs[n] not in _FIXED]
        names = self._traced = tuple(traced)
        fixed = tuple(sorted([item for item in attrs.items() if item[0] not in names]))
        compiled = functools.partial(_compiled, op, fixed, repr(fixed), names)
        trains = train and op.takes_train
        self._call = Call(
            compiled(trains),
            None,
            [attrs[n] for n in names],
            _needs_x64(op, fixed, tuple([dtype for _, dtype in self._types])),
            compiled(False) if trains and op.aux else None,
        )
        self._calls: Calls | None = None
        self.visible = op.visible_outputs(attrs)
        aux = op.aux_names(attrs)
        names = op.input_names(attrs)[: len(avals)] if aux else ()
        listed = set(names).issuperset(aux)  # else the states of several weights
        self.changes = [at for at, name in enumerate(names) if name in aux or not listed]

    def attrs_of(self, numbers: Numbers) -> Mapping[str, Any]:
        """The parameters of a call with traced parameters of its own."""
        return {**self.attrs, **numbers} if numbers else self.attrs

    def call(self, numbers: Numbers = NO_NUMBERS) -> Call:
        """A call with traced parameters of its own, and with new key data."""
        call, takes_key = self._call, self.op.takes_key
        if not numbers and not takes_key:
            return call
        fn, key_data, values, needs_x64, predicting = call
        if numbers:
            values = [numbers.get(n, v) for n, v in zip(self._traced, values, strict=True)]
        return Call(fn, stream.draw() if takes_key else key_data, values, needs_x64, predicting)

    def run(
        self,
        read: Callable[[bool], Sequence[Any]],
        on_host: bool,
        numbers: Numbers,
        *,
        raises: bool,
    ) -> Results:
        """Run a call.

        Args:
            read: the inputs, read when it is known what runs the call: ``read(True)`` for NumPy.
            on_host: whether NumPy may run it.
            numbers: its own traced parameters.
            raises: whether values that are refused raise here; else, unless the engine raises all
                errors at calls, reading a result does.

        Raises:
            ModkitError: the operator rejects these shapes or types; the error names both.
        """
        try:
            if "operators" in profiler.aggregated:
                return profiler.timed(self.op.name, lambda: self._run(read, on_host, numbers))
            return self._run(read, on_host, numbers)
        except ModkitError as error:
            if raises or error.refusal is None or raises_at_calls():
                raise
            error.refusal.times_raised -= 1
            return self._refused(error.refusal, numbers)

    def _run(
        self, read: Callable[[bool], Sequence[Any]], on_host: bool, numbers: Numbers
    ) -> Results:
        host, op = None, self.op
        drawn = on_host and op.drawn_on_host
        call = self._call if drawn else self.call(numbers)
        try:
            if on_host and not drawn:
                if self._calls is None:
                    self._calls = _calls_of(call, self._types)
                host = self._calls.next()
            values = read(drawn or host is not None)
            if op.check_values:
                self._check(op.check_values, numbers, values)
            if drawn:
                return self._drawn(values, numbers)
            if host is not None and _ON_HOST.issuperset(map(type, values)):
                outputs, changed = host.run(values, call)
            else:
                with x64_scope(call.needs_x64):
                    outputs, changed = call.fn(list(values), call.key_data, call.numbers)
            if op.check_results:
                self._check(op.check_results, numbers, values, outputs)
        except ModkitError as error:
            # Between the call and the message are frames of the trace alone, but for the user's
            # own code in a Custom operator; JAX notes that it hid some of them.
            if op.on_host:
                raise
            vars(error).pop("__notes__", None)
            raise error.with_traceback(None) from error.__cause__
        except (TypeError, ValueError, IndexError, ZeroDivisionError) as error:
            raise self._blamed(error) from error
        return outputs, changed, call, values

    def _drawn(self, values: Sequence[Any], numbers: Numbers) -> Results:
        """The results of a call that draws by NumPy's generator, and a call that gives them."""
        op, arrays = self.op, list(map(np.asarray, values))
        attrs, key = self.attrs_of(numbers), stream.generator()
        if self._calls is None and arrays:  # once, as `_calls_of`
            _check(op, arrays, attrs)
            self._calls = Calls()
        (made,), changed = quietly(functools.partial(op.call, arrays, attrs, key=key))
        made, call = np.asarray(made), self._call
        if values:
            call = Call(_given(made.shape, made.dtype), None, [made], call.needs_x64)
        return (made,), changed, call, values

    def _check(self, check: Callable[..., None], numbers: Numbers, *values: Any) -> None:
        """Raise the operator's error for values that it refuses, with its `Refusal`."""
        try:
            check(*values, self.attrs_of(numbers))
        except IndexError as error:
            Refusal(self._blamed(error)).run()
        except ModkitError as error:
            Refusal(error).run()

    def _blamed(self, error: Exception) -> ModkitError:
        """The error with the operator and its inputs in the message."""
        got = ", ".join(f"{dtype}{list(shape)}" for shape, dtype in self._types)
        return _blame(error, f"{self.op.name}({got}): {error}")

    def _refused(self, refusal: Refusal, numbers: Numbers) -> Results:
        """The results of a call whose values, or inputs, were refused: shapes and types."""
        call = self.call(numbers)
        if not self._types:
            shape = require_shape(self.op.name, self.attrs["shape"])
            result = jax.ShapeDtypeStruct(shape, _result_types(self.op, (), self.attrs)[0])
            outputs, changed = (result,), {}
        else:
            avals = [jax.ShapeDtypeStruct(*t) for t in self._types]
            with x64_scope(call.needs_x64):
                outputs, changed = jax.eval_shape(call.fn.plain, avals, call.key_data, call.numbers)
        outputs, changed = jax.tree.map(lambda a: Refused(refusal, a), (outputs, changed))
        return outputs, changed, call, ()


LARGEST = 2.0**24
"""Beyond it a float32 argument would round the value for an integer array."""


def _fits(number: Any) -> bool:
    """Whether float32 holds a number, or all numbers of a tuple, without rounding integers."""
    numbers = number if isinstance(number, tuple) else (number,)
    return not any(abs(n) >= LARGEST for n in numbers)


def _result_types(op: Op, types: Sequence[Any], attrs: Mapping[str, Any]) -> Sequence[str | None]:
    """Element types of the outputs; ``None`` where the inputs decide."""
    if op.dtypes is None:
        return (attrs.get("dtype"),)
    return op.dtypes(list(map(str, types)), attrs)[1]


def _blame(error: Exception, message: str) -> ModkitError:
    """A modkit error that is also of the built-in class of ``error``."""
    return _error_class(type(error))(message)


@functools.cache
def _error_class(builtin: type[Exception]) -> type[ModkitError]:
    text = {"__doc__": "An operator refused its inputs."}
    return type(f"Operator{builtin.__name__}", (ModkitError, builtin), text)

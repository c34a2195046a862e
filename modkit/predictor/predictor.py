"""Predictor: a network with its parameters as a thread-safe function of its data."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from modkit import checkpoint, stream
from modkit.compile.memo import made_once
from modkit.compile.program import Program
from modkit.context import Context, current_context
from modkit.errors import NameNotFoundError, ParameterError, ShapeError, unknown
from modkit.ndarray import NDArray
from modkit.ndarray.ndarray import from_jax
from modkit.ndarray.storage import placed_on, x64_scope
from modkit.ops.dtypes import DTYPE_CODES, WIDE
from modkit.predictor.plan import Plan, Shape, blank_shapes, make_plan
from modkit.predictor.ranking import Ranked, rank
from modkit.predictor.sources import as_inputs, as_params, as_symbol
from modkit.symbol.graph_inference import declared_shape
from modkit.symbol.lower import Lowered, lower

Inputs = Any
"""An array, or arrays by input name."""


class Predictor:
    """A network with its parameters as a function of its data.

    Programs are compiled for a few batch sizes: powers of two up to the size that was bound.
    Smaller batches are padded with copies of their last sample, larger ones are split. If some
    output has not one row for each sample, batches are neither padded nor split, and each new
    size is compiled. Samples must not influence each other.

    A predictor is immutable, so any number of threads may call it at once; they wait for each
    other only while a new size is compiled. Further training does not affect it. It can be pickled
    and copied.

    Loss layers need no labels. Labels that are given are not read.

    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=1, name="fc")
    >>> params = {"fc_weight": mx.nd.array([[2, 3]]), "fc_bias": mx.nd.array([1])}
    >>> predictor = Predictor(net, params, {"data": (4, 2)})
    >>> predictor.predict([[1, 0], [0, 1]])
    array([[3.],
           [4.]], dtype=float32)

    Args:
        symbol: the net: a Symbol, its JSON text, or the path of a ``-symbol.json`` file.
        params: arrays by name, with or without ``arg:`` and ``aux:``; the path of a ``.params``,
            ``.npz`` or ``.safetensors`` file; or the pair that ``Module.get_params`` gives.
            Names that the net lacks are ignored.
        input_shapes: shapes of whole batches by name, or a list of DataDesc, whose layouts give
            the batch axis; by default it is the first one.
        ctx: the device; default the current context.
        dtype: element type to compute in, such as ``"float16"``. It applies to inputs given as
            plain shapes; parameters follow by type inference. Default: that of the parameters.

    Raises:
        ParameterError: a parameter is missing.
        NameNotFoundError: an input that the net does not have.
        ShapeError: a parameter or input has a shape that does not fit.
        NotSupportedError: the net has an operator that modkit lacks.
    """

    def __init__(
        self,
        symbol: Any,
        params: Any,
        input_shapes: Any,
        ctx: Context | None = None,
        dtype: Any = None,
    ):
        self.symbol = as_symbol(symbol)
        self.ctx = ctx or current_context()
        self._dtype = dtype
        arrays = {
            n: v if isinstance(v, NDArray) else _array(n, v) for n, v in as_params(params).items()
        }
        self._inputs = as_inputs(input_shapes)
        self._plan: Plan = make_plan(self.symbol, arrays, self._inputs, dtype)
        self._lowered: Lowered = lower(self._plan.net)
        types = self._plan.types
        self._needs_x64 = self._lowered.needs_x64 or any(t.name in WIDE for t in types.values())
        with x64_scope(self._needs_x64):
            self._params = {
                n: self._placed(_array(n, arrays[n]), types[n]) for n in self._plan.params
            }
        self._programs: dict[tuple[Shape, ...], Program] = {}

    @classmethod
    def from_checkpoint(
        cls,
        prefix: str,
        epoch: int,
        input_shapes: Any = None,
        ctx: Context | None = None,
        dtype: Any = None,
    ) -> Predictor:
        """A predictor from ``prefix-symbol.json`` and ``prefix-<epoch>.params``.

        ``input_shapes`` are by default those of the net's own variables.

        Raises:
            ShapeError: neither the argument nor the net gives shapes.
        """
        net, args, auxs = checkpoint.load_checkpoint(prefix, epoch)
        if input_shapes is None:
            known = {*args, *auxs}
            open_ = [n for n in net.graph.arguments if n.name not in known]
            input_shapes = {n.name: s for n in open_ if (s := declared_shape(n))}
        return cls(net, (args, auxs), input_shapes, ctx, dtype)

    def reshape(self, input_shapes: Any) -> Predictor:
        """Another predictor of the same net and parameters, for other input shapes."""
        return Predictor(self.symbol, self._params, input_shapes, self.ctx, self._dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles are made of the net and the parameters, and compile anew."""
        params = {n: np.asarray(value) for n, value in self._params.items()}
        return type(self), (self.symbol, params, self._inputs, self.ctx, self._dtype)

    # ── What it is ──────────────────────────────────────────────────────────────────────────

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of the inputs."""
        return tuple(self._plan.batches.shapes)

    @property
    def input_shapes(self) -> dict[str, Shape]:
        """Shapes of the inputs as they were bound."""
        return dict(self._plan.batches.shapes)

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the outputs."""
        return self._lowered.output_names

    @property
    def sizes(self) -> tuple[int, ...]:
        """The compiled batch sizes; none if batches are neither padded nor split."""
        return self._plan.batches.sizes

    def __repr__(self) -> str:
        shapes = ", ".join(f"{n}: {s}" for n, s in self.input_shapes.items())
        return f"<Predictor {shapes} -> {', '.join(self.output_names)} @{self.ctx!r}>"

    # ── Prediction ──────────────────────────────────────────────────────────────────────────

    def predict(self, x: Inputs) -> Any:
        """The outputs for some samples.

        Args:
            x: an array for a net of one input, else arrays by name.

        Returns:
            A NumPy array; a list of them for a net of several outputs.

        Raises:
            ParameterError: an input is missing, or not made of numbers.
            NameNotFoundError: an input that the net does not have.
            ShapeError: a shape that does not fit.
        """
        parts: list[list[np.ndarray]] = []
        ahead: deque[tuple[list[jax.Array], int | None]] = deque()
        with x64_scope(self._needs_x64):
            for run in self._runs(x):
                ahead.append(run)
                # The device computes the next piece while one is copied to the host.
                if len(ahead) > 1:
                    parts.append(self._fetched(*ahead.popleft()))
        parts.append(self._fetched(*ahead.popleft()))
        outputs = self._plan.batches.joined(parts, np.concatenate)
        return outputs[0] if len(outputs) == 1 else outputs

    def forward(self, x: Inputs) -> list[NDArray]:
        """The outputs as NDArrays on the device, without waiting for them; see `predict`.

        NumPy arrays are copied: one may be filled with the next samples at once.
        """
        batches = self._plan.batches
        with x64_scope(self._needs_x64):
            parts = [batches.real(*run) for run in self._runs(x, copied=True)]
            outputs = batches.joined(parts, jnp.concatenate)
        return [from_jax(y, self.ctx) for y in outputs]

    def top_k(
        self, x: Inputs, k: int = 5, labels: Sequence[str] | None = None, output: int = 0
    ) -> list[list[Ranked]]:
        """For each sample the classes with the highest scores, best first.

        Args:
            x: as for `predict`.
            k: how many; all classes, where there are fewer.
            labels: names of the classes, in their order.
            output: index of the output with the scores.

        Raises:
            ShapeError: the output is not (samples, classes).
            ParameterError: ``k`` is less than 1, or there are not as many labels as classes.
        """
        found = self.predict(x)
        scores = found[output] if isinstance(found, list) else found
        return rank(scores, k, labels, where=self.output_names[output])

    def warm_up(self) -> None:
        """Compile all sizes now, so that no later call waits for a compilation."""
        batches = self._plan.batches
        for size in self.sizes:
            self.forward({n: np.zeros(batches.resized(n, size)) for n in self.input_names})

    # ── Running ─────────────────────────────────────────────────────────────────────────────

    def _runs(
        self, x: Inputs, copied: bool = False
    ) -> Iterator[tuple[list[jax.Array], int | None]]:
        """Run the pieces of a batch in order: outputs and number of samples of each.

        A program on a CPU reads NumPy arrays in their place. ``copied`` is for those that may
        change before it has ended.
        """
        for piece, count in self._plan.batches.pieces(self._accepted(x, copied)):
            yield self._run(piece), count

    def _run(self, inputs: dict[str, Any]) -> list[jax.Array]:
        signature = tuple(a.shape for a in inputs.values())
        program = self._programs.get(signature)
        if program is None:
            # Concurrent threads get the same program, which compiles once.
            shapes = dict(zip(inputs, signature, strict=True))
            blanks = blank_shapes(self._plan, shapes, self._params)
            program = _program(self._lowered.base, self.ctx.jax_device.platform, blanks)
            self._programs[signature] = program
        key_data = stream.draw(self._lowered.streams) if self._lowered.takes_key else None
        return program(self._params, inputs, key_data)

    def _fetched(self, outputs: list[jax.Array], count: int | None) -> list[np.ndarray]:
        """The outputs without padding rows, on the host, as writable arrays."""
        host = self._plan.batches.real([np.asarray(y) for y in outputs], count)
        return [np.array(y) for y in host]

    # ── Inputs ──────────────────────────────────────────────────────────────────────────────

    def _accepted(self, x: Inputs, copied: bool) -> dict[str, Any]:
        """The inputs by name, in order and of their types."""
        plan, names = self._plan, self.input_names
        if not isinstance(x, Mapping):
            if len(names) != 1:
                raise ParameterError(
                    f"predict: got one array for the inputs {', '.join(names)}; give arrays by name"
                )
            x = {names[0]: x}
        for name in x:
            if name not in plan.batches.shapes and name not in plan.labels:
                raise NameNotFoundError(unknown("predict: no input", name, names))
        missing = [n for n in names if n not in x]
        if missing:
            raise ParameterError(f"predict: input {missing[0]!r} is missing")
        return {n: self._placed_input(n, x[n], copied) for n in names}

    def _placed_input(self, name: str, value: Any, copied: bool) -> Any:
        value, dtype = _array(name, value), self._plan.types[name]
        if isinstance(value, jax.Array):
            return self._placed(value, dtype)
        # The program itself transfers NumPy arrays faster.
        return value.astype(dtype, copy=copied)

    def _placed(self, value: Any, dtype: Any) -> jax.Array:
        value = value if value.dtype == dtype else value.astype(dtype)
        return placed_on(value, self.ctx.jax_device)


_NUMBERS = frozenset(map(jnp.dtype, DTYPE_CODES.values()))


def _array(name: str, value: Any) -> Any:
    """A ``jax.Array``, or a NumPy array of numbers."""
    if isinstance(value, NDArray):
        return value._as_dense()._cell.get()
    if isinstance(value, jax.Array):
        return value
    try:
        made = np.asarray(value)
    except ValueError as error:
        raise ShapeError(f"{name!r}: rows of different lengths are no array: {error}") from error
    if made.dtype.newbyteorder("=") not in _NUMBERS:
        raise ParameterError(f"{name!r}: got elements of type {made.dtype}, expected numbers")
    return made


_Blanks = tuple[tuple[str, Shape], ...]


@made_once(maxsize=256)
def _program(lowered: Lowered, platform: str, blanks: _Blanks) -> Program:
    """The compiled net, shared by the predictors of equal nets.

    ``(params, inputs, random key_data) -> outputs``, in inference mode.
    """

    def predict(params: Any, inputs: Any, key_data: Any) -> list[jax.Array]:
        zeros = {n: jnp.zeros(shape, jnp.float32) for n, shape in blanks}
        key, streams = None, ()
        if key_data is not None:
            key, streams = stream.as_key(key_data), stream.numbers_of(key_data)
        values, last = {**params, **inputs, **zeros}, platform == "cpu"
        return lowered.run(values, key, False, channels_last=last, streams=streams)[0]

    name = f"prediction of {lowered}"
    return Program(predict, (lowered, platform, blanks, predict), name)

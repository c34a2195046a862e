"""Programs of a graph: forward, forward with residuals, backward, and forward with backward."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from modkit import stream
from modkit.compile.memo import MadeOnceEach, made_once
from modkit.compile.program import Program
from modkit.interpreter.reverse import vjp
from modkit.ops.elementwise.arithmetic import convert, is_whole
from modkit.ops.integer_gradients import moving, through, twin_type, untwinned, with_derivative
from modkit.ops.sparse_values import Csr, Rows, named_rows, plain, plus
from modkit.step.node_taps import NodeWatch, take_taps, taps_for
from modkit.step.placement import Kind, Placement, Spec, finished, pinned_to
from modkit.step.residuals import Pullbacks, Residuals
from modkit.symbol.lower import Lowered, Results
from modkit.symbol.row_sparse import Lookups, joined_numbers, rows_read

Arrays = Mapping[str, jax.Array]

INPUTS: tuple[Kind, ...] = ("shared", "local", "local", "plain")
"""Kinds of the inputs of every forward program: ``shared, local, aux, key_data``."""

_PREDICTIONS = 1000
"""The most predictions by a program with a metric. One without it saves more than its compilation
takes by then, also for small networks."""


def program(ins: Sequence[Kind], outs: Sequence[Kind] | Kind) -> Callable[..., Any]:
    """Have a method of `Programs` be an attribute: its program, for arguments of these kinds."""

    def decorate(method: Callable[..., Any]) -> MadeOnceEach[Callable[..., Any]]:
        def made(self: Programs) -> Callable[..., Any]:
            def run(*args: Any) -> Any:
                return method(self, *args)

            run.__name__, run.__qualname__ = method.__name__, method.__qualname__
            return self._compile(run, ins, outs)

        made.__name__, made.__doc__ = method.__name__, method.__doc__
        return MadeOnceEach(made)

    return decorate


class Programs:
    """One graph's programs for one set of differentiated arguments. Made by `programs_for`.

    Every program is a function of named arrays: ``shared`` (parameters), ``local`` (data),
    ``aux``, and the key data of a random key with the numbers of the nodes' random streams. jit
    itself tells shapes and types apart.
    """

    def __init__(self, lowered: Lowered, wrt: tuple[str, ...], train: bool, placement: Placement):
        self._lowered, self._wrt, self._train, self._placement = lowered, wrt, train, placement
        self.turn = threading.RLock()
        self._pullbacks = Pullbacks(self._pullback)
        self.scored = made_once(maxsize=64)(self._scored)
        self._latest_scored: Any = None
        self._predictions = 0

    def cache_key_parts(self) -> tuple[Any, ...]:
        """Cache key parts of the programs."""
        return self._lowered, self._wrt, self._train, self._placement

    def run(
        self, values: Arrays, key_data: Any, watch: NodeWatch | None = None, whole: bool = False
    ) -> Results:
        """The graph as it is traced inside every program; see `Lowered.run` for ``whole``.

        States that gradients do not reach stay. Several replicas change auxiliary states only:
        parameters are theirs together.
        """
        key, streams = None, ()
        if self._lowered.takes_key:
            key = self._placement.split_key(stream.as_key(key_data))
            streams = stream.numbers_of(key_data)
        channels_last = self._placement.platform == "cpu" and watch is None
        moves = self._lowered.reached((*self._wrt, *self._lowered.host_aux)) if whole else ()
        writers = self._lowered.writers(self._wrt) if self._train else None
        outputs, changed, anchor, looked_up = self._lowered.run(
            values, key, self._train, watch, channels_last, streams=streams, whole=moves,
            writers=writers,
        )  # fmt: skip
        if len(self._placement.contexts) > 1:
            changed = {n: v for n, v in changed.items() if n in self._lowered.aux_names}
        if self._train:
            for name in self._lowered.frozen_states(self._wrt) & changed.keys():
                del changed[name]
        return Results(outputs, changed, anchor, looked_up)

    def differentiate(
        self, values: Arrays, key_data: Any, taps: Arrays | None = None
    ) -> tuple[list[jax.Array], Callable[[Any], Any], Any]:
        """Traced: outputs, pullback from cotangents to gradients by name, and changed aux.

        Under the names of `Lowered.host_aux` the pullback returns states after the backward pass.
        With ``taps`` it returns their gradients too, and beside changed aux stand the outputs and
        inputs of nodes.
        """
        host_aux = self._lowered.host_aux
        # A gradient of the data themselves is dense.
        values = {n: plain(v) if n in self._wrt else v for n, v in values.items()}
        read = self._rows(values)

        def forward(moved: Arrays) -> Any:
            parts = {n: replace(rows, rows=moved[n]) for n, rows in read.items()}
            mixed: dict[str, Any] = {**values, **moved, **parts}
            if taps is None:
                mixed |= {n: with_derivative(values[n], moved[n]) for n in types}
                outputs, changed, anchor, looked_up = self.run(mixed, key_data, whole=True)
                seen = changed
            else:
                mixed |= {n: values[n] for n in types}
                watch = NodeWatch(self._lowered, {n: moved[n] for n in taps})
                outputs, changed, anchor, looked_up = self.run(mixed, key_data, watch)
                seen = changed, watch.made, watch.arrays
            states = {n: changed[n] for n in host_aux if n in moved}
            looked_up = {
                n: named_rows(joined_numbers(each), len(values[n]))
                for n, each in looked_up.items()
                if n in moved and n not in types
            }
            more = seen, list(map(untwinned, outputs)), looked_up
            return (list(map(_path, outputs)), states, anchor), more

        # Residuals that pass between two programs may be of any type.
        wrt = (*self._wrt, *host_aux)
        types = {n: jnp.zeros((), values[n].dtype) for n in self._wrt if is_whole(values[n].dtype)}
        moved = {n: values[n] for n in wrt if jnp.issubdtype(values[n].dtype, jnp.inexact)}
        moved |= {n: moving(values[n]) for n in types}
        moved |= {n: rows.rows for n, rows in read.items()} | dict(taps or {})
        (_, states, _), pullback, more = vjp(forward, moved, has_aux=True)
        changed, outputs, looked_up = more
        pull = jax.tree_util.Partial(_pull, pullback, states, read, looked_up, types)
        return outputs, pull, changed

    def _pullback(self, shared: Arrays, local: Arrays, aux: Arrays, key_data: Any) -> Any:
        return self.differentiate({**shared, **local, **aux}, key_data)[1]

    def _rows(self, values: Arrays) -> dict[str, Rows]:
        """The rows that are read of each weight whose gradient is row-sparse."""
        found: dict[str, Rows] = {}
        for name, source in self._lowered.row_sources.items():
            weight = values[name]
            if name not in self._wrt or weight.ndim != 2 or name in self._lowered.looked_up:
                continue
            if is_whole(weight.dtype):  # dense: see `modkit.ops.integer_gradients`
                continue
            data = rows_read(self._lowered.steps, source, values)
            lookup = isinstance(source, Lookups)
            if lookup or isinstance(data, Csr) or source.name in self._lowered.csr_inputs:
                rows = named_rows(data, len(weight), factor=not lookup)
                found[name] = replace(rows, rows=rows.of(weight))
        return found

    def _compile(self, fn: Callable[..., Any], ins: Any, outs: Any) -> Callable[..., Any]:
        run = self._placement.compile(Spec(fn, ins, outs, of=str(self._lowered)))
        if not self._lowered.graph.inputs:
            run = pinned_to(run, self._placement.device)
        return finished(run) if self._lowered.on_host else run

    @program(INPUTS, ("local", "local"))
    def forward(self, shared: Arrays, local: Arrays, aux: Arrays, key_data: Any) -> Any:
        """``(outputs, changed aux)``."""
        return self.run({**shared, **local, **aux}, key_data)[:2]

    def _scored(self, metric: Any, labels: tuple[str, ...]) -> Callable[..., Any]:
        """``(shared, local, aux, key_data) -> (outputs, changed aux, sums of a fused metric)``."""

        def scored(shared: Arrays, local: Arrays, aux: Arrays, key_data: Any) -> Any:
            outputs, changed = self.run({**shared, **local, **aux}, key_data)[:2]
            return outputs, changed, metric([local[n] for n in labels], outputs)

        self._latest_scored = program = self._compile(scored, INPUTS, ("local",) * 3)
        return program

    def predicting(self, args: Sequence[Any]) -> Callable[..., Any]:
        """A program whose first two results are those of `forward`.

        It is one with a metric, if that is compiled for such arguments and `forward` is not, as
        when predictions come after validation: up to `_PREDICTIONS` times.
        """
        forward, scored = self.forward, self._latest_scored
        if (
            scored is None
            or self._predictions >= _PREDICTIONS
            or not isinstance(scored, Program)
            or not isinstance(forward, Program)
            or forward.is_compiled_for(args)
            or not scored.is_compiled_for(args)
        ):
            return forward
        self._predictions += 1
        return scored

    @program(INPUTS, ("local",) * 3)
    def forward_kept(self, shared: Arrays, local: Arrays, aux: Arrays, key_data: Any) -> Any:
        """``(outputs, changed aux, residuals)``."""
        outputs, pullback, changed = self.differentiate({**shared, **local, **aux}, key_data)
        args = shared, local, aux, key_data
        return outputs, changed, self._pullbacks.residuals(pullback, args)

    @program(INPUTS, ("local",) * 4)
    def watched(self, shared: Arrays, local: Arrays, aux: Arrays, key_data: Any) -> Any:
        """``(outputs, changed aux, pullback, seen)``.

        ``seen`` is the outputs of nodes, and the inputs by `modkit.step.node_taps.NodeInput`; the
        pullback gives gradients of these inputs too; ``None`` where nothing is differentiated.
        """
        values = {**shared, **local, **aux}
        if not (self._train and self._wrt):
            watch = NodeWatch(self._lowered)
            outputs, changed = self.run(values, key_data, watch)[:2]
            return outputs, changed, None, (watch.made, watch.arrays)
        outputs, pullback, (changed, *seen) = self._with_taps(values, key_data)
        return outputs, changed, pullback, tuple(seen)

    @program((*INPUTS, "local"), "local")
    def watched_gradients(
        self, shared: Arrays, local: Arrays, aux: Arrays, key_data: Any, heads: Any
    ) -> Any:
        """Gradients by `modkit.step.node_taps.NodeInput`."""
        outputs, pullback, _ = self._with_taps({**shared, **local, **aux}, key_data)
        return take_taps(self._lowered, gradients(pullback, outputs, heads, {}))

    def _with_taps(self, values: Arrays, key_data: Any) -> Any:
        taps = taps_for(self._lowered, self._wrt, lambda watch: self.run(values, key_data, watch))
        return self.differentiate(values, key_data, taps)

    @program(("local",) * 4, "local")
    def backward(self, kept: Any, outputs: Any, heads: Any, old: Arrays) -> Any:
        """Gradients, added to the ``old`` ones.

        ``kept`` is the residuals of `forward_kept` or the pullback of `watched`.
        """
        known = self._pullbacks.pullback(kept) if isinstance(kept, Residuals) else kept
        return gradients(known, outputs, heads, old)

    @program((*INPUTS, "local", "local"), ("local",) * 3)
    def forward_backward(
        self, shared: Arrays, local: Arrays, aux: Arrays, key_data: Any, heads: Any, old: Arrays
    ) -> Any:
        """``(outputs, changed aux, gradients)``."""
        outputs, pullback, changed = self.differentiate({**shared, **local, **aux}, key_data)
        grads = gradients(pullback, outputs, heads, old)
        return outputs, {**changed, **self._lowered.take_states(grads)}, grads


def _path(output: Any) -> Any:
    """The floating-point array that an output is differentiated by."""
    path = through(output)
    return jnp.zeros(path.shape, twin_type(path.dtype)) if is_whole(path.dtype) else path


def _pull(
    pullback: Any,
    states: Arrays,
    read: Mapping[str, Rows],
    looked_up: Mapping[str, Rows],
    types: Arrays,
    heads: Any,
) -> Any:
    """Gradients by name: a pullback of outputs, of states, each its own cotangent, and an anchor.

    Args:
        read: by weight, the rows that are differentiated.
        looked_up: by weight, the numbers of the rows that its gradient reaches.
        types: by argument of whole numbers, a zero of its type, which its gradient has too.
    """
    (grads,) = pullback((heads, states, np.zeros((), np.float32)))
    by_rows = {n: replace(rows, rows=grads[n]) for n, rows in read.items()}
    by_rows |= {n: replace(rows, rows=rows.of(grads[n])) for n, rows in looked_up.items()}
    cut_off = {n: convert(grads[n], like.dtype) for n, like in types.items()}
    return {**grads, **cut_off, **by_rows}


def gradients(pullback: Any, outputs: Any, heads: Any, old: Arrays) -> dict[str, jax.Array]:
    """Traced: gradients by name, added to ``old`` ones; a missing cotangent is ones."""
    heads = [
        moving(jnp.ones_like(y) if h is None else convert(h, y.dtype).reshape(y.shape))
        for y, h in zip(outputs, heads or [None] * len(outputs), strict=True)
    ]
    grads = pullback(heads)
    return {n: plus(old[n], g) if n in old else g for n, g in grads.items()}


@made_once(maxsize=1024)
def programs_for(
    lowered: Lowered, wrt: tuple[str, ...], train: bool, placement: Placement
) -> Programs:
    """The programs of a graph, shared by all equal graphs."""
    return Programs(lowered, wrt, train, placement)

"""A graph with the cells it reads and writes, and the passes over it that are still to run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from modkit import stream
from modkit.errors import NotReadyError, ParameterError
from modkit.executor.carry import Carry
from modkit.executor.placement import Placement
from modkit.executor.programs import Programs, programs_for
from modkit.executor.segments import SegmentedPrograms, segmented_for
from modkit.ndarray.cell import AnyCell, Cell, under_way, wide
from modkit.symbol.lower import Lowered

Cells = dict[str, AnyCell]


class Bound:
    """A lowered graph, where it runs, and its cells by name.

    Args:
        lowered: the graph.
        placement: where, and in how many replicas.
        shared: arguments of which there is one logical copy: parameters.
        local: arguments of which each replica has its part: data and labels.
        aux: auxiliary states.
        grads: gradients, of those arguments that have one.
        grad_req: ``"write"`` or ``"add"`` for each name in ``grads``.
        out_avals: shape and dtype of each output.
    """

    def __init__(
        self,
        lowered: Lowered,
        placement: Placement,
        shared: Cells,
        local: Cells,
        aux: Cells,
        grads: Cells,
        grad_req: Mapping[str, str],
        out_avals: Sequence[Any],
    ):
        self.lowered = lowered
        self.placement: Any = placement  # the module's placements can do more than the protocol
        self.eager = not all(c.waits for c in (*aux.values(), *grads.values()))
        self.shared, self.local, self.aux, self.grads = shared, local, aux, grads
        self.adds = tuple(n for n in grads if grad_req[n] == "add")
        self.outputs = [Cell.promised(a) for a in out_avals]
        self.out_avals = list(out_avals)
        cells = (*shared.values(), *local.values(), *aux.values())
        self.scope = wide(*(c.aval.dtype for c in cells), "int64" if lowered.wide else "")
        self.last: Pass | None = None
        self.carry: Carry | None = None
        self.wrt = tuple(
            n for n in grads if jnp.issubdtype((shared.get(n) or local[n]).aval.dtype, jnp.inexact)
        )

    def programs(self, train: bool) -> Programs | SegmentedPrograms:
        """The compiled forms, shared with every equal graph."""
        if self.placement.spread:
            return segmented_for(self.lowered, self.wrt, train, self.placement)
        return programs_for(self.lowered, self.wrt, train, self.placement)

    def forward(self, train: bool) -> Pass:
        """Begin a pass: read all cells now, compute when somebody asks."""
        self.last = Pass(self, train)
        if self.eager and train:
            self.last.run()
        return self.last

    def require_heads(self, given: Sequence[Any]) -> None:
        """Check that every head that is no loss has a gradient.

        Raises:
            ParameterError: one has none.
        """
        if not self.wrt:
            return
        names, losses = self.lowered.output_names, self.lowered.loss_heads
        for i, (name, is_loss) in enumerate(zip(names, losses, strict=True)):
            if not is_loss and (i >= len(given) or given[i] is None):
                raise ParameterError(
                    f"backward: output {name!r} is not a loss, so backward() needs its gradient: "
                    "pass out_grads, or end in a loss such as SoftmaxOutput or MakeLoss"
                )

    def backward(self, heads: Sequence[Any] | None = None) -> None:
        """Ask for gradients of the last pass; computed when somebody reads.

        Raises:
            NotReadyError: there was no forward pass.
        """
        if self.last is None:
            raise NotReadyError("backward() needs forward(is_train=True) first")
        if self.last.wants_gradients:
            self.last.run()
        if not self.last.differentiable:
            self.last = self.last.again()
        self.last.want_gradients(heads)
        if self.eager:
            self.last.run()


class Pass:
    """One forward pass, and perhaps its backward.

    Who reads first decides what is run: one program for both, where gradients were asked for
    before anybody read an output; else one that keeps residuals, and one that uses them.
    A step of the module may join a pass that has not run, and then runs it with the update.
    """

    def __init__(self, bound: Bound, train: bool, *, words: Any = None, repeat: bool = False):
        self.bound, self.train = bound, train
        self.words = stream.draw() if words is None else words
        self.repeat = repeat
        self.joined: Any = None
        self.heads: Any = None
        self.old: dict[str, jax.Array] = {}
        self.wants_gradients = False
        self._kept: Any = None
        self.follows: Carry | None = None
        self.shared: dict[str, jax.Array] | None = {}
        self.aux: dict[str, jax.Array] = {}
        self.local = {n: c.snapshot(self) for n, c in bound.local.items()}
        carry = bound.carry if train and not repeat else None
        if carry is not None and carry.follower is None and carry.intact():
            self.follows, carry.follower = carry, self
            fixed = {n: c.snapshot(self) for n, c in bound.shared.items() if n not in carry.cells}
            self.shared, self.aux = {**fixed, **carry.params}, carry.aux
        else:
            self.shared = {n: c.snapshot(self) for n, c in bound.shared.items()}
            self.aux = {n: c.snapshot(self) for n, c in bound.aux.items()}
            under_way.add(self)
        if not repeat:
            for cell, aval in zip(bound.outputs, bound.out_avals, strict=True):
                cell.wait_for(self, aval)
            if train and self.follows is None:
                for cell in bound.aux.values():
                    cell.wait_for(self, cell.aval)

    def again(self) -> Pass:
        """The same pass, with the same random numbers, over what its cells hold now."""
        return Pass(self.bound, self.train, words=self.words, repeat=True)

    @property
    def fresh(self) -> bool:
        """Whether nothing of this pass has been computed."""
        return self.shared is not None

    @property
    def settled(self) -> bool:
        """Whether it holds on to none of the arrays that it read."""
        return self.shared is None

    @property
    def differentiable(self) -> bool:
        """Whether gradients can still be asked for."""
        return self.fresh or self._kept is not None

    def want_gradients(self, heads: Sequence[Any] | None) -> None:
        """Ask for gradients, which are written when somebody reads."""
        grads = self.bound.grads
        self.heads = heads
        self.old = {n: grads[n].get() for n in self.bound.adds}
        self.wants_gradients = True
        if self.follows is None:
            for name in self.bound.wrt:
                grads[name].wait_for(self, grads[name].aval)

    def take_over(self, waiting: set[AnyCell]) -> None:
        """Go on from the cells, of which these have just been given the carry's values."""
        bound, self.follows = self.bound, None
        read = ((bound.shared, self.shared or {}), (bound.aux, self.aux))
        for cells, values in read:
            for name, value in values.items():
                if cells[name].holds(value):
                    cells[name].snapshot(self)
        writes = [*bound.aux.values()]
        if self.wants_gradients:
            writes += [bound.grads[name] for name in bound.wrt]
        for cell in waiting.intersection(writes):
            cell.wait_for(self, cell.aval)
        if self.joined is not None:
            self.joined.take_over(waiting)
        under_way.add(self)

    def surface(self) -> None:
        """Have every cell that this pass reads or writes know of it."""
        if self.follows is not None:
            self.follows.run()

    def run(self) -> None:
        """Compute what was asked for, and let go of what was read."""
        self.surface()
        if self.joined is not None:
            self.joined.run()
            return
        programs = self.bound.programs(self.train)
        try:
            with self.bound.scope:
                if self.fresh:
                    self._run_forward(programs)
                elif self.wants_gradients and self._kept is not None:
                    self._run_backward(programs, *self._kept)
        except Exception:
            self.give_up()
            raise

    def _run_forward(self, programs: Programs | SegmentedPrograms) -> None:
        inputs = (self.shared or {}, self.local, self.aux, self.words)
        if self.wants_gradients:
            self.finish(*programs.both(*inputs, self.heads, self.old))
        elif self.train and self.bound.wrt:
            outputs, changed, pullback = programs.forward_kept(*inputs)
            self._kept = pullback, outputs
            self.finish(outputs, changed)
        else:
            self.finish(*programs.forward(*inputs))

    def _run_backward(
        self, programs: Programs | SegmentedPrograms, pullback: Any, outputs: Any
    ) -> None:
        self._write_gradients(programs.backward(pullback, outputs, self.heads, self.old))
        self.wants_gradients = False

    def give_up(self) -> None:
        """After a failure: auxiliary states get their values back, and nobody waits any more."""
        if self.train and not self.repeat:
            for name, value in self.aux.items():
                self.bound.aux[name].fill(self, value)
        for name, value in self.old.items():
            self.bound.grads[name].fill(self, value)
        for cell in (*self.bound.outputs, *self.bound.grads.values()):
            cell.forget(self)
        self.shared = self.joined = self.follows = self._kept = None
        self.local, self.aux, self.old = {}, {}, {}
        self.wants_gradients = False

    def finish(
        self,
        outputs: Sequence[jax.Array],
        changed: Mapping[str, jax.Array],
        grads: Mapping[str, jax.Array] | None = None,
    ) -> None:
        """Write what was computed into the cells that still wait for it."""
        self._write_arguments(changed)
        if self.train and not self.repeat:
            for name, cell in self.bound.aux.items():
                cell.fill(self, changed[name] if name in changed else self.aux[name])
        if grads is not None:
            self._write_gradients(grads)
            self.wants_gradients = False
        self.close(outputs)

    def close(self, outputs: Sequence[jax.Array]) -> None:
        """Write the outputs, and let go of everything that was read."""
        for cell, value in zip(self.bound.outputs, outputs, strict=True):
            cell.fill(self, value)
        self.shared = self.joined = self.follows = None
        self.local, self.aux = {}, {}

    def _write_arguments(self, changed: Mapping[str, jax.Array]) -> None:
        """Write arguments that the graph overwrote, unless somebody wrote them since."""
        for name, value in changed.items():
            if name in self.bound.aux:
                continue
            seen = (self.shared or {}).get(name, self.local.get(name))
            cell = self.bound.shared.get(name) or self.bound.local[name]
            if seen is not None and cell.holds(seen):
                cell.set(value)

    def _write_gradients(self, grads: Mapping[str, jax.Array]) -> None:
        for name, value in grads.items():
            self.bound.grads[name].fill(self, value)
        self.old = {}

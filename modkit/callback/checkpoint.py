"""Checkpoint: the whole state of a training, written while it goes on."""

from __future__ import annotations

import hashlib
import json
import logging
import math
import os
import re
import signal
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from modkit.callback import checkpoint_folder as folders
from modkit.callback.base import Callback
from modkit.callback.checkpoint_folder import ResumeError
from modkit.callback.checkpoint_of_workers import check_found, own_state, whole_state
from modkit.callback.run import Run
from modkit.constructors import check_at_least
from modkit.errors import ModkitError, ParameterError, expect, warn_caller
from modkit.files import check_writable, named_errors
from modkit.optimizer.identity import identity, resumable

_log = logging.getLogger(__name__)
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Checkpoint(Callback):
    """Writes the state of a training, from which ``fit(..., resume=folder)`` goes on.

    The resumed training has the bits of one that was not interrupted: a checkpoint holds
    parameters, auxiliary states of each replica, gradients under ``grad_req="add"``, optimizer
    states, counts and schedule, the random streams of modkit, NumPy and Python, the position in
    the data, metric sums and states of callbacks. It is a folder, ``step-<steps>``, that appears
    once it is complete: with MXNet's files ``model-symbol.json``, ``model-<epoch>.params`` and
    ``model-<epoch>.states``.

    Ctrl-C and SIGTERM end the training after the present batch or the next one, once a checkpoint
    is written, and then take their usual effect: ``KeyboardInterrupt``, or the end of the process.
    The second one takes it at once.

    With several workers, each of which has this callback, worker 0 writes the state of all. They
    agree on a signal, and on `Run.stop_training`: all end after the same batch, after which a
    checkpoint is written. A training may go on with another number of workers, to rounding.

    Args:
        folder: of the checkpoints; made if it is missing. One training at a time uses it. One
            that holds checkpoints of an earlier ``fit`` is an error, unless this one goes on with
            them.
        every_n_batches: write after so many batches, counted over all epochs; ``None``: only at
            the ends of epochs. With ``steps_per_call`` at the end of a call.
        every_n_epochs: write after so many epochs.
        keep: number of checkpoints to keep, older ones are removed; 0 keeps all.
        asynchronous: write in a thread. While it writes, a checkpoint of batches that is due is put
            off to a later batch, and one of an epoch's end waits. A write that fails is a warning,
            but for the last one, which raises.
        share: largest share of the time that the thread spends on checkpoints of batches. With
            0.02, one that took 10 ms of processor time is followed by none for 490 ms. 1 sets no
            bound; with several workers, which write together, there is none.
        overwrite: remove the checkpoints of an earlier ``fit`` when this one begins, unless it
            resumes from them.

    Raises:
        ParameterError: a number that is too small; at the begin of ``fit`` a folder that holds
            checkpoints of an earlier one.
        FileAccessError: at the begin of ``fit`` a folder that cannot be made or written.
    """

    order = 2

    def __init__(
        self,
        folder: str | os.PathLike[str],
        every_n_batches: int | None = None,
        every_n_epochs: int = 1,
        keep: int = 3,
        asynchronous: bool = True,
        share: float = 0.02,
        overwrite: bool = False,
    ):
        expect(0 < share <= 1, "Checkpoint: share", share, "above 0, at most 1")
        self.folder, self.share, self.overwrite = Path(folder), share, overwrite
        self.every_n_batches = every_n_batches
        if every_n_batches is not None:
            self.every_n_batches = check_at_least(
                "Checkpoint", "every_n_batches", every_n_batches, 1
            )
        self.every_n_epochs = check_at_least("Checkpoint", "every_n_epochs", every_n_epochs, 1)
        self.keep = check_at_least("Checkpoint", "keep", keep or 0, 0)
        self.asynchronous = asynchronous
        self._reset()

    def _reset(self) -> None:
        self._due = False
        self._signal: int | None = None
        self._handlers: dict[int, Any] = {}
        self._thread: ThreadPoolExecutor | None = None
        self._writing: Future[Any] | None = None
        self._rests_until_s = 0.0

    # ── Events ──────────────────────────────────────────────────────────────────────────────

    def on_fit_begin(self, run: Run) -> None:
        """Make the folder, catch signals, and check that the state can be written."""
        self._reset()
        self._together = run.workers is not None
        self._writes = not self._together or run.workers.rank == 0
        if self._writes:
            with named_errors(f"Checkpoint: folder: {self.folder}", "written"):
                self.folder.mkdir(parents=True, exist_ok=True)
                check_writable(self.folder)
                folders.sweep(self.folder)
        self._refuse_others(run)
        folders.check(run.state_dict())  # an error in it is one before the first batch
        run.identity = run.identity or identity_of(run)
        self._symbol = run.module.symbol.tojson()
        if self.asynchronous:
            self._thread = ThreadPoolExecutor(1, "modkit-checkpoint")
        self._foresee(run)
        if threading.current_thread() is threading.main_thread():
            self._run = run
            self._handlers = {n: signal.signal(n, self._on_signal) for n in _SIGNALS}

    def _refuse_others(self, run: Run) -> None:
        """Remove checkpoints that this training does not go on from, or raise, in all workers."""
        other = self._other(run) if self._writes else ""
        if run.workers is not None:
            other = run.workers.gather(other)[0]
        if other and not self.overwrite:
            raise ParameterError(
                f"Checkpoint: {self.folder} holds checkpoints of an earlier fit, the last one "
                f"{other}; go on with it by fit(..., resume={str(self.folder)!r}), give another "
                "folder, or replace them: overwrite=True"
            )
        if other and self._writes:
            folders.clear(self.folder)

    def _other(self, run: Run) -> str:
        """The newest checkpoint in the folder, if it is of another training."""
        found = folders.checkpoints(self.folder)
        resumed = run.resume_folder and run.resume_folder.resolve() == self.folder.resolve()
        own = resumed or not found or folders.training_of(found[0]) == run.training
        return "" if own else found[0].name

    def on_batch_end(self, run: Run) -> None:
        self._due = self._due or self._is_due(run.step) or self._ends(run)
        # After the last batch of an epoch the checkpoint is that of its end.
        if self._due and run.position is not None and run.chunk_end and not run.last_batch:
            self._write(run)
        self._foresee(run)

    def on_epoch_end(self, run: Run) -> None:
        ended = (run.epoch + 1) % self.every_n_epochs == 0 or run.epoch + 1 == run.num_epoch
        ends = self._ends(run)
        run.agree()
        if self._due or ended or ends or run.stopping:
            self._write(run)
        self._foresee(run)

    def _ends(self, run: Run) -> bool:
        """Whether the training ends since a signal came; with several workers, once all agree."""
        if not self._together:
            return self._signal is not None
        if self._signal is not None:
            run.stop_training(interrupted=True)
        return run.stopping

    def on_fit_end(self, run: Run, error: BaseException | None) -> None:
        """Wait for the last checkpoint; then signals take their usual effect."""
        try:
            self._wait(warn=error is not None)
        finally:
            if self._thread is not None:
                self._thread.shutdown()
            self._restore_handlers()
        if self._signal is not None and error is None:
            if self._writes and (found := folders.checkpoints(self.folder)):
                folder = str(self.folder)
                _log.warning("%s is written; to go on: fit(..., resume=%r)", found[0], folder)
            signal.raise_signal(self._signal)

    def collective(self) -> dict[str, Any]:
        """Write periods, which must be equal in all workers."""
        return {"every_n_batches": self.every_n_batches, "every_n_epochs": self.every_n_epochs}

    # ── Signals ─────────────────────────────────────────────────────────────────────────────

    def _on_signal(self, number: int, frame: Any) -> None:
        if self._signal is not None:
            self._restore_handlers()
            signal.raise_signal(number)
            return
        self._signal, self._run.marking = number, True
        _log.warning("%s: the training ends once a checkpoint is written", signal.strsignal(number))

    def _restore_handlers(self) -> None:
        handlers, self._handlers = self._handlers, {}
        for number, handler in handlers.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)

    # ── Writing ─────────────────────────────────────────────────────────────────────────────

    def _is_due(self, step: int) -> bool:
        return self.every_n_batches is not None and step % self.every_n_batches == 0

    def _foresee(self, run: Run) -> None:
        """Have the position noted before the next batch is read ahead, if it can be written then.

        With a pending signal, or several workers, always: these write together, and worker 0 waits
        in `_write`.
        """
        if self._signal is None and not self._together:
            due = self._due or self._is_due(run.step + 1)
            run.marking = due and time.monotonic() >= self._rests_until_s
        else:
            run.marking = True

    def _write(self, run: Run) -> None:
        """Write a checkpoint; after a signal it is the last one."""
        self._due = False
        self._wait(warn=True)
        state = whole_state(run.state_dict(), run.workers)
        if self._signal is not None:
            run.stop_training(interrupted=True)
        if not self._writes:
            return
        write = (_write, run.callbacks, self.folder, state, self._symbol, run.identity, self.keep)
        if self._thread is None:
            made: Future[Any] = Future()
            _run_into(made, *write)
            self._writing = made  # once it is done: nothing waits for a write that was interrupted
        else:
            self._rests_until_s = math.inf
            self._writing = self._thread.submit(self._in_thread, *write)

    def _in_thread(self, write: Any, *parts: Any) -> None:
        """Write, and then rest for as long as `share` wants it."""
        began_s = time.thread_time()
        try:
            write(*parts)
        finally:
            used_s = time.thread_time() - began_s
            self._rests_until_s = time.monotonic() + used_s * (1 / self.share - 1)

    def _wait(self, *, warn: bool) -> None:
        """Wait for the checkpoint that is being written."""
        writing, self._writing = self._writing, None
        if writing is None:
            return
        try:
            writing.result()
        except ModkitError as error:
            if not warn:
                raise
            warn_caller(f"Checkpoint: {error}; the training goes on")


def _write(callbacks: Sequence[Callback], folder: Path, *parts: Any) -> None:
    """Write a checkpoint after the files of callbacks that it counts on."""
    with named_errors(folder, "written"):
        for each in callbacks:
            each.sync()
    folders.write(folder, *parts)


def _run_into(future: Future[Any], call: Any, *args: Any) -> None:
    try:
        future.set_result(call(*args))
    except ModkitError as error:
        future.set_exception(error)


_HASH = "sha256 of the symbol"


def identity_of(run: Run) -> dict[str, Any]:
    """Network, optimizer and metric of a training, as plain values; computed before it begins."""
    module, optimizer = run.module, run.optimizer
    schedule = getattr(optimizer, "lr_scheduler", None)
    args, auxs = module.get_params()
    symbol = module.symbol.tojson()
    nodes = enumerate(json.loads(symbol)["nodes"])
    return {
        "network": {
            "node": {str(i): f"{n['op']} {n['name']} {n.get('attrs', {})}" for i, n in nodes},
            _HASH: hashlib.sha256(symbol.encode()).hexdigest(),
            "shapes": {n: str(v.shape) for n, v in {**args, **auxs}.items()},
        },
        "optimizer": identity(optimizer),
        "schedule": type(schedule).__name__,
        "metric": str(run.eval_metric.get_config()),
        **({"accumulate": run.accumulate} if run.accumulate > 1 else {}),
    }


def resume(run: Run, folder: str | os.PathLike[str]) -> None:
    """Restore the newest complete checkpoint of a folder, if there is one.

    Raises:
        ResumeError: it is of another network, optimizer or data, or workers find different ones;
            or a file is given.
        FileFormatError: there are checkpoints, and none is complete.
    """
    if not isinstance(folder, str | os.PathLike) or Path(folder).is_file():
        got = "a file" if isinstance(folder, str | os.PathLike) else type(folder).__name__
        raise ResumeError(f"resume: {folder}: got {got}, expected the folder of a Checkpoint")
    run.resume_folder = Path(folder)
    found = folders.newest(folder)
    check_found(found, folder, run.workers)
    if found is None:
        _begins(run, Path(folder))
        return
    run.identity = identity_of(run)
    if words := _other_training(found.manifest["identity"], run.identity):
        raise ResumeError(f"resume: {found.path} is of another training: {words}")
    state = own_state(folders.read(found), run.workers, run)
    given = resumable(run.optimizer)
    try:
        run.load_state_dict(state)
    except ParameterError as error:
        raise ResumeError(
            f"resume: {found.path}: {error}. Give fit the same data with the old batch size, or "
            "begin a training anew, with another folder"
        ) from error
    _restore(run.callbacks, state["callbacks"])
    _log_kept(given, resumable(run.optimizer))
    _log.info(
        "resume: %s: epoch %d, after %d batches, step %d", found.path, run.epoch, run.batch,
        run.step,
    )  # fmt: skip
    if run.epoch >= run.num_epoch and not run.stopping:
        _log.warning(
            "nothing to train: the checkpoint is after %d epochs, and num_epoch=%d; num_epoch "
            "counts those before it too", run.epoch, run.num_epoch,
        )  # fmt: skip


def _other_training(stored: Mapping[str, Any], present: Mapping[str, Any]) -> str:
    """The cause and the cure, then the differences; empty for equal identities."""
    lines = [line for line in folders.differences(stored, present) if _HASH not in line]
    if not lines:
        same = stored == present
        return "" if same else "its network has other connections or outputs"
    nodes = [line for line in lines if line.startswith("network node ")]
    words = "give fit the same network and optimizer, or resume from another folder"
    if nodes and _uncounted(stored) == _uncounted(present):
        words = (
            "names of nodes differ, as counted ones, such as flatten1, go on counting in "
            "one process: name the nodes, or make the network in `with mx.name.NameManager():`"
        )
        lines = [nodes[0], *(line for line in lines if not line.startswith("network "))]
    return "".join([words, *(f"\n  {line}" for line in lines[:20])])


def _uncounted(identity: Mapping[str, Any]) -> dict[str, list[str]]:
    """The nodes of a network, without the digits of their names."""
    nodes = {at: text.split(" ", 2) for at, text in identity["network"]["node"].items()}
    return {at: [op, re.sub(r"\d", "", name), attrs] for at, (op, name, attrs) in nodes.items()}


def _log_kept(given: Mapping[str, str], kept: Mapping[str, str]) -> None:
    """Log parameters of the optimizer whose values in the checkpoint replace those of ``fit``.

    A callback may have changed the rate during the training, so that a difference is no warning.
    """
    for name in sorted({*given, *kept}):
        own, stays = given.get(name), kept.get(name)
        if own != stays:
            level = logging.INFO if name == "learning_rate" else logging.WARNING
            _log.log(
                level,
                "resume: optimizer %s: %s of the checkpoint stays, where fit is given %s; "
                "on_fit_begin(run) of a callback may set it in run.optimizer", name, stays, own,
            )  # fmt: skip


def _begins(run: Run, folder: Path) -> None:
    """Log that there is no checkpoint: a warning where no `Checkpoint` writes to the folder."""
    begins = f"resume: {folder} has no complete checkpoint; the training begins"
    written = [each.folder for each in run.callbacks if isinstance(each, Checkpoint)]
    if folder.resolve() in [own.resolve() for own in written]:
        _log.info(begins)
        return
    there = next(each for each in (folder, *folder.absolute().parents) if each.is_dir())
    names = sorted(each.name for each in there.iterdir() if folders.checkpoints(each))[:_NAMED]
    state = "" if there == folder else ", which does not exist"
    others = f"; {there} has checkpoints in {', '.join(names)}" if names else ""
    _log.warning("%s. No Checkpoint of callbacks writes to this folder%s%s", begins, state, others)


_NAMED = 8
"""Number of folders that a warning names."""


def _restore(callbacks: Sequence[Callback], states: Sequence[Any]) -> None:
    """Load states into the callbacks of the same class, in order; others keep theirs."""
    left = [(name, state) for name, state in states]
    for each in callbacks:
        own = next((pair for pair in left if pair[0] == type(each).__name__), None)
        if own is not None:
            left.remove(own)
            each.load_state_dict(own[1])
        else:
            _log.info(
                "resume: the checkpoint has no state of %s, which begins", type(each).__name__
            )

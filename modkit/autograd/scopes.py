"""Modes of the present thread: does it record, and do operators run in training mode."""

from __future__ import annotations

from contextlib import ContextDecorator

from modkit.ndarray.tape import modes


def is_recording() -> bool:
    """Whether this thread records operator calls."""
    return modes.recording


def is_training() -> bool:
    """Whether operators of this thread run in training mode."""
    return modes.training


def set_recording(is_recording: bool) -> bool:
    """Switch recording on or off in this thread.

    Returns:
        The state before.
    """
    before, modes.recording = modes.recording, bool(is_recording)
    return before


def set_training(train_mode: bool) -> bool:
    """Switch between training mode and prediction mode in this thread.

    Args:
        train_mode: whether operators such as Dropout and BatchNorm train.

    Returns:
        The state before.
    """
    before, modes.training = modes.training, bool(train_mode)
    return before


class _ModeScope(ContextDecorator):
    """Modes inside a ``with``, or while a decorated function runs; ``None`` leaves one as it is.

    One scope may be entered again inside itself.
    """

    def __init__(self, recording: bool | None, training: bool | None):
        self._modes = recording, training
        self._before: list[tuple[bool, bool]] = []

    def __enter__(self) -> None:
        self._before.append((modes.recording, modes.training))
        recording, training = self._modes
        modes.recording = modes.recording if recording is None else recording
        modes.training = modes.training if training is None else training

    def __exit__(self, *exc: object) -> None:
        modes.recording, modes.training = self._before.pop()


def record(train_mode: bool = True) -> _ModeScope:
    """A scope that records operator calls, so that gradients can be computed.

    Differs: a recorded call keeps the values that it read: writing to an array afterwards, outside
    of recording, does not change the gradients. Casts to integer types have no gradient. The moving
    statistics of BatchNorm change when it is called, not in `backward`: in detached branches too.
    """
    return _ModeScope(True, bool(train_mode))


def pause(train_mode: bool = False) -> _ModeScope:
    """A scope that does not record, for parts that need no gradient."""
    return _ModeScope(False, bool(train_mode))


def train_mode() -> _ModeScope:
    """A scope in training mode; recording stays as it is."""
    return _ModeScope(None, True)


def predict_mode() -> _ModeScope:
    """A scope in prediction mode; recording stays as it is."""
    return _ModeScope(None, False)

"""Process state in tests: environment variables, stderr, retries, build properties."""

from __future__ import annotations

import contextlib
import functools
import os
import platform
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from modkit.errors import ParameterError, expect
from modkit.io import DataBatch, DataIter
from modkit.util import setenv


@contextlib.contextmanager
def environment(*args: Any) -> Iterator[None]:
    """Environment variables set inside a ``with`` block.

    Args:
        *args: a name and a value, or a mapping; the value ``None`` removes the variable.
    """
    if len(args) not in (1, 2):
        raise ParameterError(f"environment: got {len(args)} arguments, expected a name and a value")
    wanted: Mapping[str, Any] = args[0] if len(args) == 1 else {args[0]: args[1]}
    before = {name: os.environ.get(name) for name in wanted}
    _set_all(wanted)
    try:
        yield
    finally:
        _set_all(before)


def _set_all(values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        setenv(name, None if value is None else str(value))


@contextlib.contextmanager
def discard_stderr() -> Iterator[None]:
    """Discard standard error inside a ``with`` block, including output of C code."""
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stderr(nowhere):
            os.dup2(nowhere.fileno(), 2)
            yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def retry(n: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that runs a test up to ``n`` times until it raises no AssertionError.

    Raises:
        ParameterError: ``n`` is not positive.
    """
    expect(n > 0, "retry", n, "a positive number")

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(test)
        def run(*args: Any, **kwargs: Any) -> Any:
            for _ in range(n - 1):
                with contextlib.suppress(AssertionError):
                    return test(*args, **kwargs)
            return test(*args, **kwargs)

        return run

    return decorate


class DummyIter(DataIter):
    """Repeats the first batch of an iterator forever, for timing without data loading."""

    def __init__(self, real_iter: Any):
        super().__init__(real_iter.batch_size)
        self.real_iter = real_iter
        self.provide_data = real_iter.provide_data
        self.provide_label = real_iter.provide_label
        self.the_batch = next(iter(real_iter))

    def next(self) -> DataBatch:
        return self.the_batch


def is_cd_run() -> bool:
    """Whether this is a release run of MXNet: always ``False``."""
    return False


def has_tvm_ops() -> bool:
    """Whether TVM operators are available: always ``False``."""
    return False


def is_op_runnable() -> bool:
    """Whether TVM operators can run or are absent: always ``True``."""
    return True


def is_aarch64_run() -> bool:
    """Whether this is a 64-bit ARM machine."""
    return platform.machine().lower() in ("aarch64", "arm64")

"""A program run over modkit: `import mxnet` is modkit, and dropped names are put back."""

from __future__ import annotations

import atexit
import json
import os
import runpy
import sys
from collections.abc import Sequence
from multiprocessing import set_forkserver_preload, spawn
from pathlib import Path
from types import TracebackType
from typing import Any

from modkit.compat.alias import install
from modkit.compat.python2 import explanation
from modkit.compat.shims import Shims
from modkit.context import _map_device
from modkit.kvstore.failure_detection import end_process
from modkit.kvstore.launchers import COORDINATOR
from modkit.kvstore.workers import connect

_FRAMES = (__file__, runpy.__file__, "<frozen runpy>")
_CHILDREN = str(Path(__file__).with_name("children"))
"""A folder with a package ``mxnet``, for processes that have no alias yet."""
_SETTINGS = "MODKIT_RUN"


def set_devices(number: int) -> None:
    """Let JAX show ``number`` CPU devices; effective before JAX starts its devices."""
    flag = f"--xla_force_host_platform_device_count={number}"
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {flag}".strip()


def run(
    program: Sequence[str],
    as_module: bool = False,
    shims: bool = True,
    devices: int | None = None,
    maps: Sequence[tuple[str, str]] = (),
) -> int:
    """Run a script or a module as ``python`` would, with ``mxnet`` being modkit.

    Args:
        program: path of a script, or name of a module, and its arguments.
        as_module: it is the name of a module.
        shims: put names back that Python and NumPy have dropped (see `Shims`).
        devices: number of CPU devices that JAX shows.
        maps: kinds of contexts and the kinds whose devices they use (see `_map_device`).

    Returns:
        0; after an exception, whose traceback is printed, 1, or 130 for Ctrl-C.
    """
    if devices is not None:
        set_devices(devices)
    if COORDINATOR in os.environ:  # modkit launch: before the program uses a device
        connect()
    _prepare_and_report(shims, maps)
    sys.argv = list(program)
    sys.path[0] = str(Path.cwd() if as_module else Path(program[0]).resolve().parent)
    try:
        if as_module:
            runpy.run_module(program[0], run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(program[0], run_name="__main__")
    except SystemExit as end:
        if end.code and COORDINATOR in os.environ:
            end_process(end.code if isinstance(end.code, int) else _said(end.code))
        raise
    except (Exception, KeyboardInterrupt) as error:
        frames = _own_frames(error.__traceback__)
        sys.excepthook(type(error), error.with_traceback(frames), frames)
        if hint := explanation(error):
            sys.stderr.write(f"modkit run: {hint}\n")
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    return 0


class _InChild:
    """Data whose unpickling prepares a process that `multiprocessing` starts anew."""

    def __init__(self, *arguments: Any):
        self._arguments = arguments

    def __reduce__(self) -> tuple[Any, ...]:
        return _prepare, self._arguments


def prepare_child() -> None:
    """Make a process that a program has started, as by `subprocess`, run programs alike."""
    _prepare_and_report(*json.loads(os.environ[_SETTINGS])[1:])


def _prepare_and_report(shims: bool, maps: Sequence[tuple[str, str]]) -> None:
    if old_names := _prepare(shims, maps):
        atexit.register(_report, old_names)


def _prepare(shims: bool, maps: Sequence[tuple[str, str]]) -> Shims | None:
    """Make this process, and those that it starts, run programs as `run` says."""
    for kind, onto in maps:
        _map_device(kind, onto)
    install()
    names = Shims() if shims else None
    if names:
        names.install()
    make_data = spawn.get_preparation_data

    def with_alias(name: str) -> dict[str, Any]:
        return {"modkit": _InChild(shims, maps), **make_data(name)}

    spawn.get_preparation_data = with_alias
    set_forkserver_preload([])  # it would run the program's imports in a server without the alias
    os.environ[_SETTINGS] = json.dumps([sys.prefix, shims, maps])
    paths = os.environ.get("PYTHONPATH")
    if _CHILDREN not in (paths or "").split(os.pathsep):
        os.environ["PYTHONPATH"] = _CHILDREN + (os.pathsep + paths if paths else "")
    return names


def _said(text: object) -> int:
    sys.stderr.write(f"{text}\n")
    return 1


def _report(shims: Shims) -> None:
    """Write the names used to stderr."""
    if text := shims.report():
        sys.stderr.write(f"{text}\n")


def _own_frames(frames: TracebackType | None) -> TracebackType | None:
    """A traceback without the frames that started the program; ``None`` if it has no others."""
    while frames and frames.tb_frame.f_code.co_filename in _FRAMES:
        frames = frames.tb_next
    return frames

"""The rendezvous of workers: worker 0 waits until all others have connected to it."""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import os
import socket
import time
from collections.abc import Container, Mapping
from typing import Any

import jax

import modkit
from modkit.errors import DistributedError, expect
from modkit.kvstore.launchers import COORDINATOR, Address

TIMEOUT = "MODKIT_DIST_TIMEOUT"
"""Environment variable: seconds to wait for workers that do not answer; default 60."""

_ANSWER_S = 5.0
"""Time for worker 0 to name those that are missing, after the limit of all."""
_START, _REFUSED = b"start\n", b"refused: "


def timeout_s() -> int:
    """The value of `TIMEOUT`; ParameterError where it is no number of seconds."""
    text = os.environ.get(TIMEOUT, "60")
    expect(text.isdigit() and int(text) >= 1, TIMEOUT, text, "a number of seconds from 1 on")
    return int(text)


def connect_all(address: Address, seconds: float) -> dict[int, socket.socket]:
    """Wait until all workers have started: JAX would end a process that waits in vain.

    Worker 0 listens on the coordinator's port, and answers the others once all have connected.

    Returns:
        Connections by rank: worker 0 has one to each other worker, the others to worker 0.

    Raises:
        DistributedError: the port is in use, a worker is missing, or has another version.
    """
    host, _, port = address.coordinator.rpartition(":")
    end = time.monotonic() + seconds
    if address.rank == 0:
        return _listen(int(port), address.size, end)
    own = {"rank": address.rank, "versions": _versions(address.size)}
    hello = json.dumps(own).encode() + b"\n"
    answer, reason = b"", ""
    while not answer and time.monotonic() < end:
        with contextlib.ExitStack() as opened:
            try:
                link = opened.enter_context(socket.create_connection((host, int(port)), 1.0))
                link.sendall(hello)
                link.settimeout(max(0.1, end - time.monotonic()) + _ANSWER_S)
                answer = _line(link)
                if answer == _START:
                    opened.pop_all()
                    return {0: link}
            except OSError as error:
                reason = f": {error}"
        time.sleep(0.05)
    refused = f"it did not answer within the time that {TIMEOUT} sets{reason}; check that it runs"
    if answer.startswith(_REFUSED):
        refused = answer.removeprefix(_REFUSED).decode().strip()
    elif answer:
        refused = f"another program listens there, which says {answer[:60]!r}"
    raise DistributedError(
        f"kv.create: worker {address.rank}, worker 0 at {address.coordinator}: {refused}"
    )


def _line(link: socket.socket) -> bytes:
    """The first line received; nothing after it is read."""
    line = b""
    while not line.endswith(b"\n") and (byte := link.recv(1)):
        line += byte
    return line


def _listen(port: int, size: int, end: float) -> dict[int, socket.socket]:
    """Worker 0's side of `connect_all`."""
    connections: dict[int, socket.socket] = {}
    with contextlib.ExitStack() as opened, socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("", port))
        except OSError as error:
            raise DistributedError(
                f"kv.create: worker 0 cannot listen on port {port}: {error}. If another worker was "
                f"started with rank 0 too, give each a rank of its own; else choose another port "
                f"by --port of modkit launch, or {COORDINATOR}=host:port"
            ) from error
        listener.listen(size)
        while len(connections) < size - 1:
            listener.settimeout(max(0.01, end - time.monotonic()))
            try:
                connection = opened.enter_context(listener.accept()[0])
            except TimeoutError as error:
                raise _missing(connections, size) from error
            rank = _greeted(connection, size, connections)
            if rank is not None:
                connections[rank] = connection
        listener.close()  # JAX's coordinator takes the port
        for connection in connections.values():
            with contextlib.suppress(OSError):
                connection.sendall(_START)
        opened.pop_all()
    return connections


def _missing(connections: Mapping[int, socket.socket], size: int) -> DistributedError:
    """The error of workers that did not connect, which the others get too."""
    missing = sorted(set(range(1, size)) - set(connections))
    reason = f"workers {missing} of {size} did not connect within the time that {TIMEOUT} sets"
    for waiting in connections.values():
        with contextlib.suppress(OSError):
            waiting.sendall(_REFUSED + reason.encode() + b"\n")
    return DistributedError(f"kv.create: {reason}")


def _greeted(connection: socket.socket, size: int, others: Container[int]) -> int | None:
    """The rank in a worker's greeting; ``None`` for a connection of another program.

    Raises:
        DistributedError: its rank is taken or too large, or its versions are others.
    """
    try:
        connection.settimeout(5.0)
        hello = json.loads(_line(connection))
        rank, versions = int(hello["rank"]), hello["versions"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if rank in others or not 0 < rank < size:
        raise DistributedError(
            f"kv.create: a worker has the number {rank}, expected each from 1 to {size - 1} once"
        )
    if versions != _versions(size):
        refused = f"it has {_versions(size)}, this worker {versions}"
        connection.sendall(_REFUSED + refused.encode() + b"\n")
        raise DistributedError(
            f"kv.create: worker {rank} has {versions}, worker 0 has {_versions(size)}: all "
            "workers need the same"
        )
    return rank


def _versions(size: int) -> dict[str, Any]:
    return {
        "modkit": modkit.__version__, "jax": jax.__version__,
        "jaxlib": importlib.metadata.version("jaxlib"), "workers": size,
    }  # fmt: skip

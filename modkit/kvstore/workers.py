"""The workers of a distributed training: processes that `jax.distributed` connects."""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import importlib.util
import json
import os
import pickle
import socket
import sys
import time
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import modkit
from modkit import fork
from modkit.errors import DistributedError, ModkitError, NotReadyError, ParameterError
from modkit.kvstore.failure_detection import WorkerWatch, end_process
from modkit.kvstore.launchers import COORDINATOR, SIZE, Address, address_of
from modkit.kvstore.relay import Relay
from modkit.ops.nn.batch_norm import WORKERS

TIMEOUT = "MODKIT_DIST_TIMEOUT"
"""Environment variable: seconds to wait for workers that do not answer; default 60."""

_DAY_S = 86_400


class Workers:
    """All processes of a distributed training.

    Attributes:
        rank: number of this process.
        size: number of processes.
        watch: names a worker that is lost; ``None`` while they are connected.
    """

    def __init__(self) -> None:
        self.rank, self.size = jax.process_index(), jax.process_count()
        self.watch: WorkerWatch | None = None
        self._meshes: dict[tuple[Any, ...], Mesh] = {}

    def mesh(self, devices: Sequence[Any], axis: str) -> Mesh:
        """Devices of all processes: a row for each, of those that correspond to ``devices``.

        Raises:
            DistributedError: a process has fewer devices.
        """
        found = self._meshes.get((*devices, axis))
        if found is None:
            platform = devices[0].platform
            places = [jax.local_devices(backend=platform).index(d) for d in devices]
            rows = []
            for rank in range(self.size):
                own = [d for d in jax.devices(platform) if d.process_index == rank]
                if len(own) <= max(places):
                    raise DistributedError(
                        f"worker {rank} has {len(own)} {platform} device(s), worker {self.rank} "
                        f"uses number {max(places)}: every worker needs as many"
                    )
                rows.append([own[place] for place in places])
            found = self._meshes[(*devices, axis)] = Mesh(np.array(rows), (WORKERS, axis))
        return found

    def sum(self, arrays: Sequence[jax.Array], doing: str = "a sum of arrays") -> list[jax.Array]:
        """The sums over all workers of arrays on one device; every worker makes the same calls."""
        (device,) = {d for a in arrays for d in a.devices()}
        mesh = self.mesh([device], "one")
        everywhere = NamedSharding(mesh, PartitionSpec())
        joined = jax.make_array_from_single_device_arrays
        whole = [joined(a.shape, everywhere, [a]) for a in arrays]
        summed = self.run(_summed(mesh), whole, doing=doing)
        return [a.addressable_shards[0].data for a in summed]

    def run(self, program: Callable[..., Any], *args: Any, doing: str = "a step") -> Any:
        """The results of a program of all workers, once they are computed.

        Raises:
            DistributedError: another worker is lost.
        """
        try:
            with self.watch.waiting(doing) if self.watch else contextlib.nullcontext():
                return jax.block_until_ready(program(*args))
        except ModkitError:  # of tracing the network
            raise
        except (ValueError, jax.errors.JaxRuntimeError) as error:
            named = self.watch.reason() if self.watch else None
            raise DistributedError(
                f"{named or 'another worker has ended or does not answer'}; its own output has "
                f"the reason. The sum over workers failed: {error}"
            ) from error

    def total(self, numbers: np.ndarray) -> np.ndarray:
        """The sum over all workers of an array of 32-bit numbers on the host."""
        device = jax.local_devices(backend="cpu")[0]
        doing = f"a sum of {numbers.size} numbers"
        return np.asarray(self.sum([jax.device_put(numbers, device)], doing)[0])

    def every(self, condition: bool) -> bool:
        """Whether the condition holds in all workers."""
        return int(self.total(np.array([condition], np.int32))[0]) == self.size

    def gather(self, value: Any) -> list[Any]:
        """The values of all workers, by rank: anything that pickle takes."""
        content = pickle.dumps(value)
        sizes = self.rows(np.array([len(content)], np.int32))[:, 0]
        words = 1 << max(4, int(sizes.max() // 4).bit_length())  # few lengths, so few programs
        padded = np.frombuffer(content.ljust(4 * words, b"\0"), np.int32)
        rows = zip(self.rows(padded), sizes, strict=True)
        return [pickle.loads(row.tobytes()[:size]) for row, size in rows]

    def rows(self, own: np.ndarray) -> np.ndarray:
        """The arrays of all workers, (size, length): a sum of rows that are 0 in all but one."""
        rows = np.zeros((self.size, len(own)), own.dtype)
        rows[self.rank] = own
        return self.total(rows)


_made: list[Workers] = []
_lock = fork.lock()


def connect() -> Workers:
    """The workers of this process, connected at the first call.

    Raises:
        NotReadyError: no launcher has started this process, or JAX's devices are in use already.
        ParameterError: the launcher's variables do not fit.
        DistributedError: the others do not answer in time.
    """
    with _lock:
        if not _made:
            seconds, links, relay = _seconds(), None, None
            if not jax.distributed.is_initialized():
                links, relay = _initialize(address_of(os.environ), seconds)
            workers = Workers()
            if links is None:
                links = _gather_connected(workers, seconds)
            workers.watch = WorkerWatch(workers.rank, links, seconds, relay)
            _made.append(workers)
            global _shown_before
            _shown_before, sys.excepthook = sys.excepthook, _end_at_once
        return _made[0]


def _initialize(
    address: Address | None, seconds: int
) -> tuple[dict[int, socket.socket] | None, Relay | None]:
    """Connect JAX.

    Returns:
        The result of `_gather`, or ``None`` if JAX itself finds the others; the relay to the
        coordinator, in workers that need one.
    """
    if address is None and not _known_to_jax():
        raise NotReadyError(
            "kv.create: a distributed store needs several processes, and no launcher has started "
            "this one: run `modkit launch -n 2 train.py`, or start it under SLURM, MPI or "
            "Kubernetes; docs/distributed.md has each"
        )
    options: dict[str, Any] = {}
    links = relay = None
    if address is not None:
        links = _gather(address, seconds)
        host, _, port = address.coordinator.rpartition(":")
        relay = Relay(host, int(port)) if address.rank else None
        options = {"coordinator_address": relay.address if relay else address.coordinator,
                   "num_processes": address.size, "process_id": address.rank}  # fmt: skip
    try:
        with _sigterm_kept():
            jax.distributed.initialize(
                **options,
                initialization_timeout=seconds,
                heartbeat_timeout_seconds=2 * seconds + 30,  # the watch is first
                shutdown_timeout_seconds=_DAY_S,  # a worker may end long before another
            )
    except RuntimeError as error:
        if "before any JAX" in str(error):
            raise NotReadyError(
                "kv.create: JAX has computed before the workers were connected: make the store "
                "at the beginning of the program, or start it with `modkit launch`"
            ) from error
        where = f"at {address.coordinator}" if address else "of the launcher"
        raise DistributedError(
            f"kv.create: the coordinator {where} did not connect all workers within {seconds} s "
            f"({TIMEOUT} sets another time): {error}"
        ) from error
    return links, relay


@contextlib.contextmanager
def _sigterm_kept() -> Iterator[None]:
    """A block in which JAX connects without its preemption service.

    The service catches SIGTERM in C++ and only notes it, so a worker would train on. It serves
    programs that poll `reached_preemption_sync_point`; `Checkpoint` handles the signal by itself.
    """
    service = "jax_enable_preemption_service"
    before = getattr(jax.config, service)
    jax.config.update(service, False)
    try:
        yield
    finally:
        jax.config.update(service, before)


def _known_to_jax() -> bool:
    """Whether this is a Cloud TPU, or a pod with the client by which JAX reads its Job."""
    if "JOB_COMPLETION_INDEX" in os.environ and importlib.util.find_spec("kubernetes") is None:
        raise ParameterError(
            f"a distributed store: the environment has JOB_COMPLETION_INDEX, and no {SIZE}: set it "
            "to the number of pods in the manifest (docs/distributed.md)"
        )
    return any(name in os.environ for name in ("JOB_COMPLETION_INDEX", "TPU_WORKER_HOSTNAMES"))


def _seconds() -> int:
    text = os.environ.get(TIMEOUT, "60")
    if not text.isdigit() or int(text) < 1:
        raise ParameterError(f"{TIMEOUT}: got {text!r}, expected a number of seconds from 1 on")
    return int(text)


def _gather_connected(workers: Workers, seconds: float) -> dict[int, socket.socket]:
    """`_gather` for processes that JAX has connected by itself: worker 0 chooses a port."""
    with socket.socket() as listener:
        listener.bind(("", 0))
        own = socket.gethostname(), listener.getsockname()[1]
    host, port = workers.gather(own)[0]
    if host == own[0]:
        host = "127.0.0.1"
    return _gather(Address(f"{host}:{port}", workers.size, workers.rank), seconds)


def _gather(address: Address, seconds: float) -> dict[int, socket.socket]:
    """Wait until all workers have started: JAX would end a process that waits in vain.

    Worker 0 listens on the coordinator's port, and answers the others once all have connected.

    Returns:
        The connections by rank: in worker 0 those of all others, in others that of worker 0.

    Raises:
        DistributedError: the port is in use, a worker is missing, or has another version.
    """
    host, _, port = address.coordinator.rpartition(":")
    if not port.isdigit():
        raise ParameterError(f"{COORDINATOR}: got {address.coordinator!r}, expected host:port")
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
    """The first line that comes, and nothing after it."""
    line = b""
    while not line.endswith(b"\n") and (byte := link.recv(1)):
        line += byte
    return line


def _listen(port: int, size: int, end: float) -> dict[int, socket.socket]:
    """Worker 0's side of `_gather`."""
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
    """The rank in a worker's greeting; ``None`` for a connection of something else.

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


_ANSWER_S = 5.0
"""Time for worker 0 to name those that are missing, after the limit of all."""
_START, _REFUSED = b"start\n", b"refused: "


def _versions(size: int) -> dict[str, Any]:
    return {
        "modkit": modkit.__version__, "jax": jax.__version__,
        "jaxlib": importlib.metadata.version("jaxlib"), "workers": size,
    }  # fmt: skip


def _end_at_once(kind: Any, error: Any, trace: Any) -> None:
    """Show an exception that ends this process, and end it without waiting for other workers.

    JAX's client would wait for them at exit, while they wait for this worker in a collective.
    """
    _shown_before(kind, error, trace)
    end_process(_INTERRUPTED if issubclass(kind, KeyboardInterrupt) else 1)


_shown_before: Any = sys.excepthook
_INTERRUPTED = 130
"""The status of a program that Ctrl-C ends: 128 and the number of SIGINT."""


@functools.cache
def _summed(mesh: Mesh) -> Any:
    """The program that sums replicated arrays over the workers of a mesh."""

    def add(arrays: list[jax.Array]) -> list[jax.Array]:
        return jax.lax.psum(arrays, WORKERS)

    everywhere = PartitionSpec()
    return jax.jit(
        jax.shard_map(add, mesh=mesh, in_specs=everywhere, out_specs=everywhere, check_vma=False)
    )

"""The workers of a distributed training: processes that `jax.distributed` connects."""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import importlib.util
import os
import pickle
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from modkit import fork
from modkit.errors import DistributedError, ModkitError, NotReadyError, ParameterError
from modkit.kvstore.failure_detection import WorkerWatch, end_process
from modkit.kvstore.launchers import SIZE, Address, address_of
from modkit.kvstore.relay import Relay
from modkit.kvstore.rendezvous import TIMEOUT, connect_all, timeout_s
from modkit.ops.nn.batch_norm import WORKERS

_DAY_S = 86_400


class Workers:
    """All processes of a distributed training.

    Attributes:
        watch: names a worker that is lost; ``None`` while they are connected.
    """

    def __init__(self) -> None:
        self.rank, self.size = jax.process_index(), jax.process_count()
        self.watch: WorkerWatch | None = None
        self._meshes: dict[tuple[Any, ...], Mesh] = {}

    def mesh(self, devices: Sequence[Any], axis: str) -> Mesh:
        """A row of devices like ``devices`` for each process; DistributedError if one has fewer."""
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
        """The computed results of a program of all workers; DistributedError where one is lost."""
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
            seconds, links, relay = timeout_s(), None, None
            if not jax.distributed.is_initialized():
                links, relay = _initialize(address_of(os.environ), seconds)
            workers = Workers()
            if links is None:
                links = _gather_connected(workers, seconds)
            workers.watch = WorkerWatch(workers.rank, links, seconds, relay)
            if hasattr(os, "register_at_fork"):
                os.register_at_fork(after_in_child=workers.watch.abandon)
            _made.append(workers)
            global _shown_before
            _shown_before, sys.excepthook = sys.excepthook, _end_at_once
        return _made[0]


def _initialize(
    address: Address | None, seconds: int
) -> tuple[dict[int, socket.socket] | None, Relay | None]:
    """Connect JAX.

    Returns:
        The result of `connect_all`, or ``None`` if JAX itself finds the others; the relay to the
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
        links = connect_all(address, seconds)
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


def _gather_connected(workers: Workers, seconds: float) -> dict[int, socket.socket]:
    """`connect_all` for processes that JAX has connected by itself: worker 0 chooses a port."""
    with socket.socket() as listener:
        listener.bind(("", 0))
        own = socket.gethostname(), listener.getsockname()[1]
    host, port = workers.gather(own)[0]
    if host == own[0]:
        host = "127.0.0.1"
    return connect_all(Address(f"{host}:{port}", workers.size, workers.rank), seconds)


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

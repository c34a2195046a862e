"""Rank and number of workers, from the environment variables of the launcher."""

from __future__ import annotations

import os
import re
import socket
import zlib
from collections.abc import Callable, Mapping
from typing import NamedTuple

from modkit.errors import ParameterError, wrong
from modkit.files import located

COORDINATOR, SIZE, RANK = "MODKIT_COORDINATOR", "MODKIT_WORKERS", "MODKIT_RANK"
"""Environment variables of ``modkit launch``: ``host:port``, number of workers, rank."""

PORTS = range(61440, 65536)
"""Ports above those that systems give to connections."""

_INDEX = "JOB_COMPLETION_INDEX"
_JOB_SET = ("JOBSET_NAME", "JOBSET_REPLICATED_JOB", "JOBSET_REPLICAS", "JOBSET_JOB_INDEX")
_STEP_NODES = "SLURM_STEP_NODELIST"


class Address(NamedTuple):
    """The rank of a worker, and the coordinator that it connects to.

    Attributes:
        coordinator: ``host:port`` on which worker 0 listens.
    """

    coordinator: str
    size: int
    rank: int


@located("a distributed store")
def address_of(environment: Mapping[str, str], host: str | None = None) -> Address | None:
    """The address in the variables of a launcher; ``None`` without any.

    The first of these counts: ``modkit launch``, MXNet's ``DMLC_...``, Open MPI, MPICH (Hydra),
    SLURM, Kubernetes. So `mpirun` counts inside of a SLURM job. ``MODKIT_COORDINATOR`` replaces the
    coordinator of any of them.

    Raises:
        ParameterError: some variables are missing, or have values that do not fit.
    """
    for find in (_modkit, _mxnet, _open_mpi, _hydra, _slurm):
        if found := find(environment):
            break
    else:
        found = _kubernetes(environment, host)
    if found is None:
        if given := [n for n in (COORDINATOR, SIZE, RANK) if n in environment]:
            raise _incomplete(given[0], [n for n in (COORDINATOR, SIZE, RANK) if n not in given])
        return None
    for name, value in ((SIZE, found.size), (RANK, found.rank)):
        if environment.get(name, str(value)) != str(value):
            raise ParameterError(
                f"{name}={environment[name]!r}, and the launcher of this process says {value}: "
                f"leave {name} out"
            )
    name, _, port = found.coordinator.rpartition(":")
    if not name or not port.isdecimal() or not 0 < int(port) < 65536:
        raise wrong("coordinator", found.coordinator, "host:port with a port from 1 to 65535")
    return found


def _modkit(environment: Mapping[str, str]) -> Address | None:
    if COORDINATOR not in environment or RANK not in environment:
        return None  # it completes the variables of another launcher
    return _read(environment, SIZE, RANK, str)


def _mxnet(environment: Mapping[str, str]) -> Address | None:
    if "DMLC_PS_ROOT_URI" not in environment:
        return None
    port = "DMLC_PS_ROOT_PORT"
    if port not in environment:
        raise _incomplete("DMLC_PS_ROOT_URI", [port])
    task = "DMLC_WORKER_ID" if "DMLC_WORKER_ID" in environment else "DMLC_TASK_ID"
    where = f"{environment['DMLC_PS_ROOT_URI']}:{environment[port]}"
    return _read(environment, "DMLC_NUM_WORKER", task, lambda: where)


def _open_mpi(environment: Mapping[str, str]) -> Address | None:
    size, local = "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"
    if size not in environment:
        return None
    # Open MPI 5: "prterun-HOST-PID@1"; Open MPI 4: "123.0;tcp://10.0.0.1,10.1.0.1:4000".
    job = environment.get("PMIX_NAMESPACE") or environment.get("OMPI_MCA_orte_hnp_uri", "")

    def where() -> str:
        if environment.get(local) == environment[size]:
            return f"127.0.0.1:{_port(job)}"
        found = re.match(r"prterun-(.+)-\d+@|.*?tcp6?://\[?([^],]+?)(?:[],]|:\d+$)", job)
        if found is None:
            raise _incomplete(size, [COORDINATOR])
        return f"{found[1] or found[2]}:{_port(job)}"

    return _read(environment, size, "OMPI_COMM_WORLD_RANK", where)


def _hydra(environment: Mapping[str, str]) -> Address | None:
    if "PMI_SIZE" not in environment:
        return None
    in_slurm = ("PMI_SIZE", "SLURM_NTASKS"), ("PMI_RANK", "SLURM_PROCID")
    if all(environment.get(pmi) == environment.get(slurm) for pmi, slurm in in_slurm):
        return None  # srun --mpi=pmi2, and SLURM's variables have the machines too

    def where() -> str:
        if environment.get("MPI_LOCALNRANKS") != environment["PMI_SIZE"]:
            raise _incomplete("PMI_SIZE", [COORDINATOR])  # it does not say where worker 0 is
        return f"127.0.0.1:{_port(str(os.getppid()))}"  # of the proxy, which starts all

    return _read(environment, "PMI_SIZE", "PMI_RANK", where)


def _slurm(environment: Mapping[str, str]) -> Address | None:
    if "SLURM_JOB_ID" not in environment:
        return None
    if _STEP_NODES not in environment:
        raise ParameterError(
            f"the environment has SLURM_JOB_ID and no {_STEP_NODES}: this process is of the job's "
            "script and not of a step; start it with `srun python train.py`"
        )
    step = f"{environment['SLURM_JOB_ID']}.{environment.get('SLURM_STEP_ID', '')}"
    # "node7", "node7,other1", "node[007-012],other1" and "node[7,9-12]-ib": the first name.
    first = re.match(r"([^,[]+)(?:\[(\d+)[^]]*\]([^,]*))?", environment[_STEP_NODES])
    if first is None:
        raise wrong(_STEP_NODES, environment[_STEP_NODES], "names")
    host = "".join(part or "" for part in first.groups())
    # Tasks of the step, which `srun -n 2` makes fewer than those of the job.
    size = "SLURM_STEP_NUM_TASKS" if "SLURM_STEP_NUM_TASKS" in environment else "SLURM_NTASKS"
    return _read(environment, size, "SLURM_PROCID", lambda: f"{host}:{_port(step)}")


def _kubernetes(environment: Mapping[str, str], host: str | None) -> Address | None:
    """An indexed Job, or a JobSet of indexed Jobs, whose manifest has ``MODKIT_WORKERS``."""
    if _INDEX not in environment or SIZE not in environment:
        return None
    given = [name for name in _JOB_SET if name in environment]
    if given and len(given) < len(_JOB_SET):
        raise _incomplete(given[0], [name for name in _JOB_SET if name not in given])
    jobs, job = 1, 0
    if given:
        whole = _read(environment, "JOBSET_REPLICAS", "JOBSET_JOB_INDEX", str)
        jobs, job = whole.size, whole.rank
    size = _number(environment, SIZE)
    if size % jobs:
        raise ParameterError(f"got {SIZE}={size}, expected a multiple of JOBSET_REPLICAS={jobs}")
    index = _number(environment, _INDEX)
    if index >= size // jobs:
        jobs_of = f"{_INDEX}={index} with {SIZE}={size} in {jobs} job(s)"
        raise ParameterError(f"{jobs_of}: {SIZE} is the number of all pods")

    def where() -> str:
        port = _port("kubernetes")
        if given:
            name, replicated = environment["JOBSET_NAME"], environment["JOBSET_REPLICATED_JOB"]
            return f"{name}-{replicated}-0-0.{name}:{port}"
        own, _, domain = (host or socket.getfqdn()).partition(".")
        if size > 1 and not (domain and own.endswith(f"-{index}")):
            raise ParameterError(
                f"this pod is {own!r} in the domain {domain!r}, expected a name that ends in "
                f"-{index} in the domain of a headless service: set "
                f"spec.template.spec.subdomain of the Job, or {COORDINATOR}"
            )
        return f"{own.removesuffix(f'-{index}')}-0.{domain}:{port}"

    return Address(environment.get(COORDINATOR) or where(), size, job * (size // jobs) + index)


def _read(
    environment: Mapping[str, str], size: str, rank: str, where: Callable[[], str]
) -> Address:
    """The address from the variables with these names."""
    if missing := [name for name in (size, rank) if name not in environment]:
        raise _incomplete(next(n for n in environment if n[:4] == size[:4]), missing)
    numbers = _number(environment, size), _number(environment, rank)
    if not numbers[1] < numbers[0]:
        raise ParameterError(
            f"got {size}={numbers[0]} and {rank}={numbers[1]}, expected a "
            "number of workers and a smaller number from 0 on"
        )
    return Address(environment.get(COORDINATOR) or where(), *numbers)


def _number(environment: Mapping[str, str], name: str) -> int:
    text = environment[name]
    if not text.isdecimal():
        raise ParameterError(f"got {name}={text!r}, expected a number from 0 on")
    return int(text)


def _incomplete(given: str, missing: list[str]) -> ParameterError:
    return ParameterError(
        f"the environment has {given}, and no {' and no '.join(missing)}: set "
        "them for each worker (docs/distributed.md), or start the workers with "
        "`modkit launch -n 2 train.py`"
    )


def _port(job: str) -> int:
    """A port that all workers of a job compute."""
    return PORTS[zlib.crc32(job.encode()) % len(PORTS)]

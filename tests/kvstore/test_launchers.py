"""Addresses of workers in the variables of launchers."""

import pytest

from modkit.errors import ParameterError
from modkit.kvstore.launchers import _port, address_of

MODKIT = {"MODKIT_COORDINATOR": "h:1", "MODKIT_WORKERS": "3", "MODKIT_RANK": "2"}
DMLC = {"DMLC_PS_ROOT_URI": "10.0.0.1", "DMLC_PS_ROOT_PORT": "9", "DMLC_NUM_WORKER": "2"}
SLURM = {"SLURM_JOB_ID": "17", "SLURM_STEP_ID": "0", "SLURM_STEP_NODELIST": "node[007-009,12],b1",
         "SLURM_NTASKS": "8", "SLURM_STEP_NUM_TASKS": "4", "SLURM_PROCID": "3"}  # fmt: skip
# As mpiexec of Open MPI 5.0.11 and of MPICH 5.0.2 set them.
OPEN_MPI_5 = {
    "OMPI_COMM_WORLD_SIZE": "2",
    "OMPI_COMM_WORLD_RANK": "1",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "1",
    "PMIX_NAMESPACE": "prterun-a-b-25589@1",
}
OPEN_MPI_4 = {**OPEN_MPI_5, "OMPI_MCA_orte_hnp_uri": "15.0;tcp://10.96.0.1,10.148.0.1:34911"}
del OPEN_MPI_4["PMIX_NAMESPACE"]
HYDRA = {"PMI_RANK": "1", "PMI_SIZE": "2", "MPI_LOCALNRANKS": "1", "MPI_LOCALRANKID": "0"}
POD = {"JOB_COMPLETION_INDEX": "1", "MODKIT_WORKERS": "4"}
JOB_SET = {**POD, "JOBSET_NAME": "train", "JOBSET_REPLICATED_JOB": "work", "JOBSET_REPLICAS": "2",
           "JOBSET_JOB_INDEX": "1"}  # fmt: skip


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ({}, None),
        (MODKIT, ("h:1", 3, 2)),
        ({**SLURM, **MODKIT}, ("h:1", 3, 2)),
        ({**DMLC, "DMLC_WORKER_ID": "1"}, ("10.0.0.1:9", 2, 1)),
        ({**DMLC, "DMLC_TASK_ID": "0"}, ("10.0.0.1:9", 2, 0)),
        (SLURM, (f"node007:{_port('17.0')}", 4, 3)),
        ({**SLURM, "SLURM_STEP_NODELIST": "a-1,b"}, (f"a-1:{_port('17.0')}", 4, 3)),
        ({**SLURM, "SLURM_STEP_NODELIST": "a[3,5]-ib"}, (f"a3-ib:{_port('17.0')}", 4, 3)),
        ({**SLURM, "SLURM_STEP_NODELIST": "a"}, (f"a:{_port('17.0')}", 4, 3)),
        ({**SLURM, "MODKIT_COORDINATOR": "h:1"}, ("h:1", 4, 3)),
        ({**SLURM, "PMI_SIZE": "8", "PMI_RANK": "3"}, (f"node007:{_port('17.0')}", 4, 3)),
        (OPEN_MPI_5, (f"a-b:{_port('prterun-a-b-25589@1')}", 2, 1)),
        (OPEN_MPI_4, (f"10.96.0.1:{_port('15.0;tcp://10.96.0.1,10.148.0.1:34911')}", 2, 1)),
        ({**OPEN_MPI_4, "OMPI_MCA_orte_hnp_uri": "1.0;tcp://10.0.0.1:5"},
         (f"10.0.0.1:{_port('1.0;tcp://10.0.0.1:5')}", 2, 1)),
        ({**OPEN_MPI_5, "OMPI_COMM_WORLD_LOCAL_SIZE": "2"},
         (f"127.0.0.1:{_port('prterun-a-b-25589@1')}", 2, 1)),
        ({**SLURM, **OPEN_MPI_5, "SLURM_PROCID": "0"},
         (f"a-b:{_port('prterun-a-b-25589@1')}", 2, 1)),
        ({**HYDRA, "MODKIT_COORDINATOR": "node0:9000"}, ("node0:9000", 2, 1)),
        (POD, (f"train-0.svc.ns.svc.cluster.local:{_port('kubernetes')}", 4, 1)),
        (JOB_SET, (f"train-work-0-0.train:{_port('kubernetes')}", 4, 3)),
        ({**POD, "MODKIT_COORDINATOR": "h:1"}, ("h:1", 4, 1)),
    ],
)  # fmt: skip
def test_addresses(given, address):
    assert address_of(given, "train-1.svc.ns.svc.cluster.local") == address


def test_hydra_on_one_machine():
    coordinator, size, rank = address_of({**HYDRA, "MPI_LOCALNRANKS": "2"})
    host, _, port = coordinator.partition(":")
    assert (host, size, rank) == ("127.0.0.1", 2, 1)
    assert 61440 <= int(port) < 65536


def without(given, name):
    return {n: v for n, v in given.items() if n != name}


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        ({"DMLC_PS_ROOT_URI": "h"}, ["no DMLC_PS_ROOT_PORT", "modkit launch"]),
        (DMLC, ["no DMLC_TASK_ID"]),
        ({**MODKIT, "MODKIT_RANK": "3"}, ["MODKIT_WORKERS=3", "MODKIT_RANK=3", "a smaller"]),
        ({**MODKIT, "MODKIT_WORKERS": "two"}, ["MODKIT_WORKERS='two'"]),
        ({**MODKIT, "MODKIT_RANK": "-1"}, ["MODKIT_RANK='-1'"]),
        (without(MODKIT, "MODKIT_RANK"), ["MODKIT_COORDINATOR, and no MODKIT_RANK"]),
        ({**MODKIT, "MODKIT_COORDINATOR": "h:99999"}, ["'h:99999'", "from 1 to 65535"]),
        ({**MODKIT, "MODKIT_COORDINATOR": "h"}, ["'h'", "host:port"]),
        ({**DMLC, "DMLC_TASK_ID": "0", "DMLC_PS_ROOT_PORT": "x"}, [":x'", "host:port"]),
        ({"MODKIT_COORDINATOR": "h:1"}, ["no MODKIT_WORKERS and no MODKIT_RANK"]),
        ({"MODKIT_RANK": "1"}, ["MODKIT_RANK, and no MODKIT_COORDINATOR and no MODKIT_WORKERS"]),
        (without(SLURM, "SLURM_STEP_NODELIST"), ["of the job's script", "srun python"]),
        (without(SLURM, "SLURM_PROCID"), ["no SLURM_PROCID"]),
        ({**SLURM, "SLURM_PROCID": "4"}, ["SLURM_STEP_NUM_TASKS=4", "SLURM_PROCID=4"]),
        ({**SLURM, "MODKIT_WORKERS": "2"}, ["MODKIT_WORKERS='2'", "says 4", "leave"]),
        (without(OPEN_MPI_5, "PMIX_NAMESPACE"), ["OMPI_COMM_WORLD_SIZE", "no MODKIT_COORDINATOR"]),
        (without(OPEN_MPI_5, "OMPI_COMM_WORLD_RANK"), ["no OMPI_COMM_WORLD_RANK"]),
        (HYDRA, ["PMI_SIZE", "no MODKIT_COORDINATOR"]),
        ({**POD, "JOB_COMPLETION_INDEX": "4"}, ["JOB_COMPLETION_INDEX=4", "the number of all"]),
        (without(JOB_SET, "JOBSET_REPLICAS"), ["no JOBSET_REPLICAS"]),
        ({**JOB_SET, "MODKIT_WORKERS": "3"}, ["a multiple of JOBSET_REPLICAS=2"]),
        ({**JOB_SET, "JOBSET_JOB_INDEX": "2"}, ["JOBSET_JOB_INDEX=2"]),
    ],
)  # fmt: skip
def test_addresses_that_do_not_fit(given, parts):
    with pytest.raises(ParameterError) as caught:
        address_of(given, "train-1.svc")
    assert all(part in str(caught.value) for part in parts), caught.value


def test_a_pod_without_a_service():
    with pytest.raises(ParameterError, match="headless service: set spec"):
        address_of(POD, "train-1")

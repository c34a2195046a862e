"""Distributed stores: two processes on this machine, and errors without any."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import modkit as mx
from modkit.errors import DistributedError, NotReadyError, NotSupportedError, ParameterError
from modkit.kvstore import workers
from tests.xla_options import cheap_flags

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(__file__).with_name("dist_programs.py")
ENVIRONMENT = {
    **os.environ,
    "JAX_PLATFORMS": "cpu",
    "MODKIT_CACHE": "off",
    "XLA_FLAGS": " ".join(cheap_flags()),
    "PYTHONPATH": str(ROOT),
}


def launch(*arguments, options=(), limit_s=120):
    return subprocess.run(
        [sys.executable, "-m", "modkit", "launch", "-n", "2", *options, str(PROGRAMS), *arguments],
        capture_output=True, text=True, check=False, cwd=ROOT, timeout=limit_s, env=ENVIRONMENT,
    )  # fmt: skip


def answers(done):
    """The JSON that each worker printed, in the order of the workers."""
    assert done.returncode == 0, done.stdout + done.stderr
    lines = (line.split("] ", 1)[1] for line in done.stdout.splitlines() if "] [" in line[:5])
    return sorted(json.loads(line) for line in lines if not line.startswith("[Gloo]"))


@pytest.mark.dist
def test_values_are_summed_over_workers(tmp_path):
    for rank, (own, size, kind, found) in enumerate(
        answers(launch("values", str(tmp_path / "x.states")))
    ):
        assert (own, size, kind) == (rank, 2, "dist_sync")
        assert found == {
            "that of worker 0": [5.0],
            "sum over arrays and workers": [6.0],
            "large": [3.0],
            "half": [3.0],
            "pushpull": [2.0],
            "broadcast": [10.0],
            "rows": [1.0, 1.0, 0.0, 0.0],
            "bits 0": [0.0, 1.0],
            "bits 1": [1.0, 0.0],
            "update 0": [0.75],
            "update 1": [0.375],
            "update 2": [-0.0625],
        }
    assert (tmp_path / "x.states").exists()


@pytest.mark.dist
def test_training_has_the_numbers_of_one_process_with_as_many_replicas():
    sys.modules.setdefault("mxnet", mx)  # for the import in the programs
    try:
        from tests.kvstore import dist_programs
    finally:
        if sys.modules["mxnet"] is mx:
            del sys.modules["mxnet"]
    images, labels = dist_programs.data()
    order = np.concatenate(
        [np.r_[np.arange(0, 48, 2)[i : i + 8], np.arange(1, 48, 2)[i : i + 8]] for i in (0, 8, 16)]
    )
    iterator = mx.io.NDArrayIter(images[order], labels[order], 16)
    wanted = dist_programs.trained(iterator, "local", [mx.cpu(0), mx.cpu(0)])
    for rank, (own, batches, found) in enumerate(
        answers(launch("fit", options=["--devices-per-worker", "2"]))
    ):
        assert (own, batches) == (rank, 3 * 2 * 3)
        for parameters in found:
            for name, value in wanted.items():
                np.testing.assert_allclose(parameters[name], value, rtol=1e-4, atol=1e-6)


@pytest.mark.dist
@pytest.mark.slow
def test_csr_batches_of_workers_are_summed():
    sys.modules.setdefault("mxnet", mx)  # for the import in the programs
    try:
        from tests.kvstore import dist_programs
    finally:
        if sys.modules["mxnet"] is mx:
            del sys.modules["mxnet"]
    wanted = dist_programs.machine_on(None, "local", mx.cpu())
    for rank, (own, found) in enumerate(answers(launch("sparse"))):
        assert own == rank
        for name, value in wanted.items():
            np.testing.assert_allclose(found[name], value, rtol=1e-4, atol=1e-6)


@pytest.mark.dist
@pytest.mark.parametrize(
    "how",
    [
        "dies",
        pytest.param("raises", marks=pytest.mark.slow),
        pytest.param("exits", marks=pytest.mark.slow),
    ],
)
def test_a_worker_that_ends_ends_the_others(how):
    done = launch("failing", how, limit_s=60)
    assert done.returncode != 0
    assert "modkit launch: worker" in done.stderr
    assert "the others are ended" in done.stderr


@pytest.mark.dist
def test_workers_with_other_shapes_are_refused():
    done = launch("unequal", limit_s=60)
    assert done.returncode == 1
    assert "key 'w': shape and type: got" in done.stdout
    assert "all workers have to run the same program" in done.stdout


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ({}, None),
        (
            {"MODKIT_COORDINATOR": "h:1", "MODKIT_WORKERS": "3", "MODKIT_RANK": "2"},
            ("h:1", 3, 2),
        ),
        (
            {"DMLC_PS_ROOT_URI": "10.0.0.1", "DMLC_PS_ROOT_PORT": "9", "DMLC_NUM_WORKER": "2",
             "DMLC_WORKER_ID": "1"},
            ("10.0.0.1:9", 2, 1),
        ),
        (
            {"DMLC_PS_ROOT_URI": "h", "DMLC_PS_ROOT_PORT": "9", "DMLC_NUM_WORKER": "2",
             "DMLC_TASK_ID": "0"},
            ("h:9", 2, 0),
        ),
    ],
)  # fmt: skip
def test_addresses(given, address):
    assert workers.address_of(given) == address


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        ({"DMLC_PS_ROOT_URI": "h"}, ["has no DMLC_PS_ROOT_PORT", "modkit launch"]),
        (
            {"MODKIT_COORDINATOR": "h:1", "MODKIT_WORKERS": "2", "MODKIT_RANK": "2"},
            ["MODKIT_WORKERS='2'", "MODKIT_RANK='2'", "a smaller number"],
        ),
        (
            {"MODKIT_COORDINATOR": "h:1", "MODKIT_WORKERS": "two", "MODKIT_RANK": "0"},
            ["MODKIT_WORKERS='two'"],
        ),
    ],
)
def test_addresses_that_do_not_fit(given, parts):
    with pytest.raises(ParameterError) as caught:
        workers.address_of(given)
    assert all(part in str(caught.value) for part in parts)


def test_no_launcher(monkeypatch):
    for name in (*workers._LAUNCHERS, "MODKIT_COORDINATOR", "DMLC_PS_ROOT_URI"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(NotReadyError, match="modkit launch -n 2"):
        mx.kv.create("dist_sync")
    with pytest.raises(NotSupportedError, match="use 'dist_sync'"):
        mx.kv.create("dist_async")


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@pytest.mark.parametrize(
    ("rank", "parts"),
    [(0, ["workers [1] of 2 did not connect"]), (1, ["worker 1", "did not answer within"])],
)
def test_workers_that_do_not_come(monkeypatch, rank, parts):
    monkeypatch.setenv(workers.TIMEOUT, "1")
    with pytest.raises(DistributedError) as caught:
        workers._gather(workers.Address(f"127.0.0.1:{free_port()}", 2, rank), 0.5)
    assert all(part in str(caught.value) for part in parts)


def test_a_port_in_use():
    with socket.socket() as listener:
        listener.bind(("", 0))
        listener.listen()
        address = workers.Address(f"127.0.0.1:{listener.getsockname()[1]}", 2, 0)
        with pytest.raises(DistributedError, match="cannot listen on port"):
            workers._gather(address, 0.5)


@pytest.mark.parametrize("role", ["server", "scheduler"])
def test_other_roles_have_no_work(role):
    done = subprocess.run(
        [sys.executable, "-c", "import modkit; print('work')"],
        capture_output=True, text=True, check=False, cwd=ROOT,
        env={**ENVIRONMENT, "DMLC_ROLE": role},
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "")
    assert f"DMLC_ROLE={role}, which is not needed" in done.stderr


def test_the_command_checks_its_arguments(capsys):
    from modkit.cli import main

    assert main(["launch", "-n", "2", "no_such_program.py"]) == 2
    assert "can't find 'no_such_program.py'" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["launch", "-n", "0", "x.py"])
    assert "expected a number from 1 on" in capsys.readouterr().err

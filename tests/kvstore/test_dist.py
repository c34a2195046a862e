"""Distributed stores: two processes on this machine, and errors without any."""

import contextlib
import io
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import modkit as mx
from modkit.cli import main
from modkit.commands import processes
from modkit.errors import DistributedError, NotReadyError, NotSupportedError
from modkit.kvstore import rendezvous
from modkit.kvstore.launchers import Address
from tests.xla_options import cheap_flags

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(__file__).with_name("dist_programs.py")
ENVIRONMENT = {
    **os.environ,
    "JAX_PLATFORMS": "cpu",
    "MODKIT_CACHE": "off",
    "MODKIT_DIST_TIMEOUT": "30",
    "XLA_FLAGS": " ".join(cheap_flags()),
    "PYTHONPATH": str(ROOT),
}


LAUNCHERS = ("MODKIT_COORD", "MODKIT_WORK", "MODKIT_RANK", "DMLC_", "SLURM_", "OMPI_", "PMI", "JOB",
             "KUBERNETES_", "TPU_")  # fmt: skip


def calls(**programs):
    """The argument of `dist_programs.py`: calls by label, as JSON."""
    return json.dumps(programs)


def call(name, *given, **options):
    return name, given, options


class Done(NamedTuple):
    """The status of a launch, and its output."""

    returncode: int
    stdout: str
    stderr: str


def launch(*arguments, options=(), limit_s=120, number=2, program=PROGRAMS, **variables):
    """Runs `modkit launch` in this process, for the second that another would import JAX.

    `test_a_signal_ends_workers_at_once` and `test_launch.py` run it as a process.
    """
    command = ["launch", "-n", str(number), *options, str(program), *arguments]
    late = threading.Timer(limit_s, os.kill, (os.getpid(), signal.SIGINT))  # ends the workers
    with pytest.MonkeyPatch.context() as patch, io.StringIO() as out, io.StringIO() as err:
        for name, value in {**ENVIRONMENT, **variables}.items():
            patch.setenv(name, value)
        patch.chdir(ROOT)
        late.start()
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                status = main(command)
        finally:
            late.cancel()
            late.join()
        return Done(status, out.getvalue(), err.getvalue())


def answers(done):
    """The JSON that each worker printed, in the order of the workers."""
    assert done.returncode == 0, done.stdout + done.stderr
    lines = sorted(line for line in done.stdout.splitlines() if "] {" in line[:5])
    return [json.loads(line.split("] ", 1)[1]) for line in lines]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("workers")


@pytest.fixture(scope="module")
def signalled(folder):
    """The status of workers that a signal has stopped, and the folder of their checkpoints."""
    found = folder / "signalled"
    done = launch(calls(stopped=call("together", folder=str(found), signal=4)))
    assert max(p.name for p in found.iterdir()) == "step-0000000005"
    return done.returncode, found


@pytest.fixture(scope="module")
def results(folder, signalled):
    """Results of the programs: for each worker a dictionary by label."""
    stopped = str(folder / "stopped")
    text = calls(
        values=call("values", str(folder / "x.states")),
        unequal=call("unequal"),
        sharded=call("sharded", str(folder)),
        differing=call("differing"),
        fit=call("fit"),
        sparse=call("sparse"),
        together=call("together", folder=str(folder / "all")),
        stopped=call("together", folder=stopped, stops=4),
        again=call("together", folder=stopped),
        on=call("together", folder=str(signalled[1])),
    )
    return answers(launch(text, options=["--devices-per-worker", "2"]))


def each(programs, name):
    """Results of one program, in the order of the workers."""
    return [returned[name] for returned in programs]


@pytest.mark.dist
def test_values_are_summed_over_workers(results, folder):
    for rank, (own, size, kind, found) in enumerate(each(results, "values")):
        assert (own, size, kind) == (rank, 2, "dist_sync")
        assert found == {
            "that of worker 0": [5.0],
            "sum over arrays and workers": [6.0],
            "large": [3.0],
            "half": [3.0],
            "pushpull": [2.0],
            "broadcast": [10.0],
            "rows": [1.0, 1.0, 0.0, 0.0],
            "kept rows": [1.0, 1.0, 3.0, 1.0, 3.0, 1.0],
            "kept rows of lists": [1.0, 1.0, 3.0, 7.0, 3.0, 1.0],
            "no rows and all": [1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
            "lazy": [0.75, 0.75, 1.0, 0.75, 0.75, 1.0],
            # MXNet raises or ends its server for each of these.
            "row-sparse, compressed": "NotSupportedError",
            "float16, compressed": "DTypeError",
            "another type": "DTypeError",
            "another shape": "ShapeError",
            "a second init": "ParameterError",
            "kinds of keys": "ParameterError",
            "an unknown key": "NameNotFoundError",
            "bits 0": [0.0, 1.0],
            "bits 1": [1.0, 0.0],
            "update 0": [0.75],
            "update 1": [0.375],
            "update 2": [-0.0625],
        }
    assert (folder / "x.states").exists()


DIFFERENCES = {
    "callback": "callback Checkpoint: [{'every_n_batches': 2, 'every_n_epochs': 1}] in worker 0; "
    "missing in worker 1",
    "options": "'every_n_batches': 3, 'every_n_epochs': 1}] in worker 1",
    "epochs": "epochs: 0 to 1 in worker 0; 0 to 2 in worker 1",
    "symbol": "node 4: Activation  {'act_type': 'tanh'} [[3, 0, 0]] in worker 0; Activation  "
    "{'act_type': 'relu'} [[3, 0, 0]] in worker 1",
    "shape": "parameter fc1_weight: shape (8, 5), float32 in worker 0; shape (9, 5)",
    "dtype": "parameter fc1_weight: shape (8, 5), float32 in worker 0; shape (8, 5), float16",
    "rescale_grad": "optimizer rescale_grad: 0.0625 in worker 0; 0.125 in worker 1",
    "optimizer": "optimizer class: SGD in worker 0; NAG in worker 1",
    "rate": "optimizer learning_rate: 0.5 in worker 0; 0.25 in worker 1",
    "data": "input data: shape (8, 5, 2), float32 in worker 0; shape (8, 5, 3), float32 in worker",
    "label": "input softmax_label: shape (8,), float32 in worker 0; shape (8,), int32 in worker",
    "shards": "shard_optimizer_states: False in worker 0; True in worker 1",
}


def programs():
    sys.modules.setdefault("mxnet", mx)  # for the import in the programs
    try:
        from tests.kvstore import dist_programs
    finally:
        if sys.modules["mxnet"] is mx:
            del sys.modules["mxnet"]
    return dist_programs


@pytest.mark.dist
def test_training_has_the_numbers_of_one_process_with_as_many_replicas(results):
    dist_programs = programs()
    images, labels = dist_programs.data()
    order = np.concatenate(
        [np.r_[np.arange(0, 48, 2)[i : i + 8], np.arange(1, 48, 2)[i : i + 8]] for i in (0, 8, 16)]
    )
    iterator = mx.io.NDArrayIter(images[order], labels[order], 16)
    wanted = dist_programs.trained(iterator, "local", [mx.cpu(0), mx.cpu(0)])
    for rank, (own, batches, found) in enumerate(each(results, "fit")):
        assert (own, batches) == (rank, 3 * 2 * 3)
        for parameters in found:
            for name, value in wanted.items():
                np.testing.assert_allclose(parameters[name], value, rtol=1e-4, atol=1e-6)


@pytest.mark.dist
def test_one_worker_trains_as_a_process_alone_and_donates():
    done = answers(launch(calls(alone=call("alone")), number=1))
    ((rank, size, (worker, local)),) = each(done, "alone")
    assert (rank, size) == (0, 1)
    assert worker == local
    assert worker[1]


@pytest.mark.dist
def test_optimizer_states_in_parts_of_all_workers(results, folder):
    """fc1: 8x5 and 8, fc2: 3x8 and 3, of which adam has two float32 arrays each."""
    length = {count: 8 * sum(-(-size // count) for size in (40, 8, 24, 3)) for count in (1, 2, 4)}
    for _, found in each(results, "sharded"):
        assert found["whole"]["bytes"] == [length[1]] * 2
        assert found["4"]["bytes"] == [length[4]] * 2
        assert found["2"]["bytes"] == [length[2]]
        for name, value in found["whole"]["values"].items():
            for parts in ("4", "2"):
                np.testing.assert_allclose(found[parts]["values"][name], value, 1e-5, 1e-6)
    updaters = {}
    for name in ("whole", "4", "2"):
        updaters[name] = mx.optimizer.get_updater(mx.optimizer.create("adam"))
        updaters[name].set_states((folder / f"{name}.states").read_bytes())
    for index, state in updaters["whole"].states.items():
        for parts in ("4", "2"):
            for own, whole in zip(updaters[parts].states[index], state, strict=True):
                assert own.shape == whole.shape
                np.testing.assert_allclose(own.asnumpy(), whole.asnumpy(), 1e-4, 1e-7)


def check_whole(found, wanted):
    for name, value in wanted["values"].items():
        np.testing.assert_allclose(found["values"][name], value, rtol=1e-4, atol=1e-5, err_msg=name)
    assert len(found["history"]) == len(wanted["history"])
    for own, one in zip(found["history"], wanted["history"], strict=True):
        assert own.keys() == one.keys()
        np.testing.assert_allclose(list(own.values()), list(one.values()), rtol=1e-4)


@pytest.fixture(scope="module")
def one_process():
    return programs().whole(16, context=[mx.cpu(0), mx.cpu(0)])


@pytest.mark.dist
def test_statistics_masks_metrics_and_validation_are_those_of_all_workers(one_process, results):
    for _, found in each(results, "together"):
        check_whole(found, one_process)


@pytest.mark.dist
def test_a_worker_that_stops_on_purpose_stops_all_and_leaves_nothing_to_train(results, folder):
    """A request after batch 4 is agreed on while batch 6 is read, so batch 5 is the last."""
    assert {"stopped", "again"} <= results[0].keys()
    assert max(p.name for p in (folder / "stopped").iterdir()) == "step-0000000005"


@pytest.mark.dist
def test_a_worker_that_has_a_signal_stops_all_and_the_checkpoint_goes_on(
    one_process, signalled, results
):
    status, folder = signalled
    assert status == 128 + 15
    for _, found in each(results, "on"):
        check_whole(found, one_process)
    # One process with two replicas goes on as well: worker 0 has written the rows of both.
    for path in folder.iterdir():
        if path.name > "step-0000000006":
            shutil.rmtree(path)
    found = programs().whole(16, context=[mx.cpu(0), mx.cpu(0)], folder=str(folder))
    check_whole(found, one_process)


@pytest.mark.dist
@pytest.mark.slow
def test_the_recipe_has_the_numbers_of_one_process(tmp_path):
    recipe = ROOT / "recipes" / "train_digits.py"
    common = ["--network", "mlp", "--epochs", "2"]
    own = [*common, "--kv-store", "dist_sync", "--batch-size", "32"]
    launched = launch(*own, "--prefix", str(tmp_path / "two"), program=recipe)
    assert launched.returncode == 0, launched.stdout + launched.stderr
    alone = subprocess.run(
        [sys.executable, recipe, *common, "--devices", "2", "--prefix", tmp_path / "one"],
        capture_output=True, text=True, check=True, env=ENVIRONMENT,
    )  # fmt: skip
    for prefix in ("one", "two"):
        assert (tmp_path / f"{prefix}-0002.params").exists()
    one, two = (mx.nd.load(str(tmp_path / f"{name}-0002.params")) for name in ("one", "two"))
    for name, value in one.items():
        np.testing.assert_allclose(two[name].asnumpy(), value.asnumpy(), rtol=1e-4, atol=1e-5)
    last = alone.stdout.splitlines()[-2]
    assert last.startswith("last validation accuracy")
    assert last in launched.stdout


@pytest.mark.dist
@pytest.mark.slow
def test_csr_batches_of_workers_are_summed(results):
    sys.modules.setdefault("mxnet", mx)  # for the import in the programs
    try:
        from tests.kvstore import dist_programs
    finally:
        if sys.modules["mxnet"] is mx:
            del sys.modules["mxnet"]
    wanted = dist_programs.machine_on(None, "local", mx.cpu())
    for rank, (own, found) in enumerate(each(results, "sparse")):
        assert own == rank
        for name, value in wanted.items():
            np.testing.assert_allclose(found[name], value, rtol=1e-4, atol=1e-6)


@pytest.mark.dist
@pytest.mark.parametrize(
    "how",
    [
        "dies",
        pytest.param("hangs", marks=pytest.mark.slow),
        pytest.param("raises", marks=pytest.mark.slow),
        pytest.param("exits", marks=pytest.mark.slow),
    ],
)
def test_a_worker_that_ends_ends_the_others(how, monkeypatch):
    monkeypatch.setattr(processes, "_GRACE_S", 1.0)  # one that hangs does not end by itself
    text = calls(failing=call("failing", how))
    done = launch(text, limit_s=60, MODKIT_DIST_TIMEOUT="6" if how == "hangs" else "30")
    assert done.returncode != 0
    if how == "hangs":
        assert "worker 0: DistributedError: worker 1 has not answered for 6 s" in done.stdout
    assert "modkit launch: worker" in done.stderr
    assert "the others are ended" in done.stderr


@pytest.mark.dist
def test_workers_with_other_shapes_are_refused(results):
    first, second = (f"shape (2, {n}), float32, default in worker {n - 3}" for n in (3, 4))
    for error in each(results, "unequal"):
        assert error.startswith("DistributedError: kvstore.init: the workers differ:")
        assert f"key 'w': {first}; {second}" in error


@pytest.mark.dist
def test_workers_that_differ_are_refused_before_the_first_epoch(results):
    """Each difference is an error in both workers, which go on to the next one."""
    for rank, (own, found) in enumerate(each(results, "differing")):
        assert own == rank
        assert len(found) == len(DIFFERENCES)
        for (name, text), message in zip(DIFFERENCES.items(), found, strict=True):
            assert message is not None, name
            assert "the workers differ:" in message, name
            assert text in message, name
            assert message.count("\n") <= 9, message


def test_no_launcher(monkeypatch):
    for name in list(os.environ):
        if name.startswith(LAUNCHERS):
            monkeypatch.delenv(name)
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
    monkeypatch.setenv(rendezvous.TIMEOUT, "1")
    with pytest.raises(DistributedError) as caught:
        rendezvous.connect_all(Address(f"127.0.0.1:{free_port()}", 2, rank), 0.5)
    assert all(part in str(caught.value) for part in parts)


def test_all_workers_name_the_missing_ones():
    port, texts = free_port(), {}

    def run(rank):
        with pytest.raises(DistributedError) as caught:
            rendezvous.connect_all(Address(f"127.0.0.1:{port}", 3, rank), 1.0)
        texts[rank] = str(caught.value)

    running = [threading.Thread(target=run, args=(rank,)) for rank in (0, 1)]
    for each in running:
        each.start()
    for each in running:
        each.join()
    assert all("workers [2] of 3 did not connect" in texts[rank] for rank in (0, 1)), texts


def test_a_port_in_use():
    with socket.socket() as listener:
        listener.bind(("", 0))
        listener.listen()
        address = Address(f"127.0.0.1:{listener.getsockname()[1]}", 2, 0)
        with pytest.raises(DistributedError, match=r"on port .*with rank 0 too"):
            rendezvous.connect_all(address, 0.5)


def started(rank, variables, name):
    """A worker that `modkit launch` has not started."""
    own = {n: v for n, v in ENVIRONMENT.items() if not n.startswith(LAUNCHERS)}
    return subprocess.Popen(
        [sys.executable, PROGRAMS, calls(own=call(name, rank))],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT,
        env={**own, "PYTHONPATH": f"{ROOT}", **variables},
    )  # fmt: skip


@pytest.mark.dist
@pytest.mark.parametrize("how", ["slurm", pytest.param("connected", marks=pytest.mark.slow)])
def test_workers_of_other_launchers_have_a_watch(how):
    variables = {"SLURM_JOB_ID": str(free_port()), "SLURM_STEP_NODELIST": "localhost,other[1-2]",
                 "SLURM_NTASKS": "2", "SLURM_STEP_ID": "0"}  # fmt: skip
    if how == "connected":
        variables = {"OWN_COORDINATOR": f"127.0.0.1:{free_port()}"}
    pair = [started(i, {**variables, "SLURM_PROCID": str(i)}, "watched") for i in (0, 1)]
    texts = [each.communicate(timeout=60)[0] for each in pair]
    assert [each.returncode for each in pair] == [1, -9], texts
    assert "worker 1 has ended; its own output has the reason" in texts[0]
    assert "the child ended with 3" in texts[0]


@pytest.mark.dist
@pytest.mark.parametrize("how", ["launch", pytest.param("by hand", marks=pytest.mark.slow)])
def test_a_signal_ends_workers_at_once(how):
    """JAX's preemption service would catch SIGTERM, and a worker train on."""
    if how == "launch":
        command = [sys.executable, "-m", "modkit", "launch", "-n", "2", PROGRAMS]
        command.append(calls(own=call("endless")))
        running = [subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT,
            env=ENVIRONMENT,
        )]  # fmt: skip
    else:
        address = {"MODKIT_COORDINATOR": f"127.0.0.1:{free_port()}", "MODKIT_WORKERS": "2"}
        running = [started(i, {**address, "MODKIT_RANK": str(i)}, "endless") for i in (0, 1)]
    assert any("trains" in line for line in running[0].stdout)
    began_s = time.monotonic()
    for each in running:
        each.send_signal(signal.SIGINT if how == "launch" else signal.SIGTERM)
    try:
        texts = [each.communicate(timeout=20)[0] for each in running]
    finally:
        for each in running:
            each.kill()
    assert time.monotonic() - began_s < 8
    wanted = [130] if how == "launch" else [-signal.SIGTERM] * 2
    assert [each.returncode for each in running] == wanted
    assert not any("SIGTERM" in text or "JAX" in text for text in texts), texts


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
    assert main(["launch", "-n", "2", "no_such_program.py"]) == 2
    assert "can't find 'no_such_program.py'" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["launch", "-n", "0", "x.py"])
    assert "expected a number from 1 on" in capsys.readouterr().err
    assert main(["launch", "-n", "1", "--", "no_such_program.py"]) == 2
    assert "can't find 'no_such_program.py'" in capsys.readouterr().err
    for own in (["run"], ["launch", "-n", "2"]):
        with pytest.raises(SystemExit):
            main([*own, "--num-epochs", "3", "x.py"])
        assert capsys.readouterr().err == (
            f"modkit {own[0]}: no option --num-epochs; those of the program go after its name: "
            f"modkit {own[0]} [options of {own[0]}] script.py --num-epochs\n"
        )

"""`modkit launch` on other machines, for which a stand-in `ssh` runs its command on this one."""

import functools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from modkit.cli import main
from modkit.commands import hosts, processes
from modkit.errors import ParameterError
from tests.xla_options import cheap_flags

ROOT = Path(__file__).resolve().parents[2]
SSH = """#!/bin/sh
while [ "$1" = -o ]; do shift 2; done
[ "$1" = gone ] && exit 255
shift
cd / && exec env -i PATH="$PATH" setsid -w sh -c "$*"
"""
PROGRAM = """
import json, os, sys, time
import mxnet as mx
kv = mx.kv.create("dist_sync")
own = {n: v for n, v in os.environ.items() if n in ("OWN", "MXNET_OWN", "HIDDEN")}
print(json.dumps([kv.rank, os.getpid(), os.getcwd(), sys.argv[1:], own]), flush=True)
kv.barrier()
if sys.argv[1] == "fails" and kv.rank == 1:
    sys.exit(7)
time.sleep(60)
"""


@pytest.fixture
def start(tmp_path):
    """A function that starts `modkit launch` with the stand-in, in a folder with a space."""
    folder = tmp_path / "a folder"
    folder.mkdir()
    ssh = folder / "ssh"
    ssh.write_text(SSH)
    ssh.chmod(0o755)
    (folder / "program.py").write_text(PROGRAM)
    variables = {
        "PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "HIDDEN": "1",
        "MXNET_OWN": "two words", "JAX_PLATFORMS": "cpu", "MODKIT_CACHE": "off",
        "MODKIT_DIST_TIMEOUT": "30", "XLA_FLAGS": " ".join(cheap_flags()),
    }  # fmt: skip

    started = []

    def run(*arguments):
        started.append(subprocess.Popen(
            [sys.executable, "-m", "modkit", "launch", *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder, env=variables,
        ))  # fmt: skip
        return started[-1]

    yield run
    for each in started:
        each.kill()
        each.communicate()


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def lines(output, number):
    """The lines of output of each worker, by rank."""
    found = []
    while len(found) < number and (line := output.readline()):
        if line[3:].startswith(" [") and "[Gloo]" not in line:
            found.append(json.loads(line.split("] ", 1)[1]))
    return sorted(found)


def gone(pids):
    end = time.monotonic() + 20
    while any(map(alive, pids)) and time.monotonic() < end:
        time.sleep(0.05)
    return not any(map(alive, pids))


@pytest.mark.dist
def test_workers_on_other_machines(start, tmp_path):
    words = ["fails", "it's", 'a "word" $HOME;']
    done = start("-H", "localhost,user@127.0.0.1", "--env", "OWN=a'b $c", "program.py", *words)
    found = lines(done.stdout, 2)
    errors = done.communicate(timeout=60)[1]
    assert [each[0] for each in found] == [0, 1], errors
    for _, _, folder, arguments, own in found:
        assert folder == str(tmp_path / "a folder")
        assert arguments == words
        assert own == {"OWN": "a'b $c", "MXNET_OWN": "two words"}
    assert done.returncode == 7, errors
    assert "worker 1 ended with status 7; the others are ended" in errors
    assert "host user@127.0.0.1 ended with status 7" in errors
    assert gone([each[1] for each in found])


@pytest.mark.dist
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_no_worker_is_left_on_other_machines(start, number):
    done = start("-H", "localhost:2", "program.py", "waits")
    pids = [each[1] for each in lines(done.stdout, 2)]
    assert len(pids) == 2
    done.send_signal(number)
    done.communicate(timeout=60)
    assert done.returncode == (130 if number == signal.SIGINT else -9)
    assert gone(pids)


def test_a_machine_that_is_not_there(start):
    done = start("-H", "gone", "program.py")
    errors = done.communicate(timeout=60)[1]
    assert done.returncode == 255
    assert "modkit launch: host gone ended with status 255" in errors


def test_a_worker_that_lost_another_is_not_the_first_failure(capsys):
    programs = (
        "import sys; sys.exit('modkit.errors.DistributedError: worker 1 has ended\\n[gloo]')",
        ("import sys, time; time.sleep(0.5); sys.exit(3)"),
    )
    starts = [
        functools.partial(
            processes.Process, f"worker {i}", [sys.executable, "-c", text], os.environ, f"[{i}] "
        )
        for i, text in enumerate(programs)
    ]
    assert processes.run_all(starts) == 3
    assert "worker 1 ended with status 3; the others are ended" in capsys.readouterr().err


def test_a_second_interrupt_kills_workers_that_do_not_end(monkeypatch, capsys):
    monkeypatch.setattr(processes, "_SILENT_S", 0.2)
    program = "import signal, time; signal.signal(15, signal.SIG_IGN); print('on'); time.sleep(60)"
    command = [sys.executable, "-u", "-c", program]
    starts = [
        functools.partial(processes.Process, "worker", command, os.environ, "[0] ")
        for _ in range(2)
    ]

    def interrupt():
        shown = ""
        for text, number in (("on\n", 2), ("up to 30 s for the workers to end", 1)):
            while shown.count(text) < number:
                time.sleep(0.05)
                shown += "".join(capsys.readouterr())
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    began_s = time.monotonic()
    assert processes.run_all(starts) == 130
    thread.join()
    assert time.monotonic() - began_s < 5


@pytest.mark.parametrize(
    ("text", "workers", "found"),
    [
        ("a,b", None, [("a", 0, 1), ("b", 1, 1)]),
        ("a, u@b", 4, [("a", 0, 2), ("u@b", 2, 2)]),
        ("a:3,b", None, [("a", 0, 3), ("b", 3, 1)]),
        ("a:3,b:1", 4, [("a", 0, 3), ("b", 3, 1)]),
        ("localhost", 3, [("localhost", 0, 3)]),
        ("FILE", None, [("a", 0, 1), ("b", 1, 2), ("c", 3, 4)]),
    ],
)
def test_machines(tmp_path, text, workers, found):
    (tmp_path / "machines").write_text("# mine\na\nb:2  # here\n\nc slots=4\n")
    text = text.replace("FILE", str(tmp_path / "machines"))
    assert hosts.machines(text, workers) == found


@pytest.mark.parametrize(
    ("text", "workers", "part"),
    [
        ("a,b", 3, "-n 3 does not divide by 2 machines"),
        ("a:2,b", 4, "the machines of -H have 3 workers"),
        ("a,,b", None, "got ''"),
        ("a:x", None, "got 'a:x'"),
        ("a:0", None, "got 'a:0'"),
        ("-oProxyCommand=x", None, "got '-oProxyCommand=x'"),
        ("localhost,b", None, "other machines cannot use"),
    ],
)
def test_machines_that_cannot_be(text, workers, part):
    with pytest.raises(ParameterError, match=part):
        hosts.machines(text, workers)


def test_variables_for_other_machines():
    own = {"MODKIT_RANK": "1", "MODKIT_CACHE": "off", "PYTHONPATH": "p", "HOME": "h", "A": "1"}
    assert hosts.forwarded(own, ["A", "B=x=y"]) == {
        "MODKIT_CACHE": "off", "PYTHONPATH": "p", "A": "1", "B": "x=y"
    }  # fmt: skip
    for wrong in ("C", "a b=1"):
        with pytest.raises(ParameterError, match="--env"):
            hosts.forwarded(own, [wrong])


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ([], "the number of workers is missing"),
        (["-n", "2", "--ranks", "0"], "belong together"),
        (["-n", "2", "--ranks", "1-2", "--coordinator", "h:1"], "there are 2 workers"),
        (["-n", "2", "--ranks", "1-0", "--coordinator", "h:1"], "expected numbers"),
        (["-H", "a", "--coordinator", "h:1"], "takes no --ranks"),
        (["-H", "a:x"], "got 'a:x'"),
    ],
)
def test_arguments_that_do_not_fit(capsys, arguments, part):
    try:
        status = main(["launch", *arguments, __file__])
    except SystemExit as end:
        status = end.code
    assert status == 2
    assert part in capsys.readouterr().err

"""``modkit run``: programs as they are, over modkit, with the names that they were written for."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from modkit.cli import main

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
import argparse, logging, sys
import numpy as np
import mxnet as mx

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=1)
arguments = parser.parse_args()
logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(message)s")
mx.random.seed(1)
np.random.seed(1)
x = np.random.rand(64, 4).astype("float32")
y = (x.sum(axis=1) > 2).astype("float32")
data = mx.sym.Variable("data")
net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(data, num_hidden=2, name="fc"), name="softmax")
train = mx.io.NDArrayIter(x, y, batch_size=16, shuffle=True)
module = mx.mod.Module(net, context=[mx.cpu(0), mx.cpu(1)])
module.fit(train, num_epoch=arguments.epochs, optimizer_params={"learning_rate": 0.5})
print("accuracy", dict(module.score(train, "acc"))["accuracy"] > 0.8)
print(sys.argv, __name__, mx.__version__)
print("unused parts of NumPy:", {"numpy.f2py", "numpy.polynomial"} & sys.modules.keys())
sys.exit(5)
"""


def _modkit(*arguments, cwd):
    command = [sys.executable, "-m", "modkit", *arguments]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=120)


def test_unchanged_program_runs(tmp_path):
    (tmp_path / "train.py").write_text(PROGRAM)
    done = _modkit("run", "train.py", "--epochs", "12", cwd=tmp_path)
    assert done.returncode == 5, done.stderr
    assert "Epoch[11] Train-accuracy=" in done.stdout
    assert "accuracy True" in done.stdout
    assert "unused parts of NumPy: set()" in done.stdout
    assert "['train.py', '--epochs', '12'] __main__ 1.9.1" in done.stdout


def test_program_finds_its_neighbours(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "neighbour.py").write_text("import mxnet\nname = mxnet.nd.NDArray")
    (tmp_path / "folder" / "main.py").write_text("import neighbour; print(neighbour.name)")
    done = _modkit("run", "folder/main.py", cwd=tmp_path)
    assert "NDArray" in done.stdout, done.stderr
    done = _modkit("run", "-m", "folder.neighbour", "-x", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_errors_are_the_programs_own(tmp_path):
    for code, status, words in (
        ("import mxnet as mx\n\nmx.sym.Variable(3)\n", 1, "expected a string"),
        ("\n\nraise KeyboardInterrupt\n", 130, "KeyboardInterrupt"),
    ):
        (tmp_path / "bad.py").write_text(code)
        done = _modkit("run", "bad.py", cwd=tmp_path)
        assert done.returncode == status
        assert 'bad.py", line 3' in done.stderr
        assert words in done.stderr
        assert "runpy" not in done.stderr and "cli.py" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--version"], 0, "MXNet 1.9.1"),
        (["run", "missing.py"], 2, "missing.py"),
        (["run"], 2, "name of a program"),
        ([], 2, "command"),
        (["run", "--help"], 0, "modkit run train_mnist.py"),
    ],
)
def test_command_line(capsys, arguments, code, words):
    try:
        status = main(arguments)
    except SystemExit as end:
        status = end.code
    assert status == code
    assert words in "".join(capsys.readouterr())


def test_the_status_is_that_of_the_process(tmp_path):
    done = _modkit("run", "missing.py", cwd=tmp_path)
    assert done.returncode == 2
    assert "missing.py" in done.stderr


OLD = """
import time
from collections import Mapping
import numpy as np
import mxnet as mx
from distutils.version import LooseVersion

print(isinstance({}, Mapping), time.clock() >= 0, np.array([1], dtype=np.float), np.float32(2.5))
print([np.float64(3)], np.array([[1], [2, 3]]).dtype, LooseVersion("1.10") > LooseVersion("1.9"))
print(mx.context.num_gpus(), mx.nd.ones((2,), mx.gpu(1)) + 1)
print({mx.nd.ones((1,), mx.gpu(i)).to_jax().devices().pop().id for i in range(3)})
"""


def test_old_program_runs_on_many_devices(tmp_path):
    (tmp_path / "old.py").write_text(OLD)
    done = _modkit("run", "--map", "gpu=cpu", "--devices", "3", "old.py", "-h", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "True True [1.] 2.5" in done.stdout
    assert "[3.0] object True" in done.stdout
    assert "<NDArray 2 @gpu(1)>" in done.stdout and "{0, 1, 2}" in done.stdout
    assert done.stderr.count("time.clock") == 1
    assert done.stderr.index("collections.Mapping") < done.stderr.index("numpy.array(ragged)")
    assert "old.py:8" in done.stderr


PARENT = """
import sys
assert "mxnet" not in sys.modules, "programs start other processes before they import it"
import multiprocessing.spawn
import mxnet, numpy

def child(x):
    return mxnet.__version__, x * mxnet.context.num_gpus(), numpy.float is float

if __name__ == "__main__":
    make_data = multiprocessing.spawn.get_preparation_data  # main_path: as from Python 3.13 on
    multiprocessing.spawn.get_preparation_data = lambda name: {
        **make_data(name), "main_path": __file__
    }
    with multiprocessing.get_context(sys.argv[1]).Pool(1) as pool:
        print(pool.map(child, [2]))
"""


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_processes_that_a_program_starts_run_alike(tmp_path, method):
    (tmp_path / "parent.py").write_text(PARENT)
    done = _modkit("run", "--map", "gpu=cpu", "--devices", "3", "parent.py", method, cwd=tmp_path)
    assert done.stdout == "[('1.9.1', 6, True)]\n", done.stderr


CHILD = """
import mxnet.ndarray, mxnet, numpy
print(mxnet.__version__, mxnet.context.num_gpus(), numpy.float)
"""
LAUNCHER = """
import os, subprocess, sys
assert os.system(sys.executable + " child.py") == 0
other = dict(os.environ, MODKIT_RUN='["another Python", true, []]')
sys.exit(subprocess.call([sys.executable, "-c", "import mxnet; print(mxnet.own)"], env=other))
"""


def test_programs_that_a_program_starts_run_alike(tmp_path, monkeypatch):
    (tmp_path / "site" / "mxnet").mkdir(parents=True)
    (tmp_path / "site" / "mxnet" / "__init__.py").write_text("own = 'its own'")
    (tmp_path / "launcher.py").write_text(LAUNCHER)
    (tmp_path / "child.py").write_text(CHILD)
    monkeypatch.setattr(f"{__name__}.ROOT", f"{ROOT}{os.pathsep}{tmp_path / 'site'}")
    done = _modkit("run", "--map", "gpu=cpu", "--devices", "3", "launcher.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["1.9.1 3 <class 'float'>", "its own"]
    assert "numpy.float" in done.stderr


def test_nothing_is_put_back_without_shims(tmp_path):
    (tmp_path / "old.py").write_text("import numpy as np\nnp.float\n")
    done = _modkit("run", "--no-shims", "old.py", cwd=tmp_path)
    assert done.returncode == 1
    assert "AttributeError" in done.stderr and "put back" not in done.stderr


def test_python_2_is_named(tmp_path):
    (tmp_path / "old.py").write_text("import mxnet\nprint 'a', 1\n")
    done = _modkit("run", "old.py", cwd=tmp_path)
    assert done.returncode == 1
    assert "old.py is written for Python 2" in done.stderr
    assert "2: print 'a', 1\n      now print('a', 1)" in done.stderr
    assert "runpy" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "--map", "gpu=npu", "x.py"], "got 'gpu=npu', expected two of"),
        (["run", "--devices", "0", "x.py"], "got '0', expected a number from 1 on"),
    ],
)
def test_options_are_checked(capsys, arguments, words):
    with pytest.raises(SystemExit):
        main(arguments)
    assert words in capsys.readouterr().err

"""Children that are forked after JAX has started raise an error instead of waiting for ever."""

from tests.fresh import answer

PROGRAM = """
import json, multiprocessing, threading, warnings
import numpy as np
import modkit as mx
from modkit import stream
from modkit.ndarray import storage
warnings.simplefilter("ignore")  # JAX and Python 3.12 warn at fork

net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")

def computed():
    return float((mx.nd.array(np.ones(3)) * 2).sum().asscalar())

def send(pipe, call):
    try:
        pipe.send(["value", eval(call)])
    except Exception as error:
        pipe.send([type(error).__name__, str(error)])

def in_child(call):
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=send, args=(theirs, call))
    process.start()
    answer = ours.recv() if ours.poll(15) else ["no answer", "after 15 s"]
    process.kill()
    return answer

answers = {"before": in_child("computed()")}
computed()
executor = net.simple_bind(mx.cpu(), data=(1, 3))
executor.forward()
old, fresh = mx.nd.ones((3,)) + 1, mx.nd.array(np.ones(3))
old.wait_to_read()
for call in (
    "old.asnumpy().tolist()",
    "computed()",
    "(old + 1).asnumpy().tolist()",
    "old[1].asscalar().item()",
    "old.__setitem__(0, 3.0)",
    "fresh.asnumpy().tolist()",
    "(old + fresh).asnumpy().tolist()",
    "old.to_jax()",
    "executor.forward()[0].asnumpy()",
    "executor.forward(data=mx.nd.ones((1, 3)))[0].asnumpy()",
    "mx.mod.Module(net, label_names=None).bind([('data', (2, 3))])",
):
    answers[call] = in_child(call)

module = mx.mod.Module(net, label_names=None)
module.bind([("data", (1, 3))])
module.init_params()
held, done = threading.Event(), threading.Event()

def hold():
    with module._exec_group.store.lock, storage.replacing, stream._lock:
        held.set()
        done.wait()

threading.Thread(target=hold).start()
held.wait()
for call in ("old.__setitem__(1, 3.0)", "mx.random.seed(3)", "module.get_params()"):
    answers[call] = in_child(call)
done.set()
print(json.dumps(answers))
"""


def test_forked_children():
    """Those of a process that has not computed compute; later ones only what NumPy repeats."""
    answers = answer(PROGRAM)
    assert answers.pop("before") == ["value", 6.0]
    assert answers.pop("computed()") == ["value", 6.0]
    assert answers.pop("old.asnumpy().tolist()") == ["value", [2.0, 2.0, 2.0]]
    assert answers.pop("(old + 1).asnumpy().tolist()") == ["value", [3.0, 3.0, 3.0]]
    assert answers.pop("old[1].asscalar().item()") == ["value", 2.0]
    assert answers.pop("old.__setitem__(0, 3.0)") == ["value", None]
    assert answers.pop("fresh.asnumpy().tolist()") == ["value", [1.0, 1.0, 1.0]]
    # What another thread locked at the fork is free in the child.
    assert answers.pop("old.__setitem__(1, 3.0)") == ["value", None]
    assert answers.pop("mx.random.seed(3)") == ["value", None]
    assert len(answers) == 6
    for call, (name, text) in answers.items():
        assert (name, "spawn" in text) == ("NotSupportedError", True), (call, text)

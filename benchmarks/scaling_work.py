"""The worker of `benchmarks.scaling`: steps of an MLP in one of several processes.

    python benchmarks/scaling_work.py (modkit | mxnet | jax) STEPS

It prints ``begin`` before the timed steps, and behind them their seconds and the bytes that it has
sent and received over TCP.
"""

import contextlib
import importlib
import itertools
import json
import os
import socket
import struct
import sys
import time
from pathlib import Path

import numpy as np

SIZES, BATCH, WARM_UP = (784, 128, 64, 10), 64, 20
RATE, MOMENTUM = 0.01, 0.9
_BYTES_AT = 120
"""Place of the acknowledged and the received bytes in Linux's struct tcp_info."""


def tcp_bytes():
    """Bytes that this process has sent and received over its open TCP connections."""
    totals = np.zeros(2, np.int64)
    for path in list(Path("/proc/self/fd").iterdir()):
        with contextlib.suppress(OSError):
            if str(path.resolve()).rpartition("/")[2].startswith("socket:"):
                with socket.socket(fileno=os.dup(int(path.name))) as link:
                    facts = link.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 232)
                    totals += struct.unpack_from("QQ", facts, _BYTES_AT)
    return totals


def batch(rank):
    """Images and labels of a worker."""
    stream = np.random.RandomState(rank)
    labels = stream.randint(0, SIZES[-1], BATCH).astype(np.float32)
    return stream.rand(BATCH, SIZES[0]).astype(np.float32), labels


def module_api(name):
    """Steps of a Module over ``dist_sync``; the same lines for modkit and MXNet."""
    mx = importlib.import_module(name)
    kv = mx.kv.create("dist_sync")
    net = mx.sym.Variable("data")
    for layer, width in enumerate(SIZES[1:], 1):
        if layer > 1:
            net = mx.sym.Activation(net, act_type="relu")
        net = mx.sym.FullyConnected(net, num_hidden=width, name=f"fc{layer}")
    module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    module.bind([("data", (BATCH, SIZES[0]))], [("softmax_label", (BATCH,))])
    module.init_params(mx.init.Xavier())
    module.init_optimizer(kv, "sgd", (("learning_rate", RATE), ("momentum", MOMENTUM)))
    one = mx.io.DataBatch(*([mx.nd.array(a)] for a in batch(kv.rank)))
    metric = mx.metric.create("acc")

    def run(steps):
        metric.reset()
        for _ in range(steps):
            module.forward_backward(one)
            module.update()
            module.update_metric(metric, one.label)
        mx.nd.waitall()
        return metric.get()[1]

    return kv.rank, run


def by_hand(coordinator, size, rank):
    """The same steps in JAX: one program over a mesh of processes, with `jax.lax.psum`."""
    import jax
    import jax.numpy as jnp
    from jax.sharding import Mesh, PartitionSpec

    jax.distributed.initialize(coordinator, size, rank)
    mesh = Mesh(np.array(jax.devices()), ("workers",))
    stream = np.random.RandomState(0)
    everywhere, rows = PartitionSpec(), PartitionSpec("workers")
    put = jax.make_array_from_process_local_data
    state = []
    for before, width in itertools.pairwise(SIZES):
        layer = stream.normal(0, 0.1, (before, width)), np.zeros(width)
        state += [(np.float32(a), np.zeros(a.shape, np.float32)) for a in layer]
    state = jax.tree.map(lambda a: put(jax.NamedSharding(mesh, everywhere), a), state)
    images, labels = (put(jax.NamedSharding(mesh, rows), a) for a in batch(rank))

    def loss(weights, images, labels):
        for place in range(0, len(weights), 2):
            images = images if place == 0 else jax.nn.relu(images)
            images = images @ weights[place] + weights[place + 1]
        logs = jax.nn.log_softmax(images)
        hits = (images.argmax(-1) == labels).sum()
        return -jnp.take_along_axis(logs, labels[:, None], -1).sum(), hits

    def step(state, images, labels):
        labels = labels.astype(jnp.int32)
        weights = [w for w, _ in state]
        (_, hits), grads = jax.value_and_grad(loss, has_aux=True)(weights, images, labels)
        grads = jax.lax.psum(grads, "workers")
        moved = [
            MOMENTUM * v - RATE / BATCH / size * g for (_, v), g in zip(state, grads, strict=True)
        ]
        return [(w + v, v) for w, v in zip(weights, moved, strict=True)], hits[None]

    program = jax.jit(
        jax.shard_map(
            step, mesh=mesh, in_specs=(everywhere, rows, rows), out_specs=(everywhere, rows),
            check_vma=False,
        ),
        donate_argnums=0,
    )  # fmt: skip

    def run(steps):
        nonlocal state
        counts = []
        for _ in range(steps):
            state, hits = program(state, images, labels)
            counts.append(hits)
        return sum(int(c.addressable_shards[0].data[0]) for c in counts) / BATCH / steps

    return rank, run


def main(peer, steps):
    if peer == "jax":
        address = (os.environ[n] for n in ("MODKIT_COORDINATOR", "MODKIT_WORKERS", "MODKIT_RANK"))
        coordinator, size, rank = address
        rank, run = by_hand(coordinator, int(size), int(rank))
    else:
        rank, run = module_api(peer)
    run(WARM_UP)
    before = tcp_bytes()
    print("begin", flush=True)
    start = time.perf_counter()
    run(int(steps))
    taken_s = time.perf_counter() - start
    sent, received = map(int, tcp_bytes() - before)
    print(json.dumps({"rank": rank, "s": taken_s, "sent": sent, "received": received}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

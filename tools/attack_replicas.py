"""Train on many virtual CPU devices for many steps; a step that hangs ends the program.

    python -m tools.attack_replicas                        # 8 devices, 10,000 steps, by jax.pmap
    python -m tools.attack_replicas --by mesh --steps 500  # by jax.jit over a mesh

A collective program in flight beside another one can stop both for ever where devices share a pool
of threads. Batches here are also read, scored and validated between steps, and an eager call runs
on each device. A stall of two minutes writes the stacks of all threads, and the status is 1.
"""

import argparse
import faulthandler
import os
import sys
import time

STALL_S = 120


def options():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--devices", type=int, default=8)
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--by", choices=("pmap", "mesh"), default="pmap")
    return parser.parse_args()


def main():
    given = options()
    flag = f"--xla_force_host_platform_device_count={given.devices}"
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {flag}"
    os.environ["JAX_PLATFORMS"] = "cpu"

    import numpy as np

    import modkit as mx
    from modkit.step import replicas
    from modkit.step.across_devices import by_mesh

    if given.by == "mesh":
        replicas.DistinctDevices.by = staticmethod(by_mesh)
    contexts = [mx.cpu(i) for i in range(given.devices)]
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=16, name="fc1")
    net = mx.sym.BatchNorm(mx.sym.Activation(net, act_type="relu"), name="bn")
    net = mx.sym.FullyConnected(net, num_hidden=4, name="fc2")
    module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"), context=contexts)
    stream = np.random.RandomState(0)
    size = 4 * given.devices
    images = stream.rand(10 * size, 8).astype("float32")
    batches = mx.io.NDArrayIter(images, (images.sum(1) > 4) + 2 * (images[:, 0] > 0.5), size)
    module.bind(batches.provide_data, batches.provide_label)
    module.init_params(mx.init.Xavier())
    module.init_optimizer("device", "adam", {"learning_rate": 0.01})
    metric = mx.metric.create(["acc", "ce"])
    begin, done = time.monotonic(), 0
    faulthandler.dump_traceback_later(STALL_S, exit=True)
    while done < given.steps:
        for batch in batches:
            module.forward_backward(batch)
            module.update()
            module.update_metric(metric, batch.label)
            done += 1
            if done % 7 == 0:
                module.get_outputs()[0].asnumpy()
            if done % 11 == 0:
                sums = [mx.nd.ones((4,), ctx=each) + done for each in contexts]
                mx.nd.waitall()
                if any(s.asnumpy()[0] != done + 1 for s in sums):
                    raise SystemExit("an eager call has another value")
            if done % 100 == 0:
                faulthandler.dump_traceback_later(STALL_S, exit=True)
            if done % 1000 == 0:
                scores = dict(module.score(batches, "acc"))
                values = " ".join(f"{n}={v:.3f}" for n, v in metric.get_name_value())
                print(f"{done} steps, {time.monotonic() - begin:.0f} s: {values}, {scores}",
                      flush=True)  # fmt: skip
                metric.reset()
                break
        batches.reset()
    faulthandler.cancel_dump_traceback_later()
    print(f"{done} steps on {given.devices} devices by {given.by}: no deadlock")


if __name__ == "__main__":
    sys.exit(main())

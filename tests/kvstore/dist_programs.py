"""Programs of workers, for test_dist.py: `modkit launch -n 2 dist_programs.py CALLS`."""

import json
import os
import sys

import numpy as np

try:
    import mxnet as mx
except ImportError:  # without `modkit launch`
    import modkit as mx


def values(path):
    """Each kind of call of a store; the states of its optimizer go to a file."""
    kv = mx.kv.create("dist_device_sync")
    rank, size = kv.rank, kv.num_workers
    found = {}

    def pulled(key, like):
        out = mx.nd.zeros(like.shape, dtype=like.dtype)
        kv.pull(key, out=out)
        return np.unique(out.asnumpy().astype("float64")).tolist()

    def raises(key, call, *given):
        try:
            call(*given)
        except mx.MXNetError as error:
            found[key] = type(error).__name__

    small, large = mx.nd.ones((2, 2)), mx.nd.ones((1200, 1100))
    kv.init(["small", "large"], [small * (rank + 5), large * 0])
    found["that of worker 0"] = pulled("small", small)
    kv.push("small", [small * (rank + 1)] * 2)
    found["sum over arrays and workers"] = pulled("small", small)
    kv.push("large", large * (rank + 1))
    found["large"] = pulled("large", large)
    half = mx.nd.ones((3,), dtype="float16")
    kv.init("half", half)
    kv.push("half", half * (rank + 1))
    found["half"] = pulled("half", half)
    out = mx.nd.zeros((2, 2))
    kv.pushpull("small", small, out=out)
    found["pushpull"] = np.unique(out.asnumpy()).tolist()
    kv.broadcast("broadcast", small * (rank + 10), out=out)
    found["broadcast"] = np.unique(out.asnumpy()).tolist()
    kv.init("rows", mx.nd.zeros((4, 2)))
    kv.push("rows", mx.nd.sparse.row_sparse_array(([[1.0, 1.0]], [rank]), shape=(4, 2)))
    rows = mx.nd.zeros((4, 2)).tostype("row_sparse")
    kv.row_sparse_pull("rows", out=rows, row_ids=mx.nd.array([0, 1, 2]))
    found["rows"] = rows.asnumpy()[:, 0].tolist()

    def sparse(value, *rows):
        data = np.full((len(rows), 2), value, "float32")
        return mx.nd.sparse.row_sparse_array((data, list(rows)), shape=(6, 2))

    def all_rows(key):
        out = mx.nd.zeros((6, 2)).tostype("row_sparse")
        kv.row_sparse_pull(key, out=out, row_ids=mx.nd.arange(6))
        return out.asnumpy()[:, 0].tolist()

    kv.init("kept", mx.nd.ones((6, 2)).tostype("row_sparse"))
    kv.push("kept", sparse(3.0, 2 + 2 * rank))
    found["kept rows"] = all_rows("kept")
    kv.push("kept", [sparse(1.0, 3), sparse(1.0, 3, 5)] if rank else sparse(5.0, 3))
    found["kept rows of lists"] = all_rows("kept")
    kv.push("kept", sparse(4.0) if rank else mx.nd.ones((6, 2)))
    found["no rows and all"] = all_rows("kept")
    kv.set_gradient_compression({"type": "2bit", "threshold": 0.5})
    raises("row-sparse, compressed", kv.push, "kept", sparse(1.0, 0))
    raises("float16, compressed", kv.push, "half", half)
    raises("another type", kv.push, "small", small.astype("float16"))
    raises("another shape", kv.push, "small", half)
    raises("a second init", kv.init, "small", small)
    raises("kinds of keys", kv.init, 3, small)
    raises("an unknown key", kv.push, "unknown", small)
    kv.init("bits", mx.nd.zeros((2,)))
    for number, given in enumerate(([0.25, 0.75], [0.25, 0.0])):
        kv.push("bits", mx.nd.array(given))
        bits = mx.nd.zeros((2,))
        kv.pull("bits", out=bits)
        found[f"bits {number}"] = bits.asnumpy().tolist()
    kv = mx.kv.create("dist_sync")
    kv.init("w", small)
    kv.set_optimizer(mx.optimizer.create("sgd", learning_rate=0.125, momentum=0.5))
    for number in range(2):
        kv.push("w", small)
        found[f"update {number}"] = pulled("w", small)
    kv.init("lazy", mx.nd.ones((6, 2)).tostype("row_sparse"))
    for row in (0, 3):
        kv.push("lazy", sparse(2.0, row + rank))
    found["lazy"] = all_rows("lazy")
    kv.save_optimizer_states(path)
    kv.load_optimizer_states(path)
    kv.push("w", small)
    found["update 2"] = pulled("w", small)
    kv.barrier()
    return [rank, size, kv.type, found]


def network():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=8, name="fc1")
    net = mx.sym.FullyConnected(mx.sym.Activation(net, act_type="tanh"), num_hidden=3, name="fc2")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def data():
    stream = np.random.RandomState(0)
    return stream.rand(48, 5).astype("float32"), stream.randint(0, 3, 48).astype("float32")


def trained(iterator, kvstore, context, end=None, epochs=2):
    """The parameters after the epochs."""
    mx.random.seed(7)
    module = mx.mod.Module(network(), context=context)
    module.fit(
        iterator,
        num_epoch=epochs,
        kvstore=kvstore,
        optimizer_params={"learning_rate": 0.5, "momentum": 0.9},
        initializer=mx.init.Xavier(),
        batch_end_callback=end,
    )
    arguments, _ = module.get_params()
    return {name: array.asnumpy().tolist() for name, array in arguments.items()}


def trained_by_hand(iterator, kvstore):
    """The same, with outputs and gradients read before the update."""
    mx.random.seed(7)
    module = mx.mod.Module(network())
    module.bind(iterator.provide_data, iterator.provide_label)
    module.init_params(mx.init.Xavier())
    module.init_optimizer(kvstore, "sgd", {"learning_rate": 0.5, "momentum": 0.9})
    for _ in range(2):
        iterator.reset()
        for _, batch in zip(range(3), iterator, strict=False):
            module.forward(batch, is_train=True)
            module.get_outputs()[0].asnumpy()
            module.backward()
            module._exec_group.grad_arrays[0][0].asnumpy()
            module.update()
    arguments, _ = module.get_params()
    return {name: array.asnumpy().tolist() for name, array in arguments.items()}


def fit():
    """Training on a part each, over one device, two devices, and two replicas of one device.

    The part of worker 1 has a batch more, which is left.
    """
    kv = mx.kv.create("dist_sync")
    images, labels = data()
    images, labels = images[kv.rank :: 2], labels[kv.rank :: 2]
    if kv.rank:
        images, labels = np.concatenate([images, images[:8]]), np.concatenate([labels, labels[:8]])
    batches = []
    found = []
    for context in (mx.cpu(0), [mx.cpu(0), mx.cpu(1)], [mx.cpu(0), mx.cpu(0)]):
        iterator = mx.io.NDArrayIter(images, labels, 8)
        found.append(trained(iterator, kv, context, batches.append))
        kv = mx.kv.create("dist_sync")
    found.append(trained_by_hand(mx.io.NDArrayIter(images, labels, 8), kv))
    return [kv.rank, len(batches), found]


def alone():
    """Training by one worker, and by a store of this process."""
    kv = mx.kv.create("dist_sync")
    net = mx.sym.SoftmaxOutput(mx.sym.Dropout(network().get_internals()["fc2_output"]), name="end")
    found = []
    for store in (kv, "local"):
        mx.random.seed(7)
        module = mx.mod.Module(net, label_names=["end_label"])
        module.bind([("data", (8, 5))], [("end_label", (8,))])
        module.init_params(mx.init.Xavier())
        module.init_optimizer(store, "sgd", {"momentum": 0.9, "rescale_grad": 1 / 8})
        images, labels = (mx.nd.array(each[:8]) for each in data())
        weight = module._exec_group.store.state.params
        for _ in range(3):
            module.forward_backward(mx.io.DataBatch([images], [labels]))
            module.update()
            before, weight = weight, module._exec_group.store.state.params
        module.get_outputs()[0].wait_to_read()
        last = {n: a.asnumpy().tolist() for n, a in module.get_params()[0].items()}
        found.append([last, all(a.is_deleted() for a in before.values())])
    return [kv.rank, kv.num_workers, found]


def sharded(folder):
    """Optimizer states in parts over workers and devices, beside whole ones; their files."""
    kv = mx.kv.create("dist_sync")
    images, labels = data()
    symbol, one, both = network(), mx.cpu(0), [mx.cpu(0), mx.cpu(1)]
    found = {}
    for name, context, divided in (
        ("whole", both, False), ("4", both, True), ("2", one, True)
    ):  # fmt: skip
        mx.random.seed(7)
        for epochs in (1, 2):  # the second by the checkpoint of the first
            kv = mx.kv.create("dist_sync")
            module = mx.mod.Module(symbol, context=context)
            module.fit(
                mx.io.NDArrayIter(images[kv.rank :: 2], labels[kv.rank :: 2], 8),
                num_epoch=epochs, kvstore=kv, optimizer="adam", initializer=mx.init.Xavier(),
                callbacks=[mx.callback.Checkpoint(f"{folder}/{name}")], resume=f"{folder}/{name}",
                shard_optimizer_states=divided,
            )  # fmt: skip
        module.save_optimizer_states(f"{folder}/{name}.states")
        arguments, _ = module.get_params()
        found[name] = {
            "values": {n: a.asnumpy().tolist() for n, a in arguments.items()},
            "bytes": list(module.optimizer_state_bytes().values()),
        }
    return [kv.rank, found]


def wide_network():
    """A network whose results depend on all workers: statistics, masks and moving averages."""
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=8, no_bias=True, name="fc1")
    net = mx.sym.contrib.SyncBatchNorm(net, key="bn", ndev=2, fix_gamma=False, name="bn")
    net = mx.sym.Dropout(mx.sym.Activation(net, act_type="tanh", name="tanh"), p=0.5, name="drop")
    net = mx.sym.FullyConnected(net, num_hidden=3, no_bias=True, name="fc2")
    net = mx.sym.BatchNorm(net, name="bn2")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def parts(size, number=1, own=0):
    """Training and validation iterators."""
    images, labels = data()
    part = {"num_parts": number, "part_index": own} if number > 1 else {}
    train = mx.io.NDArrayIter(images, labels, size, shuffle=True, **part)
    return train, mx.io.NDArrayIter(images[:24], labels[:24], size, **part)


def whole(size, kvstore="local", context=None, folder=None, number=1, own=0, **options):
    """Parameters, states and metrics of a training with everything that spans workers."""
    np.random.seed(3)  # noqa: NPY002 - what iterators shuffle with
    mx.random.seed(7)
    train, held_out = parts(size, number, own)
    module = mx.mod.Module(wide_network(), context=context)
    seen = []

    class Seen(mx.callback.Callback):
        last = True

        def on_fit_begin(self, run):
            seen[:] = run.history  # of a training that has ended before

        on_epoch_end = on_fit_begin

        def on_batch_end(self, run):
            if options.get("says"):
                sys.stdout.write(f"step {run.step}\n")
                sys.stdout.flush()
            if run.step == options.get("stops") and own == 1:
                run.stop_training()
            if run.step == options.get("signal") and own == 1:
                os.kill(os.getpid(), 15)

    written = [mx.callback.Checkpoint(folder, every_n_batches=2)] if folder else []
    module.fit(
        train, held_out, ["acc", "ce", mx.metric.PCC()],
        kvstore=kvstore, num_epoch=3, optimizer="adam",
        optimizer_params={"learning_rate": 0.05}, initializer=mx.init.Xavier(),
        callbacks=[*written, Seen()],
        resume=folder,
    )  # fmt: skip
    arguments, states = module.get_params()
    values = {n: a.asnumpy().tolist() for n, a in {**arguments, **states}.items()}
    return {"values": values, "history": seen}


def together(**options):
    """`whole` by all workers."""
    kv = mx.kv.create("dist_sync")
    found = whole(16 // kv.num_workers, kv, number=kv.num_workers, own=kv.rank, **options)
    return [kv.rank, found]


def machine_on(parts, kvstore, context):
    """The weights of a factorization machine after a batch of each part."""
    from tests.ndarray.sparse_cases import batches, factorization_machine, weights

    made = batches(mx)[:2]
    if parts is None:
        rows = mx.nd.concat(*(b.data[0] for b in made), dim=0)
        made = [mx.io.DataBatch([rows], [mx.nd.concat(*(b.label[0] for b in made), dim=0)])]
    else:
        made = [made[parts]]
    module = mx.mod.Module(factorization_machine(mx), ["data"], ["label"], context=context)
    shape = made[0].data[0].shape
    module.bind([("data", shape)], [("label", (shape[0], 1))])
    module.init_params(None, {n: mx.nd.array(v) for n, v in weights().items()}, {})
    module.init_optimizer(kvstore, "sgd", {"learning_rate": 0.1, "rescale_grad": 1.0})
    for batch in made * 2:
        module.forward(batch, is_train=True)
        module.backward()
        module.update()
    return {n: a.asnumpy().tolist() for n, a in module.get_params()[0].items()}


def sparse():
    """A factorization machine on csr batches that name other columns in each worker."""
    kv = mx.kv.create("dist_sync")
    return [kv.rank, machine_on(kv.rank, kv, mx.cpu())]


def failing(how):
    """Worker 1 raises, exits or is killed after some batches; worker 0 waits for it."""
    kv = mx.kv.create("dist_sync")
    batches = []

    def end(param):
        batches.append(param.nbatch)
        if kv.rank == 1 and len(batches) == 4:
            if how == "raises":
                raise ValueError("an error of worker 1")
            if how == "exits":
                sys.exit(5)
            os.kill(os.getpid(), 19 if how == "hangs" else 9)

    trained(mx.io.NDArrayIter(*data(), 8), kv, mx.cpu(), end)


def endless(*_):
    """Training that a signal ends; a line says that it has begun."""
    kv = mx.kv.create("dist_sync")

    def end(param):
        if param.epoch == param.nbatch == 1:
            sys.stdout.write("trains\n")
            sys.stdout.flush()

    trained(mx.io.NDArrayIter(*data(), 8), kv, mx.cpu(), end, epochs=1_000_000)


def watched(rank):
    """Worker 0 forks, worker 1 is killed; others than `modkit launch` have started them."""
    if address := os.environ.get("OWN_COORDINATOR"):
        import jax

        jax.distributed.initialize(address, 2, rank)
    kv = mx.kv.create("dist_sync")
    if kv.rank == 1:
        os.kill(os.getpid(), 9)
    if not (child := os.fork()):
        sys.exit(3)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    sys.stdout.write(f"the child ended with {status}\n")
    sys.stdout.flush()
    kv.barrier()


def unequal():
    """Workers with different shapes."""
    kv = mx.kv.create("dist_sync")
    try:
        kv.init("w", mx.nd.ones((2, 3 + kv.rank)))
    except mx.MXNetError as error:
        return f"{type(error).__name__}: {error}"
    return None


def differing():
    """Trainings that differ in worker 1."""
    kv = mx.kv.create("dist_sync")
    last = kv.rank == 1

    def fit(net=None, size=8, rate=0.5, optimizer="sgd", epochs=1, callbacks=(), dtype="float32",
            extra=(), label_dtype="float32", **options):  # fmt: skip
        images, labels = data()
        images = np.tile(images.reshape(*images.shape, *(1 for _ in extra)), (1, 1, *extra))
        module = mx.mod.Module(network() if net is None else net)
        iterator = mx.io.NDArrayIter(
            mx.nd.array(images, dtype=dtype), mx.nd.array(labels, dtype=label_dtype), size
        )
        try:
            module.fit(
                iterator, kvstore=mx.kv.create("dist_sync"), num_epoch=epochs, optimizer=optimizer,
                optimizer_params={"learning_rate": rate}, callbacks=callbacks, **options,
            )  # fmt: skip
        except mx.MXNetError as error:
            return f"{type(error).__name__}: {error}"
        return None

    def checkpoint(every):
        return [mx.callback.Checkpoint(os.devnull, every_n_batches=every)]

    def other(act_type, hidden):
        net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=hidden, name="fc1")
        net = mx.sym.FullyConnected(mx.sym.Activation(net, act_type=act_type), num_hidden=3,
                                    name="fc2")  # fmt: skip
        return mx.sym.SoftmaxOutput(net, name="softmax")

    def pooled():
        net = mx.sym.mean(mx.sym.Variable("data"), axis=2)
        net = mx.sym.FullyConnected(net, num_hidden=3, name="fc")
        return mx.sym.SoftmaxOutput(net, name="softmax")

    if last:
        other("tanh", 8)  # names of nodes that were counted further do not count
    found = [
        fit(callbacks=[] if last else checkpoint(2)),
        fit(callbacks=checkpoint(3 if last else 2)),
        fit(epochs=1 + last),
        fit(other("relu" if last else "tanh", 8)),
        fit(other("tanh", 8 + last)),
        fit(dtype="float16" if last else "float32"),
        fit(size=8 // (1 + last)),
        fit(optimizer="nag" if last else "sgd"),
        fit(rate=0.5 / (1 + last)),
        fit(pooled(), extra=(2 + last,)),
        fit(label_dtype="int32" if last else "float32"),
        fit(shard_optimizer_states=last),
    ]
    return [kv.rank, found]


def run(calls):
    """Programs one behind another, with their arguments; a line of JSON with all they return."""
    returned = {}
    for label, (name, given, options) in calls.items():
        returned[label] = globals()[name](*given, **options)
    sys.stdout.write(f"{json.dumps(returned)}\n")


if __name__ == "__main__":
    run(json.loads(sys.argv[1]))

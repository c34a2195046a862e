"""A step is all or nothing: Ctrl-C at every instant, user code that raises, readers in threads."""

import functools
import itertools
import signal
import sys
import threading
import traceback

import jax
import numpy as np
import optax
import pytest

import modkit as mx
from modkit.compile.program import Program
from modkit.module import training_state
from modkit.ndarray.storage import replacing
from modkit.step.store import Store
from tests.module.networks import assert_same, batches, convnet, mlp, ready, values

pytestmark = [
    pytest.mark.usefixtures("ctrl_c"),
]


@pytest.fixture(autouse=True)
def updater_of_the_module(monkeypatch):
    monkeypatch.setenv("MXNET_UPDATE_ON_KVSTORE", "0")


class Twin:
    """A module whose next step from any state can be computed by another, to be compared."""

    def __init__(self, context, kvstore="device"):
        self.module, self.other = (
            ready(mlp(), self.batch, context=context(), kvstore=kvstore, momentum=0.9)
            for _ in range(2)
        )
        self.metric = mx.metric.create("acc")

    @property
    def batch(self):
        """On the host: one on the device is cut by programs that interrupted compilations free."""
        return batches(1)[0]

    def states(self, module):
        return [module._updater.states[i] for i in sorted(module._updater.states)]

    def handles(self, module):
        return [h for (h, *_) in module._exec_group.param_arrays] + self.states(module)

    def read(self, module):
        return [h.asnumpy() for h in self.handles(module)]

    def after(self, before):
        """The state after one step from this one."""
        for handle, value in zip(self.handles(self.other), before, strict=True):
            handle[:] = value
        train(self.other, self.batch, mx.metric.create("acc"))
        return self.read(self.other)


def train(module, batch, metric):
    module.forward_backward(batch)
    module.update()
    module.update_metric(metric, batch.label)


def at_once(module, batch, metric):
    """As `fit` runs a batch."""
    (sums,), stacked = module._train_on([batch], metric)
    metric.absorb(sums, stacked=stacked)


def outputs_read_first(module, batch, metric):
    module.forward(batch, is_train=True)
    module.get_outputs()[0].asnumpy()
    module.backward()
    module.update()


DROPPING = {
    "HashableWrapper.__init__", "_ScalarMeta.__eq__",
    "canonicalize_slice.<locals>.convert_to_index",
}  # fmt: skip
"""Functions of JAX that drop any exception, by a bare ``except`` or as NumPy calls them."""


def interrupted(work, instant, within=""):
    """Do `work` with a SIGINT at the given instant; whether there was such an instant.

    `within` starts the qualified names of the functions whose instants count; default all.

    Instants are those at which Python runs signal handlers: the first instruction of a function
    and the return from C code. A handler that raised before the call of a lock's `__exit__` would
    leave the lock held, which no signal can do.
    """
    left = instant

    def seen(frame, event, _argument):
        nonlocal left
        if event not in {"call", "c_return"}:
            return
        code = frame.f_code
        if code is interrupted.__code__:  # its `finally`, which nothing would catch
            return
        name = code.co_qualname
        if name in DROPPING or not name.startswith(within):
            return
        left -= 1
        if left == 0:
            sys.setprofile(None)
            signal.raise_signal(signal.SIGINT)

    try:
        sys.setprofile(seen)
        work()
    except KeyboardInterrupt:
        pass
    except Exception as error:
        if "KeyboardInterrupt" not in str(error):  # JAX's caches report it as an error of `==`
            raise
    finally:
        sys.setprofile(None)
    return left <= 0


PLACES = {"one": mx.cpu, "vmap": lambda: [mx.cpu(0), mx.cpu(0)]}
WAYS = {
    "fused": (train, "one", 5),
    "at once": (at_once, "one", 3),
    "vmap": (train, "vmap", 9),
    "apart": (outputs_read_first, "one", 51),
}
"""The way to train, the contexts, and the stride of instants."""


def same(a, b):
    return all(np.allclose(x, y, rtol=1e-5, atol=1e-7) for x, y in zip(a, b, strict=True))


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"  # Python drops one that meets a finalizer
)
@pytest.mark.parametrize("way", WAYS)
def test_an_interrupt_at_any_instant_leaves_the_state_before_the_step_or_after_it(way):
    step, where, stride = WAYS[way]
    twin = Twin(PLACES[where])
    step(twin.module, twin.batch, twin.metric)
    train(twin.other, twin.batch, twin.metric)
    ends, instant = set(), 0
    while True:
        instant += stride
        before = twin.read(twin.module)
        after = twin.after(before)
        hit = interrupted(lambda: step(twin.module, twin.batch, twin.metric), instant)
        now = twin.read(twin.module)
        end = "before" if same(now, before) else "after" if same(now, after) else "half"
        assert end != "half", f"instant {instant}"
        ends.add(end)
        if not hit:
            break
    assert ends == {"before", "after"}
    assert in_a_thread(lambda: replacing.acquire(timeout=5) and not replacing.release())


def outputs(twin):
    return [x.asnumpy() for x in twin.module.get_outputs()]


def parameters(twin):
    return twin.read(twin.module)


@pytest.mark.parametrize(
    ("step", "read", "stride"),
    [
        (train, parameters, 97),
        pytest.param(train, parameters, 9, marks=pytest.mark.slow),
        pytest.param(train, outputs, 9, marks=pytest.mark.slow),
        pytest.param(at_once, parameters, 5, marks=pytest.mark.slow),
        pytest.param(at_once, outputs, 7, marks=pytest.mark.slow),
        (outputs_read_first, outputs, 97),
        pytest.param(outputs_read_first, outputs, 9, marks=pytest.mark.slow),
    ],
)
def test_a_signal_handler_may_read_at_any_instant(step, stride, read):
    """As one that saves a checkpoint does: the step is the same, and so are its metric's sums."""
    twin = Twin(mx.cpu)
    step(twin.module, twin.batch, twin.metric)
    train(twin.other, twin.batch, twin.metric)
    seen, before = [], twin.read(twin.module)
    after, number = twin.after(before), signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, lambda *_: seen.append(read(twin)))
    try:
        for instant in itertools.count(stride, stride):
            for handle, value in zip(twin.handles(twin.module), before, strict=True):
                handle[:] = value
            twin.metric.reset()
            hit = interrupted(lambda: step(twin.module, twin.batch, twin.metric), instant)
            assert same(twin.read(twin.module), after), f"instant {instant}"
            if step is not outputs_read_first:  # which has no metric
                assert twin.metric.num_inst == 8, f"instant {instant}"
            if not hit:
                break
    finally:
        signal.signal(signal.SIGINT, number)
    assert len(seen) > 5


@pytest.mark.parametrize("work", ["read", "copies", "part", "record", "write", "edit"])
def test_a_signal_handler_may_train_at_any_instant_of_a_read_or_write(work):
    """A step donates the buffers that the interrupted code has found."""
    batch = batches(1)[0]
    module = ready(mlp(), batch)
    weight = module._exec_group.store.handle("fc1_weight")
    works = {
        "read": weight.asnumpy,
        "copies": module.get_params,
        "part": weight[1:2].asnumpy,
        "record": weight.__getstate__,  # as in a file
        "write": lambda: weight.__setitem__(slice(None), 1),
        "edit": lambda: weight[0:1].__setitem__(slice(None), 1),
    }
    handler, steps = signal.getsignal(signal.SIGINT), itertools.count()

    def step(*_):
        next(steps)
        train(module, batch, mx.metric.create("acc"))

    signal.signal(signal.SIGINT, step)
    try:
        for instant in itertools.count(1):
            step()
            if not interrupted(works[work], instant):
                break
    finally:
        signal.signal(signal.SIGINT, handler)
    assert next(steps) > 20
    assert all(np.isfinite(value).all() for value in values(module).values())


def test_a_signal_handler_that_saves_waits_for_a_save(monkeypatch):
    """JAX refuses to compile a program within the compilation of the same one."""
    batch, events = batches(1)[0], []
    module, frozen = ready(mlp(), batch), training_state._frozen
    train(module, batch, mx.metric.create("acc"))

    def within(updater):
        if not events:
            events.append("begin")
            signal.raise_signal(signal.SIGINT)
            events.append("end")
        return frozen(updater)

    def save(*_):
        events.append("handler")
        module.state_dict()

    monkeypatch.setattr(training_state, "_frozen", within)
    handler = signal.signal(signal.SIGINT, save)
    try:
        module.state_dict()
    finally:
        signal.signal(signal.SIGINT, handler)
    assert events == ["begin", "end", "handler"]


def test_a_signal_handler_may_read_the_outputs_of_inference_at_any_instant():
    """Also while the program of the first pass is traced."""
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    net = mx.sym.Group([net * 2, mx.sym.softmax(net, name="probabilities")])
    batch = mx.io.DataBatch([mx.nd.ones((2, 4))])
    module = mx.mod.Module(net, label_names=None)
    module.bind([("data", (2, 4))], for_training=False)
    module.init_params(mx.init.One())
    seen, number = [], signal.getsignal(signal.SIGINT)

    def read():
        return [x.asnumpy() for x in module.get_outputs()]

    def infer():
        module.forward(batch, is_train=False)
        read()

    module.forward(batch, is_train=False)
    signal.signal(signal.SIGINT, lambda *_: seen.append(read()))
    try:
        for instant in itertools.count(1):
            hit = interrupted(infer, instant)
            assert same(read(), [np.full((2, 3), 8), np.full((2, 3), 1 / 3)]), f"instant {instant}"
            if not hit:
                break
    finally:
        signal.signal(signal.SIGINT, number)
    assert len(seen) > 2


@pytest.mark.parametrize(("step", "method"), [(train, "read"), (at_once, "values")])
def test_a_pass_that_an_interrupt_cut_short_does_not_stop_the_next_ones(step, method, monkeypatch):
    twin = Twin(mx.cpu)
    step(twin.module, twin.batch, twin.metric)
    train(twin.other, twin.batch, twin.metric)
    read = getattr(Store, method)

    def cut_short(store, *args):
        read(store, *args)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt) as kept:
        patch.setattr(Store, method, cut_short)
        step(twin.module, twin.batch, twin.metric)
    after = twin.after(twin.read(twin.module))
    step(twin.module, twin.batch, twin.metric)
    assert same(twin.read(twin.module), after)
    assert kept.tb is not None  # the traceback, as a notebook keeps it, holds the pass


def by_updater(rule):
    def make(weight, grad):
        optimizer = mx.optimizer.create(rule)
        update = mx.optimizer.get_updater(optimizer)
        update([0], [grad], [weight])
        states = [x for x in jax.tree.leaves(update.states[0]) if isinstance(x, mx.nd.NDArray)]
        return lambda: update([0], [grad], [weight]), states, lambda: optimizer.num_update

    return make


def by_store(weight, grad):
    store = mx.kv.create("local")
    store.init(0, weight)
    store.set_optimizer(mx.optimizer.SGD(learning_rate=0.1, momentum=0.9))

    def step():
        store.push(0, [grad, grad])

    def count():
        store.pull(0, out=weight)
        return store._updater.optimizer.num_update

    step()
    return step, [*store._updater.states.values()], count


def by_operator(weight, grad):
    states = mx.nd.zeros(3), mx.nd.zeros(3)
    step = functools.partial(mx.nd.adam_update, weight, grad, *states, lr=0.1, out=weight)
    step()
    return step, states, lambda: weight.asnumpy()[0]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # as above
@pytest.mark.parametrize(
    ("make", "stride"),
    [
        (by_updater("adam"), 11),
        (by_updater(optax.adam(0.1)), 97),
        (by_store, 19),
        (by_operator, 1),
    ],
    ids=["adam", "optax", "kvstore", "operator"],
)
def test_an_update_outside_of_a_module_writes_all_or_nothing(make, stride):
    weight = mx.nd.ones(3)
    update, states, count = make(weight, mx.nd.array([0.1, -0.2, 0.3]))

    def read():
        return [np.array(count()), *(a.asnumpy().copy() for a in (weight, *states))]

    instant, hit, ends = 0, True, set()
    while hit:
        instant += stride
        before = read()
        hit = interrupted(update, instant)
        changed = {not np.array_equal(a, b) for a, b in zip(before, read(), strict=True)}
        assert len(changed) == 1, f"instant {instant}"
        ends |= changed
    assert True in ends


def in_a_thread(work):
    results = []
    thread = threading.Thread(target=lambda: results.append(work()))
    thread.start()
    thread.join()
    return results[0]


class Moody(mx.operator.CustomOp):
    """The identity; raises in the method that `raises` names."""

    raises = None

    def forward(self, is_train, req, in_data, out_data, aux):
        if Moody.raises == "forward":
            raise KeyError("no forward today")
        self.assign(out_data[0], req[0], in_data[0])

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        if Moody.raises == "backward":
            raise KeyError("no backward today")
        self.assign(in_grad[0], req[0], out_grad[0])


@mx.operator.register("moody")
class MoodyProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Moody()


@pytest.mark.parametrize("where", ["forward", "backward"])
def test_an_operator_that_raises_leaves_the_state_and_its_own_exception(where, monkeypatch):
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc")
    net = mx.sym.BatchNorm(mx.sym.Custom(net, op_type="moody", name="moody"), name="bn")
    batch, metric = batches(1)[0], mx.metric.create("acc")
    module = ready(mx.sym.SoftmaxOutput(net, name="softmax"), batch, momentum=0.9)
    train(module, batch, metric)
    before = values(module)
    monkeypatch.setattr(Moody, "raises", where)
    with pytest.raises(mx.MXNetError, match=f"no {where} today") as caught:
        train(module, batch, metric)
    own = caught.value.__cause__
    assert isinstance(own, KeyError)
    assert traceback.extract_tb(own.__traceback__)[-1].name == where
    assert_same(values(module), before, rtol=0, atol=0)
    monkeypatch.setattr(Moody, "raises", None)
    train(module, batch, metric)
    assert not np.array_equal(values(module)["fc_weight"], before["fc_weight"])


def test_readers_in_another_thread_see_whole_steps_and_training_goes_on():
    """One weight, updated to twice its sum with itself: all elements are equal after any step."""
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=64, no_bias=True, name="fc")
    net = mx.sym.MakeLoss(mx.sym.mean(net))
    module = mx.mod.Module(net, label_names=None)
    module.bind([("data", (8, 64))])
    module.init_params(mx.init.One())
    module.init_optimizer(optimizer_params={"learning_rate": 0.5, "momentum": 0.5})
    batch = mx.io.DataBatch([mx.nd.ones((8, 64))])
    seen, errors, ended = [], [], threading.Event()

    def read():
        try:
            while not ended.is_set():
                args, _ = module.get_params()
                seen.append(args["fc_weight"].asnumpy())
                module._exec_group.param_arrays[0][0].asnumpy()
                module.get_outputs()[0].asnumpy()
        except Exception as error:
            errors.append(error)

    for _ in range(2):
        module.forward_backward(batch)
        module.update()
    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for _ in range(150):
        module.forward_backward(batch)
        module.update()
    ended.set()
    for reader in readers:
        reader.join()
    assert not errors
    assert len(seen) > 1
    assert all((value == value.flat[0]).all() for value in seen)
    assert len({float(value.flat[0]) for value in seen}) > 1


def test_an_update_inside_of_a_read_does_not_wait_for_another_thread_for_ever():
    """As in a signal handler: the thread holds the lock that the other one waits for."""
    batch = batches(1)[0]
    module = ready(mlp(), batch)
    train(module, batch, mx.metric.create("acc"))
    turn = module._module_optimizer.lock
    other = threading.Thread(target=module.update)

    def look(_value):
        module.update()  # nothing else trains
        other.start()
        while turn.acquire(blocking=False):
            turn.release()
        with pytest.raises(mx.errors.NotReadyError, match="set a flag in the handler"):
            module.update()
        with pytest.raises(mx.errors.NotReadyError, match="set a flag in the handler"):
            at_once(module, batch, mx.metric.create("acc"))

    before = values(module)
    module._exec_group.store.params["fc1_weight"].seen(look)
    other.join()
    assert not np.array_equal(values(module)["fc1_weight"], before["fc1_weight"])


def test_user_code_that_raises_leaves_whole_steps():
    """A batch callback, a schedule and an iterator: the module goes on after each."""

    class Schedule(mx.lr_scheduler.LRScheduler):
        fails = False

        def __call__(self, num_update):
            if Schedule.fails:
                raise ArithmeticError("no rate")
            return 0.1

    data = batches(1)[0]
    iterator = mx.io.NDArrayIter(
        np.tile(data.data[0].asnumpy(), (4, 1)), np.tile(data.label[0].asnumpy(), 4), 8
    )
    module, clean = ready(mlp(), data), ready(mlp(), data)
    module.init_optimizer(
        optimizer_params={"learning_rate": 0.1, "lr_scheduler": Schedule()}, force_init=True
    )
    train(clean, data, mx.metric.create("acc"))

    def failing(param):
        raise LookupError("no callback")

    with pytest.raises(LookupError, match="no callback"):
        module.fit(iterator, num_epoch=1, batch_end_callback=failing)
    assert_same(values(module), values(clean))
    Schedule.fails = True
    with pytest.raises(ArithmeticError, match="no rate"):
        train(module, data, mx.metric.create("acc"))
    assert_same(values(module), values(clean))
    counts = module._optimizer.num_update, set(module._optimizer._index_update_count.values())
    assert counts == (1, {1})  # no update was made
    Schedule.fails = False
    for each in (module, clean):
        train(each, data, mx.metric.create("acc"))
    assert_same(values(module), values(clean))


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"  # Python drops one that meets a finalizer
)
@pytest.mark.skipif(
    jax.__version_info__ >= (0, 11), reason="this JAX keeps indices of an interrupted trace"
)
def test_an_interrupted_compilation_is_done_again():
    """JAX would take the next trace for a recursion, of `x.at` and other functions of its own too.

    Its caches mark an entry as being computed, and then call Python for the entry's context: an
    interrupt in that call leaves the mark.
    """
    program = Program(lambda x: x.at[1:].add(2) * 3, ("interrupted",), "a test")
    sizes = itertools.count(2)

    def compiles(instant):
        x = np.ones(next(sizes), np.float32)
        hit = interrupted(lambda: program(x), instant, "_weakref_lru_cache.")
        np.testing.assert_array_equal(program(x), [3, *[9] * (len(x) - 1)])
        return hit

    assert compiles(1)
    assert not all(map(compiles, range(2, 200)))


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("method", ["backward", "update"])
def test_an_interrupt_between_pass_and_update_leaves_statistics_of_the_step_before(method, count):
    """In `fit` a pass is pending then, which would change the statistics and no parameter."""

    class Interrupted(mx.mod.Module):
        def _count(self):
            nonlocal calls
            calls += 1
            if calls == 3:
                raise KeyboardInterrupt

    def counted(self, *args):
        self._count()
        return getattr(mx.mod.Module, method)(self, *args)

    def end(param):
        if param.nbatch == 1:
            raise KeyboardInterrupt

    def trained(kind, callback=None):
        data = np.random.default_rng(3).normal(size=(32, 1, 6, 6)).astype(np.float32)
        mx.random.seed(2)
        module = kind(convnet(), context=[mx.cpu(0)] * count)
        with pytest.raises(KeyboardInterrupt):
            module.fit(
                mx.io.NDArrayIter(data, np.arange(32) % 4, 8), num_epoch=1,
                initializer=mx.init.Xavier(), batch_end_callback=callback,
            )  # fmt: skip
        return module

    calls = 0
    setattr(Interrupted, method, counted)
    module = trained(Interrupted)
    assert_same(values(module), values(trained(mx.mod.Module, end)))
    module.fit(batches_again(), num_epoch=1)  # goes on


def batches_again():
    return mx.io.NDArrayIter(np.zeros((16, 1, 6, 6), np.float32), np.zeros(16), 8)

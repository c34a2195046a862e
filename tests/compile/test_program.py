"""Compiled programs that are kept: found again where they are the same, and only there."""

import functools
import gc
import io
import json
import logging
import os
import re
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import modkit as mx
from modkit.compile import cache_key as identity
from modkit.compile import program
from modkit.compile import progress as waiting
from modkit.compile.cache_key import NotDescribable, describe
from modkit.compile.disk_cache import DiskCache
from modkit.compile.program import Program
from modkit.predictor.predictor import _program
from modkit.step.fused import step_program
from modkit.step.programs import programs_for
from modkit.symbol.lower import Lowered, lower
from modkit.symbol.structure import Structure
from modkit.tuning import config
from tests.module.networks import batches, mlp, ready, values
from tests.threads import run_all, wait_until_calling

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def kept(compilations, tmp_path, monkeypatch):
    """A cache for everything that is compiled, however fast; earlier programs are forgotten.

    It comes after `compilations`, which switches the cache off.
    """
    del compilations
    store = DiskCache(tmp_path / "programs")
    monkeypatch.setattr(program, "default_cache", lambda: store)
    monkeypatch.setattr(program, "KEEP_FROM_S", 0.0)
    forget()
    yield store
    forget()


def forget():
    program._compiled_here.clear()
    programs_for.cache_clear()
    step_program.cache_clear()


def train(steps=3, optimizer="sgd", **params):
    """A module after a few steps, made anew; its parameters."""
    forget()
    data = batches(steps)
    module = ready(mlp(), data[0], optimizer=optimizer, **params)
    accuracy = mx.metric.create("acc")
    for batch in data:
        module.forward_backward(batch)
        module.update()
        module.update_metric(accuracy, batch.label)
    return {**values(module), "accuracy": accuracy.get()[1]}


def entries(store):
    return sorted(store.folder.glob("*.program"))


@pytest.mark.parametrize(
    ("optimizer", "params"),
    [
        ("sgd", {"momentum": 0.9}),
        ("adam", {}),
        (optax.adam(1e-3), {}),  # its text is not modkit's, so it is known by what it lowers to
    ],
    ids=["sgd", "adam", "optax"],
)
def test_a_second_time_nothing_is_compiled_and_the_numbers_are_the_same(
    kept, compilations, optimizer, params
):
    first, second = {}, {}
    assert compilations.during(lambda: first.update(train(optimizer=optimizer, **params)))
    assert len(entries(kept)) == 1
    names = compilations.during(lambda: second.update(train(optimizer=optimizer, **params)))
    assert "step" not in names
    assert first.keys() == second.keys() and len(first) > 3
    for name, value in first.items():
        np.testing.assert_array_equal(value, second[name], err_msg=name)


def test_outputs_before_gradients(kept, compilations, monkeypatch):
    """Both programs are loaded, without a trace of the graph."""
    traces, run = [], Lowered.run
    monkeypatch.setattr(Lowered, "run", lambda *args, **kw: (traces.append(1), run(*args, **kw))[1])

    def work():
        forget()
        traces.clear()
        data = batches(1)[0]
        module = ready(mlp(), data)
        module.forward(data)
        outputs = module.get_outputs()[0].asnumpy()
        module.backward()
        module.update()
        return {"outputs": outputs, **values(module)}

    first, second = {}, {}
    assert {"forward_kept", "backward"} <= set(compilations.during(lambda: first.update(work())))
    assert not {"forward_kept", "backward"} & set(
        compilations.during(lambda: second.update(work()))
    )
    assert traces == []
    for name, value in first.items():
        np.testing.assert_array_equal(value, second[name], err_msg=name)


def test_predictions(kept, compilations):
    net = mlp()
    shapes, _, _ = net.infer_shape(data=(4, 5))
    stream = np.random.RandomState(0)
    params = {
        name: stream.rand(*shape).astype(np.float32)
        for name, shape in zip(net.list_arguments(), shapes, strict=True)
        if name not in ("data", "softmax_label")
    }

    def work():
        _program.cache_clear()
        predictor = mx.Predictor(net, params, {"data": (4, 5)})
        return predictor.predict(np.ones((4, 5), np.float32))

    first, second = [], []
    assert "predict" in compilations.during(lambda: first.append(work()))
    assert len(entries(kept)) == 1
    assert "predict" not in compilations.during(lambda: second.append(work()))
    np.testing.assert_array_equal(first, second)


def test_another_batch_size_rule_or_graph_is_another_program(kept):
    train()
    train(momentum=0.9)
    assert len(entries(kept)) == 2
    data = batches(1, size=4)[0]
    module = ready(mlp(), data)
    module.forward_backward(data)
    module.update()
    module.get_params()[0]["fc1_weight"].asnumpy()
    assert len(entries(kept)) == 3


@pytest.mark.parametrize(
    "damage",
    [lambda data: data[: len(data) // 2], lambda data: b"", lambda data: os.urandom(len(data))],
    ids=["cut", "empty", "garbage"],
)
def test_a_damaged_program_is_compiled_again(kept, compilations, damage):
    first = train()
    (path,) = entries(kept)
    path.write_bytes(damage(path.read_bytes()))
    second = {}
    assert "step" in compilations.during(lambda: second.update(train()))
    for name, value in first.items():
        np.testing.assert_array_equal(value, second[name], err_msg=name)
    assert "step" not in compilations.during(train)


def test_an_entry_that_is_whole_but_no_program_is_compiled_again(kept, compilations):
    train()
    (path,) = entries(kept)
    kept.write(path.stem, b"not a pickle")
    assert "step" in compilations.during(train)
    kept.write(path.stem, program.pickle.dumps((b"no executable", None)))
    assert "step" in compilations.during(train)
    assert "step" not in compilations.during(train)


def test_another_version_or_machine_is_another_program(kept, compilations, monkeypatch):
    train()
    versions = identity._versions()
    monkeypatch.setattr(identity, "_versions", lambda: f"{versions}\njax 99")
    assert "step" in compilations.during(train)
    assert len(entries(kept)) == 2
    assert "step" not in compilations.during(train)


def after_two_steps(x, classes):
    """The parameters of a classifier by ``x`` after two updates."""
    data = batches(2, classes=classes)
    module = ready(mx.sym.SoftmaxOutput(x, name="softmax"), data[0])
    for batch in data:
        module.forward_backward(batch)
        module.update()
    return values(module)


@pytest.mark.parametrize("disk", [False, True])
def test_networks_that_differ_by_names_compile_once(compilations, kept, monkeypatch, disk):
    if not disk:
        monkeypatch.setattr(program, "default_cache", lambda: None)

    def trained(letter):
        x = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=5, name=f"{letter}_first")
        x = mx.sym.FullyConnected(mx.sym.relu(x), num_hidden=3, name=f"{letter}_second")
        return list(after_two_steps(x, classes=3).values())

    first = trained("a")
    second = []
    assert compilations.during(lambda: second.extend(trained("b"))) == []
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)
    if disk:  # each under its own name, so that another process finds both untraced
        assert len(entries(kept)) == 2


@pytest.mark.parametrize("layers", [1, 5])
def test_networks_whose_dropouts_differ_by_names_compile_once(compilations, kept, layers):
    """Each draws by its own name, also in layers that repeat and are traced as a loop."""

    def trained(letter):
        mx.random.seed(3)
        x = mx.sym.var("data")
        for n in range(layers):
            x = mx.sym.FullyConnected(x, num_hidden=4, name=f"{letter}{n}_dense")
            x = mx.sym.Dropout(mx.sym.relu(x), p=0.3, name=f"{letter}{n}_drop")
        return np.concatenate([v.ravel() for v in after_two_steps(x, classes=4).values()])

    forget()
    alone = trained("b")
    forget()
    first, second = trained("a"), []
    assert compilations.during(lambda: second.append(trained("b"))) == []
    np.testing.assert_array_equal(second[0], alone)
    assert (first != alone).any()


def test_alike_programs_that_leave_out_other_arguments_compile_apart(kept):
    values = {"x": jnp.float32(1), "y": jnp.float32(10)}
    programs = [Program(lambda a, n=n: a[n] + 1, (n,), n) for n in "xy"]
    assert [run(values) for run in programs] == [2, 11]
    assert len(entries(kept)) == 2


def test_alike_programs_compile_apart_if_settings_or_types_differ(compilations):
    a, b, c = (Program(lambda x, n=n: {n: x["x"] * 2}, (), n) for n in "abc")
    strong, weak = {"x": jnp.float32(1)}, {"x": jax.device_put(1.0)}
    assert compilations.during(lambda: a(strong)) != []
    assert compilations.during(lambda: b(strong)) == []
    assert compilations.during(lambda: c(weak)) != []
    with jax.default_matmul_precision("highest"):
        assert compilations.during(lambda: b(strong)) != []


def test_what_versions_are_told(monkeypatch):
    text = identity._versions()
    for word in ("jax ", "jaxlib ", "compile/program.py", sys.version):
        assert word in text
    assert not Path("/proc/cpuinfo").exists() or "flags" in text or "Features" in text


def test_settings_and_flags_are_part_of_the_key(monkeypatch):
    device = jax.devices()[0]
    before = identity.surroundings(device)
    with jax.default_matmul_precision("float32"):
        assert identity.surroundings(device) != before
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=true")
    assert identity.surroundings(device) != before
    assert identity.surroundings(jax.devices()[1]) != before


class Add(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] + 1)


@mx.operator.register("test_program_add")
class AddProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, shapes, dtypes):
        return Add()


def test_programs_that_call_python_are_not_kept(kept):
    net = mx.sym.Custom(mx.sym.Variable("x"), op_type="test_program_add")
    executor = net.bind(mx.cpu(), {"x": mx.nd.array([1, 2])})
    np.testing.assert_array_equal(executor.forward()[0].asnumpy(), [2, 3])
    assert not kept.folder.exists() or not entries(kept)


def test_fast_compilations_are_not_worth_a_file(kept, monkeypatch):
    monkeypatch.setattr(program, "KEEP_FROM_S", 1000.0)
    train()
    assert not entries(kept)


# ── One program ─────────────────────────────────────────────────────────────────────────────


def made(fn, **kwargs):
    return Program(fn, (fn,), "test", **kwargs)


def test_shapes_types_and_devices_each_have_a_form(compilations):
    def double(x):
        return x + x

    run = made(double)
    first, second = jax.devices()[:2]
    arguments = [
        jax.device_put(np.ones(3, np.float32), first),
        jax.device_put(np.ones(4, np.float32), first),
        jax.device_put(np.ones(3, np.int32), first),
        jax.device_put(np.ones(3, np.float32), second),
        np.ones(3, np.float32),
    ]

    def work():
        for argument in arguments * 2:
            result = run(argument)
            np.testing.assert_array_equal(result, np.asarray(argument) * 2)
            assert result.dtype == argument.dtype
            if isinstance(argument, jax.Array):
                assert result.devices() == argument.devices()

    assert compilations.during(work).count("double") >= 4
    assert compilations.during(work) == []


def test_a_program_that_says_where_has_one_form_for_host_and_device(compilations):
    where = jax.sharding.SingleDeviceSharding(jax.devices()[1])

    def triple(x):
        return 3 * x

    run = Program(triple, (triple,), "test", where)

    def work():
        rows = [np.ones(size, np.float32) for size in (2, 3)]
        for x in (*rows, *jax.device_put(rows, where), *rows):
            result = run(x)
            assert result.tolist() == [3] * len(x) and result.devices() == where.device_set

    assert compilations.during(work).count("triple") == 2
    assert len(run._executables) == 2


def test_it_nests_in_other_functions_of_jax():
    run = made(lambda x: x * 2)
    assert run(3.0) == 6
    assert jax.jit(lambda x: run(x) + 1)(3.0) == 7
    assert jax.grad(lambda x: run(x))(3.0) == 2
    with jax.disable_jit():
        assert run(jnp.float32(3)) == 6


def test_settings_that_change_within_a_process():
    run = made(lambda x: jnp.arange(3) + x.astype("int32").sum())
    x = np.ones(2, np.float32)
    assert run(x).dtype == np.int32
    with jax.enable_x64(True):
        assert run(x).dtype == np.int64
    assert run(x).dtype == np.int32
    product = made(lambda a, b: a @ b)
    a = jnp.ones((2, 2), jnp.bfloat16)
    product(a, a)
    with jax.default_matmul_precision("highest"):
        product(a, a)
    assert len(product._executables) == 2


def test_a_thread_between_two_stores_of_another_gets_the_form_of_its_settings():
    """The newest form and its settings are one value: no thread sees one without the other."""
    seen = []

    class Interrupted(Program):
        def __setattr__(self, name, value):
            super().__setattr__(name, value)
            if seen == [None]:
                seen.clear()
                thread = threading.Thread(target=lambda: seen.append(run(x).dtype))
                thread.start()
                thread.join()

    def count(x):
        return jnp.arange(3) + x.astype("int32").sum()

    run, x = Interrupted(jax.jit(count), (count,), "test"), np.ones(2, np.float32)
    assert run(x).dtype == np.int32
    with jax.enable_x64(True):
        seen.append(None)
        assert run(x).dtype == np.int64
    assert seen == [np.int32]


@pytest.mark.parametrize("error", [TypeError, ValueError])
def test_a_program_that_fails_by_itself_runs_once(monkeypatch, error):
    runs = []

    def fails(x):
        runs.append(x.shape)
        if len(runs) > 1:
            raise error("of its own")
        return x

    monkeypatch.setattr(Program, "_runnable", lambda self, args, signature: fails)
    run = made(lambda x: x)
    run(np.ones(2))
    with pytest.raises(error, match="of its own") as caught:
        run(np.ones(2))
    assert len(runs) == 2 and caught.value.__context__ is None


def test_a_search_for_nan_is_jits():
    run = made(lambda x: jnp.log(x))
    assert np.isnan(run(np.float32(-1)))
    with jax.debug_nans(True), pytest.raises(FloatingPointError):
        run(np.float32(-1))


def test_borders_of_a_segment_are_part_of_what_it_is():
    graph = mlp().graph
    structure = Structure(graph, "bfloat16")
    inner, outer = (Lowered(graph, structure, borders=n) for n in (0, 1))
    assert describe(inner) != describe(outer)


def test_errors_are_those_of_the_function():
    def refuse(x):
        raise mx.MXNetError(f"no {x.shape}")

    for _ in range(2):
        with pytest.raises(mx.MXNetError, match=r"no \(2,\)") as caught:
            made(refuse)(jnp.ones(2))
        assert caught.value.__context__ is None
    run = made(lambda x: x, donated=(0,))
    gone = jnp.ones(3)
    run(jnp.ones(3))
    gone.delete()
    with pytest.raises(Exception, match="deleted"):
        run(gone)


def test_donated_arguments_are_gone():
    run = made(lambda x, y: x + y, donated=(0,))
    for _ in range(2):
        x, y = jax.device_put(np.ones(64)), jnp.ones(64)
        run(x, y)
        assert x.is_deleted() and not y.is_deleted()


def test_several_threads_ask_at_once():
    run = made(lambda x: (x * 2).sum())
    results = []
    threads = [
        threading.Thread(target=lambda n=n: results.append((n, float(run(jnp.ones(n))))))
        for n in [5, 6, 7] * 4
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 12 and all(total == 2 * n for n, total in results)


def test_threads_that_ask_at_once_wait_for_one_compilation(monkeypatch):
    compiled, compilations = Program._compiled, []

    def after_all_have_called(self, *args):
        wait_until_calling(call, *threads)
        compilations.append(args)
        return compiled(self, *args)

    monkeypatch.setattr(Program, "_compiled", after_all_have_called)
    run, x = made(lambda x: x * 3), jnp.ones(5)

    def call():
        run(x)

    threads = [threading.Thread(target=call) for _ in range(4)]
    run_all(threads)
    assert len(compilations) == 1


# ── Words for a program ─────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Foreign:
    x: int


def test_descriptions_differ_where_programs_do():
    values = [None, 1, 1.0, True, "1", b"1", (1,), [1], (1, (2,)), ((1,), 2), {"a": 1}, {"b": 1},
              np.float32(1), np.dtype("float32"), mx.metric.statistics.Hits(1),
              mx.metric.statistics.Hits(0), mx.metric.statistics.TopKHits(1), mx.nd.zeros,
              mx.nd.ones, frozenset(), frozenset({1}), functools.partial(describe, 1),
              functools.partial(describe, 2), functools.partial(describe, value=1)]  # fmt: skip
    texts = [describe(v) for v in values]
    assert len(set(texts)) == len(texts)
    orders = frozenset([0, 8]), frozenset([8, 0])
    assert list(orders[0]) != list(orders[1])
    assert describe(orders[0]) == describe(orders[1])


@pytest.mark.parametrize(
    "value",
    [object(), Foreign(1), lambda: 1, jnp.tanh, optax.adam(1e-3), {1: print},
     functools.partial(int), jnp.ones(2)],
)  # fmt: skip
def test_what_is_not_modkits_own_has_no_words(value):
    with pytest.raises(NotDescribable):
        describe(value)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("name", sorted(mx.optimizer.Optimizer.opt_registry))
def test_the_rule_of_each_optimizer_has_a_cache_key(name, momentum):
    optimizer = mx.optimizer.create(name)
    if hasattr(optimizer, "momentum"):
        optimizer.momentum = momentum
    assert describe(optimizer.tree_rule()) == describe(optimizer.tree_rule())


TWICE = """
import json, sys, jax, numpy as np
names = []
jax.monitoring.register_event_duration_secs_listener(
    lambda event, _, fun_name="", **__: names.append(fun_name) if "backend_compile" in event else 0)
import modkit as mx
from modkit.compile import program
from modkit.symbol.lower import Lowered
program.KEEP_FROM_S = 0
traces, run = [], Lowered.run
Lowered.run = lambda *args, **kw: (traces.append(1), run(*args, **kw))[1]
mx.random.seed(1)
net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
net = mx.sym.Dropout(mx.sym.BatchNorm(net, name="bn"))
net = mx.sym.dot(net, mx.sym.linalg.potrf(mx.sym.eye(2)))  # LAPACK, which lowering looks up
mod = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
settings = dict(jax.config.values)
data = mx.io.NDArrayIter(np.eye(4), np.ones(4), 2)
mod.fit(data, num_epoch=2)
data.reset()
mod.forward(next(data), is_train=True)
mod.get_outputs()[0].wait_to_read()
mod.backward()
mod.update()
assert dict(jax.config.values) == settings
print(json.dumps([names, len(traces), mod.get_params()[0]["fc_weight"].asnumpy().tolist()]))
"""


def test_another_process_compiles_nothing_and_says_nothing(tmp_path):
    # XLA notes an error for each program that it loads: that this machine lacks
    # "prefer-no-gather", a preference of its own compiler and no feature of a machine.
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3"}
    env = {**os.environ, **quiet, "MODKIT_CACHE": str(tmp_path / "programs")}
    done = [
        subprocess.run([sys.executable, "-W", "error", "-c", TWICE], env=env, cwd=ROOT,
                       capture_output=True, text=True, check=False)
        for _ in range(2)
    ]  # fmt: skip
    assert [d.stderr for d in done] == ["", ""]
    (first, traces, weights), (second, again, same) = [json.loads(d.stdout) for d in done]
    programs = {"jit(step)", "jit(forward_kept)", "jit(backward)"}
    assert programs <= set(first) and not programs & set(second)
    assert traces == 2 and again == 0
    assert weights == same


# ── People who wait ─────────────────────────────────────────────────────────────────────────


class Screen(io.StringIO):
    def isatty(self):
        return True


def impatient(monkeypatch, patience_s=0.02):
    """A terminal; set from the test itself, since pytest sets stderr after its fixtures."""
    monkeypatch.setattr(waiting, "PATIENCE_S", patience_s)
    monkeypatch.setattr(sys, "stderr", Screen())
    return sys.stderr


def wait(seconds, error=None):
    with waiting.CompilationProgress("step of 'softmax_output'"):
        threading.Event().wait(seconds)
        if error:
            raise error


def test_a_long_compilation_is_told(monkeypatch):
    screen = impatient(monkeypatch)
    threads = threading.active_count()
    wait(0.3)
    first, last = screen.getvalue().splitlines()
    assert first.startswith("modkit: compiling step of 'softmax_output' ...")
    assert last == "modkit: compiling step of 'softmax_output' took 0 s"
    assert threading.active_count() == threads


def test_tracing_counts(monkeypatch):
    """The first run of an unrolled LSTM says how many nodes there are."""
    screen = impatient(monkeypatch, 0.0)
    cell = mx.rnn.LSTMCell(2, "quiet_")
    outputs, _ = cell.unroll(9, mx.sym.Variable("data"), merge_outputs=True)
    executor = outputs.simple_bind(mx.cpu(), data=(1, 9, 2))
    executor.forward()[0].wait_to_read()
    nodes = len(outputs.get_internals().list_outputs())
    first = screen.getvalue().splitlines()[0]
    count = int(re.search(r"\(([\d,]+) nodes\)", first)[1].replace(",", ""))
    assert 9 * 10 < count <= nodes + 9
    small = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    lowered = lower(small)
    assert str(lowered) == "'fc_output' (4 nodes)"


def test_a_failed_one_is_told(monkeypatch):
    screen = impatient(monkeypatch)
    with pytest.raises(KeyError):
        wait(0.3, KeyError())
    assert screen.getvalue().splitlines()[-1].endswith("failed after 0 s")


def test_a_short_one_is_not(monkeypatch):
    screen = impatient(monkeypatch, 60.0)
    threads = threading.active_count()
    wait(0)
    assert screen.getvalue() == "" and threading.active_count() == threads


def test_programs_are_compiled_where_no_thread_can_be_started(monkeypatch):
    """As at the end of Python (from 3.12 on), and at the limit of a container."""

    def start(timer):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Timer, "start", start)
    program = Program(lambda x: x + 1, ("more",), "more")
    assert program(jnp.ones(())) == 2


def test_where_nobody_looks_it_is_logged(monkeypatch, caplog):
    monkeypatch.setattr(waiting, "PATIENCE_S", 0.02)
    monkeypatch.setattr(sys, "stderr", stream := io.StringIO())
    with caplog.at_level(logging.INFO, logger="modkit"):
        wait(0.3)
    assert len(caplog.messages) == 2 and stream.getvalue() == ""
    monkeypatch.setattr(sys, "stderr", None)
    wait(0.1)


@pytest.mark.parametrize(
    ("donates", "host", "waits"), [(True, False, 1), (False, False, 0), (True, True, 0)]
)
def test_training_steps_run_in_turn_unless_they_call_python(monkeypatch, donates, host, waits):
    """Python code that a step calls may run a step of its own, which would wait for ever."""
    asked = []

    def one_in_flight(form):
        asked.append(form)
        return form

    monkeypatch.setattr(config, "one_in_flight", one_in_flight)

    def double(x):
        return jax.pure_callback(lambda x: 2 * np.asarray(x), x, x) if host else 2 * x

    about = "double", host
    run = Program(double, about, "double", donated=(0,) if donates else ())
    for _ in range(2):
        np.testing.assert_array_equal(run(jnp.ones(2)), np.full(2, 2.0))
    assert len(asked) == waits


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("fails", [False, True])
def test_no_garbage_is_collected_during_a_trace(enabled, fails):
    seen = []

    def function(x):
        seen.append(gc.isenabled())
        if fails:
            raise KeyError("traced")
        return x + 1

    traced = Program(function, ("collected", enabled, fails), "function")
    (gc.enable if enabled else gc.disable)()
    try:
        if fails:
            with pytest.raises(KeyError):
                traced(jnp.ones(3))
        else:
            traced(jnp.ones(3))
        assert gc.isenabled() == enabled
    finally:
        gc.enable()
    assert seen == [False]

"""Programs that train by other classes than `Module`, and what goes on around `fit`.

For `compare_programs.py training`: SVRGModule, modules in Python, buckets of sentences with
recurrent cells, lines that a `fit` logs, image iterators over record files, operators of MXNet's
first releases, drawings of networks, pickles, the profiler, and files that each library reads from
the other.
"""
# ruff: noqa: E501 - a line of a table is a line of a program

from compare_programs import EXCHANGE
from programs_parts import LOG, PNG, Program, choices

EXCUSED = [
    # line, difference, reason
    (r"hash\(", r"only modkit runs: TypeError: unhashable type", "what MXNet compares has no hash"),
    (
        r"get_input_grads",
        r"only modkit runs: AssertionError",
        "a SequentialModule of MXNet does not know that it has them",
    ),
    (r"^it\.get", r"NotReadyError: \w+: next\(\)", "MXNet shows uninitialized or earlier rows"),
    (
        r"it: object",
        r"but label_width is set to|label_width == rec",
        "the first batch raises it here",
    ),
    (r"(data|label)_shapes", r"got 'DataDesc', expected 'tuple'", "equal values"),
    (
        r"it\.get",
        r"expected \('default', 'cpu_pinned\(0\)'\)",
        "arrays on a CPU are in no other memory",
    ),
    (r"b\.pad|show", r"got 0, expected [1-9]$", "Differs: the padding of an earlier batch"),
    (
        r"profiler",
        r"only modkit runs: MXNetError: (MXNetError: Operation not permitted|.*auto_remove_ == false)",
        "threads of MXNet's profiler",
    ),
    (
        r"profiler\.dump",
        r"only modkit runs: .*Profiler hasn't been run",
        "`resume` starts a trace here",
    ),
    (
        r"mod\.binded",
        r"got True, expected False",
        "a PythonModule of MXNet does not know that it is bound",
    ),
    (
        r"it\.|show|b\.pad",
        r"only the reference runs: .*label of length 2, but label_width is 1",
        "MXNet takes the first label of a list",
    ),
    (r"cell\(", r"got NotSteppableError: .*expected AssertionError", "an error of our own"),
    (r"fit", r"train_data has no batch.*expected StopIteration", "Differs: it is said"),
    (r"print_summary", r"got ParameterError: print_summary: positions", "an error of our own"),
    (r"set_state", r"has no server processes", "there are none"),
    (
        r"mod\.backward",
        r"only modkit runs: .*ndim_is_known.*Shape is unknown",
        "an NDArrayOp of MXNet that declares nothing and takes no head gradients",
    ),
    (r"pickle|copy", r"a writer cannot be pickled", "opened again it would empty the file"),
    (r"output_shapes", r"got \d+, expected \d+", "Differs: the first size is the output's"),
]

ENDS = [(r"mod\.bind\(", r"", "a loss of MXNet in Python is half bound")]


def draw(random):
    """The lines of one program."""
    program = Program(random)
    program.pick(*THEMES)(program)
    return program.lines


HELPERS = (
    "import importlib, logging, os, pickle, re, sys",
    "def grid(*shape):\n    return np.sin(np.arange(np.prod(shape)).reshape(shape)).astype('f')",
    "def rows(*shape):\n    return mx.nd.array(grid(*shape))",
    "def plain(pairs):\n    return [(n, float(v)) for n, v in pairs]",
    "class Ramp(mx.init.Initializer):\n"
    "    def _init_weight(self, name, arr):\n"
    "        arr[:] = (grid(arr.size) + 0.1 * len(name)).reshape(arr.shape)",
)
MLP = (
    "net = mx.sym.FullyConnected(mx.sym.var('data'), num_hidden=4, name='fc1')",
    "net = mx.sym.Activation(net, act_type='tanh', name='act')",
    "net = mx.sym.FullyConnected(net, num_hidden=3, name='fc2')",
    "net = mx.sym.SoftmaxOutput(net, name='softmax')",
)
REGRESSION = (
    "net = mx.sym.FullyConnected(mx.sym.var('data'), num_hidden=2, name='fc1')",
    "net = mx.sym.LinearRegressionOutput(net, mx.sym.var('softmax_label'), name='lin')",
)
OPTIMIZERS = choices("""
    optimizer='sgd', optimizer_params={'learning_rate': 0.1, 'momentum': 0.9}
    optimizer='sgd', optimizer_params={'learning_rate': 0.1, 'wd': 0.01}
    optimizer='adam', optimizer_params={'learning_rate': 0.02}
    optimizer='nag', optimizer_params={'momentum': 0.5, 'learning_rate': 0.05}
    optimizer='rmsprop'
    optimizer='adagrad', optimizer_params={'learning_rate': 0.1}
    optimizer='ftrl', optimizer_params={'learning_rate': 0.5}
    optimizer='signum', optimizer_params={'learning_rate': 0.02}
    optimizer='sgd', optimizer_params={'begin_num_update': 3, 'lr_scheduler': mx.lr_scheduler.FactorScheduler(4, 0.5, base_lr=0.2)}
    optimizer='sgd', optimizer_params={'lr_scheduler': mx.lr_scheduler.MultiFactorScheduler([2, 5], 0.1), 'learning_rate': 0.3}
    optimizer='adam', optimizer_params={'begin_num_update': 2, 'lr_scheduler': mx.lr_scheduler.PolyScheduler(9, 0.05, warmup_steps=2)}
    optimizer='sgd', optimizer_params={'lr_scheduler': mx.lr_scheduler.CosineScheduler(8, 0.2), 'momentum': 0.5}
""")


def network(program, *names):
    """Helpers, a network and iterators over its data; names of the network's parameters."""
    program.add(*HELPERS)
    regression = program.chance(0.4)
    program.add(*(REGRESSION if regression else MLP))
    iterator(program, "data", 12, regression)
    iterator(program, "more", program.pick(8, 6), regression)
    return regression


def iterator(program, name, count, regression):
    """An NDArrayIter."""
    label = f"grid({count}, 2)" if regression else f"np.arange({count}) % 3"
    handle = program.pick(
        "", "", ", last_batch_handle='discard'", ", last_batch_handle='roll_over'"
    )
    program.add(f"{name} = mx.io.NDArrayIter(grid({count}, 5), {label}, batch_size=4{handle})")


def contexts(program):
    """Arguments that place a module."""
    return program.pick(
        *("",) * 4,
        ", context=mx.cpu(1)",
        ", context=[mx.cpu(0), mx.cpu(1)]",
        ", context=[mx.cpu(0), mx.cpu(1)], work_load_list=[1, 3]",
        ", context=[mx.cpu(0), mx.cpu(1)], work_load_list=(1, 1)",
    )


# ── Lines of fit ────────────────────────────────────────────────────────────────────────────

ROUNDED = (
    "def rounded(lines):\n"
    "    lines = [re.sub(r'(Time cost|Speed: )=?[0-9.infa]+', '', line) for line in lines"
    " if 'MODKIT_ALLOCATOR' not in line]\n"
    "    parts = [re.split(r'(-?[0-9]+[.][0-9e+-]+)', line) for line in lines]\n"
    "    return [[float(p) if i % 2 else p for i, p in enumerate(line)] for line in parts]"
)
CALLBACKS = {
    "batch_end_callback": choices("""
        mx.callback.Speedometer(4, 1)
        mx.callback.Speedometer(4, 2, auto_reset=False)
        mx.callback.Speedometer(batch_size=4, frequent=2)
        mx.callback.log_train_metric(1)
        mx.callback.log_train_metric(2, auto_reset=True)
        [mx.callback.Speedometer(4, 1), mx.callback.log_train_metric(2)]
        lambda p: seen.append((p.epoch, p.nbatch, plain(p.eval_metric.get_global_name_value())))
        lambda p: p.nbatch == 1 and p.eval_metric.reset_local()
        lambda p: setattr(p.locals['self']._optimizer, 'rescale_grad', 0.05)
        lambda p: seen.append(p.locals['self'].get_params()[0]['fc1_bias'].asnumpy())
        lambda p: p.nbatch == 2 and mod.set_params({'fc1_bias': mx.nd.ones(mod.get_params()[0]['fc1_bias'].shape)}, {}, True)
        lambda p: mod._optimizer.set_lr_mult({'fc1_bias': p.epoch})
        lambda p: 1 / (2 - p.nbatch)
    """),
    "epoch_end_callback": choices("""
        mx.callback.do_checkpoint('c')
        mx.callback.do_checkpoint('c', period=2)
        mx.callback.module_checkpoint(mod, 'c', period=1, save_optimizer_states=True)
        [mx.callback.module_checkpoint(mod, 'c'), lambda *a: seen.append(len(a))]
        lambda e, s, a, x: seen.append((e, s.list_outputs(), sorted(a), sorted(x)))
        lambda e, s, a, x: mod.save_checkpoint('c', e, True)
        lambda e, s, a, x: seen.append(plain(mod.score(more, 'mse')))
    """),
    "eval_end_callback": choices("""
        mx.callback.LogValidationMetricsCallback()
        lambda p: seen.append((p.epoch, p.nbatch, plain(p.eval_metric.get_name_value())))
    """),
    "eval_batch_end_callback": choices("""
        mx.callback.Speedometer(4, 1)
        [mx.callback.log_train_metric(1), lambda p: seen.append(p.nbatch)]
    """),
    "monitor": choices("""
        mx.mon.Monitor(1, pattern='fc(?!1_backward).*')
        mx.mon.Monitor(2, lambda x: x.max(), pattern='(?!fc1_backward|.*backward_output1).*output', sort=True)
        mx.mon.Monitor(interval=2, sort=True, pattern='(fc|act|lin|soft)(?!1_backward).*(output|weight)$')
    """),
    "validation_metric": ["'mse'", "['mae', 'rmse']"],
    "kvstore": ["None", "'local'", "'device'", "mx.kv.create('local')"],
    "begin_epoch": ["1", "0"],
    "force_init": ["True"],
    "sparse_row_id_fn": ["None"],
}
SMOOTH = [each for each in OPTIMIZERS if "'sgd'" in each or "'nag'" in each]
"""Optimizers that do not divide a gradient by its size, which may be a rounding's."""
METRICS = {
    True: ("'mse'", "'mae'", "'rmse'", "['mse', 'mae']", "mx.metric.Loss(name='l')"),
    False: (
        *("'acc'", "'ce'", "['acc', mx.metric.TopKAccuracy(2)]", "mx.metric.create('nll_loss')"),
        "mx.metric.np(lambda label, out: float((out.argmax(1) == label).sum()))",
        "mx.metric.CompositeEvalMetric([mx.metric.Accuracy(name='a'), 'ce'])",
        "mx.metric.create('acc', output_names=['softmax_output'], label_names=['softmax_label'])",
        "mx.metric.Accuracy(label_names=['softmax_label'])",
    ),
}


def fitting(program):
    """`fit` with callbacks, and the lines that it logs."""
    regression = network(program)
    program.add(*LOG[1:], ROUNDED, "seen = []")
    program.add(f"mod = mx.mod.Module(net{contexts(program)})")
    given = [f"initializer={program.pick('Ramp()', 'mx.init.One()', 'mx.init.Constant(0.1)')}"]
    given += [program.pick(*OPTIMIZERS), f"eval_metric={program.pick(*METRICS[regression])}"]
    if program.chance(0.6):
        given.append("eval_data=more")
    for name, values in CALLBACKS.items():
        if program.chance(0.35) and (name != "validation_metric" or regression):
            given.append(f"{name}={program.pick(*values)}")
    program.random.shuffle(given)
    source = program.pick(
        *("data",) * 4,
        *("mx.io.ResizeIter(data, 2)", "mx.io.PrefetchingIter(data)", "mx.io.ResizeIter(data, 4)"),
    )
    program.add(*([] if source == "data" else [f"data = {source}"]))
    program.add(f"mod.fit(data, {', '.join(given)}, num_epoch=2)")
    program.add("rounded(logs)", "seen", "mod.get_params()[0]")
    program.add("sorted(f for f in os.listdir('.') if f[0] == 'c')", "mod._optimizer.num_update")
    program.some(
        *(1, 4, "plain(mod.score(more, 'mse'))" if regression else "plain(mod.score(more, 'acc'))"),
        *("mod.predict(more)", "mod.get_outputs()", "float(mod._optimizer.learning_rate)"),
        "mod.fit(data, num_epoch=1)",
        "mod.fit(data, begin_epoch=2, num_epoch=4, eval_data=more, eval_end_callback=mx.callback.LogValidationMetricsCallback())",
    )
    program.add("rounded(logs)", "mod.get_params()[0]")


# ── Other modules ───────────────────────────────────────────────────────────────────────────


def svrg(program):
    """SVRGModule through `fit` and by hand, with one full gradient (MXNet adds the later ones)."""
    regression = network(program)
    program.add(*LOG[1:], ROUNDED)
    program.add(
        "SVRG = importlib.import_module(mx.__name__ + '.contrib.svrg_optimization.svrg_module').SVRGModule"
    )
    frequency = program.pick(*("2", "3") * 4, "0", "'a'")
    program.add(
        f"mod = SVRG(net, data_names=['data'], label_names=['softmax_label'], update_freq={frequency})"
    )
    optimizer = program.pick(
        *("optimizer='sgd', optimizer_params={'learning_rate': 0.05}",) * 3,
        *OPTIMIZERS[:3],
        "optimizer='sgd', optimizer_params=(('learning_rate', 0.1), ('wd', 0.01))",
    )
    if program.chance(0.5):
        program.add(
            f"mod.fit(data, eval_metric={program.pick(*METRICS[regression][:2])}, num_epoch={program.pick(1, 2)},"
            f" initializer=Ramp(), {optimizer}{program.pick('', ', eval_data=more')})"
        )
        program.add("rounded(logs)", "mod.get_params()[0]")
    else:
        program.add("mod.bind(data.provide_data, data.provide_label)", "mod.init_params(Ramp())")
        program.add(
            f"mod.init_optimizer(kvstore={program.pick('None', repr('local'))}, {optimizer})"
        )
        program.add("mod.update_full_grads(data)")
    program.add("data.reset()", "batch = next(data)")
    for _ in range(program.random.randint(1, 3)):
        program.some(
            1, 1, "mod.forward_backward(batch)", "mod.forward(batch, is_train=True), mod.backward()"
        )
        program.some(0, 2, "mod.update()", "mod.get_outputs()", "mod.get_params()[0]")
    program.some(
        *(1, 4, "mod.get_params()[0]", "mod._mod_aux.get_params()[0]", "mod.update_freq"),
        *("mod.prepare(batch)", "mod.predict(more)", "sorted(mod._param_dict[0].items())"),
        *("mod.reshape([('data', (2, 5))], mod.label_shapes)", "type(mod._optimizer).__name__"),
    )


PYTHON_MODULE = """class Doubled(mx.mod.PythonModule):
    def __init__(self, names=('data',), labels=None):
        super(Doubled, self).__init__(list(names), labels, ['doubled_output'])
    def _compute_output_shapes(self):
        return [('doubled_output', self._data_shapes[0][1])]
    def forward(self, batch, is_train=None):
        self.out = batch.data[0] * 2
    def get_outputs(self, merge_multi_context=True):
        return [self.out]
    def backward(self, out_grads=None):
        self.grads = [g * 2 for g in out_grads]
    def get_input_grads(self, merge_multi_context=True):
        return self.grads"""


def python_modules(program):
    """PythonModule and PythonLossModule, alone and in a SequentialModule."""
    program.add(*HELPERS, PYTHON_MODULE)
    program.add("fc = mx.sym.FullyConnected(mx.sym.var('data'), num_hidden=3, name='fc')")
    loss = "mx.mod.PythonLossModule(" + program.pick(
        "grad_func=lambda s, l: s - mx.nd.one_hot(l, 3))",
        "name='loss', grad_func=lambda scores, labels: (scores - mx.nd.one_hot(labels, 3)).asnumpy())",
        "grad_func=lambda s, l: mx.nd.ones_like(s) * l.reshape((-1, 1)), data_names=['x'])",
        "data_names=('data',), label_names=('softmax_label',), grad_func=lambda s, l: s)",
        *([")"] if program.chance(0.3) else ["grad_func=3)"] if program.chance(0.2) else []),
    )
    program.add("batch = mx.io.DataBatch([rows(4, 5)], [mx.nd.array([0, 1, 2, 0])])")
    kind = program.pick("loss", "doubled", "chain", "chain", "chain")
    if kind == "chain":
        double = ".add(Doubled(), auto_wiring=True)" if program.chance(0.5) else ""
        program.add(
            "mod = mx.mod.SequentialModule().add(mx.mod.Module(fc, label_names=None))"
            f"{double}.add({loss}, take_labels=True, auto_wiring=True)",
            f"mod.bind([('data', (4, 5))], [('softmax_label', (4,))]{program.pick('', ', inputs_need_grad=True')})",
            "mod.init_params(Ramp())",
            f"mod.init_optimizer({program.pick(*OPTIMIZERS)})",
        )
    else:
        program.add(f"mod = {loss if kind == 'loss' else 'Doubled()'}")
        program.add("batch = mx.io.DataBatch([rows(4, 3)], [mx.nd.array([0, 1, 2, 0])])")
        labels = ", [('softmax_label', (4,))]" if kind == "loss" else ""
        program.add(f"mod.bind([('data', (4, 3))]{labels})", "mod.init_params()")
    for _ in range(program.random.randint(1, 3)):
        program.some(1, 1, "mod.forward(batch)", "mod.forward(batch, is_train=True)")
        program.add("mod.get_outputs()")
        program.some(
            *(1, 3, "mod.update_metric(mx.metric.Accuracy(), batch.label)", "mod.get_params()"),
            *("mod.backward()", "mod.backward()", "mod.backward([rows(4, 3)])", "mod.update()"),
            *("mod.get_input_grads()", "mod.install_monitor(mx.mon.Monitor(1))"),
        )
    program.some(
        *(2, 5, "mod.data_names", "mod.output_names", "mod.output_shapes", "mod.label_shapes"),
        *("mod.data_shapes", "mod.binded, mod.params_initialized, mod.optimizer_initialized"),
        *("mod.get_params()", "mod.init_params()", "mod.symbol is None", "mod.get_outputs()"),
        *("mod.set_params({}, {})", "mod.init_optimizer()", "mod.get_input_grads()"),
        "mod.fit(mx.io.NDArrayIter(grid(8, 5), np.arange(8) % 3, 4), num_epoch=1, initializer=Ramp())"
        if kind == "chain"
        else "mod.forward(3)",
    )


# ── Sentences and cells ─────────────────────────────────────────────────────────────────────

CELLS = choices("""
    mx.rnn.RNNCell(3, prefix='c_')
    mx.rnn.RNNCell(3, activation='relu', prefix='c_')
    mx.rnn.LSTMCell(3, prefix='c_')
    mx.rnn.LSTMCell(3, prefix='c_', forget_bias=0.5)
    mx.rnn.GRUCell(3, prefix='c_')
    mx.rnn.FusedRNNCell(3, mode='lstm', prefix='c_').unfuse()
    mx.rnn.FusedRNNCell(3, num_layers=2, mode='gru', prefix='c_').unfuse()
    mx.rnn.FusedRNNCell(3, num_layers=2, mode='rnn_tanh', bidirectional=True, prefix='c_').unfuse()
    mx.rnn.FusedRNNCell(3, mode='rnn_relu', prefix='c_')
    mx.rnn.FusedRNNCell(3, num_layers=2, mode='lstm', prefix='c_')
    mx.rnn.FusedRNNCell(3, mode='gru', bidirectional=True, prefix='c_', forget_bias=2.0)
    mx.rnn.ResidualCell(mx.rnn.GRUCell(2, prefix='c_'))
    mx.rnn.ZoneoutCell(mx.rnn.LSTMCell(3, prefix='c_'), zoneout_outputs=0.0)
    mx.rnn.BidirectionalCell(mx.rnn.LSTMCell(2, prefix='l_'), mx.rnn.GRUCell(2, prefix='r_'))
    stacked(mx.rnn.LSTMCell(3, prefix='a_'), mx.rnn.DropoutCell(0.0), mx.rnn.GRUCell(2, prefix='b_'))
    stacked(mx.rnn.ResidualCell(mx.rnn.RNNCell(2, prefix='a_')), mx.rnn.ZoneoutCell(mx.rnn.GRUCell(3, prefix='b_')))
""")
STACKED = (
    "def stacked(*cells):\n    both = mx.rnn.SequentialRNNCell()\n"
    "    for cell in cells: both.add(cell)\n    return both"
)


def cells(program):
    """A cell unrolled and run, and its weights packed, unpacked and in files."""
    made = program.pick(*CELLS)
    fused = "Fused" in made and "unfuse" not in made
    program.add(*HELPERS, STACKED, f"cell = {made}")
    layout = program.pick("NTC", "NTC", "TNC")
    shape = (2, 3, 2) if layout == "NTC" else (3, 2, 2)
    begin = program.pick("", "", "", ", begin_state=cell.begin_state()")
    merge = program.pick(
        ", merge_outputs=True", ", merge_outputs=True", "", ", merge_outputs=False"
    )
    program.add(
        f"out, states = cell.unroll(3, mx.sym.var('data'), layout={layout!r}{merge}{begin})",
        "out = out if isinstance(out, mx.sym.Symbol) else mx.sym.Group(list(out))",
        "out.list_arguments(), out.list_outputs()",
        "[s.name for s in states]",
        f"ex = out.simple_bind(mx.cpu(), data={shape})",
        "[v.__setitem__(slice(None), np.sin(np.arange(v.size)).reshape(v.shape)) for k, v in sorted(ex.arg_dict.items())][:0]",
        *(
            f"ex.forward(is_train={program.pick(True, True, False)})",
            "ex.backward([mx.nd.ones(o.shape) for o in ex.outputs])",
            "sorted(ex.grad_dict.items())",
        )
        * (not fused),  # whose numbers MXNet's build has wrong
        "args = {k: v for k, v in ex.arg_dict.items() if k != 'data'}",
        "loose = cell.unpack_weights(args)",
        "sorted(loose.items())",
        "packed = cell.pack_weights(loose)",
        "sorted(packed.items())",
    )
    program.some(
        *(1, 5, "cell.state_info", "cell.state_shape", "cell.output_names"),
        *("[s.name for s in cell.begin_state()]", "sorted(cell.params._params)", "cell.reset()"),
        *("cell._cells", "cell(mx.sym.var('x'), cell.begin_state())"),
        "[sorted(s.list_attr().items()) for s in cell.begin_state()]",
    )
    program.add(
        "mx.rnn.save_rnn_checkpoint(cell, 'r', 1, out, args, {})",
        "sorted(mx.nd.load('r-0001.params').items())",
        EXCHANGE,
        f"net, args, auxs = mx.rnn.load_rnn_checkpoint({program.pick('cell', '[cell]')}, 'r', 1)",
        "sorted(args.items()), auxs, net.list_arguments()",
    )
    if program.chance(0.3):
        program.add(
            "logs = []",
            "save: object = mx.rnn.do_rnn_checkpoint(cell, 'd', 2)",
            "save(0, out, args, {}), save(1, out, args, {})",
            "sorted(f for f in os.listdir('.') if f[0] == 'd')",
        )


def sentences(program):
    """A BucketingModule over sentences: cells, or states that each batch hands to the next."""
    program.add(*HELPERS)
    text = [
        [program.random.randint(1, 5) for _ in range(program.random.randint(1, 5))]
        for _ in range(program.random.randint(8, 14))
    ]
    stateful = program.chance(0.4)
    layout = "TN" if program.chance(0.3) and not stateful else "NT"
    program.add(
        f"data = mx.rnn.BucketSentenceIter({text}, 2, buckets=[3, 5], invalid_label=0, layout={layout!r})",
        "data.default_bucket_key, data.provide_data, data.provide_label",
        *(*LOG[1:], ROUNDED),  # after what MXNet prints, which is logged here
    )
    cell = "mx.rnn." + program.pick("LSTMCell", "GRUCell", "RNNCell") + "(3, prefix='c_')"
    if program.chance(0.3):
        cell = "mx.rnn.FusedRNNCell(3, mode='lstm', prefix='c_').unfuse()"
    begin = ", begin_state=[mx.sym.var('h')]" if stateful else ""
    cell = "mx.rnn.GRUCell(3, prefix='c_')" if stateful else cell
    heads = "mx.sym.Group([net, mx.sym.BlockGrad(states[0], name='last')])" if stateful else "net"
    program.add(
        "def gen(length):\n"
        f"    cell = {cell}\n"
        "    words = mx.sym.Embedding(mx.sym.var('data'), input_dim=6, output_dim=2, name='emb')\n"
        f"    out, states = cell.unroll(length, words, layout='{layout}C', merge_outputs=True{begin})\n"
        "    net = mx.sym.FullyConnected(out.reshape((-1, 3)), num_hidden=6, name='fc')\n"
        "    net = mx.sym.SoftmaxOutput(net, mx.sym.var('softmax_label').reshape((-1,)),"
        " use_ignore=True, ignore_label=0, normalization='valid', name='softmax')\n"
        f"    return {heads}, ('data',), ('softmax_label',)"
    )
    states = ", state_names=['h']" if stateful else program.pick("", "", ", context=[mx.cpu(0)]")
    program.add(
        f"mod = mx.mod.BucketingModule(gen, default_bucket_key=data.default_bucket_key{states})"
    )
    metric = "mx.metric.Perplexity(0)"
    if not stateful and program.chance(0.6):
        program.add(
            f"mod.fit(data, eval_metric={metric}, num_epoch=2, initializer=Ramp(), {program.pick(*SMOOTH)},"
            f" batch_end_callback={program.pick(*CALLBACKS['batch_end_callback'][:6])})",
            "rounded(logs)",
        )
    else:
        program.add(
            "mod.bind(data.provide_data, data.provide_label)",
            "mod.init_params(Ramp())",
            f"mod.init_optimizer({program.pick(*SMOOTH)})",
            f"metric = mx.metric.create({'mx.metric.Loss()' if stateful else metric})",
        )
        hand = (
            "    mod.set_states(states=[[mod.get_outputs()[1]]])\n" if program.chance(0.5) else ""
        )
        start = f"    mod.set_states(value={program.pick('0', '0.5')})\n" if stateful else ""
        program.add(
            "for at, batch in enumerate(data):\n"
            + (start if not hand else start.replace("    mod", "    if at == 0: mod"))
            + "    mod.forward(batch)\n    mod.backward()\n    mod.update()\n"
            + "    mod.update_metric(metric, batch.label)\n"
            + (hand if stateful else ""),
            "plain(metric.get_name_value())",
        )
    program.add("mod.get_params()[0]")
    program.some(
        *(1, 5, "sorted(mod._buckets)", "mod.data_shapes, mod.label_shapes", "mod.output_shapes"),
        *("data.reset()", f"mod.score(data, {metric})", "mod.get_states(False)", "mod.symbol"),
        *("mod.save_checkpoint('b', 1)", "mod._curr_bucket_key", "mod.get_outputs()[0].shape"),
        "mod.save_checkpoint('b', 1, save_optimizer_states=True)",
        "mod.switch_bucket(3, [('data', (2, 3))], [('softmax_label', (2, 3))])",
    )
    if program.chance(0.5):
        begin = program.pick(", num_epoch=1", ", num_epoch=2, begin_epoch=0")
        program.add(
            "mod.save_checkpoint('b', 1)",
            EXCHANGE,
            f"mod = mx.mod.BucketingModule.load('b', 1, gen, data.default_bucket_key{states})",
            "data.reset()",
            f"mod.fit(data, eval_metric={metric}, {program.pick(*SMOOTH)}{begin})"
            if not stateful
            else "mod.bind(data.provide_data, data.provide_label), mod.init_params()",
            "mod.get_params()[0]",
        )
    program.add(
        "mod.save_params('b.params')",
        EXCHANGE,
        "mod.load_params('b.params')",
        "mod.get_params()[0]",
    )


# ── Files that the other library wrote ──────────────────────────────────────────────────────


def exchanged(program):
    """Checkpoints with the optimizer's states, continued by the other library."""
    regression = network(program)
    place = contexts(program)
    program.add(f"mod = mx.mod.Module(net{place})")
    optimizer = program.pick(*OPTIMIZERS)
    kvstore = program.pick("", "", ", kvstore=None", ", kvstore='device'")
    metric = program.pick(*METRICS[regression][:2])
    program.add(
        f"mod.fit(data, num_epoch=1, initializer=Ramp(), {optimizer}{kvstore}, eval_metric={metric})",
        "mod.save_checkpoint('m', 1, save_optimizer_states=True)",
        "mod.get_params()[0]",
        "data.reset()",
    )
    form = program.pick("load", "load", "fit", "states", "model")
    program.add(EXCHANGE)
    if form == "load":
        program.add(f"mod = mx.mod.Module.load('m', 1, load_optimizer_states=True{place})")
        program.add(f"mod.fit(data, num_epoch=1, {optimizer}{kvstore}, eval_metric={metric})")
    elif form == "fit":
        program.add(
            "net, args, auxs = mx.model.load_checkpoint('m', 1)",
            f"mod = mx.mod.Module(net{place})",
            f"mod.fit(data, arg_params=args, aux_params=auxs, num_epoch=1, {optimizer}{kvstore}, eval_metric={metric})",
        )
    elif form == "states":
        program.add(
            "mod.load_optimizer_states('m-0001.states')", "mod.load_params('m-0001.params')"
        )
        program.add(f"mod.fit(data, num_epoch=1, {optimizer}, eval_metric={metric})")
    else:
        program.add(
            "mod = mx.model.FeedForward.load('m', 1, ctx=mx.cpu(), num_epoch=3, optimizer='sgd', learning_rate=0.1)",
            "mod.predict(more)",
            f"mod.fit(data, eval_metric={metric})",
            "mod.arg_params",
            "mod.save('f')",
            EXCHANGE,
            "mx.model.FeedForward.load('f', 3).predict(more)",
        )
        return
    program.add("mod.get_params()[0]", "mod._optimizer.num_update", "mod.predict(more)")
    program.some(
        *(0, 3, "mod.save_optimizer_states('s')", "mod.load_optimizer_states('s')"),
        *("sorted(os.listdir('.'))", "open('m-symbol.json').read() == mod.symbol.tojson()"),
        "len(open('m-0001.params', 'rb').read())",
    )


STATEFUL = choices("""
    mx.optimizer.SGD(learning_rate=0.1, momentum=0.9)
    mx.optimizer.Adam(learning_rate=0.1)
    mx.optimizer.RMSProp(centered=True)
    mx.optimizer.AdaGrad()
    mx.optimizer.AdaDelta()
    mx.optimizer.Ftrl()
    mx.optimizer.FTML()
    mx.optimizer.Nadam()
    mx.optimizer.Adamax()
    mx.optimizer.DCASGD()
    mx.optimizer.NAG(momentum=0.5)
    mx.optimizer.LAMB()
    mx.optimizer.Signum()
    mx.optimizer.SGD(learning_rate=0.1, momentum=0.9, multi_precision=True)
    mx.optimizer.SGD(learning_rate=1, lr_scheduler=mx.lr_scheduler.FactorScheduler(2, 0.5))
    mx.optimizer.LARS(momentum=0.9)
""")


def exchanged_states(program):
    """States of updaters and stores, and files of arrays, symbols and records."""
    optimizer = program.pick(*STATEFUL)
    dtype = "'float16'" if "multi" in optimizer else "'float32'"
    dump = program.pick("", "", "dump_optimizer=True", "True")
    program.add(*HELPERS, f"opt = {optimizer}")
    program.add(f"w, g = rows(2, 3).astype({dtype}), rows(2, 3).astype({dtype}) * 0.5")
    if program.chance(0.5):
        program.add(
            "up = mx.optimizer.get_updater(opt)",
            "up(0, g.copy(), w), up('b', g.copy(), w)",
            "up(0, g.copy(), w)",
            f"n = open('u', 'wb').write(up.get_states({dump})) * 0",
            EXCHANGE,
            f"new = mx.optimizer.get_updater({optimizer})",
            "new.set_states(open('u', 'rb').read())",
            "new.states",
            "new(0, g.copy(), w), new('b', g.copy(), w)",
            "w, new.states, new.optimizer.num_update",
        )
    else:
        program.add(
            "kv = mx.kv.create('local')",
            "kv.init(3, w)",
            "kv.set_optimizer(opt)",
            "kv.push(3, g), kv.push(3, g)",
            f"kv.save_optimizer_states('u'{', ' * bool(dump)}{dump})",
            EXCHANGE,
            "kv.load_optimizer_states('u')",
            "kv.push(3, g)",
            "kv.pull(3, out=w)",
            "w",
        )
    program.add(
        program.pick(
            "mx.nd.save('a', [w, g, mx.nd.arange(3, dtype='int32')])",
            "mx.nd.save('a', {'w': w, 'z': w.tostype('csr'), 'r': g.tostype('row_sparse')})",
            "mx.nd.save('a', mx.nd.ones((2, 1, 2), dtype='uint8'))",
            "mx.nd.save('a', {})",
        ),
        "net = mx.sym.FullyConnected(mx.sym.var('d', shape=(2, 3), lr_mult=2), num_hidden=2, name='fc')",
        program.pick(
            "net.save('n.json')",
            "(net * 2 + mx.sym.Custom(net, op_type='none')).save('n.json')",
            "mx.sym.Group([net, mx.sym.contrib.foreach(lambda x, s: (x, s), net, [net])[0]]).save('n.json')",
        ),
        "r = mx.recordio.MXIndexedRecordIO('i.idx', 'i.rec', 'w')",
        "r.write_idx(4, mx.recordio.pack((0, [1, 2], 4, 0), b'abc')), r.write_idx(2, b'x' * 7), r.close()",
        EXCHANGE,
        "mx.nd.load('a')",
        "mx.sym.load('n.json').list_arguments(), mx.sym.load('n.json').list_outputs()",
        "sorted((k, sorted(v.items())) for k, v in mx.sym.load('n.json').attr_dict().items())",
        "r = mx.recordio.MXIndexedRecordIO('i.idx', 'i.rec', 'r')",
        "r.keys, r.read_idx(2), mx.recordio.unpack(r.read_idx(4))",
    )


# ── Image iterators over records ────────────────────────────────────────────────────────────

RECORD_ITERATORS = (
    *("mx.io.ImageRecordIter",) * 4,
    *("mx.io.ImageRecordUInt8Iter", "mx.io.ImageRecordInt8Iter", "mx.io.ImageRecordIter_v1"),
)


JPEG = "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAA0JCgsKCA0LCgsODg0PEyAVExISEyccHhcgLikxMC4pLSwzOko+MzZGNywtQFdBRkxOUlNSMj5aYVpQYEpRUk//2wBDAQ4ODhMREyYVFSZPNS01T09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT0//wAARCAAGAAUDAREAAhEBAxEB/8QAFAABAAAAAAAAAAAAAAAAAAAAAv/EABwQAAAGAwAAAAAAAAAAAAAAAAACAwQFBhEikf/EABUBAQEAAAAAAAAAAAAAAAAAAAID/8QAGxEAAQQDAAAAAAAAAAAAAAAAAQACAwQFEhP/2gAMAwEAAhEDEQA/ADG15AzfOvBKEdW7FGjkXiNf/9k="
"""A file of 6 by 5 pixels, in base64."""


def record_images(program):
    """Iterators of the backend over record files of images, without random augmentation."""
    n = program.random.randint(6, 9)  # a part has as many as a batch, at least
    width = program.pick(1, 1, 2)
    label = "float(i)" if width == 1 else "[i, i + 0.5]"
    detect = program.chance(0.2)
    if detect:
        label = "[2, 5, *[i, .1, .2, .5, .6] * (1 + i % 2)]"
    encoded = "jpeg if i % 2 else png(p)" if program.chance(0.4) else "png(p)"
    program.add(
        *("import base64, os", f"jpeg = base64.b64decode('{JPEG}')", PNG),
        f"pictures = [np.random.randint(0, 256, (6, 5, 3)).astype('uint8') for i in range({n})]",
        f"pack = lambda i, p: mx.recordio.pack(mx.recordio.IRHeader(0, {label}, i, 0), {encoded})",
        "w = mx.recordio.MXIndexedRecordIO('i.idx', 'i.rec', 'w')",
        "[w.write_idx(i, pack(i, p)) for i, p in enumerate(pictures)]",
        "w.close()",
        f"n = open('i.lst', 'w').write(''.join('%d\\t' % i + '%d\\t' % (i * 2) * {width} + '%d.png\\n' % i for i in range({n})))",
        "show = lambda b: ([a.asnumpy() for a in (*b.data, *b.label)], b.pad)",
    )
    made = program.call(
        *(program.pick(*RECORD_ITERATORS), 3, "path_imgrec='i.rec'", "batch_size=1|2|3"),
        *("data_shape=(3, 6, 5)|(3, 4, 4)|(3, 6, 5)|(3, 3, 2)|(1, 6, 5)", f"label_width={width}"),
        *("path_imgidx='i.idx'", "round_batch=True|False", "shuffle=False", "mean_r=3|1.5"),
        *("mean_g=4", "mean_b=5", "std_r=2", "scale=0.5|1.0", "resize=-1|7|5", "mirror=True|False"),
        *("preprocess_threads=1|2|4", "part_index=0|1", "num_parts=1|2", "prefetch_buffer=1|4"),
        *("data_name='data'|'x'", "label_name='softmax_label'|'y'", "verbose=False", "seed=3"),
        *("rand_crop=False", "rand_mirror=False", "inter_method=0|1|2", "max_random_scale=1.0"),
        *("dtype='float32'", "crop_h=4|-1", "max_crop_size=-1", "path_imglist='i.lst'"),
        *("fill_value=255|0", "pad=0|1", "ctx='cpu'", "device_id=-1", "std_g=4"),
        keywords=True,
    ) if not detect else program.call(
        *("mx.io.ImageDetRecordIter", 3, "path_imgrec='i.rec'", "batch_size=1|2"),
        *("data_shape=(3, 6, 5)|(3, 4, 4)", "label_pad_width=14|12|20", "label_pad_value=-1|0"),
        *("label_width=-1", "round_batch=True|False", "mean_r=3", "verbose=False"),
        *("shuffle=False", "inter_method=0", "resize_mode='force'|'shrink'|'fit'", "path_imglist=''"),
        keywords=True,
    )  # fmt: skip
    if "batch_size=1" not in made:  # MXNet leaves rows of an incomplete batch as they were
        made = made.replace("round_batch=False", "round_batch=True")
    program.add(f"it: object = {made}")
    program.some(
        *(3, 7, "show(it.next())", "show(next(it))", "len(list(it)), it.reset()", "it.batch_size"),
        *("it.provide_data", "it.provide_label", "[b.pad for b in it], it.reset()"),
        *("it.getpad()", "it.getdata()", "it.getlabel()"),
    )
    program.add("len(list(it)), it.reset()", "[show(b) for b in it]")
    if program.chance(0.3) and not detect:
        program.add(
            EXCHANGE,
            "it: object = mx.io.ImageRecordIter(path_imgrec='i.rec', data_shape=(3, 6, 5), batch_size=2)"
            if width == 1
            else "it: object = mx.image.ImageIter(2, (3, 6, 5), label_width=2, path_imgrec='i.rec')",
            "[show(b) for b in it]",
        )


# ── Operators of the first releases ─────────────────────────────────────────────────────────

NUMPY_OPS = (
    """class Own(mx.operator.{base}):
    def __init__(self, factor=2):
        super(Own, self).__init__({top})
        self.factor = factor
    def list_arguments(self):
        return {arguments}
    def list_outputs(self):
        return ['output']
    def infer_shape(self, shapes):
        return {inferred}, [shapes[0]]
    def forward(self, in_data, out_data):
        out_data[0][:] = in_data[0] * self.factor{minus}
    def backward(self, out_grad, in_data, out_data, in_grad):
        in_grad[0][:] = {grad}{declared}""",
)


def first_operators(program):
    """NumpyOp and NDArrayOp in a network."""
    base = program.pick("NumpyOp", "NumpyOp", "NDArrayOp")
    labelled, top = program.chance(0.5), program.chance(0.5)
    declared = ""
    if base == "NDArrayOp" and program.chance(0.5):
        declared = (
            "\n    def declare_backward_dependency(self, out_grad, in_data, out_data):"
            f"\n        return [{'*out_grad, ' * top}*in_data, *out_data]"
        )
    program.add(
        *HELPERS,
        NUMPY_OPS[0].format(
            base=base,
            top=program.pick("", top, f"need_top_grad={top}"),
            arguments="['data', 'label']" if labelled else "['data']",
            inferred="[shapes[0], shapes[0]]" if labelled else "[shapes[0]]",
            minus=" - in_data[1]" if labelled else "",
            grad=program.pick(
                "out_grad[0] * self.factor" if top else "out_data[0]", "out_data[0] * 3"
            ),
            declared=declared,
        ),
        f"op = Own({program.pick('', 3, 'factor=0.5')})",
    )
    program.add(
        "fc = mx.sym.FullyConnected(mx.sym.var('data'), num_hidden=3, name='fc')",
        f"net = op({program.pick('data=fc, ', 'fc, ')}name='own')",
        "net.list_arguments(), net.list_outputs(), net.name",
        "net.infer_shape(data=(2, 4))",
        "op.need_top_grad()",
    )
    if program.chance(0.5):
        program.add("net = mx.sym.MakeLoss(net, name='loss')" if top else "net = net")
    labels = "[('own_label', (2, 3))]" if labelled else "None"
    names = ", label_names=" + ("['own_label']" if labelled else "None")
    program.add(
        f"mod = mx.mod.Module(net{names})",
        f"mod.bind([('data', (2, 4))], {labels})",
        "mod.init_params(Ramp())",
        "mod.init_optimizer(optimizer_params={'learning_rate': 0.1})",
        f"batch = mx.io.DataBatch([rows(2, 4)], {'[rows(2, 3)]' if labelled else 'None'})",
        f"mod.forward(batch), mod.backward({'[mx.nd.ones((2, 3))]' if top else ''}), mod.update()",
        "mod.get_outputs()",
        "mod.get_params()[0]",
    )


# ── Drawings, pickles, profiles ─────────────────────────────────────────────────────────────

GRAPHVIZ = (
    "class Digraph:\n"
    "    def __init__(self, name=None, format=None, **more):\n"
    "        self.seen = [('graph', name, format, sorted(more.items()))]\n"
    "    def node(self, name, label=None, **more):\n"
    "        self.seen.append(('node', name, label, sorted(more.items())))\n"
    "    def edge(self, tail, head, **more):\n"
    "        self.seen.append(('edge', tail, head, sorted(more.items())))"
)
GRAPHS = choices("""
    mx.sym.SoftmaxOutput(mx.sym.FullyConnected(d, num_hidden=3, name='fc'), name='softmax')
    mx.sym.Pooling(mx.sym.Convolution(d, kernel=(3, 3), num_filter=2, stride=(2, 2), name='conv'), kernel=(2, 2), pool_type='max', name='pool')
    mx.sym.Concat(mx.sym.Flatten(d, name='flat'), mx.sym.Reshape(d, shape=(0, -1), name='shaped'), name='both')
    mx.sym.LeakyReLU(mx.sym.BatchNorm(d, name='bn'), act_type='leaky', name='leaky')
    mx.sym.Activation(mx.sym.Deconvolution(d, kernel=(2, 2), num_filter=2, name='up'), act_type='relu', name='act')
    mx.sym.Group([mx.sym.exp(d, name='e'), mx.sym.Dropout(d, name='drop')])
    mx.sym.elemwise_add(d, mx.sym.LRN(d, nsize=3, name='lrn'), name='plus')
    mx.sym.Embedding(mx.sym.var('words'), input_dim=3, output_dim=2, name='emb')
    mx.sym.FullyConnected(d, num_hidden=3, name='fc', weight=mx.sym.var('w'), no_bias=True)
    mx.sym.split(d, num_outputs=2, name='halves')[1] * 3
    mx.sym.Softmax(mx.sym.LayerNorm(d, name='ln'), name='old')
    mx.sym.BatchNorm(mx.sym.Convolution(d, kernel=(1, 1), num_filter=2, num_group=2, name='conv'), name='bn')
    mx.sym.Pooling(d, global_pool=True, kernel=(1, 1), pool_type='avg', name='pool') + 1
    mx.sym.contrib.foreach(lambda x, s: (x + s, x), d, mx.sym.zeros((1,)))[0]
    d
    d.get_internals()
""")


def drawings(program):
    """plot_network, of which a stand-in for graphviz records the calls, and print_summary."""
    program.add("import contextlib, io, sys, types", GRAPHVIZ)
    program.add("sys.modules['graphviz'] = types.ModuleType('graphviz')")
    program.add("sys.modules['graphviz'].Digraph = Digraph", "d = mx.sym.var('data')")
    for _ in range(program.random.randint(1, 3)):
        program.add(f"net = {program.pick(*GRAPHS)}")
        shape = program.pick(
            "{'data': (2, 2, 4, 4)}", "{'data': (2, 2, 4, 4)}", "None", "{'words': (2, 3)}"
        )
        call = program.call(
            *(
                "mx.viz.plot_network",
                1,
                "symbol=net",
                "title='plot'|'net'",
                "save_format='pdf'|'png'",
            ),
            *(f"shape={shape}", "hide_weights=True|False", "dtype=None|{'data': 'float32'}"),
            "node_attrs={'shape': 'oval', 'fixedsize': 'false'}|{}",
        )
        program.add(f"{call}.seen")
        program.add(
            "text = io.StringIO()",
            "with contextlib.redirect_stdout(text): "
            + program.call(
                *("mx.viz.print_summary", 1, "symbol=net", f"shape={shape}", "line_length=120|60"),
                "positions=[.4, .6, .8, 1.]|[.44, .64, .74, 1.]",
            ),
            "text.getvalue()",
        )


PICKLED = choices("""
    mx.init.Xavier(magnitude=2)
    mx.init.Mixed(['.*'], [mx.init.One()])
    mx.optimizer.SGD(momentum=0.9, learning_rate=0.3)
    mx.optimizer.Adam(param_idx2name={0: 'w'}, wd=0.1)
    mx.optimizer.SGD(lr_scheduler=mx.lr_scheduler.FactorScheduler(2, 0.5))
    mx.lr_scheduler.PolyScheduler(5, warmup_steps=2)
    mx.lr_scheduler.CosineScheduler(5)
    mx.metric.Accuracy()
    mx.metric.create(['acc', 'mse'])
    mx.metric.F1()
    mx.cpu(1)
    mx.nd.array([[1, 2], [0, 3]])
    mx.nd.array([[1, 2], [0, 3]]).tostype('csr')
    mx.nd.array([[1, 2], [0, 3]]).tostype('row_sparse')
    mx.nd.array([1, 2], dtype='float16')
    mx.sym.FullyConnected(mx.sym.var('d'), num_hidden=2, name='fc')
    mx.io.DataDesc('data', (2, 3), 'float16', 'NT')
    mx.io.DataBatch([mx.nd.ones((2,))], [mx.nd.zeros((2,))], 0)
    mx.AttrScope(x='y')
    mx.name.Prefix('p_')
    mx.base.MXNetError('m')
    mx.callback.Speedometer(4)
    mx.rnn.LSTMCell(2)
    mx.optimizer.get_updater(mx.optimizer.SGD())
    mx.gpu(0)
    mx.init.InitDesc('w', {'a': 'b'})
    mx.recordio.MXRecordIO('r', 'w')
    mx.viz
""")
SHOWN = choices("""
    type(x).__name__
    x.learning_rate, x.num_update
    [float(x(n)) for n in (1, 3, 6)]
    x.get()[0], float(x.get()[1])
    x.dumps()
    x
    x == y
    x(0, mx.nd.ones((2,)), mx.nd.ones((2,)))
    x.update([mx.nd.array([0, 1])], [mx.nd.array([[.6, .4], [.7, .3]])])
    x.data
    x.create_state(0, mx.nd.ones((2,)))
    x.name, x.tojson()
    x.attrs
    x.args
    x.get(None, 'fc')
    x.get({'z': '1'})
    x.state_info
    x.write(b'abc')
    hash(x) == hash(y)
    x.dtype, x.layout
    x._asdict()
""")


def pickles(program):
    """Objects pickled or copied."""
    program.add("import copy, pickle")
    for _ in range(program.random.randint(1, 3)):
        program.add(f"y = {program.pick(*PICKLED)}")
        program.add(
            "x = "
            + program.pick(
                *("pickle.loads(pickle.dumps(y))",) * 3,
                *("copy.deepcopy(y)", "copy.copy(y)", "pickle.loads(pickle.dumps(y, 2))"),
            )
        )
        program.some(3, 6, *SHOWN)


PROFILES = choices("""
    mx.profiler.set_config(filename='p.json', profile_symbolic=True, profile_imperative=True)
    mx.profiler.set_config(profile_all=True, filename='p.json', aggregate_stats=True)
    mx.profiler.set_config(filename=3)
    mx.profiler.set_config(profile_all='yes')
    mx.profiler.set_state('run')
    mx.profiler.set_state('stop')
    mx.profiler.set_state(state='run', profile_process='worker')
    mx.profiler.set_state('stop', 'server')
    mx.profiler.set_state()
    mx.profiler.set_state(1)
    mx.profiler.pause()
    mx.profiler.resume()
    mx.profiler.resume(profile_process='worker')
    mx.profiler.dump()
    mx.profiler.dump(finished=False)
    mx.profiler.dump(True, 'worker')
    type(mx.profiler.dumps()).__name__
    type(mx.profiler.dumps(reset=True, format='json')).__name__
    mx.profiler.dumps(format='xml')
    mx.profiler.dumps(sort_by='size')
    type(mx.profiler.dumps(sort_by='count', ascending=True)).__name__
    mx.profiler.dumps(reset=2)
    mx.profiler.dump_profile()
    domain = mx.profiler.Domain('d')
    task = domain.new_task('t')
    task.start(), task.stop()
    event = mx.profiler.Event('e')
    event.start(), event.stop()
    frame = mx.profiler.Frame(domain=domain, name='f')
    frame.stop()
    counter = domain.new_counter('c')
    counter += 3
    counter -= 1
    str(counter), repr(task), str(event), str(domain)
    mx.profiler.Counter(domain, 'k', value=4)
    mx.profiler.Marker(domain, 'm').mark()
    mx.profiler.Marker(domain, 'm').mark('global')
    mx.profiler.scope
    with mx.profiler.scope('s:'): y = mx.sym.exp(mx.sym.var('v')).list_attr()
    y
    mx.profiler.profiler_set_config('symbolic', 'q.json')
    mx.profiler.profiler_set_state('run')
    mx.nd.waitall()
""")


def profiles(program):
    """States of the profiler, with its objects."""
    program.add("mx.profiler.set_config(filename='p.json')", "mx.profiler.set_state('run')")
    program.add("mx.profiler.dump()")  # as if nothing had run before
    program.add("domain = mx.profiler.Domain('first')", "task = domain.new_task('a')")
    program.some(5, 12, *PROFILES)
    program.add("mx.profiler.set_state('stop')")


THEMES = (
    *(fitting, fitting, svrg, python_modules, cells, cells, sentences, sentences, exchanged),
    *(exchanged, exchanged_states, exchanged_states, record_images, record_images),
    *(first_operators, drawings, pickles, profiles),
)

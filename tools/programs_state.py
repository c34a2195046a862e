"""Random programs over the state of two modules, for `compare_programs.py state`.

The modules share parameters, an optimizer, or neither. Lines train them in turns and read and write
what they hold by every handle: parameters, gradients, outputs, optimizer states, files.
"""

EXCUSED = [
    # line, difference, reason
    (r"params|outputs|states", r"got -?(nan|inf).*expected -?(nan|inf)", "it diverges"),
    (r"_index_update_count", r"got \[.*0, \d", "one dictionary for contexts that train apart"),
    (r"states|^s", r"expected \('default', 'cpu_pinned", "states beside a store's sums"),
]
ENDS = []

PREAMBLE = (
    "def rows(*shape):\n"
    "    return mx.nd.array(np.sin(np.arange(np.prod(shape)) + len(shape)).reshape(shape))",
    "def group(mod):\n    return mod._exec_group.execs[0]",
    "def updater(mod):\n"
    "    return mod._kvstore._updater if mod._update_on_kvstore else mod._updater",
    "def params(mod):\n    mod._params_dirty = True\n    return mod.get_params()[0]",
    "class Kept:\n    def __init__(self, value):\n        self.value = value",
    "def states(mod):\n    return sorted(updater(mod).states.items(), key=lambda s: str(s[0]))",
)
NETS = (
    "mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.Activation(mx.sym.FullyConnected("
    "mx.sym.var('data'), num_hidden=3, name='fc1'), act_type='tanh'), num_hidden=2, name='fc2'), "
    "name='softmax')",
    "mx.sym.LinearRegressionOutput(mx.sym.Flatten(mx.sym.FullyConnected(mx.sym.var('data'), "
    "num_hidden=1, name='fc1')), mx.sym.var('softmax_label'), name='lin')",
    "mx.sym.MakeLoss(mx.sym.square(mx.sym.FullyConnected(mx.sym.FullyConnected("
    "mx.sym.var('data'), num_hidden=3, name='fc1'), num_hidden=1, name='fc2') - "
    "mx.sym.var('softmax_label').reshape((-1, 1))), name='loss')",
)
OPTIMIZERS = (
    "'sgd', optimizer_params={'learning_rate': 0.1, 'momentum': 0.9}",
    "'sgd', optimizer_params={'learning_rate': 0.1, 'wd': 0.01}",
    "'adam', optimizer_params={'learning_rate': 0.1}",
    "'rmsprop', optimizer_params={'learning_rate': 0.1}",
    "'nag', optimizer_params={'learning_rate': 0.1, 'momentum': 0.5, 'lr_scheduler': "
    "mx.lr_scheduler.FactorScheduler(2, 0.5)}",
    "'adagrad'",
    "'ftrl', optimizer_params={'learning_rate': 0.1}",
    "'signum', optimizer_params={'learning_rate': 0.1, 'momentum': 0.5}",
)
TRAINING = (
    "{m}.forward_backward(batch)\n{m}.update()",
    "{m}.forward_backward(batch)\n{m}.update()\n{m}.update_metric(metric, batch.label)",
    "{m}.forward(batch, is_train=True)\n{m}.get_outputs()\n{m}.backward()\n{m}.update()",
    "{m}.forward_backward(batch)\ngroup({m}).grad_dict['fc1_weight'][:] = 0.25\n{m}.update()",
    "{m}.forward_backward(batch)\ngroup({m}).grad_dict['fc1_bias'] *= 2\n{m}.update()",
    "{m}.forward_backward(batch)\n[g[0] for g in {m}._exec_group.grad_arrays]\n{m}.update()",
    "{m}.forward_backward(batch)\n{m}.update()\n{m}.forward_backward(batch)\n{m}.update()",
    "{m}.forward_backward(batch)\nbatch.data[0][:] = rows(4, 5) + 1\n{m}.update()",
)
LINES = (
    "params({m})",
    "states({m})",
    "[v for _, v in states({m})][:1]",
    "{m}._optimizer.num_update",
    "dict(sorted(updater({m}).optimizer._index_update_count.items(), key=str))",
    "{m}._optimizer.lr = 0.05",
    "{m}._optimizer.wd = 0.02",
    "{m}._optimizer.set_lr_mult({'fc1_weight': 0.5})",
    "{m}._optimizer.set_wd_mult({'fc1_weight': 0.5})",
    "{m}._optimizer.rescale_grad = 0.5",
    "{m}.forward(batch, is_train=False)\n{m}.get_outputs()",
    "group({m}).arg_dict['fc1_weight'][:] = 0.5",
    "group({m}).arg_dict['fc1_bias'][:] += 1",
    "group({m}).arg_dict['fc1_weight'][0] = 2",
    "group({m}).arg_dict['fc1_weight']",
    "w = group({m}).arg_dict['fc1_weight']",
    "w",
    "w *= 0.5",
    "batch = mx.io.DataBatch([rows(4, 5) * 2], [mx.nd.array([0, 1, 1, 0])])",
    "batch.data[0][:] = 0.3",
    "args = params({m})\nargs['fc1_weight'] *= 0.5\n{m}.set_params(args, {})",
    "{m}.set_params(dict(params({o})), {})",
    "kept = {n: v.copy() for n, v in params({m}).items()}",
    "{m}.set_params(kept, {})",
    "{m}.save_optimizer_states('s')",
    "{m}.load_optimizer_states('s')",
    "params({m})\n{m}.save_params('p')\nmx.nd.load('p')",
    "{m}.load_params('p')",
    "kept_states = Kept(updater({m}).get_states())",
    "updater({m}).set_states(kept_states.value)",
    "s = states({m})[0][1]",
    "s",
    "[e.__imul__(0.5) for e in (s if isinstance(s, (list, tuple)) else [s]) if s is not None]",
    "float(metric.get()[1])",
    "metric.reset()",
    "{m}.borrow_optimizer({o})",
    "{m}.optimizer_initialized",
    "{m}.init_optimizer(kvstore=None, optimizer='sgd', force_init=True)",
    "{m}._params_dirty = True\n{m}.get_params()[0]\n{m}.bind([('data', (4, 5))], "
    "[('softmax_label', (4,))], force_rebind=True)",
    "{m}.reshape([('data', (2, 5))], [('softmax_label', (2,))])\n"
    "{m}.forward_backward(mx.io.DataBatch([rows(2, 5)], [mx.nd.array([1, 0])]))\n{m}.update()",
    "{m}.reshape([('data', (4, 5))], [('softmax_label', (4,))])",
)
WITH_COPIES = ("group(", "w *=", "kvstore=None", "borrow", "set_params", "load_params", "rebind")
"""Of several contexts, or beside a store, the reference has copies, which these lines leave."""


def draw(random):
    """The lines of one program."""
    context = random.choice(["", "", ", context=[mx.cpu(0), mx.cpu(1)]"])
    store = random.choice(["None", "'local'"] if not context else ["'local'", "'device'"])
    shares = random.choice(["parameters", "optimizer", "nothing"])
    if context and shares == "optimizer":
        store = "'nothing'"  # by a store MXNet mixes the modules' parameters
    store = store.replace("'nothing'", "None")
    bind = "bind([('data', (4, 5))], [('softmax_label', (4,))], inputs_need_grad=True"
    optimizer = f"init_optimizer(kvstore={store}, optimizer={random.choice(OPTIMIZERS)})"
    options = f"label_names=['softmax_label']{context}"
    lines = [
        *PREAMBLE,
        f"net = {random.choice(NETS)}",
        f"a, b = mx.mod.Module(net, {options}), mx.mod.Module(net, {options})",
        f"a.{bind})",
        "a.init_params(mx.init.Uniform(0))",
        "a.set_params({n: rows(*v.shape) for n, v in a.get_params()[0].items()}, {})",
        f"a.{optimizer}",
        f"b.{bind}{', shared_module=a' if shares == 'parameters' else ''})",
        *([] if shares == "parameters" else ["b.init_params(None, a.get_params()[0], {})"]),
        *(["b.borrow_optimizer(a)"] if shares == "optimizer" else []),
        *([f"b.{optimizer}"] if shares == "nothing" else []),
        "metric = mx.metric.create('loss')",
        "batch = mx.io.DataBatch([rows(4, 5)], [mx.nd.array([0, 1, 1, 0])])",
    ]
    for _ in range(random.randrange(6, 16)):
        m, o = random.choice(["ab", "ba"])
        text = random.choice(random.choice([TRAINING, LINES]))
        if context and any(word in text for word in WITH_COPIES):
            continue
        lines += text.replace("{m}", m).replace("{o}", o).split("\n")
        if random.random() < 0.2:
            lines.append(f"params({random.choice('ab')})")
    return [*lines, "params(a)", "params(b)", "float(metric.get()[1])"]

"""Random programs over modules and executors, for `compare_programs.py module`.

A program builds a network of the table `NETS`, then makes calls of a table of steps. A step states
what must have been called before it (``needs``); now and then one is drawn too early, or with an
argument that a user gets wrong.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

_OURS = r"^got (NotReady|Parameter|Shape|NameNotFound|NotSupported|DType)Error: "
EXCUSED = [
    (
        r"",
        _OURS + r".*; expected (Attribute|Type)Error: 'NoneType' object",
        "an error of the reference's internals, where ours says what to do",
    ),
    (
        r"force_rebind=True",
        r"only modkit runs: AssertionError: $",
        "the reference refuses to bind anew without parameters, and is not bound then",
    ),
    (r"mod.bind\(", r"only modkit runs: AssertionError: $", "the same, after it was refused"),
    (
        r"get_outputs|exe.output",
        r"no value yet",
        "outputs before forward are not initialized there",
    ),
    (
        r"forward|fit|predict",
        r"only modkit runs: TypeError: 'NoneType' object is not iterable",
        "bound without labels, for batches of another size with some",
    ),
    (
        r"forward|reshape|predict",
        r"only modkit runs: MXNetError: .* unspecifie arg",
        "a batch of another size without labels",
    ),
    (r"backward\(", r"training needs labels", "the reference trains on labels of a batch before"),
    (r"backward\(", r"only modkit runs: .* Invalid end", "a head that is no list, of one output"),
    (
        r"exe.grad_dict",
        r"only modkit runs: TypeError: 'NoneType' object is not iterable",
        "bound without gradients",
    ),
    (
        r"copy_params_from|set_params|init_params",
        r"'numpy.ndarray' object has no attribute 'copyto'",
        "NumPy arrays, which the reference takes in modules alone",
    ),
    (r"shared_module", r"_Map_base: :at", "a module that shares parameters, some of them fixed"),
    (r"num_update", r"^got \d+, expected 0$", "MXNet's Test counts no updates"),
    (
        r"backward\(",
        r"only the reference runs: NotReadyError: backward\(\) needs forward",
        "gradients of no pass, under a monitor",
    ),
    (r"predict|score", r"MissingParameterError", "the reference predicts with zeros"),
    (r"^seen$", r"(_workspace|_mask|_tmp|_mean|_var)\b", "workspaces, docs/design.md, section 11"),
    (r"bind", r"DataDesc\[d,a,t,a\]", "shapes in a dictionary"),
    (r"bind", r"only modkit runs: .*InferType .*softmax_label: -1", "labels of no type"),
    (r"fit", r"Batch size miss match", "validation data in batches of another size"),
    (r"Module.load", r"MissingFileError", "see Module.load"),
    (r"data_names", r"got 'list', expected 'tuple'", "before bind"),
    (r"label_shapes", r"got 'DataDesc', expected 'tuple'", "equal values"),
    (r"predict|score", r"NotReadyError: FeedForward: fit", "the reference predicts with zeros"),
    (r"save", r"NotReadyError: FeedForward.save|no attribute 'items'", "before fit"),
    (
        r"exe.backward",
        r"fopnode|inputs must be NDArray|KeyError: '\w+_output'",
        "monitors; heads of nothing",
    ),
    (r"mod.update\(\)", r"only modkit runs: AssertionError: $", "buckets that are bound anew"),
    (r"update|fit", r"only modkit runs: .*Cannot find argument 'wd_lh'", "Signum without momentum"),
    (r"update|fit", r"only modkit runs: .*elemwise_op_common", "optimizers of float64 weights"),
    (r"bind", r"only modkit runs: .*ctx == vcontext", "a gradient in another context"),
    (r"bind", r"only modkit runs: .*InferShape .*softmax_label: N", "labels of no shape"),
    (r"init_optimizer", r"only the reference runs: .*optimizer_params: got", "refused at once"),
    (r"backward", r"only modkit runs: .*num_inputs == infered", "a head that is None"),
    (r"exe.backward", r"only the reference runs: ShapeError: backward: the grad", "a head unread"),
    (r"get_states", r"merge_multi_context=True is not supported", "they are joined"),
    (r"update_metric", r"only modkit runs: .*NoneType", "no labels, which Loss does not read"),
    (r"update_metric", r"only the reference runs: NotReady", "outputs before forward"),
    (
        r"toc\(\)",
        r"backward_output\d.*, expected (?!.*backward_output)",
        "executors for other shapes have no monitor in the reference",
    ),
    (
        r"predict",
        r"got float32\[5, .*, expected float32\[[24], ",
        "the reference has kept a size that it refused",
    ),
    (
        r"predict",
        r"only modkit runs: TypeError: 'NoneType' object is not subscriptable",
        "a loss in Python without labels",
    ),
    (
        r"predict\(rows\(",
        r"^got \S+ at \(\d+, \d+\)",
        "Differs: the reference predicts an array in training mode",
    ),
    (
        r"reshape",
        r"only the reference runs: .*it is a label of the network",
        "a label that label_names lacks; the reference makes a parameter of another shape",
    ),
    (r"", r"Embedding layer doesn't support calculate data gradient", "zeros"),
    (r"fit", r"needs num_epoch.*expected ValueError: y must", "two mistakes"),
    (
        r"forward",
        r"only modkit runs: ValueError: Data provided by .*act_output",
        "a SequentialModule, for batches of another size",
    ),
    (
        r"get_(outputs|input_grads)\(merge_multi_context=False",
        r"only modkit runs: AssertionError: $",
        "a loss in Python",
    ),
]

ENDS = [
    (r"", r"without labels|needs labels", "the reference has run a part of it"),
    (r"mod\.(fit|bind|reshape)\(", r"", "the reference is bound, ours is as before"),
    (r"update_metric", r"top_k is", "the reference has counted some of the pairs"),
    (
        r"copy_params_from|(set|init)_params",
        r"expected \(|got shape",
        "the reference has copied some of them, ours none",
    ),
]

PREAMBLE = (
    "def grid(*shape):\n    return np.sin(np.arange(np.prod(shape)).reshape(shape)).astype('f')",
    "def rows(*shape):\n    return mx.nd.array(grid(*shape))",
    "def plain(pairs):\n    return [(n, float(v)) for n, v in pairs]",
    "def grouped(name, make):\n    with mx.AttrScope(ctx_group=name):\n        return make()",
    "class Ramp(mx.init.Initializer):\n"
    "    def _init_weight(self, name, arr):\n"
    "        arr[:] = (grid(arr.size) + 0.1 * len(name)).reshape(arr.shape)",
)
_ORDER = frozenset(["bound", "params", "optimizer", "trains", "input_grads"])
"""Needs that a program may miss."""
MISTAKES = 0.08
"""Share of calls in the wrong order; about as many have a wrong argument."""


class Net(NamedTuple):
    """A network: the expression that makes it, and shapes of one sample or of the whole array."""

    made: str
    data: dict[str, tuple[int, ...]]
    labels: dict[str, tuple[int, ...]]
    params: dict[str, tuple[int, ...]]
    aux: Mapping[str, tuple[int, ...]] = MappingProxyType({})
    states: tuple[str, ...] = ()
    outputs: tuple[tuple[int, ...], ...] = ((3,),)  # of one sample
    loss: bool = True
    time_major: bool = False  # axes of the data are TNC


def _fc(data, hidden, name, more=""):
    return f"mx.sym.FullyConnected({data}, num_hidden={hidden}, name={name!r}{more})"


_DATA = "mx.sym.Variable('data')"
_HIDDEN = f"mx.sym.Activation({_fc(_DATA, 4, 'fc1')}, act_type='tanh', name='act')"
_MINUS = "mx.sym.elemwise_sub"
"""``+`` has one array for both gradients in the reference, to which grad_req='add' adds twice."""
_LABEL = {"softmax_label": ()}
_FC1 = {"fc1_weight": (4, 5), "fc1_bias": (4,)}
_FC2 = {"fc2_weight": (3, 4), "fc2_bias": (3,)}
_BN = {"bn_gamma": (4,), "bn_beta": (4,)}
_STATISTICS = {"bn_moving_mean": (4,), "bn_moving_var": (4,)}

NETS = {
    "mlp": Net(
        f"mx.sym.SoftmaxOutput({_fc(_HIDDEN, 3, 'fc2')}, name='softmax')",
        {"data": (5,)}, _LABEL, {**_FC1, **_FC2},
    ),
    "regression": Net(
        f"mx.sym.LinearRegressionOutput({_fc(_DATA, 2, 'fc')}, name='lin')",
        {"data": (5,)}, {"lin_label": (2,)}, {"fc_weight": (2, 5), "fc_bias": (2,)},
        outputs=((2,),),
    ),
    "batch_norm": Net(
        "mx.sym.SoftmaxOutput("
        + _fc("mx.sym.BatchNorm("
              + _fc(_DATA, 4, "fc1", ", no_bias=True")  # a bias has a gradient of roundings alone
              + ", fix_gamma=False, name='bn')", 3, "fc2")
        + ", name='softmax')",
        {"data": (5,)}, _LABEL, {"fc1_weight": (4, 5), **_BN, **_FC2}, _STATISTICS,
    ),
    "convolution": Net(
        "mx.sym.SoftmaxOutput("
        + _fc(
            f"mx.sym.Pooling(mx.sym.Convolution({_DATA}, kernel=(3, 3), num_filter=2, "
            "pad=(1, 1), name='conv'), kernel=(2, 2), stride=(2, 2), pool_type='max')",
            3, "fc2",
        )
        + ", name='softmax')",
        {"data": (2, 4, 4)}, _LABEL,
        {"conv_weight": (2, 2, 3, 3), "conv_bias": (2,), "fc2_weight": (3, 8), "fc2_bias": (3,)},
    ),
    "two_inputs": Net(
        f"mx.sym.SoftmaxOutput({_MINUS}({_fc(_DATA, 3, 'fc1')}, "
        + _fc("mx.sym.Variable('more')", 3, "fc2", ", no_bias=True")
        + "), name='softmax')",
        {"data": (5,), "more": (2,)}, _LABEL,
        {"fc1_weight": (3, 5), "fc1_bias": (3,), "fc2_weight": (3, 2)},
    ),
    "two_losses": Net(
        f"(lambda h: mx.sym.Group([mx.sym.SoftmaxOutput({_fc('h', 3, 'fc2')}, name='softmax'), "
        f"mx.sym.LinearRegressionOutput({_fc('h', 1, 'fc3')}, name='lin')]))({_HIDDEN})",
        {"data": (5,)}, {"lin_label": (1,), "softmax_label": ()},
        {**_FC1, **_FC2, "fc3_weight": (1, 4), "fc3_bias": (1,)}, outputs=((3,), (1,)),
    ),
    "shown": Net(
        f"(lambda h: mx.sym.Group([mx.sym.SoftmaxOutput({_fc('h', 3, 'fc2')}, name='softmax'), "
        f"mx.sym.BlockGrad(h, name='shown')]))({_HIDDEN})",
        {"data": (5,)}, _LABEL, {**_FC1, **_FC2}, outputs=((3,), (4,)),
    ),
    "no_loss": Net(
        f"mx.sym.Dropout({_fc(_HIDDEN, 3, 'fc2')}, p=0, name='drop')",
        {"data": (5,)}, {}, {**_FC1, **_FC2}, loss=False,
    ),
    "made_loss": Net(
        f"mx.sym.MakeLoss(mx.sym.square({_fc(_DATA, 2, 'fc')} - mx.sym.Variable('lin_label')), "
        "name='loss')",
        {"data": (5,)}, {"lin_label": (2,)}, {"fc_weight": (2, 5), "fc_bias": (2,)},
        outputs=((2,),),
    ),
    "states": Net(
        f"mx.sym.SoftmaxOutput({_MINUS}({_fc(_DATA, 3, 'fc1')}, mx.sym.Variable('h')), "
        "name='softmax')",
        {"data": (5,)}, _LABEL, {"fc1_weight": (3, 5), "fc1_bias": (3,)}, states=("h",),
    ),
    "multipliers": Net(
        "mx.sym.SoftmaxOutput(mx.sym.FullyConnected("
        f"{_DATA}, weight=mx.sym.Variable('w', lr_mult=0.5, wd_mult=2.0, init=mx.init.One()), "
        "bias=mx.sym.Variable('b', init=mx.init.Zero()), num_hidden=3, name='fc'), name='softmax')",
        {"data": (5,)}, _LABEL, {"w": (3, 5), "b": (3,)},
    ),
}  # fmt: skip

NETS["steps"] = Net(
    f"mx.sym.SoftmaxOutput({_fc('mx.sym.sum(' + _DATA + ', axis=0)', 3, 'fc1')}, name='softmax')",
    {"data": (3, 2)}, _LABEL, {"fc1_weight": (3, 2), "fc1_bias": (3,)}, time_major=True,
)  # fmt: skip
NETS["embedding"] = Net(
    "mx.sym.SoftmaxOutput("
    + _fc(f"mx.sym.Embedding({_DATA}, input_dim=4, output_dim=2, name='emb')", 3, "fc1")
    + ", name='softmax')",
    {"data": (3,)}, _LABEL, {"emb_weight": (4, 2), "fc1_weight": (3, 6), "fc1_bias": (3,)},
)  # fmt: skip

NETS["groups"] = Net(
    "(lambda g: mx.sym.SoftmaxOutput(g('two', lambda: mx.sym.FullyConnected(g('one', lambda: "
    f"{_HIDDEN}), num_hidden=3, name='fc2')), name='softmax'))(grouped)",
    {"data": (5,)}, _LABEL, {**_FC1, **_FC2},
)  # fmt: skip

OPTIMIZERS = {
    "sgd": ("{'learning_rate': 0.1, 'momentum': 0.9}", "(('learning_rate', 0.5), ('wd', 0.01))",
            "{'learning_rate': 0.2, 'clip_gradient': 0.1, 'rescale_grad': 0.5}",
            "{'lr_scheduler': mx.lr_scheduler.FactorScheduler(2, 0.5), 'learning_rate': 1.0}"),
    "nag": ("{'momentum': 0.5}", "{}"),
    "adam": ("{'learning_rate': 0.01}", "{'beta1': 0.5, 'epsilon': 1e-3, 'wd': 0.1}"),
    "rmsprop": ("{}", "{'centered': True, 'clip_weights': 0.5}"),
    "adagrad": ("{'eps': 1e-3}", "{'learning_rate': 0.1, 'wd': 0.1}"),
    "adadelta": ("{}", "{'rho': 0.5, 'wd': 0.1}"),
    "ftrl": ("{'lamda1': 0.001}", "{'learning_rate': 1.0}"),
    "adamax": ("{}", "{'learning_rate': 0.1}"),
    "nadam": ("{}", "{'schedule_decay': 0.1}"),
    "signum": ("{}", "{'momentum': 0.0, 'wd_lh': 0.1}"),
    "ftml": ("{}", "{'learning_rate': 0.1}"),
    "lamb": ("{}", "{'bias_correction': False, 'lower_bound': 0.1}"),
    "lars": ("{'learning_rate': 0.1}", "{'momentum': 0.9, 'eta': 0.1}"),
    "dcasgd": ("{}", "{'lamda': 0.1}"),  # momentum is a ValueError of the reference's
    "lbsgd": ("{'momentum': 0.9}", "{}"),
    "test": ("{}", "{'learning_rate': 0.1}"),
}  # fmt: skip
"""Parameters of each optimizer."""


class Step(NamedTuple):
    """A call: how often, what must be so before it, and the function that writes its lines."""

    weight: int
    needs: frozenset[str]
    write: Any


STEPS: dict[str, list[Step]] = {}
"""The steps of each family of programs."""


def step(family, weight, needs=""):
    """Enter a function that writes lines into the tables of some families' steps."""

    def enter(write):
        for name in family.split():
            STEPS.setdefault(name, []).append(Step(weight, frozenset(needs.split()), write))
        return write

    return enter


class Program:
    """The lines of a program, and what is known about its objects."""

    def __init__(self, random, family):
        """Begin with the helpers and a network."""
        self.random, self.lines, self.has = random, list(PREAMBLE), set()
        self.pick, self.chance = random.choice, lambda p: random.random() < p
        self.family, self.batch, self.contexts, self.rows = family, 4, 1, 4
        self.dtype = "float32"
        self.over = False  # after a mistake that leaves a module half changed in the reference
        self.keys: tuple[Any, ...] = ()  # of a BucketingModule

    def say(self, *lines):
        """Add lines."""
        self.lines += lines

    def use(self, name):
        """Make a network of the table."""
        self.name, self.net = name, NETS[name]
        self.say(f"net = {self.net.made}")

    def some(self, **options):
        """Keyword arguments, each with the chance of one in three: ``, name=value`` in any order.

        An option's value is a list of expressions to choose from.
        """
        names = [n for n in options if self.chance(0.33)]
        self.random.shuffle(names)
        return "".join(f", {n}={self.pick(options[n])}" for n in names)

    def call(self, function, *required, **options):
        """A call with required arguments as written and options of which some are given."""
        return f"{function}({', '.join(required)}{self.some(**options)})".replace("(, ", "(")

    def shapes(self, samples, batch=None):
        """Names and shapes as ``bind`` takes them."""
        batch = batch or self.batch
        pairs = [f"({n!r}, {self.whole(s, batch)})" for n, s in samples.items()]
        if samples and self.net.time_major and samples is not self.net.labels:
            return f"[mx.io.DataDesc{pairs[0][:-1]}, layout='TNC')]"
        if self.dtype != "float32":
            pairs = [f"mx.io.DataDesc{pair[:-1]}, {self.dtype!r})" for pair in pairs]
            return f"[{', '.join(pairs)}]"
        if self.chance(0.2):
            pairs = [f"mx.io.DataDesc{p}" for p in pairs]
        return f"[{', '.join(pairs)}]"

    def whole(self, sample, batch):
        """The shape of a batch."""
        if self.net.time_major and sample:
            return (sample[0], batch, *sample[1:])
        return (batch, *sample)

    def arrays(self, samples, batch=None, label=False):
        """NDArrays of these shapes, in a list."""
        batch = batch or self.batch
        made = [
            f"mx.nd.array(np.arange({batch}) % 3)" if label and not s else
            f"rows{self.whole(s, batch)}" for s in samples.values()
        ]  # fmt: skip
        if self.dtype != "float32":
            made = [f"{each}.astype({self.dtype!r})" for each in made]
        return f"[{', '.join(made)}]"

    def batch_of(self, batch=None):
        """A DataBatch."""
        if self.keys:
            return self._bucket_of(batch)
        self.rows = batch or self.batch
        data = self.arrays(self.net.data, batch)
        labels = self.arrays(self.net.labels, batch, label=True)
        if not self.net.labels:
            labels = self.pick(["[]", "None"])
        if self.chance(0.05):
            labels = "None"
        return self.call("mx.io.DataBatch", data, f"label={labels}", pad=["0", "1"], index=["None"])

    def _bucket_of(self, batch):
        """A DataBatch of a bucket."""
        key = self.pick(self.keys)
        shapes = {"data": (key or 1, 2)}
        self.rows = batch = batch or self.batch
        return (
            f"mx.io.DataBatch({self.arrays(shapes, batch)}, "
            f"{self.arrays(_LABEL, batch, label=True)}, "
            f"bucket_key={key}, provide_data={self.shapes(shapes, batch)}, "
            f"provide_label={self.shapes(_LABEL, batch)})"
        )

    def values(self, shapes, some=False, wrong=False):
        """A dictionary of parameters."""
        names = [n for n in shapes if not (some and self.chance(0.4))]
        made = {n: f"rows{shapes[n]}" for n in names}
        if wrong and names:
            name = self.pick(names)
            how = self.pick(["shape", "name", "type"])
            if how == "shape":
                made[name] = f"rows{(7, *shapes[name])}"
            elif how == "name":
                made["fc9_weight"] = made.pop(name)
            else:
                made[name] = f"grid{shapes[name]}"
        return "{" + ", ".join(f"{n!r}: {v}" for n, v in made.items()) + "}"

    def initializer(self):
        """An initializer that draws no random numbers."""
        return self.pick([
            # Equal last layers have gradients of roundings alone below them.
            "Ramp()", "mx.init.Mixed(['fc1.*|conv.*', '.*'], [mx.init.One(), Ramp()])",
            "mx.init.Mixed(['fc2.*', '.*'], [Ramp(), mx.init.Constant(0.2)])", "Ramp()",
            "mx.init.Mixed(['.*bias', '.*'], [mx.init.Zero(), Ramp()])",
            "mx.init.Load({'fc1_bias': rows(4)}, default_init=Ramp())",
        ])  # fmt: skip

    def iterator(self, samples=10, **more):
        """An NDArrayIter over data of the network."""
        data = {n: f"grid{(samples, *s)}" for n, s in self.net.data.items()}
        labels = {
            n: f"grid{(samples, *s)}" if s else f"np.arange({samples}) % 3"
            for n, s in self.net.labels.items()
        }
        if self.dtype != "float32":  # of NumPy's arrays only
            data, labels = (
                {n: f"mx.nd.array({v}, dtype={self.dtype!r})" for n, v in each.items()}
                for each in (data, labels)
            )
        parts = [
            "{" + ", ".join(f"{n!r}: {v}" for n, v in each.items()) + "}" for each in (data, labels)
        ]
        return self.call(
            "mx.io.NDArrayIter", *parts, f"batch_size={self.batch}",
            last_batch_handle=["'pad'", "'discard'", "'roll_over'"],
        )  # fmt: skip

    def run(self, count):
        """Draw steps."""
        table = STEPS[self.family]
        while count > 0 and not self.over:
            early = self.chance(MISTAKES)
            fit = [s for s in table if s.needs - (_ORDER if early else set()) <= self.has]
            (chosen,) = self.random.choices(fit, [s.weight for s in fit])
            if chosen.needs <= self.has:
                chosen.write(self)
            else:
                kept = set(self.has)
                chosen.write(self)
                self.has = kept  # it was refused
            count -= 1

    def show(self, count, shown):
        """End with expressions that show the state."""
        lacks = set() if "synced" in self.has else {"get_params"}
        lacks |= set() if "ran" in self.has else {"output"}
        shown = [each for each in shown if not any(word in each for word in lacks)]
        if not self.over:
            self.say(*self.random.sample(shown, count))


# ── Modules ─────────────────────────────────────────────────────────────────────────────────


def _module(p):
    """A Module, and what shows it at the end."""
    p.use(p.pick(list(NETS)))
    net = p.net
    options = []
    if list(net.data) != ["data"] or p.chance(0.3):
        options.append(f"data_names={p.pick([list, tuple])(net.data)!r}")
    if list(net.labels) != ["softmax_label"] or p.chance(0.3):
        names = list(net.labels) or None
        options.append(f"label_names={names!r}")
    if net.states:
        options.append(f"state_names={list(net.states)!r}")
    if p.chance(0.3):
        p.contexts = 2
        options.append("context=[mx.cpu(0), mx.cpu(1)]")
        if p.chance(0.15):
            options.append("work_load_list=[2, 3]")
    elif p.chance(0.3):
        options.append("context=mx.cpu()")
    if p.chance(0.2):
        options.append(f"fixed_param_names={p.random.sample(list(net.params), 1)!r}")
    if p.chance(0.05):
        options.append(p.pick([
            "data_names=['dota']", "fixed_param_names=['fc9_weight']", "label_names=['softmax']",
            "work_load_list=[1, 2, 3]", "contexts=mx.cpu()", "state_names=['fc1_output']",
        ]))  # fmt: skip
    if p.name == "groups" and p.chance(0.7):
        groups = p.pick(["{'one': mx.cpu(2), 'two': mx.cpu(1)}", "{'two': mx.cpu(3)}"])
        lists = f"{{'one': [mx.cpu(2)] * {p.contexts}, 'two': mx.cpu(1)}}"
        options.append(f"group2ctxs={p.pick([groups, lists, f'[{groups}] * {p.contexts}'])}")
    if p.name not in ("embedding", "steps", "states", "multipliers") and p.chance(0.15):
        # Optimizers that refuse float64 do so unheard in a store of the reference.
        p.dtype = "float64" if p.contexts == 1 else "float32"
    p.random.shuffle(options)
    p.say(f"mod = mx.mod.Module({', '.join(['net', *dict.fromkeys(options)])})")
    p.run(p.random.randint(4, 16))
    p.show(5, _SHOWN)


_SHOWN = (
    "mod.data_names", "mod.data_shapes", "mod.label_shapes", "mod.output_names",
    "mod.output_shapes", "mod.symbol", "mod.binded", "mod.params_initialized",
    "mod.optimizer_initialized", "mod.for_training", "mod.inputs_need_grad", "mod.get_params()",
    "mod.get_outputs()", "mod.get_params()[0]", "mod.label_names",
    "[d.layout for d in mod.data_shapes]", "[str(np.dtype(d.dtype)) for d in mod.data_shapes]",
)  # fmt: skip


@step("module bucketing sequential", 30)
def _bind(p):
    if "bound" in p.has and p.chance(0.7):
        return
    rebind = {"bound", "params", "synced"} <= p.has and p.chance(0.7)
    options = {
        "for_training": ["True", "False"], "inputs_need_grad": ["True", "False"],
        "grad_req": ["'write'", "'add'", "'null'", *_requests(p)],
    }  # fmt: skip
    labels = p.net.labels
    data, batch = p.net.data, p.pick([2, 4, 6, 4, 5])
    required = [p.pick(["", "data_shapes="]) + p.shapes(data, batch)]
    if labels and (p.family == "bucketing" or p.chance(0.95)):
        required.append(p.pick(["label_shapes="]) + p.shapes(labels, batch))
    if rebind:
        required.append("force_rebind=True")
        if p.net.aux:
            p.say("mod._params_dirty = True")  # statistics: only an update shows them there
        p.say("args, auxs = mod.get_params()")  # to whose values the reference goes back
    if p.chance(0.06):
        required[0] = p.pick(
            [
                "[('dota', (4, 5))]",
                "[]",
                "None",
                "('data', (4, 5))",
                "[('data', (4, 5, 6, 7))]",
                "[('data', 4)]",
                "{'data': (4, 5)}",
            ]
        )
        p.over = True  # fmt: skip
    p.say(p.call("mod.bind", *required, **options))
    p.has |= {"bound"}
    p.batch = batch
    p.over |= p.family == "sequential" and "grad_req" in p.lines[-1]
    p.over |= "for_training=False" in p.lines[-1] and "need_grad=True" in p.lines[-1]
    train, grads = p.lines[-1].find("for_training=False") < 0, "need_grad=True" in p.lines[-1]
    for name, holds in (("trains", train), ("input_grads", grads)):
        (p.has.add if holds else p.has.discard)(name)
    p.has -= {"ran", "ran_train", "gradients"}


def _requests(p):
    names = [*p.net.data, *p.net.params, *p.net.labels, *p.net.states]
    drawn = {n: p.pick(["write", "write", "add", "null"]) for n in p.net.params}
    some = {n: r for n, r in drawn.items() if p.chance(0.7)}
    return [repr(drawn), repr(some), repr(["write"] * len(names)), "{'nothing': 'write'}"]


@step("module bucketing sequential", 30, "bound")
def _init_params(p):
    if "params" in p.has and p.chance(0.7):
        return
    args, auxs = p.values(p.net.params), p.values(p.net.aux)
    wrong = p.chance(0.1)
    line = p.pick([
        f"mod.init_params({p.initializer()})",
        p.call("mod.init_params", f"initializer={p.initializer()}",
               arg_params=[p.values(p.net.params, some=True, wrong=wrong), "None"],
               aux_params=[auxs, "None"], allow_missing=["True", "True", "False"],
               force_init=["True", "False"], allow_extra=["True", "False"]),
        f"mod.init_params(None, {args}, {auxs})",
        p.call("mod.set_params", args, auxs, force_init=["True"], allow_extra=["True"]),
    ])  # fmt: skip
    p.say(line)
    p.over = wrong or ("arg_params={" in line and "allow_missing=True" not in line)
    p.has |= {"params", "synced"}
    p.has -= {"gradients"}
    _after_set(p)


def _after_set(p):
    """Make the optimizer anew: a store of the reference updates copies from before."""
    if {"optimizer", "stored"} <= p.has:
        p.say("mod.init_optimizer(kvstore=None, force_init=True)")
        p.has.discard("stored")


@step("module bucketing", 6, "bound params")
def _set_params(p):
    wrong, some = p.chance(0.2), p.chance(0.5)
    args = p.values(p.net.params, some=some, wrong=wrong)
    required = [args, p.values(p.net.aux)]
    if some and p.chance(0.9):
        required.append(p.pick(["True", "allow_missing=True"]))
    p.over = wrong or (some and len(required) == 2)
    p.say(p.call("mod.set_params", *required,
                 force_init=["True", "False"], allow_extra=["True", "False"]))  # fmt: skip
    p.has -= {"gradients"}
    _after_set(p)


def optimizer(p):
    """Arguments of an optimizer by name or as an object."""
    name = p.pick(["sgd", p.pick(list(OPTIMIZERS))])
    params = p.pick(OPTIMIZERS[name])
    if name == "test" or (p.chance(0.15) and params[0] == "{"):
        return f"optimizer=mx.optimizer.create({name!r}, **{params})"
    if p.chance(0.04):
        return p.pick(["optimizer='sdg'", "optimizer='sgd', optimizer_params={'momentun': 1}",
                       "optimizer=None", "optimizer_params='learning_rate'"])  # fmt: skip
    return f"optimizer={name!r}, optimizer_params={params}"


@step("module bucketing sequential", 20, "bound params trains")
def _init_optimizer(p):
    if "optimizer" in p.has and p.chance(0.7):
        return
    stores = ["None", "'local'", "'device'", "mx.kv.create('local')"]
    if p.contexts == 2 and p.dtype == "float32" and p.chance(0.2):
        p.say("store = mx.kv.create('device')",
              "store.set_gradient_compression({'type': '2bit', 'threshold': 0.05})")  # fmt: skip
        stores = ["store"]
    if p.chance(0.2):
        p.say(p.call("mod.init_optimizer", kvstore=stores))
    else:
        p.say(p.call("mod.init_optimizer", optimizer(p), kvstore=stores,
                     force_init=["True", "False"]))  # fmt: skip
    p.has.add("optimizer")
    if p.contexts == 2 or "kv.create" in p.lines[-1]:
        p.has.add("stored")


@step("module bucketing sequential", 20, "bound params")
def _forward(p):
    batch = (
        p.pick([None, None, None, 2, 6, 8, 3, 2 if p.contexts == 2 else 1])
        if p.chance(0.5)
        else None
    )
    train = p.pick(["", "", ", is_train=True", ", is_train=False", ", False"])
    if p.net.aux and ("trains" not in p.has or train == ", is_train=True"):
        train = ", is_train=False"
    if p.net.aux and train == "":  # statistics change in MXNet's backward pass
        p.say(f"batch = {p.batch_of(batch)}", "mod.forward_backward(batch)")
        p.has |= {"ran", "gradients"}
        p.has.discard("synced")
        return
    p.say(f"batch = {p.batch_of(batch)}", f"mod.forward(batch{train})")
    trained = train in ("", ", is_train=True") and "trains" in p.has
    p.has |= {"ran"}
    (p.has.add if trained else p.has.discard)("ran_train")
    p.has -= {"gradients"}


@step("module bucketing sequential", 15, "ran_train trains")
def _backward(p):
    cast = f".astype({p.dtype!r})" if p.dtype != "float32" else ""
    heads = [f"rows{(p.rows, *s)}{cast}" for s in p.net.outputs]
    given = f"[{', '.join(heads)}]"
    if len(heads) == 1 and p.chance(0.05):
        given = heads[0]
    if p.net.loss and p.chance(0.8):
        given = ""
    if p.chance(0.04):
        given = p.pick(["", "[]", "[None]", "1", "rows(9, 9)", "[rows(9, 9)]"])
    p.say(f"mod.backward({p.pick(['', 'out_grads=']) if given else ''}{given})")
    p.has.discard("ran_train")
    p.has.add("gradients")


@step("module bucketing sequential", 20, "bound params trains")
def _forward_backward(p):
    if not p.net.loss:
        return
    p.say(f"batch = {p.batch_of()}", "mod.forward_backward(batch)")
    p.has |= {"ran", "gradients"}
    p.has.discard("ran_train")
    if p.net.aux:
        p.has.discard("synced")


@step("module bucketing sequential", 25, "gradients optimizer trains")
def _update(p):
    p.say("mod.update()")
    p.has -= {"gradients"}
    p.has.add("synced")


@step("module", 10, "gradients trains")
def _update_by_hand(p):
    if "optimizer" in p.has:  # which trains one value of all contexts
        return
    p.say("for arrays, grads in zip(mod._exec_group.param_arrays, mod._exec_group.grad_arrays):\n"
          "    for array, grad in zip(arrays, grads):\n"
          "        if grad is not None: array[:] = array - 0.1 * grad",
          "mod._params_dirty = True")  # fmt: skip
    p.has -= {"gradients"}
    p.has.add("synced")


@step("module bucketing sequential", 8, "ran")
def _outputs(p):
    p.say(p.pick([
        "mod.get_outputs()", "mod.get_outputs(merge_multi_context=False)", "mod.get_outputs(True)",
        "mod.get_outputs()[0].argmax(axis=1)", "[o.shape for o in mod.get_outputs()]",
    ]))  # fmt: skip


@step("module bucketing sequential", 8, "gradients input_grads")
def _input_grads(p):
    p.say(p.pick(["mod.get_input_grads()", "mod.get_input_grads(merge_multi_context=False)"]))


@step("module", 8, "gradients")
def _grads(p):
    p.say(p.pick([
        "mod._exec_group.execs[0].grad_dict", "mod._exec_group.grad_arrays",
        "mod._exec_group.execs[-1].grad_arrays", "mod._exec_group.input_grad_arrays",
    ]))  # fmt: skip


@step("module bucketing sequential", 8, "bound params synced")
def _get_params(p):
    p.say(p.pick(["mod.get_params()", "mod.get_params()[0]", "args, auxs = mod.get_params()",
                  "sorted(mod.get_params()[0])"]))  # fmt: skip


@step("module bucketing sequential", 6)
def _properties(p):
    p.say(
        p.pick([shown for shown in _SHOWN[:10] if p.family != "sequential" or shown not in _UNSET])
    )


@step("module", 6, "bound")
def _reshape(p):
    batch = p.pick([2, 4, 6])
    required = [p.shapes(p.net.data, batch)]
    if p.net.labels:
        required.append(p.pick(["", "label_shapes="]) + p.shapes(p.net.labels, batch))
    if p.chance(0.1):
        required[0] = p.pick(["[('data', (4, 7))]", "[('dota', (4, 5))]", "[]", "None"])
        p.over = True
    p.say(f"mod.reshape({', '.join(required)})")
    p.batch = batch
    p.has -= {"ran", "ran_train", "gradients"}


METRICS = ("'acc'", "'ce'", "'mse'", "'rmse'", "'mae'", "['acc', 'ce']", "mx.metric.Loss()",
           "mx.metric.Accuracy()", "mx.metric.TopKAccuracy(2)", "mx.metric.Perplexity(None)",
           "mx.metric.CustomMetric(lambda l, o: float((l.sum() + o.sum())))")  # fmt: skip


def metric(p):
    """A metric for the network."""
    if p.name in ("regression", "made_loss"):
        return p.pick(["'mse'", "'rmse'", "'mae'", "mx.metric.Loss()", "'loss'"])
    if p.name in ("two_losses", "shown") and p.chance(0.8):
        return p.pick([
            "mx.metric.Loss()",
            "mx.metric.Accuracy(output_names=['softmax_output'], label_names=['softmax_label'])",
        ])  # fmt: skip
    return p.pick(METRICS)


@step("module bucketing sequential", 8, "ran")
def _update_metric(p):
    p.say(f"metric = mx.metric.create({metric(p)})", "mod.update_metric(metric, batch.label)",
          p.pick(["plain(metric.get_name_value())",
                  "plain(metric.get_global_name_value())"]))  # fmt: skip


@step("module", 6, "bound params")
def _states(p):
    if p.net.states:
        p.say(p.pick([
            "mod.get_states()", "mod.set_states(value=1)", "mod.set_states(value=0.5)",
            "mod.get_states(merge_multi_context=False)",
            "mod.set_states(states=mod.get_states(merge_multi_context=False))",
        ]))  # fmt: skip


@step("module", 5, "bound params synced")
def _files(p):
    p.say(*p.pick([
        ["mod.save_params('x.params')", "mod.load_params('x.params')"],
        ["mod.save_checkpoint('m', 3)", "sorted(mx.nd.load('m-0003.params'))",
         "mod = mx.mod.Module.load('m', 3" + _names(p) + ")"],
        ["mod.save_checkpoint('m', 1)", "sym, args, auxs = mx.model.load_checkpoint('m', 1)",
         "mod.set_params(args, auxs)"],
        ["mod.load_params('absent.params')"],
    ]))  # fmt: skip
    if "Module.load" in p.lines[-1]:
        p.has, p.contexts = {"params", "synced"}, 1


def _names(p):
    labels = list(p.net.labels) or None
    states = f", state_names={list(p.net.states)!r}" if p.net.states else ""
    return f", data_names={list(p.net.data)!r}, label_names={labels!r}{states}"


@step("module", 5, "optimizer synced")
def _optimizer_states(p):
    p.say(*p.pick([
        ["mod.save_optimizer_states('x.states')", "mod.load_optimizer_states('x.states')"],
        ["mod.save_checkpoint('m', 2, save_optimizer_states=True)",
         "mod = mx.mod.Module.load('m', 2, load_optimizer_states=True" + _names(p) + ")"],
        ["mod.load_optimizer_states('absent.states')"],
        ["mod._optimizer.num_update", "mod._optimizer.lr", "mod._optimizer.rescale_grad"],
    ]))  # fmt: skip
    if "Module.load" in p.lines[-1]:
        p.has, p.contexts = {"params", "synced"}, 1


@step("module", 5, "bound params")
def _other_module(p):
    options = _names(p) + (", context=[mx.cpu(0), mx.cpu(1)]" if p.contexts == 2 else "")
    labels = p.shapes(p.net.labels, 2) if p.net.labels else None
    if not p.net.aux:
        p.say("args, auxs = mod.get_params()")  # the other shares the values of the last call
    p.say(f"other = mx.mod.Module(net{options})",
          f"other.bind({p.shapes(p.net.data, 2)}, {labels}, "
          f"shared_module=mod{p.some(for_training=['False'])})",
          p.pick(["other.get_params()", "other.params_initialized", "other.optimizer_initialized",
                  "other.borrow_optimizer(mod)",
                  f"other.forward({p.batch_of(2)}, is_train=False)"]))  # fmt: skip
    if {"trains", "optimizer"} <= p.has and p.net.loss and not p.net.aux:
        p.say("other.borrow_optimizer(mod)", f"other.forward_backward({p.batch_of(2)})",
              "other.update()", "other.get_params()[0]", "other.get_outputs()")  # fmt: skip
        p.has.discard("synced")
    p.has -= {"gradients", "ran", "ran_train"}  # modules share outputs in the reference


@step("module sequential", 8, "bound params")
def _score(p):
    if p.net.time_major:
        return
    p.say(f"data = {p.iterator()}", p.pick([
        p.call("plain(mod.score", "data", metric(p), num_batch=["1", "2"],
               reset=["True", "False"], epoch=["3"]) + ")",
        "mod.predict(data)",
        p.call("mod.predict", "data", num_batch=["1", "2"], merge_batches=["False", "True"],
               always_output_list=["True"], reset=["False"]),
        "[([o.shape for o in outs], i, b.pad) for outs, i, b in mod.iter_predict(data)]",
        "mod.predict(data, num_batch=0)",
        # Arrays of another size than the last batch leave MXNet's module without labels.
        f"mod.predict({p.arrays(p.net.data)[1:-1]})"
        if len(p.net.data) == 1 and p.rows == p.batch else "mod.predict(5)",
    ]))  # fmt: skip
    p.has -= {"ran", "ran_train", "gradients"}


@step("module", 4, "bound params trains optimizer")
def _loop(p):
    if not p.net.loss or p.net.states or p.net.time_major:
        return
    p.say(f"data = {p.iterator()}", f"metric = mx.metric.create({metric(p)})",
          "for batch in data:\n    mod.forward_backward(batch)\n    mod.update()\n"
          "    mod.update_metric(metric, batch.label)",
          "plain(metric.get_name_value())", "mod._optimizer.num_update")  # fmt: skip
    p.has |= {"ran", "synced"}
    p.has -= {"gradients", "ran_train"}


@step("module", 4, "bound params synced")
def _edit(p):
    name = p.pick(list(p.net.params))
    p.say("args, auxs = mod.get_params()", f"args[{name!r}][:] = {p.pick(['0', '0.5'])}",
          p.pick(["mod.set_params(args, auxs)", "mod.init_params(arg_params=args, force_init=True)",
                  "mod.get_params()[0]", "mod.save_checkpoint('e', 1)", "args = 1"]),
          p.pick(["mod.get_params()[0]", "mx.nd.load('e-0001.params')"]))  # fmt: skip
    p.has -= {"gradients"}
    p.over = "set_params" not in p.lines[-2]
    _after_set(p)


@step("module", 4, "bound params optimizer")
def _change_optimizer(p):
    name = p.pick(list(p.net.params))
    p.say(p.pick([
        "mod._optimizer.lr = 0.05", "mod._optimizer.wd = 0.1",
        "mod._optimizer.set_learning_rate(0.2)",
        f"mod._optimizer.set_lr_mult({{{name!r}: 0.0}})", "mod._optimizer.rescale_grad = 0.5",
        f"mod._optimizer.set_wd_mult({{{name!r}: 3.0}})", "mod._optimizer.clip_gradient = 0.01",
        "mod._optimizer.num_update", "mod._optimizer.learning_rate",
        "sorted(mod._optimizer.idx2name.items())",
        "mod._optimizer.lr_mult", "mod._optimizer.wd_mult", "mod._update_on_kvstore",
        "mod._kvstore is None",
    ]))  # fmt: skip


@step("module bucketing", 5, "ran")
def _kept(p):
    if p.contexts == 1:
        p.say("kept = mod.get_outputs()[0]", p.pick(["kept.shape", "kept[0:1]", "kept * 2"]))
        if p.family == "module":
            p.say(f"batch = {p.batch_of(p.rows)}", "mod.forward(batch, is_train=False)", "kept")
            p.has -= {"gradients", "ran_train"}


_LISTED = "sorted(f for f in __import__('os').listdir('.') if f[0] == 'c')"
_METRIC = "lambda b: seen.append((b.epoch, b.nbatch, plain(b.eval_metric.get_name_value())))"
_LOCALS = "lambda b: seen.append(sorted(set(b.locals) & known))"
_SEEN = {
    "batch_end_callback": [
        _METRIC, _LOCALS, "mx.callback.log_train_metric(1)", "mx.callback.ProgressBar(3)",
        "[mx.callback.Speedometer(4, 1), lambda b: seen.append(b.nbatch)]",
    ],
    "epoch_end_callback": [
        "lambda e, s, a, x: seen.append((e, sorted(a), sorted(x)))",
        "mx.callback.do_checkpoint('c', 1)", "mx.callback.do_checkpoint('c', 2)",
        "[lambda e, s, a, x: seen.append((e, {n: v.asnumpy() for n, v in a.items()}))]",
    ],
    "eval_end_callback": [_METRIC],
    "eval_batch_end_callback": ["lambda b: seen.append((b.epoch, b.nbatch))", _LOCALS],
}  # fmt: skip


_KNOWN = (
    "known = {'epoch', 'nbatch', 'self', 'train_data', 'eval_data', 'eval_metric', 'data_batch', "
    "'num_epoch', 'begin_epoch', 'arg_params', 'monitor', 'validation_metric', 'kvstore', "
    "'optimizer', 'data_iter', 'end_of_batch', 'tic', 'num_batch', 'eval_batch', "
    "'actual_num_batch', 'initializer', 'force_init', 'reset', 'eval_name_vals'}"
)


_SEEN_OF_MODULES = {
    "batch_end_callback": ["lambda b: seen.append((b._fields, b.locals['self'].binded))"],
    "epoch_end_callback": ["mx.callback.module_checkpoint(mod, 'c', 1, True)"],
}


@step("module sequential", 5)
def _fit(p):
    if not p.net.loss or p.net.states or p.net.time_major or {"optimizer", "stored"} <= p.has:
        return
    if {"bound", "params"} <= p.has and not p.net.aux:
        p.say("args, auxs = mod.get_params()")  # to whose values a module that is bound anew goes
    p.say("seen = []", f"data = {p.iterator()}", f"more = {p.iterator(6)}", _KNOWN)
    given = p.pick([optimizer(p), "optimizer='sgd'"])
    if p.chance(0.05):
        given = p.pick(["num_epochs=2", "begin_epoch=3"])
    p.say(p.call(
        "mod.fit", "data", f"initializer={p.initializer()}", given, "num_epoch=2",
        f"eval_metric={metric(p)}", eval_data=["more"], validation_metric=[metric(p)],
        kvstore=["None", "'local'"], begin_epoch=["1"], force_init=["True"],
        force_rebind=["True" if p.has & {"params"} or "bound" not in p.has else "False"],
        arg_params=[p.values(p.net.params, some=True)], allow_missing=["True"],
        **_SEEN if p.chance(0.8) else _SEEN_OF_MODULES,
    ), "seen", _LISTED)  # fmt: skip
    if "arg_params" in p.lines[-3] and "allow_missing" not in p.lines[-3]:
        p.over = True
    p.has |= {"bound", "params", "optimizer", "trains", "ran", "synced"}
    if p.contexts == 2:
        p.has.add("stored")
    p.has -= {"gradients", "ran_train", "input_grads"}
    p.rows = p.batch


@step("module", 3, "bound")
def _monitor(p):
    p.say("mon = mx.mon.Monitor(1, lambda x: x.norm(), pattern='fc.*', sort=True)",
          "mod.install_monitor(mon)", "mon.tic()")  # fmt: skip
    if {"params", "trains"} <= p.has and p.net.loss and p.rows == p.batch:
        no_copies = " if '_copy' not in k" if p.name == "groups" else ""  # between contexts
        seen = f"[(n, k) for n, k, v in mon.toc(){no_copies}]"
        p.say(f"mod.forward_backward({p.batch_of()})", seen)
        p.has -= {"gradients", "ran_train"}


@step("module bucketing", 2, "bound params")
def _prepare(p):
    p.say(f"mod.prepare({p.batch_of()})")


# ── Executors ───────────────────────────────────────────────────────────────────────────────


def _executor(p):
    """An executor of simple_bind or bind, and what shows it at the end."""
    p.use(p.pick([name for name in NETS if name != "steps"]))
    known = ", ".join(f"{n}={(p.batch, *s)}" for n, s in p.net.data.items())
    p.say(
        f"shapes = dict(zip(net.list_arguments(), net.infer_shape({known})[0]))",
        "args = {n: rows(*s) for n, s in shapes.items()}",
        "grads = {n: mx.nd.ones(s) * ('label' not in n) for n, s in shapes.items()}",
        f"auxs = {p.values(p.net.aux)}",
    )
    for name, shape in p.net.labels.items():
        if not shape:
            p.say(f"args[{name!r}] = mx.nd.array(np.arange({p.batch}) % 3)")
    _bind_executor(p, known)
    p.run(p.random.randint(5, 16))
    p.show(4, _EXECUTOR_SHOWN)


_EXECUTOR_SHOWN = (
    "exe.outputs", "exe.output_dict", "exe.arg_dict", "exe.grad_dict", "exe.aux_dict",
    "exe.arg_arrays", "exe.grad_arrays", "exe.aux_arrays", "sorted(exe.arg_dict)",
    "list(exe.grad_dict)", "[o.shape for o in exe.outputs]",
)  # fmt: skip


def _executor_requests(p):
    drawn = {n: p.pick(["write", "write", "add", "null"]) for n in (*p.net.data, *p.net.params)}
    return [
        "'write'", "'add'", "'null'", repr(drawn), repr(dict(list(drawn.items())[1:])),
        "['write'] * len(shapes)", "{n: 'add' if 'weight' in n else 'null' for n in shapes}",
        "'rite'" if p.chance(0.2) else "'write'",
    ]  # fmt: skip


def _groups(p):
    """Contexts of groups, where the network has groups."""
    groups = "{'one': mx.cpu(2), 'two': mx.cpu(1)}", "{'two': mx.cpu(1)}"
    return {"group2ctx": groups} if p.name == "groups" else {}


def _bind_executor(p, known):
    requests = _executor_requests(p)
    if p.chance(0.5):
        if p.chance(0.3):
            known += "".join(f", {n}={(p.batch, *s)}" for n, s in p.net.labels.items())
        p.say(p.call(
            "exe = net.simple_bind", p.pick(["mx.cpu()", "ctx=mx.cpu()", "mx.cpu(1)"]),
            f"grad_req={p.pick(requests)}", known,
            type_dict=["{'data': 'float32'}", "None"], stype_dict=["None"], **_groups(p),
        ))  # fmt: skip
        p.has.add("simple")
        if p.chance(0.8):
            p.say("exe.copy_params_from(args, auxs)")
            p.has.add("set")
    else:
        listed = "[args[n] for n in net.list_arguments()]"
        p.say(p.call(
            "exe = net.bind", p.pick(["mx.cpu()", "ctx=mx.cpu()"]),
            p.pick(["args=args", f"args={listed}"]),
            f"aux_states={p.pick(['auxs', '[auxs[n] for n in net.list_auxiliary_states()]'])}",
            args_grad=["grads", "[grads[n] for n in net.list_arguments()]",
                       "{n: g for n, g in grads.items() if 'weight' in n}", "grads"],
            grad_req=requests, **_groups(p),
        ))  # fmt: skip
        p.has.add("set")


@step("executor", 20, "set")
def _executor_forward(p):
    train = p.pick(["", "is_train=True", "is_train=True", "True", "is_train=False"])
    if p.net.aux and "True" in train:
        p.say("outs = exe.forward(is_train=True)", "exe.backward()")
        p.has.add("ran")
        return
    fed = ""
    if p.chance(0.4):
        name = p.pick(list(p.net.data))
        fed = f"{name}={p.pick(['rows', 'grid', 'rows'])}{(p.batch, *p.net.data[name])}"
        if p.chance(0.1):
            fed = p.pick([f"dota=rows{(4, 5)}", "data=rows(9, 9)", "data=1", f"data=rows{(2, 5)}"])
            p.over = True
    p.say(
        p.pick(["exe.forward(%s)", "outs = exe.forward(%s)"])
        % ", ".join(filter(None, [train, fed]))
    )
    p.has.add("ran")
    (p.has.add if "True" in train else p.has.discard)("ran_train")


@step("executor", 20, "ran_train")
def _executor_backward(p):
    heads = [f"rows{(p.batch, *s)}" for s in p.net.outputs]
    given = f"[{', '.join(heads)}]"
    if len(heads) == 1 and p.chance(0.5):
        given = heads[0]
    if p.net.loss and p.chance(0.7):
        given = ""
    if p.chance(0.06):
        given = p.pick(["", "[]", "[None]", "1", "rows(9, 9)", "[rows(9, 9)]", "{}", "grid(4, 3)"])
    p.say(f"exe.backward({p.pick(['', 'out_grads=']) if given else ''}{given})")
    if p.chance(0.9):
        p.has.discard("ran_train")


@step("executor", 10)
def _executor_write(p):
    name = p.pick([*p.net.data, *p.net.params])
    shape = p.net.params.get(name) or (p.batch, *p.net.data.get(name, ()))
    p.say(p.pick([
        f"exe.arg_dict[{name!r}][:] = grid{shape}", f"exe.arg_dict[{name!r}][:] = 0.5",
        f"rows{shape}.copyto(exe.arg_dict[{name!r}])", "exe.arg_arrays[1][:] *= 2",
        f"exe.arg_dict[{name!r}][0] = 1", f"exe.arg_dict[{name!r}] -= 0.1",
        "for g in exe.grad_arrays:\n    if g is not None: g[:] = 0", f"args[{name!r}][:] = 0.25",
        "exe.outputs[0][:] = 0" if "ran" in p.has else "exe.arg_dict['nothing'][:] = 1",
    ]))  # fmt: skip
    p.has.discard("ran_train")


@step("executor", 6)
def _executor_copy(p):
    wrong = p.chance(0.3)
    p.say(p.call("exe.copy_params_from", p.values(p.net.params, some=True, wrong=wrong),
                 p.pick(["auxs", "aux_params=None", "{'no_mean': rows(4)}"]),
                 allow_extra_params=["True", "False"]))  # fmt: skip
    p.has.discard("ran_train")
    p.over = wrong


@step("executor", 6, "set")
def _executor_reshape(p):
    batch = p.pick([1, 2, 4, 6])
    known = ", ".join(f"{n}={(batch, *s)}" for n, s in p.net.data.items())
    if p.chance(0.7):
        known += "".join(f", {n}={(batch, *s)}" for n, s in p.net.labels.items())
    if p.chance(0.1):
        known = p.pick(["data=(4, 7)", "dota=(4, 5)", "data=4", ""])
        batch = 99
    kept = ["new.arg_dict", "exe = new", "new.grad_dict"] if batch <= p.batch else []
    p.say(
        p.call(
            "new = exe.reshape",
            known,
            partial_shaping=["True", "False"],
            allow_up_sizing=["True", "True", "False"],
        ),
        p.pick(["[o.shape for o in new.outputs]", "[a.shape for a in new.arg_arrays]", *kept]),
    )
    if p.lines[-1] == "exe = new":
        p.batch = batch
        p.has -= {"ran", "ran_train"}


@step("executor", 8)
def _executor_shown(p):
    p.say(p.pick([shown for shown in _EXECUTOR_SHOWN if "ran" in p.has or "output" not in shown]))


@step("executor", 4, "set")
def _executor_monitor(p):
    if p.name == "groups":  # copies between contexts are shown, too
        return
    p.say("seen = []", p.pick([
        "exe.set_monitor_callback(lambda n, a: seen.append(n))",
        "exe.set_monitor_callback(lambda n, a: seen.append(n), monitor_all=True)",
        "exe.set_monitor_callback(lambda n, a: seen.append(n), True)",
    ]), "exe.forward()",
        "[n for n in seen if not str(n).endswith((\"mask'\", \"workspace'\"))]")  # fmt: skip
    p.has.add("ran")
    p.has.discard("ran_train")


# ── Buckets ─────────────────────────────────────────────────────────────────────────────────

_GENERATORS = (
    "def gen(key):\n"
    "    data = mx.sym.mean(mx.sym.Variable('data'), axis=1)\n"
    "    net = mx.sym.FullyConnected(data, num_hidden=3, name='fc')\n"
    "    return mx.sym.SoftmaxOutput(net, name='softmax'), ('data',), ('softmax_label',)",
    "def gen(key):\n"
    "    net = mx.sym.FullyConnected(mx.sym.Variable('data'), num_hidden=3, flatten=False, "
    "name='fc')\n"
    "    net = mx.sym.sum(net, axis=1) * (key or 1)\n"
    "    return mx.sym.SoftmaxOutput(net, name='softmax'), ['data'], ['softmax_label']",
)


def _bucketing(p):
    """A BucketingModule over lengths of its data."""
    p.keys, p.name = p.pick([(3, 2, 5), (4, 2), (3, None)]), "mlp"
    p.net = Net("", {"data": (p.keys[0] or 1, 2)}, _LABEL, {"fc_weight": (3, 2), "fc_bias": (3,)})
    p.say(p.pick(_GENERATORS))
    if p.chance(0.3):
        p.contexts = 2
    more = ["", ", fixed_param_names=['fc_bias']"] + [", context=[mx.cpu(0), mx.cpu(1)]"] * (
        p.contexts - 1
    )
    if p.chance(0.05):
        more = [", fixed_param_names=['nothing']", ", state_names=['h']", ", contexts=1"]
    more = more[-1] if p.contexts == 2 else p.pick(more)
    p.say(
        f"mod = mx.mod.BucketingModule(gen, {p.pick(['', 'default_bucket_key='])}{p.keys[0]}{more})"
    )
    p.run(p.random.randint(5, 16))
    p.show(4, _SHOWN[:14])


@step("bucketing", 10, "bound params")
def _switch(p):
    key = p.pick(p.keys) if p.chance(0.9) else 7
    shape = {"data": (key or 1, 2)}
    p.say(p.call("mod.switch_bucket", f"{key}", p.shapes(shape), p.shapes(_LABEL)),
          p.pick(["mod.data_shapes", "mod._curr_bucket_key", "mod.symbol",
                  "mod.output_names"]))  # fmt: skip
    p.has -= {"ran", "ran_train", "gradients"}


_UNSET = "mod.for_training", "mod.inputs_need_grad"
"""Properties that the reference's SequentialModule does not set."""


# ── Modules of several parts ────────────────────────────────────────────────────────────────


def _sequential(p):
    """Two modules, one after the other."""
    p.name = "mlp"
    p.net = Net("", {"data": (5,)}, _LABEL, {"fc1_weight": (4, 5), "fc1_bias": (4,),
                                             "fc2_weight": (3, 4), "fc2_bias": (3,)})  # fmt: skip
    p.say(
        f"one = mx.sym.Activation({_fc(_DATA, 4, 'fc1')}, act_type='tanh', name='act')",
        f"two = {_fc(_DATA, 3, 'fc2')}",
        "mod = mx.mod.SequentialModule()",
        p.pick([
            "mod.add(mx.mod.Module(one, label_names=None)).add("
            "mx.mod.Module(mx.sym.SoftmaxOutput(two, name='softmax')), take_labels=True, "
            "auto_wiring=True)",
            "mod.add(mx.mod.Module(one, label_names=[])).add(mx.mod.Module(two, label_names=None),"
            " auto_wiring=True).add(mx.mod.PythonLossModule(grad_func=lambda scores, labels: "
            "scores - mx.nd.one_hot(labels, 3)), take_labels=True, auto_wiring=True)",
            "mod.add(mx.mod.Module(one, label_names=None), take_label=True)" if p.chance(0.2) else
            "mod.add(mx.mod.Module(mx.sym.SoftmaxOutput(two, name='softmax')), take_labels=True)",
        ]),
    )  # fmt: skip
    if "one" not in p.lines[-1]:
        p.net = Net("", p.net.data, _LABEL, {"fc2_weight": (3, 5), "fc2_bias": (3,)})
    p.over = "take_label=True" in p.lines[-1]
    p.run(p.random.randint(5, 14))
    p.show(4, [shown for shown in _SHOWN[:14] if shown not in _UNSET])


# ── FeedForward ─────────────────────────────────────────────────────────────────────────────


def _feedforward(p):
    """MXNet's first model class."""
    p.use(p.pick(["mlp", "batch_norm", "convolution"]))
    (shape,) = p.net.data.values()
    options = {
        "ctx": ["mx.cpu()", "[mx.cpu(0), mx.cpu(1)]"], "epoch_size": ["2"],
        "numpy_batch_size": ["4", "5"], "arg_params": [p.values(p.net.params, some=True)],
        "allow_extra_params": ["True"], "begin_epoch": ["1"], "learning_rate": ["0.1"],
        "wd": ["0.01"], "optimizer": ["'adam'", "'sgd'", "'sgd', momentum=0.9"],
    }  # fmt: skip
    p.say(
        f"x, y = grid{(10, *shape)}, np.arange(10) % 3",
        f"data = {p.iterator()}",
        p.call(
            "mod = mx.model.FeedForward",
            "net",
            f"initializer={p.initializer()}",
            *(["num_epoch=2"] if p.chance(0.95) else []),
            **options,
        ),
        "seen = []",
        "known = {'arg_params', 'begin_epoch', 'data_batch', 'epoch', 'eval_data', 'eval_metric', "
        "'kvstore', 'monitor', 'nbatch', 'optimizer', 'tic', 'train_data'}",  # others are more here
    )
    p.run(p.random.randint(3, 8))
    p.say("mod.arg_params", "mod.aux_params")


@step("feedforward", 10)
def _feedforward_fit(p):
    if "used" in p.has:  # the reference predicts with the parameters of the first prediction
        return
    p.say(p.call("mod.fit", p.pick(["data", "X=data", "x, y", "X=x, y=y", "x"]),
                 eval_data=["data", "(x, y)", "[x, y]"], eval_metric=["'acc'", "'ce'"],
                 kvstore=["'local'", "None"],
                 epoch_end_callback=_SEEN["epoch_end_callback"],
                 batch_end_callback=_SEEN["batch_end_callback"]), "seen")  # fmt: skip
    p.has.add("params")


@step("feedforward", 12, "params")
def _feedforward_use(p):
    p.say(*p.pick([
        ["mod.predict(data)"], ["mod.predict(x)"], ["mod.predict(x, num_batch=1)"],
        ["mod.predict(data, return_data=True)"], ["mod.predict(data, reset=False)"],
        ["float(mod.score(data))"], ["float(mod.score(data, 'ce', num_batch=1))"],
        ["mod.save('f', 2)", "mod = mx.model.FeedForward.load('f', 2, ctx=mx.cpu())"],
        ["mod.save('f')"], ["mod.symbol", "mod.num_epoch", "mod.begin_epoch"],
    ]))  # fmt: skip
    if "predict" in p.lines[-1] or "score" in p.lines[-1]:
        p.has.add("used")


FAMILIES = {
    "module": _module, "executor": _executor, "bucketing": _bucketing, "sequential": _sequential,
    "feedforward": _feedforward,
}  # fmt: skip


def draw(random):
    """The lines of one program."""
    (family,) = random.choices(list(FAMILIES), [4, 3, 2, 1, 1])
    program = Program(random, family)
    FAMILIES[family](program)
    return program.lines

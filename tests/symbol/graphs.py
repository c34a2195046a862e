"""Small graphs, built alike by modkit and by the reference, for comparison.

It runs in two places: in the tests, and under the reference's Python 3.8, so it knows nothing but
the standard library.
"""


class Row:
    """One graph and the questions asked of it.

    Args:
        build: ``build(mx)`` returns the symbol.
        shapes: keyword arguments of ``infer_shape_partial``, one dictionary a question.
        types: keyword arguments of ``infer_type_partial``, one dictionary a question.
    """

    def __init__(self, build, shapes=({},), types=({},)):
        self.build, self.shapes, self.types = build, shapes, types


ROWS = {}


def row(*shapes, types=({},)):
    """Register the decorated builder under its own name."""

    def register(build):
        ROWS[build.__name__] = Row(build, shapes or ({},), types)
        return build

    return register


@row({"data": (100, 100)}, {"data": (0, 100)}, {"fc1_weight": (1000, 7)}, {},
     types=({}, {"data": "float32"}, {"data": "float16"}, {"fc1_weight": "float64"}))  # fmt: skip
def mlp(mx):
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), name="fc1", num_hidden=1000)
    net = mx.sym.Activation(net, act_type="relu")
    net = mx.sym.FullyConnected(net, name="fc2", num_hidden=10)
    return mx.sym.SoftmaxOutput(net, name="softmax")


@row({"data": (2, 1, 28, 28)}, {"data": (0, 1, 28, 28)}, types=({"data": "float32"},))
def lenet(mx):
    net = mx.sym.Variable("data")
    for filters in (20, 50):
        net = mx.sym.Convolution(net, kernel=(5, 5), num_filter=filters)
        net = mx.sym.Activation(net, act_type="tanh")
        net = mx.sym.Pooling(net, pool_type="max", kernel=(2, 2), stride=(2, 2))
    net = mx.sym.FullyConnected(mx.sym.Flatten(net), num_hidden=500)
    net = mx.sym.FullyConnected(mx.sym.Activation(net, act_type="tanh"), num_hidden=10)
    return mx.sym.SoftmaxOutput(net, name="softmax")


def _unit(mx, data, filters, stride, same, name):
    first = mx.sym.BatchNorm(data, fix_gamma=False, eps=2e-5, momentum=0.9, name=name + "_bn1")
    relu = mx.sym.Activation(first, act_type="relu", name=name + "_relu1")
    net = mx.sym.Convolution(relu, num_filter=filters, kernel=(3, 3), stride=stride, pad=(1, 1),
                             no_bias=True, workspace=256, name=name + "_conv1")  # fmt: skip
    net = mx.sym.BatchNorm(net, fix_gamma=False, eps=2e-5, momentum=0.9, name=name + "_bn2")
    net = mx.sym.Activation(net, act_type="relu", name=name + "_relu2")
    net = mx.sym.Convolution(net, num_filter=filters, kernel=(3, 3), pad=(1, 1), no_bias=True,
                             workspace=256, name=name + "_conv2")  # fmt: skip
    if same:
        return net + data
    return net + mx.sym.Convolution(relu, num_filter=filters, kernel=(1, 1), stride=stride,
                                    no_bias=True, name=name + "_sc")  # fmt: skip


@row({"data": (2, 3, 16, 16)}, {"data": (0, 3, 16, 16)}, types=({"data": "float32"},))
def residual(mx):
    net = mx.sym.BatchNorm(mx.sym.Variable("data"), fix_gamma=True, eps=2e-5, name="bn_data")
    net = mx.sym.Convolution(net, num_filter=4, kernel=(3, 3), pad=(1, 1), no_bias=True, name="c0")
    net = _unit(mx, net, 4, (1, 1), True, "stage1_unit1")
    net = _unit(mx, net, 8, (2, 2), False, "stage2_unit1")
    net = mx.sym.Pooling(net, global_pool=True, kernel=(7, 7), pool_type="avg", name="pool1")
    net = mx.sym.FullyConnected(mx.sym.Flatten(net), num_hidden=5, name="fc1")
    return mx.sym.SoftmaxOutput(net, name="softmax")


@row({"t0_data": (4, 7), "t1_data": (4, 7)}, {"t0_data": (0, 7)}, types=({"t0_data": "float32"},))
def lstm_by_hand(mx):
    weights = [mx.sym.Variable(n) for n in ("i2h_w", "i2h_b", "h2h_w", "h2h_b")]
    h, c = (mx.sym.zeros((0, 5), name="begin_" + n) for n in "hc")
    for t in range(2):
        name = f"t{t}_"
        gates = mx.sym.FullyConnected(mx.sym.Variable(name + "data"), weights[0], weights[1],
                                      num_hidden=20, name=name + "i2h")  # fmt: skip
        gates = gates + mx.sym.FullyConnected(h, weights[2], weights[3], num_hidden=20,
                                              name=name + "h2h")  # fmt: skip
        parts = mx.sym.SliceChannel(gates, num_outputs=4, name=name + "slice")
        i, f, o = (mx.sym.Activation(parts[k], act_type="sigmoid") for k in (0, 1, 3))
        g = mx.sym.Activation(parts[2], act_type="tanh")
        c = f * c + i * g
        h = o * mx.sym.Activation(c, act_type="tanh")
    return mx.sym.Group([h, c])


@row({"a": (2, 3)}, {"b": (2, 0)}, {"a": (2, 0), "b": (0, 3)},
     types=({"a": "float32"}, {"b": "float64"}))  # fmt: skip
def arithmetic(mx):
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    net = (a + b) * (a - 2) / (3 - b) - (1 / a) + 2 * b
    return (-net) ** 2 + 2**a + a**b + a % b + a % 3 + 3 % b


@row({"a": (2, 3)}, types=({"a": "float32"},))
def comparison(mx):
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    pairs = [a == b, a != b, a > b, a >= b, a < b, a <= b]
    numbers = [a == 1, a != 1, a > 1, a >= 1, a < 1, a <= 1]
    reversed_ = [1 == a, 1 > a, 1 <= a, 1.5 != a]  # noqa: SIM300
    return mx.sym.Group(pairs + numbers + reversed_ + [abs(a)])


@row({"x": (2, 3)}, types=({"x": "float32"},))
def scalars(mx):
    x = mx.sym.Variable("x")
    made = [mx.sym.maximum(x, 1), mx.sym.maximum(2, x), mx.sym.minimum(x, 1.5), mx.sym.pow(x, 2),
            mx.sym.pow(2, x), mx.sym.hypot(x, 3), mx.sym.hypot(x, x), mx.sym.maximum(x, x),
            mx.sym.minimum(x, x), mx.sym.power(x, x)]  # fmt: skip
    return mx.sym.Group(made)


@row()
def variables(mx):
    made = [
        mx.sym.Variable("a", shape=(2, 3), lr_mult=0.5, wd_mult=2, dtype="float16"),
        mx.sym.Variable("b", attr={"mood": "angry", "ctx_group": "dev1"}, __own__="1"),
        mx.sym.var("c", init="zeros", shape=(0, 4), dtype="int32"),
        mx.sym.Variable("d", stype="default", shape=(7,)),
        mx.sym.Variable("e", attr={"dtype": "data", "force_mirroring": "True"}, lr_mult=1),
    ]
    return mx.sym.Group(made)


@row({}, {"a": (5, 4)}, {"b": (3, 4)}, types=({}, {"a": "float32"}))
def declared(mx):
    a = mx.sym.Variable("a", shape=(3, 0), dtype="float64")
    return a + mx.sym.Variable("b", shape=(0, 4))


@row({"data": (2, 3)}, types=({"data": "float32"},))
def scopes(mx):
    with mx.AttrScope(__group__="4", ctx_group="dev1"):
        data = mx.sym.Variable("data", attr={"group": "1"}, lr_mult=1)
        with mx.AttrScope(ctx_group="dev2", __stage__="x"):
            net = mx.sym.FullyConnected(data, num_hidden=3, name="fc", attr={"__mood__": "so so"})
        net = mx.sym.FullyConnected(net, num_hidden=4, lr_mult=2, __wd_mult__="0")
    return net + 1


@row({"data": (2, 3)}, types=({"data": "float32"},))
def names(mx):
    data = mx.sym.Variable("data")
    with mx.name.Prefix("mynet_"):
        net = mx.sym.FullyConnected(data, num_hidden=3)
        net = mx.sym.Activation(net, name="act", act_type="relu")
        net = net + net
    with mx.name.NameManager():
        net = mx.sym.FullyConnected(net, num_hidden=3)
    net = mx.sym.Activation(net, act_type="relu", name="twice")
    return mx.sym.Activation(net, act_type="relu", name="twice")


@row({"a": (2, 6, 4)}, {"a": (2, 0, 4)}, {"c": (2, 2, 4)}, types=({"a": "float32"},))
def slices(mx):
    parts = mx.sym.SliceChannel(mx.sym.Variable("a"), num_outputs=3, name="cut")
    return mx.sym.Group([parts[1] + mx.sym.Variable("c"), parts, parts[2]])


@row({"a": (0, 10), "c": (5,)}, {"a": (5, 0), "c": (5,)}, {"c": (5,)})
def squeezed_slices(mx):
    parts = mx.sym.SliceChannel(mx.sym.Variable("a"), num_outputs=10, axis=1, squeeze_axis=True)
    return parts[1] + mx.sym.Variable("c")


@row({"a": (2, 3), "b": (2, 4)}, {"a": (0, 3), "b": (2, 4)}, {"a": (2, 3), "d": (2, 7)},
     types=({"b": "float32"},))  # fmt: skip
def concat(mx):
    joined = mx.sym.Concat(mx.sym.Variable("a"), mx.sym.Variable("b"), dim=1)
    return joined + mx.sym.Variable("d")


@row({"a": (2, 3), "b": (2, 3), "c": (2, 3)}, {"b": (2, 0)}, types=({"c": "float32"},))
def sums(mx):
    a, b, c = (mx.sym.Variable(n) for n in "abc")
    return mx.sym.Group([mx.sym.add_n(a, b, c), mx.sym.ElementWiseSum(a, b), mx.sym.stack(a, b)])


@row({"data": (2, 3)}, {"data": (0, 3)}, types=({"data": "int32"}, {"data": "float32"}))
def embedding(mx):
    return mx.sym.Embedding(mx.sym.Variable("data"), input_dim=10, output_dim=4, name="embed")


@row({"data": (2, 3)}, types=({}, {"data": "float32"}, {"data": "int32"}))
def casts(mx):
    net = mx.sym.Cast(mx.sym.Variable("data"), dtype="float16")
    net = mx.sym.FullyConnected(net, num_hidden=2, name="fc")
    return net.astype("float64")


@row({"data": (2, 3, 4)}, {"data": (2, 3)}, types=({"data": "float16"}, {"data": "float32"}))
def batch_norm(mx):
    data = mx.sym.Variable("data")
    plain = mx.sym.BatchNorm(data, name="bn")
    return mx.sym.Group([plain, mx.sym.BatchNorm(plain, output_mean_var=True, axis=-1, eps=0.1)])


@row({"a": (2, 3)}, types=({"a": "float32"},))
def shared_statistics(mx):
    a, mean = mx.sym.Variable("a"), mx.sym.Variable("mean")
    net = mx.sym.BatchNorm(a, moving_mean=mean, name="x")
    return mx.sym.BatchNorm(net, moving_mean=mean, name="y")


@row({"data": (2, 3, 8, 8)}, {"data": (0, 3, 8, 8), "d": (5, 4, 6, 6)},
     types=({"data": "float32"},))  # fmt: skip
def convolution(mx):
    net = mx.sym.Convolution(mx.sym.Variable("data"), kernel=(3, 3), num_filter=4, name="c")
    return net + mx.sym.Variable("d")


@row({"data": (2, 3, 8)}, {"data": (2, 3, 8, 8)}, {"data": (2, 4, 6, 6, 6)},
     types=({"data": "float32"},))  # fmt: skip
def groups_of_channels(mx):
    net = mx.sym.Variable("data")
    return mx.sym.BatchNorm(mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="avg",
                                           pooling_convention="full"), name="bn")  # fmt: skip


@row({"data": (2, 4, 5, 5)}, types=({"data": "float32"},))
def deconvolution(mx):
    return mx.sym.Deconvolution(mx.sym.Variable("data"), kernel=(4, 4), stride=(2, 2), pad=(1, 1),
                                num_filter=3, num_group=1, name="up")  # fmt: skip


@row({"data": (2, 3, 4, 4)}, types=({"data": "float32"},))
def activations(mx):
    data = mx.sym.Variable("data")
    kinds = ("relu", "sigmoid", "tanh", "softrelu", "softsign")
    made = [mx.sym.Activation(data, act_type=k) for k in kinds]
    made += [mx.sym.LeakyReLU(data, act_type=k) for k in ("leaky", "elu", "prelu", "rrelu")]
    made += [mx.sym.relu(data), mx.sym.sigmoid(data), data.tanh(), mx.sym.softmax(data)]
    return mx.sym.Group(made)


@row({"data": (2, 3, 4, 4)}, types=({"data": "float32"},))
def normalisations(mx):
    net = mx.sym.LRN(mx.sym.Variable("data"), nsize=3)
    net = mx.sym.InstanceNorm(net, name="inorm")
    net = mx.sym.L2Normalization(net)
    net = mx.sym.LayerNorm(net, name="lnorm")
    return mx.sym.Dropout(net, p=0.3)


@row({"data": (2, 3)}, {"data": (0, 3)}, {"softmaxoutput0_label": (2,)},
     types=({"data": "float32"},))  # fmt: skip
def losses(mx):
    data = mx.sym.Variable("data")
    made = [mx.sym.SoftmaxOutput(data), mx.sym.LinearRegressionOutput(data, name="lro"),
            mx.sym.LogisticRegressionOutput(data, name="log"),
            mx.sym.MAERegressionOutput(data, name="mae"), mx.sym.SVMOutput(data, name="svm"),
            mx.sym.MakeLoss(data), mx.sym.BlockGrad(data)]  # fmt: skip
    return mx.sym.Group(made)


@row({"data": (2, 5, 4)}, types=({"data": "float32"},))
def multi_output_softmax(mx):
    return mx.sym.SoftmaxOutput(mx.sym.Variable("data"), multi_output=True, name="softmax")


@row({"x": (2, 3, 4)}, {"x": (0, 3, 4)}, types=({"x": "float32"},))
def shapes(mx):
    x = mx.sym.Variable("x")
    made = [x.reshape((0, -1)), x.reshape((-1,)), mx.sym.Reshape(x, shape=(-2,)),
            mx.sym.Flatten(x), x.transpose((2, 0, 1)), x.expand_dims(axis=1), x.swapaxes(0, 1),
            mx.sym.SwapAxis(x, dim1=0, dim2=2), x.slice_axis(axis=1, begin=0, end=2),
            mx.sym.slice(x, begin=(0, 1), end=(2, 3)), mx.sym.tile(x, reps=(1, 2, 1)),
            mx.sym.repeat(x, repeats=2, axis=1), mx.sym.reverse(x, axis=0)]  # fmt: skip
    return mx.sym.Group(made)


@row({"x": (2, 3, 4)}, types=({"x": "float32"},))
def reductions(mx):
    x = mx.sym.Variable("x")
    made = [x.sum(), x.sum(axis=1), x.mean(axis=(0, 2), keepdims=True), x.max(axis=-1), x.min(),
            x.prod(axis=0), x.norm(), x.argmax(axis=1), x.argmin(axis=1), mx.sym.topk(x, k=2),
            x.sort(), x.argsort(), mx.sym.square(x), x.one_hot(depth=3), x.clip(0, 1)]  # fmt: skip
    return mx.sym.Group(made)


@row({"a": (2, 3), "b": (3, 4)}, {"a": (2, 3)}, types=({"a": "float32"},))
def products(mx):
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    return mx.sym.dot(a, b, name="dot")


@row({"a": (5, 2, 3), "b": (5, 3, 4)}, types=({"a": "float32"},))
def batched_products(mx):
    return mx.sym.batch_dot(mx.sym.Variable("a"), mx.sym.Variable("b"))


@row({"a": (2, 1, 4), "b": (1, 3, 1)}, types=({"a": "float32"},))
def broadcasts(mx):
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    made = [mx.sym.broadcast_add(a, b), mx.sym.broadcast_mul(a, b), mx.sym.broadcast_greater(a, b),
            mx.sym.broadcast_maximum(a, b), a.broadcast_to((2, 3, 4)),
            mx.sym.broadcast_axis(b, axis=0, size=3)]  # fmt: skip
    return mx.sym.Group(made)


@row({"a": (5, 3), "i": (2, 4)}, types=({"a": "float32", "i": "int32"},))
def lookups(mx):
    a, i = mx.sym.Variable("a"), mx.sym.Variable("i")
    return mx.sym.Group([mx.sym.take(a, i), a.take(i)])


@row(
    {"c": (3, 4), "x": (3, 4)}, {"c": (3, 4), "x": (0, 4)}, types=({"c": "int32", "x": "float32"},)
)
def choices(mx):
    c, x, y = (mx.sym.Variable(n) for n in "cxy")
    return mx.sym.where(c, x, y)


@row({"x": (2, 3)}, {}, types=({"x": "float32"},))
def constants(mx):
    x = mx.sym.Variable("x")
    made = [x + mx.sym.zeros((0, 3)), mx.sym.ones((2, 3)), mx.sym.full((2,), 7, dtype="int32"),
            mx.sym.arange(5), mx.sym.arange(2, 9, 2, repeat=2, dtype="int32"), mx.sym.eye(3),
            mx.sym.zeros_like(x), mx.sym.ones_like(x), mx.sym.linspace(0, 1, 5)]  # fmt: skip
    return mx.sym.Group(made)


@row({"x": (4, 6)}, types=({"x": "float32"},))
def splits(mx):
    x = mx.sym.Variable("x")
    return mx.sym.Group([mx.sym.split_v2(x, 2), mx.sym.split_v2(x, (1, 3), axis=1), x.split(2)])


@row({"data": (5, 2, 3)}, {"data": (5, 0, 3)}, types=({"data": "float32"},))
def fused_rnn(mx):
    return mx.sym.RNN(mx.sym.Variable("data"), state_size=4, num_layers=2, mode="lstm",
                      state_outputs=True, name="rnn")  # fmt: skip


@row({"data": (2, 3, 4, 4)}, types=({"data": "float32"},))
def images(mx):
    data = mx.sym.Variable("data")
    net = mx.sym.UpSampling(data, scale=2, sample_type="nearest", num_args=1)
    net = mx.sym.Pad(net, mode="constant", pad_width=(0, 0, 0, 0, 1, 1, 2, 2))
    return mx.sym.Group([net, mx.sym.UpSampling(data, scale=2, sample_type="bilinear",
                                                num_filter=3, name="up")])  # fmt: skip


@row({"data": (2, 3)}, types=({"data": "float32"},))
def composed(mx):
    first = mx.sym.FullyConnected(mx.sym.Variable("data"), name="fc1", num_hidden=10)
    second = mx.sym.FullyConnected(name="fc3", num_hidden=10)
    second = mx.sym.Activation(second, act_type="relu")
    second = mx.sym.FullyConnected(second, name="fc4", num_hidden=20)
    return second(fc3_data=first, name="composed")


@row({"data": (2, 3)}, types=({"data": "float32"},))
def crossed(mx):
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), name="fc", num_hidden=3)
    return net(data=mx.sym.Variable("fc_weight"), fc_weight=mx.sym.Variable("data"))


@row({"x": (2, 3)}, types=({"x": "float32"},))
def repeated_names(mx):
    return mx.sym.Variable("x") + mx.sym.Variable("x")


@row({"data": (2, 3)}, types=({"data": "float32"},))
def diamond(mx):
    data = mx.sym.Variable("data")
    left = mx.sym.FullyConnected(data, num_hidden=4)
    right = mx.sym.FullyConnected(data, num_hidden=4, no_bias=True)
    both = left * right
    return mx.sym.Group([mx.sym.FullyConnected(both + left, num_hidden=2), right, both])


@row({f"x{i}": (1, 2) for i in range(12)}, types=({"x0": "float32"},))
def wide(mx):
    return mx.sym.Concat(*[mx.sym.Variable(f"x{i}") for i in range(12)], dim=0, name="all")


@row({"x": (2, 3)}, types=({"x": "float32"},))
def internals(mx):
    net = mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=4, name="fc")
    net = mx.sym.BatchNorm(mx.sym.Dropout(net), name="bn")
    return net.get_internals()


@row({"x": (2, 3, 4, 4)}, types=({"x": "float32"},))
def children(mx):
    net = mx.sym.Convolution(mx.sym.Variable("x"), kernel=(1, 1), num_filter=2, name="conv")
    return mx.sym.Activation(net, act_type="relu").get_internals()["conv_output"].get_children()


@row({"x": (2, 3)}, types=({"x": "float32"},))
def written_attributes(mx):
    net = mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=4, name="fc")
    net._set_attr(ctx_group="dev2", __a__='"q" \\ \n é', num_hidden="5")
    return net * 2

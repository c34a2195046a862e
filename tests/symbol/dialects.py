"""Graph files as versions of MXNet from 0.8 on wrote them, and broken ones.

It runs in two places: in the tests, and under the reference's Python 3.8, so it knows nothing but
the standard library.
"""


def variable(name, **fields):
    return dict(op="null", name=name, inputs=[], **fields)


def node(op, name, inputs, **fields):
    return dict(op=op, name=name, inputs=inputs, **fields)


def graph(nodes, heads, version=None, **fields):
    arguments = [i for i, n in enumerate(nodes) if n["op"] == "null"]
    whole = dict(nodes=nodes, arg_nodes=arguments, heads=heads, **fields)
    if version:
        whole["attrs"] = {"mxnet_version": ["int", version]}
    return whole


def dense(version, length=3, **attr):
    attr["num_hidden"] = "3"
    inputs = [[i, 0, 0][:length] for i in range(3)]
    nodes = [variable("data"), variable("w"), variable("b")]
    return graph([*nodes, node("FullyConnected", "fc", inputs, attr=attr)], [[3, 0]], version)


def oldest():
    old = {"param": {}, "backward_source_id": -1}
    nodes = [dict(variable(n), **old) for n in ("data", "fc_weight", "fc_bias", "label")]
    hidden = {"ctx_group": "dev1", "weight_lr_mult": "2", "__y__": "z"}
    nodes.append(node("FullyConnected", "fc", [[0, 0], [1, 0], [2, 0]], backward_source_id=-1,
                      param={"no_bias": "False", "num_hidden": "3"}, attr=hidden))  # fmt: skip
    nodes.append(node("Softmax", "sm", [[4, 0], [3, 0]], param={}, backward_source_id=-1))
    return graph(nodes, [[5, 0]])


def without_statistics(version):
    inputs = [[0, 0], [1, 0], [2, 0]]
    nodes = [variable("data"), variable("bn_gamma"), variable("bn_beta")]
    nodes.append(node("BatchNorm", "bn", inputs, param={"eps": "0.001"}))
    return graph(nodes, [[3, 0]], version)


def without_initializers(version):
    names = ("data", "gamma", "beta", "mean", "var", "slope")
    nodes = [variable(n) for n in names]
    nodes[4]["attr"] = {"__init__": '["one", {}]'}
    nodes.append(node("BatchNorm", "bn", [[i, 0, 0] for i in range(5)], attr={"eps": "0.001"}))
    nodes.append(node("LeakyReLU", "p", [[6, 0, 0], [5, 0, 0]], attr={"act_type": "prelu"}))
    nodes.append(variable("average"))
    nodes.append(node("IdentityAttachKLSparseReg", "k", [[7, 0, 0], [8, 0, 0]]))
    return graph(nodes, [[9, 0, 0]], version)


def arg_max(version):
    nodes = [variable("data"), node("argmax", "r", [[0, 0, 0]], attr={"axis": "-1"})]
    return graph(nodes, [[1, 0]], version)


def relu(version=10901, **attrs):
    attrs["act_type"] = "relu"
    nodes = [variable("data"), node("Activation", "r", [[0, 0, 0]], attrs=attrs)]
    return graph(nodes, [[1, 0, 0]], version)


HIDDEN = {"lr_mult": "2", "foo": "x", "ctx_group": "d", "mirror_stage": "1"}

DOCUMENTS = {
    "0.8": oldest(),
    "statistics missing, 0.8": without_statistics(None),
    "initializers missing, 0.8": without_initializers(None),
    "initializers missing, 0.9.3": without_initializers(903),
    "initializers missing, 0.9.4": without_initializers(904),
    "inputs missing, 0.8": graph(
        [variable("data"), node("FullyConnected", "fc", [[0, 0]], attr={"num_hidden": "3"})],
        [[1, 0]],
    ),
    "arg-max over all, 0.9.4": arg_max(904),
    "arg-max over the last, 0.9.5": arg_max(905),
    "hidden attributes of a variable, 0.9": graph([variable("d", attr=HIDDEN)], [[0, 0]], 900),
    "hidden attributes of a variable, 1.0": graph([variable("d", attr=HIDDEN)], [[0, 0]], 10000),
    "hidden attributes of a variable, 1.9.1": graph([variable("d", attrs=HIDDEN)], [[0, 0]], 10901),
    "hidden attributes of an operator": dense(None, 2, lr_mult="9", ctx_group="d", wd_mult="3"),
    "attributes meant for inputs": dense(
        10300, weight_lr_mult="3", bias_wd_mult="0", data_lr_mult="5", lr_mult="9"
    ),
    "attributes meant for no input": dense(10300, foo_lr_mult="3"),
    "hidden attributes, 1.9.1": dense(10901, lr_mult="3"),
    "own attribute": relu(__own__="1"),
    "unknown attribute": relu(foo="1"),
    "bad value": relu(act_type_="foo"),
    "three places for attributes": graph(
        [variable("d", attrs={"b": "2"}, param={"c": "3"})], [[0, 0]], 10901
    ),
    "users before inputs": graph(
        [node("Activation", "r", [[1, 0, 0]], attrs={"act_type": "relu"}), variable("data")],
        [[0, 0, 0]],
        10901,
    ),
    "unused nodes": graph(
        [
            variable("a"),
            variable("b"),
            node("Activation", "r", [[0, 0, 0]], attrs={"act_type": "relu"}),
        ],
        [[2, 0, 0]],
        10901,
    ),
    "casts of mixed precision": graph(
        [
            variable("data"),
            node("amp_cast", "c", [[0, 0, 0]], attrs={"dtype": "float16"}),
            node("Activation", "r", [[1, 0, 0]], attrs={"act_type": "relu"}),
        ],
        [[2, 0, 0]],
        10901,
    ),
    "row pointers": dict(relu(), node_row_ptr=[0, 1, 2]),
    "node out of range": graph(
        [node("Activation", "r", [[5, 0, 0]], attrs={"act_type": "relu"})], [[0, 0, 0]], 10901
    ),
    "head out of range": graph([variable("d")], [[3, 0, 0]], 10901),
    "attribute that is a number": graph([variable("d", attrs={"b": 2})], [[0, 0]], 10901),
    "unknown field of a node": graph([variable("d", foo="b")], [[0, 0]], 10901),
    "unknown field": dict(relu(), bar=[1]),
    "empty": {},
    "list": [],
}
"""JSON values by what they show."""

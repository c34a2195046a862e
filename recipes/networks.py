"""The networks that the recipes train on 8x8 images of digits."""

from symbols.resnet import resnet

import modkit as mx


def mlp(classes=10):
    """Two hidden layers."""
    net = mx.sym.Flatten(mx.sym.Variable("data"))
    for number, width in enumerate((128, 64), 1):
        net = mx.sym.FullyConnected(net, num_hidden=width, name=f"fc{number}")
        net = mx.sym.Activation(net, act_type="relu", name=f"relu{number}")
    net = mx.sym.FullyConnected(net, num_hidden=classes, name="fc3")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def lenet(classes=10):
    """Two convolutions and two dense layers, after LeCun et al. 1998, for 8x8 images."""
    net = mx.sym.Variable("data")
    for number, filters in enumerate((16, 32), 1):
        net = mx.sym.Convolution(
            net, kernel=(3, 3), pad=(1, 1), num_filter=filters, name=f"conv{number}"
        )
        net = mx.sym.Activation(net, act_type="relu", name=f"relu{number}")
        net = mx.sym.Pooling(
            net, kernel=(2, 2), stride=(2, 2), pool_type="max", name=f"pool{number}"
        )
    net = mx.sym.FullyConnected(mx.sym.Flatten(net), num_hidden=128, name="fc1")
    net = mx.sym.Activation(net, act_type="relu", name="relu3")
    net = mx.sym.Dropout(net, p=0.25, name="drop")
    net = mx.sym.FullyConnected(net, num_hidden=classes, name="fc2")
    return mx.sym.SoftmaxOutput(net, name="softmax")


NETWORKS = {"mlp": mlp, "lenet": lenet, "resnet": lambda: resnet(8, 10, small=True)}

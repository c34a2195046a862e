"""Pre-activation residual networks (He et al. 2016, arXiv:1603.05027) as symbols.

Layers bear the names that checkpoints of such networks have long borne: `bn_data`, `conv0`,
`stage1_unit1_bn1`, ..., `bn1`, `relu1`, `pool1`, `fc1`, `softmax`. For images of up to 32 pixels
there are three stages and a small first layer; for larger ones four, and a 7x7 convolution with
pooling in front.

    python recipes/symbols/resnet.py --depth 50 --output recipes/symbols/resnet50-symbol.json
    python recipes/symbols/resnet.py --depth 20 --classes 10 --image 3,28,28 --output small.json
"""

import argparse
import sys
from dataclasses import dataclass

import modkit as mx

SMALL = 32
BN = {"eps": 2e-5, "momentum": 0.9}
UNITS = {
    18: (2, 2, 2, 2),
    34: (3, 4, 6, 3),
    50: (3, 4, 6, 3),
    101: (3, 4, 23, 3),
    152: (3, 8, 36, 3),
    200: (3, 24, 36, 3),
    269: (3, 30, 48, 8),
}


@dataclass(frozen=True)
class Plan:
    """Units and output channels of each stage, and whether the units have a bottleneck.

    `channels` begins with those of the first convolution.
    """

    units: tuple
    channels: tuple
    bottleneck: bool


def plan(depth, small):
    """The stages of a network of the given depth, for small or large images."""
    if not small:
        if depth not in UNITS:
            raise ValueError(f"depth {depth}: for large images one of {sorted(UNITS)}")
        bottleneck = depth >= 50
        wide = (64, 256, 512, 1024, 2048) if bottleneck else (64, 64, 128, 256, 512)
        return Plan(UNITS[depth], wide, bottleneck)
    if depth >= 164 and depth % 9 == 2:
        return Plan((depth // 9,) * 3, (16, 64, 128, 256), bottleneck=True)
    if depth < 164 and depth % 6 == 2 and depth > 2:
        return Plan((depth // 6,) * 3, (16, 16, 32, 64), bottleneck=False)
    raise ValueError(f"depth {depth}: for small images 6n + 2 below 164, or 9n + 2 from 164")


def convolution(data, channels, size, stride, name):
    """A convolution without bias, padded to keep the image size at stride 1."""
    return mx.sym.Convolution(
        data,
        num_filter=channels,
        kernel=(size, size),
        stride=(stride, stride),
        pad=(size // 2, size // 2),
        no_bias=True,
        name=name,
    )


def norm_relu(data, batch_norm, relu):
    """BatchNorm with a learned scale, then ReLU, with the two names."""
    data = mx.sym.BatchNorm(data, fix_gamma=False, name=batch_norm, **BN)
    return mx.sym.Activation(data, act_type="relu", name=relu)


def unit(data, channels, stride, same, bottleneck, name):
    """A residual unit: normalize, activate, convolve, two or three times, and add the input.

    With `same` the input is added as it is; otherwise after a 1x1 convolution.
    """
    first = norm_relu(data, f"{name}_bn1", f"{name}_relu1")
    if bottleneck:
        body = convolution(first, channels // 4, 1, 1, f"{name}_conv1")
        body = norm_relu(body, f"{name}_bn2", f"{name}_relu2")
        body = convolution(body, channels // 4, 3, stride, f"{name}_conv2")
        body = norm_relu(body, f"{name}_bn3", f"{name}_relu3")
        body = convolution(body, channels, 1, 1, f"{name}_conv3")
    else:
        body = convolution(first, channels, 3, stride, f"{name}_conv1")
        body = norm_relu(body, f"{name}_bn2", f"{name}_relu2")
        body = convolution(body, channels, 3, 1, f"{name}_conv2")
    shortcut = data if same else convolution(first, channels, 1, stride, f"{name}_sc")
    return body + shortcut


def first_layers(channels, small):
    """The layers before the stages: input normalization and the first convolution."""
    net = mx.sym.BatchNorm(mx.sym.Variable("data"), fix_gamma=True, name="bn_data", **BN)
    if small:
        return convolution(net, channels, 3, 1, "conv0")
    net = norm_relu(convolution(net, channels, 7, 2, "conv0"), "bn0", "relu0")
    return mx.sym.Pooling(
        net, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="max", name="pooling0"
    )


def resnet(depth, classes, small=False):
    """The network: `data` of (N, channels, height, width) in, `softmax_output` of (N, classes) out.

    Unnamed layers are numbered from 0 whatever was made before.
    """
    stages = plan(depth, small)
    with mx.name.NameManager():
        net = first_layers(stages.channels[0], small)
        for i, (units, channels) in enumerate(
            zip(stages.units, stages.channels[1:], strict=True), start=1
        ):
            for j in range(1, units + 1):
                stride = 2 if j == 1 and i > 1 else 1
                name = f"stage{i}_unit{j}"
                net = unit(net, channels, stride, j > 1, stages.bottleneck, name)
        net = norm_relu(net, "bn1", "relu1")
        net = mx.sym.Pooling(net, global_pool=True, kernel=(7, 7), pool_type="avg", name="pool1")
        net = mx.sym.Flatten(net)
        net = mx.sym.FullyConnected(net, num_hidden=classes, name="fc1")
        return mx.sym.SoftmaxOutput(net, name="softmax")


def main(arguments=None):
    """Write the symbol for the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--depth", type=int, default=50)
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--image", default="3,224,224", help="channels,height,width")
    parser.add_argument("--output", required=True, help="the -symbol.json file to write")
    options = parser.parse_args(arguments)
    _, height, _ = (int(part) for part in options.image.split(","))
    resnet(options.depth, options.classes, small=height <= SMALL).save(options.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())

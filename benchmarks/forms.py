"""Training steps of small networks with all CPU forms of operators, and without one of them.

    python -m benchmarks.forms                         # every form, some minutes
    python -m benchmarks.forms --only phases,strips --rounds 5

A form is replaced by what XLA makes of the operator. Each figure is of processes of their own,
which take turns; ratios are medians over rounds. Processor time changes less than the clock's where
other work runs beside.
"""

from __future__ import annotations

import argparse
import functools
import json
import statistics
from typing import Any, NamedTuple

import modkit as mx
from benchmarks.networks import Network
from benchmarks.tuning import ROWS, train, turn
from modkit.ops.nn.convolution import Moves, by_xla
from modkit.ops.nn.deconvolution import deconvolve
from modkit.ops.nn.windows import PLAIN
from modkit.tuning.cpu import conv_matmul, convolution, forms

Symbol = mx.sym.Symbol
NO_MOVES = Moves((1, 1), (1, 1), ((0, 0), (0, 0)))


def _conv(net: Symbol, filters: int, kernel: int, stride: int = 1, pad: int = 0) -> Symbol:
    moves: dict[str, Any] = {"stride": (stride, stride), "pad": (pad, pad)}
    net = mx.sym.Convolution(net, num_filter=filters, kernel=(kernel, kernel), **moves)
    return mx.sym.Activation(net, act_type="relu")


def _deconv(net: Symbol, filters: int, kernel: int, stride: int = 1, pad: int = 0) -> Symbol:
    moves: dict[str, Any] = {"stride": (stride, stride), "pad": (pad, pad)}
    return mx.sym.Deconvolution(net, num_filter=filters, kernel=(kernel, kernel), **moves)


def _max(net: Symbol, dims: int = 2) -> Symbol:
    return mx.sym.Pooling(net, kernel=(2,) * dims, stride=(2,) * dims, pool_type="max")


def _classes(net: Symbol, network: Network) -> Symbol:
    net = mx.sym.FullyConnected(mx.sym.Flatten(net), num_hidden=network.classes)
    return mx.sym.SoftmaxOutput(net, name="softmax")


def _mean(net: Symbol) -> Symbol:
    return mx.sym.Pooling(net, global_pool=True, pool_type="avg", kernel=(1, 1))


def dcgan(network: Network) -> Symbol:
    """Generator and discriminator of 32x32 images (Radford et al., 2016), in one graph."""
    net = mx.sym.Activation(_deconv(mx.sym.Variable("data"), 256, 4), act_type="relu")
    for filters in (128, 64):
        net = mx.sym.Activation(mx.sym.BatchNorm(_deconv(net, filters, 4, 2, 1)), act_type="relu")
    net = mx.sym.Activation(_deconv(net, 3, 4, 2, 1), act_type="tanh")
    for filters in (64, 128, 256):
        net = _conv(net, filters, 4, 2, 1)
    return _classes(net, network)


def unet(network: Network) -> Symbol:
    """Three levels down and up again, each with its concatenation (Ronneberger et al., 2015)."""
    net, kept = mx.sym.Variable("data"), []
    for filters in (16, 32, 64):
        net = _conv(_conv(net, filters, 3, 1, 1), filters, 3, 1, 1)
        kept.append(net)
        net = _max(net)
    net = _conv(net, 128, 3, 1, 1)
    for filters, same in zip((64, 32, 16), reversed(kept), strict=True):
        net = mx.sym.Concat(_deconv(net, filters, 2, 2), same)
        net = _conv(_conv(net, filters, 3, 1, 1), filters, 3, 1, 1)
    return _classes(_mean(_conv(net, 8, 1)), network)


def fcn(network: Network) -> Symbol:
    """Classes of pixels: VGG-11's first half, scores, enlarged by 8 (FCN: Long et al., 2015)."""
    net = mx.sym.Variable("data")
    for filters in ((64,), (128,), (256, 256)):
        for each in filters:
            net = _conv(net, each, 3, 1, 1)
        net = _max(net)
    return _classes(_mean(_deconv(_conv(net, 21, 1), 21, 16, 8, 4)), network)


def vgg(network: Network) -> Symbol:
    """VGG-11 for images of 32x32, whose last layers see 2x2."""
    net = mx.sym.Variable("data")
    for filters in ((64,), (128,), (256, 256), (512, 512), (512, 512)):
        for each in filters:
            net = _conv(net, each, 3, 1, 1)
        net = _max(net)
    return _classes(net, network)


def fsrcnn(network: Network) -> Symbol:
    """Super-resolution by 3 of one channel (Dong et al., 2016)."""
    net = _conv(_conv(mx.sym.Variable("data"), 56, 5, 1, 2), 12, 1)
    for _ in range(4):
        net = _conv(net, 12, 3, 1, 1)
    net = _deconv(_conv(net, 56, 1), 1, 9, 3, 3)
    return _classes(_max(_max(net)), network)


def text_cnn(network: Network) -> Symbol:
    """Convolutions over 3, 4 and 5 words of 300 numbers, which are learnt (Kim, 2014)."""
    numbers, parts = mx.sym.floor(mx.sym.abs(mx.sym.Variable("data")) * 1000), []
    data = mx.sym.Embedding(mx.sym.clip(numbers, 0, 4999), input_dim=5000, output_dim=300)
    data = mx.sym.expand_dims(data, 1)
    for words in (3, 4, 5):
        net = mx.sym.Convolution(data, kernel=(words, 300), num_filter=100)
        net = mx.sym.Activation(net, act_type="relu")
        parts.append(mx.sym.Pooling(net, global_pool=True, pool_type="max", kernel=(1, 1)))
    return _classes(mx.sym.Concat(*parts), network)


def c3d(network: Network) -> Symbol:
    """Three 3x3x3 convolutions of short films (Tran et al., 2015)."""
    net = mx.sym.Variable("data")
    for filters in (16, 32, 64):
        net = mx.sym.Convolution(net, kernel=(3, 3, 3), pad=(1, 1, 1), num_filter=filters)
        net = _max(mx.sym.Activation(net, act_type="relu"), 3)
    return _classes(net, network)


def alexnet(network: Network) -> Symbol:
    """The convolutions of AlexNet, in two groups where it has them."""
    net = _max(_conv(mx.sym.Variable("data"), 96, 11, 4, 2))
    net = mx.sym.Convolution(net, num_filter=256, kernel=(5, 5), pad=(2, 2), num_group=2)
    net = _max(mx.sym.Activation(net, act_type="relu"))
    for filters in (384, 384, 256):
        net = _conv(net, filters, 3, 1, 1)
    return _classes(_max(net), network)


OWN = {
    "dcgan": (Network("DCGAN 32x32, batch 32", "", (32, 100, 1, 1), 2, 5), dcgan),
    "unet": (Network("U-Net 128x128, batch 2", "", (2, 1, 128, 128), 2, 5), unet),
    "fcn": (Network("FCN-8s 160x160, batch 2", "", (2, 3, 160, 160), 21, 3), fcn),
    "vgg": (Network("VGG-11 32x32, batch 64", "", (64, 3, 32, 32), 10, 3), vgg),
    "fsrcnn": (Network("FSRCNN 32x32, batch 16", "", (16, 1, 32, 32), 2, 5), fsrcnn),
    "text": (Network("text CNN 56 words, batch 50", "", (50, 56), 2, 5), text_cnn),
    "c3d": (Network("C3D 8x56x56, batch 4", "", (4, 3, 8, 56, 56), 10, 5), c3d),
    "alexnet": (Network("AlexNet 224x224, batch 16", "", (16, 3, 224, 224), 10, 3), alexnet),
    **ROWS,
}


def _never(*_: Any) -> bool:
    return False


def _grouped(data: Any, weight: Any, moves: Moves, groups: int | None = None) -> Any:
    return by_xla(data, weight, moves, groups or data.shape[-1])


class Form(NamedTuple):
    """A form, the name that decides for it and what stands there without it, and networks."""

    module: Any
    name: str
    without: Any
    networks: tuple[str, ...]


FORMS = {
    "slices": Form(conv_matmul, "_slices_are_faster", _never, ("lenet", "resnet20", "vgg")),
    "phases": Form(conv_matmul, "phases_are_faster", _never, ("fcn",)),
    "col2im": Form(conv_matmul, "col2im_is_faster", _never, ("dcgan", "fsrcnn", "lenet")),
    "strips": Form(conv_matmul, "_MOST_STRIPS", 1, ("unet", "c3d")),
    "smaller": Form(conv_matmul, "_is_smaller", _never, ("vgg",)),
    "pointwise": Form(
        convolution, "pointwise", lambda x, w: by_xla(x, w[:, None, None], NO_MOVES),
        ("mobile", "resnet50"),
    ),
    "covered": Form(convolution, "_fold_covered", lambda x, w, _: (x, w), ("text",)),
    "depthwise": Form(convolution, "_channel_by_channel", _grouped, ("mobile",)),
    "groups": Form(convolution, "_by_group", _grouped, ("resnext", "alexnet")),
    "depth": Form(
        convolution, "_by_depth", lambda x, w, moves, g: by_xla(x, w, moves, g, "NDHWC"), ("c3d",)
    ),
    "transposed": Form(forms, "_deconvolve", deconvolve, ("dcgan", "unet", "fsrcnn")),
    "pooling": Form(forms, "BY_CELL", PLAIN, ("lenet", "vgg", "alexnet")),
}  # fmt: skip


def trained(network: str, form: str) -> dict[str, float]:
    """The figures of a network without a form; ``""``: with all."""
    if form:
        module, name, without, _ = FORMS[form]
        getattr(module, name)  # an AttributeError if the form is gone
        setattr(module, name, without)
    return train(*OWN[network])


def main(arguments: list[str] | None = None) -> None:
    """Measure in turns, and print a table in Markdown."""
    parser = argparse.ArgumentParser(description="Training steps by CPU form of an operator.")
    parser.add_argument("--only", default=",".join(FORMS), help="forms, with commas between")
    parser.add_argument("--networks", help="of their networks only these, with commas between")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args(arguments)
    if args.worker:
        print(json.dumps(trained(*args.worker)))
        return
    print(
        "| form | network | rounds | with, ms | without, ms | with ÷ without | of processor time "
        "| first step, s |\n| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |"
    )
    for form in args.only.split(","):
        for network in FORMS[form].networks:
            if args.networks and network not in args.networks.split(","):
                continue
            worker = functools.partial(turn, "benchmarks.forms", network)
            rounds = [(worker(""), worker(form)) for _ in range(args.rounds)]
            clock, processor = (
                statistics.median(a[kind] / b[kind] for a, b in rounds)
                for kind in ("ms", "processor ms")
            )
            cells = [statistics.median(turn[at]["ms"] for turn in rounds) for at in (0, 1)]
            first = [statistics.median(t[at]["first step s"] for t in rounds) for at in (0, 1)]
            print(
                f"| {form} | {OWN[network][0].title} | {args.rounds} | {cells[0]:.3g} | "
                f"{cells[1]:.3g} | {clock:.2f} | {processor:.2f} | "
                f"{first[0]:.2g}, {first[1]:.2g} |", flush=True
            )  # fmt: skip


if __name__ == "__main__":
    main()

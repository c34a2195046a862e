"""The arguments of the commands, and their help: what is read before a command's module is."""

from __future__ import annotations

import argparse
import re
from argparse import ArgumentParser, ArgumentTypeError, RawDescriptionHelpFormatter
from collections.abc import Callable
from typing import Any

from modkit.commands.arguments import add_shape, add_symbol, count, numbers, picture_size, positive

WIDTH = 120
"""Characters in a line of ``modkit summary``."""

SOURCES = ("dot", "gv")
"""Endings of ``modkit plot`` for graphviz's own language."""

FORMATS = ("svg", "png", "pdf", "jpg", "ps", *SOURCES)
"""Endings of ``modkit plot``."""

PICTURE_DEFAULTS: dict[str, Any] = {
    "size": None, "short": None, "mean": (0.0,), "std": (1.0,), "scale": 1.0, "bgr": False,
}  # fmt: skip
"""Options of ``modkit predict`` for pictures, and their values where they are not given."""


_RUN = """\
run a program that says `import mxnet as mx`, over modkit:

  modkit run train_mnist.py --batch-size 64
  modkit run --map gpu=cpu --devices 4 train_mnist.py --gpus 0,1,2,3
  modkit run -m package.train --batch-size 64

Everything after the program's name goes to the program. Names that Python and NumPy have dropped
since (np.float, time.clock, collections.Mapping, imp, ...) are put back for the run, and listed on
stderr at its end. Programs that it starts by the same Python run over modkit too.
"""


def _run(parser: ArgumentParser) -> None:
    _runner(parser, "[options]")
    parser.add_argument("--no-shims", dest="shims", action="store_false",
                        help="do not put dropped names back")  # fmt: skip
    parser.add_argument(
        "--map", dest="maps", action="append", default=[], type=_kinds, metavar="FROM=TO",
        help="place contexts of a kind on the devices of another: gpu=cpu",
    )  # fmt: skip
    parser.add_argument("--devices", type=positive, metavar="N",
                        help="number of CPU devices that JAX shows")  # fmt: skip


def _runner(parser: ArgumentParser, options: str) -> None:
    """The arguments of a command that runs a program, whose own options follow its name."""
    parser.usage = f"{parser.prog} {options} (script.py | -m module) [arguments ...]"
    parser.allow_abbrev = False
    parser.add_argument("-m", dest="as_module", action="store_true", help="run a module by name")
    parser.add_argument("program", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)


def _kinds(text: str) -> tuple[str, str]:
    kind, _, onto = text.partition("=")
    known = ("cpu", "gpu", "tpu")
    if kind not in known or onto not in known:
        raise ArgumentTypeError(f"got {text!r}, expected two of {known}: gpu=cpu")
    return kind, onto


_INSPECT = """\
say what is in files of MXNet's: -symbol.json, .params, .states, .rec, .idx, .lst, and in .npz,
.safetensors and .onnx; and in folders of checkpoints

  modkit inspect resnet-symbol.json resnet-0000.params
  modkit inspect out/checkpoints
  modkit inspect --json train.rec | jq '.[0].records'
"""


def _inspect(parser: ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE_OR_FOLDER")
    parser.add_argument(
        "--stats", action="store_true", help="measure arrays: least, largest, mean; reads all"
    )
    parser.add_argument("--json", action="store_true", help="write a JSON list, a file an item")


def _summary(parser: ArgumentParser) -> None:
    add_symbol(parser)
    add_shape(parser, "shape of an input")
    parser.add_argument(
        "--width", type=positive, help=f"of the table (default: {WIDTH}, or the terminal's if less)"
    )


def _plot(parser: ArgumentParser) -> None:
    add_symbol(parser)
    parser.add_argument(
        "-o", "--output", required=True, metavar="FILE",
        help=f"the picture; its ending says the format: {', '.join(FORMATS)}",
    )  # fmt: skip
    add_shape(parser, "shape of an input, to write shapes beside the edges")
    parser.add_argument("--weights", action="store_true", help="draw weights too")
    parser.add_argument("--title", help="name of the picture (default: of the file)")


def _convert(parser: ArgumentParser) -> None:
    parser.add_argument("source", metavar="IN", help="a file of arrays, of any of the formats")
    parser.add_argument("target", metavar="OUT", help="the new file; its ending says the format")
    names = parser.add_mutually_exclusive_group()
    names.add_argument("--strip", action="store_true", help="leave arg: and aux: out of the names")
    names.add_argument(
        "--symbol", metavar="FILE",
        help="put arg: and aux: before the names, as this -symbol.json says",
    )  # fmt: skip


def _export(parser: ArgumentParser) -> None:
    parser.add_argument("prefix", metavar="PREFIX")
    parser.add_argument("epoch", metavar="EPOCH", type=count)
    parser.add_argument("model", metavar="MODEL.onnx", help="the file to write")
    add_shape(parser, "shape of an input")
    parser.add_argument(
        "--dynamic", action="store_true", help="leave the first size of each input open"
    )


_PREDICT = """\
run a checkpoint, PREFIX-symbol.json and PREFIX-<EPOCH>.params, on a picture or arrays

  modkit predict resnet-50 0 --input cat.jpg --short 256 --size 224 \\
      --mean 123.68,116.779,103.939 --labels synset.txt
  modkit predict net 10 --input data=x.npy --input state=h.npy --save y.npz

Each number of a picture becomes (pixel - mean) / std * scale; mean and std are given once for
all channels or for each, in the order in which the net takes them.
"""


def _predict(parser: ArgumentParser) -> None:
    parser.add_argument("prefix", metavar="PREFIX")
    parser.add_argument("epoch", metavar="EPOCH", type=count)
    parser.add_argument(
        "--input", action="append", required=True, metavar="[NAME=]FILE",
        help="a picture or an .npy file of a batch; once for each input of the net",
    )  # fmt: skip
    add_shape(parser, "shape of an input (default: that of the file)")
    parser.add_argument("--top-k", type=int, metavar="K", help="classes (default: 5)")
    parser.add_argument("--labels", metavar="FILE", help="names of the classes, a line each")
    parser.add_argument("--save", metavar="FILE", help="write the outputs: .npz or another format")
    parser.add_argument("--json", action="store_true", help="write JSON")
    parser.add_argument("--ctx", type=_context, metavar="CTX", help="cpu (default), gpu, gpu(1)")
    _add_pictures(parser.add_argument_group("pictures"))


def _add_pictures(group: Any) -> None:
    group.add_argument("--size", type=picture_size, metavar="H,W",
                       help="height and width; default: as --shape says, else its own")  # fmt: skip
    group.add_argument("--short", type=positive, metavar="S",
                       help="first bring its shorter side to S, then cut the middle out; "
                       "default: stretch it to the size")  # fmt: skip
    group.add_argument("--mean", type=numbers, help="default: 0")
    group.add_argument("--std", type=numbers, help="default: 1")
    group.add_argument("--scale", type=float, help="default: 1")
    order = group.add_mutually_exclusive_group()
    order.add_argument("--rgb", dest="bgr", action="store_false",
                       help="channels are red, green, blue: the default, and MXNet's")  # fmt: skip
    order.add_argument("--bgr", dest="bgr", action="store_true", help="blue, green, red")
    group.set_defaults(**PICTURE_DEFAULTS)


def _context(text: str) -> tuple[str, int]:
    found = re.fullmatch(r"(cpu|gpu|tpu)(?:\((\d+)\))?", text)
    if found is None:
        raise ArgumentTypeError(f"got {text!r}, expected cpu, gpu or gpu(1)")
    return found[1], int(found[2] or 0)


_LAUNCH = """\
start a program as several workers, each as `modkit run` does:

  modkit launch -n 4 train.py --kv-store dist_sync
  modkit launch -n 2 --devices-per-worker 2 train.py --kv-store dist_sync
  modkit launch -H node0:4,node1:4 train.py --kv-store dist_sync

Lines of output begin with the number of the worker. The first worker that fails ends all others;
so does Ctrl-C. With -H they run on machines that ssh reaches without a password, in a folder and by
a Python of the same paths as here.
"""


def _launch(parser: ArgumentParser) -> None:
    _runner(parser, "[-n N] [-H HOSTS] [options]")
    parser.add_argument("-n", dest="workers", type=positive, metavar="N",
                        help="number of workers")  # fmt: skip
    parser.add_argument("-H", dest="hosts", metavar="HOSTS",
                        help="machines, as a:2,b:2 or a file with one a line")  # fmt: skip
    parser.add_argument("--env", action="append", default=[], metavar="NAME[=VALUE]",
                        help="a variable for the workers of -H; those of modkit, JAX, XLA and NCCL "
                        "and PYTHONPATH are given to them in any case")  # fmt: skip
    parser.add_argument("--devices-per-worker", type=positive, metavar="D",
                        help="number of CPU devices that JAX shows in each worker")  # fmt: skip
    parser.add_argument("--port", type=_port, default=0, metavar="PORT",
                        help="of worker 0 (default: a free one)")  # fmt: skip
    parser.add_argument("--coordinator", metavar="HOST:PORT",
                        help="of worker 0, if it is on another machine")  # fmt: skip
    parser.add_argument("--ranks", type=_ranks, metavar="FIRST-LAST",
                        help="start these workers of all N; needs --coordinator")  # fmt: skip
    parser.add_argument("--end-with-stdin", action="store_true", help=argparse.SUPPRESS)


def _port(text: str) -> int:
    if not text.isdigit() or not 0 <= int(text) < 1 << 16:
        raise ArgumentTypeError(f"got {text!r}, expected a port below 65536")
    return int(text)


def _ranks(text: str) -> range:
    first, dash, last = text.partition("-")
    last = last if dash else first
    if not (first.isdecimal() and last.isdecimal() and int(first) <= int(last)):
        raise ArgumentTypeError(f"got {text!r}, expected numbers of workers such as 2-3")
    return range(int(first), int(last) + 1)


_COMMANDS: dict[str, tuple[str, Callable[[ArgumentParser], None], str]] = {
    "run": ("run a program that imports mxnet", _run, _RUN),
    "inspect": ("say what is in a file", _inspect, _INSPECT),
    "summary": (
        "list the layers of a net", _summary,
        "list the layers of a net with their shapes and numbers of parameters, which "
        "are counted layer by layer as MXNet does, and below as they are",
    ),
    "plot": (
        "draw a net", _plot,
        "draw a net with graphviz: the Python package (pip install '.[viz]') and, "
        "but for .dot files, the program dot of the system's graphviz package",
    ),
    "convert": (
        "convert arrays between .params, .npz and .safetensors, and old nets", _convert,
        "convert arrays between .params, .npz and .safetensors. Names stay as they "
        "are, arg: and aux: included; arrays without names are called arr_0, arr_1, ... as NumPy "
        "does, and lose these names in .params. Sparse arrays become dense. A -symbol.json of any "
        "version of MXNet becomes one as 1.9.1 writes it.",
    ),
    "export": (
        "write a checkpoint as an ONNX model", _export,
        "write a checkpoint, PREFIX-symbol.json and PREFIX-<EPOCH>.params, as an ONNX "
        "model for prediction (opset 13); needs the package onnx",
    ),
    "predict": ("run a checkpoint on a picture or arrays", _predict, _PREDICT),
    "launch": ("start a program as several workers", _launch, _LAUNCH),
}  # fmt: skip
"""Purpose, arguments and description of each, in the order in which help lists them."""


def add_commands(commands: Any) -> None:
    """Add the commands to the subparsers of the command line."""
    for name, (about, add_arguments, description) in _COMMANDS.items():
        how = RawDescriptionHelpFormatter if "\n" in description else argparse.HelpFormatter
        add_arguments(
            commands.add_parser(name, help=about, description=description, formatter_class=how)
        )

"""``modkit export``: a checkpoint as an ONNX model."""

from __future__ import annotations

from argparse import Namespace, _SubParsersAction
from typing import Any

from modkit import onnx
from modkit.checkpoint import load_checkpoint
from modkit.commands.arguments import add_shape
from modkit.commands.screen import guarded, write
from modkit.errors import NameNotFoundError, ParameterError, nearest


def add_parser(commands: _SubParsersAction[Any]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "export",
        help="write a checkpoint as an ONNX model",
        description="write a checkpoint, PREFIX-symbol.json and PREFIX-<EPOCH>.params, as an ONNX "
        "model for prediction (opset 13); needs the package onnx",
    )
    parser.add_argument("prefix", metavar="PREFIX")
    parser.add_argument("epoch", metavar="EPOCH", type=int)
    parser.add_argument("model", metavar="MODEL.onnx", help="the file to write")
    add_shape(parser, "shape of an input")
    parser.add_argument(
        "--dynamic", action="store_true", help="leave the first size of each input open"
    )
    parser.set_defaults(work=guarded("export", _export))


def _export(arguments: Namespace) -> None:
    net, args, auxs = load_checkpoint(arguments.prefix, arguments.epoch)
    shapes, inputs = dict(arguments.shape), [n for n in net.list_arguments() if n not in args]
    unknown = [n for n in shapes if n not in inputs]
    if unknown:
        raise NameNotFoundError(
            f"no input {unknown[0]!r}.{nearest(unknown[0], inputs)} There are: {', '.join(inputs)}"
        )
    if inputs and not shapes:
        raise ParameterError(f"give the shapes of the inputs: --shape {inputs[0]}=1,3,224,224")
    given = [shapes[n] for n in inputs if n in shapes]
    onnx.export_model(
        net, [args, auxs], given, onnx_file_path=arguments.model, dynamic=arguments.dynamic
    )
    write(f"wrote {arguments.model}")

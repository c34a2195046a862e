"""``modkit export``: a checkpoint as an ONNX model."""

from __future__ import annotations

from argparse import Namespace

from modkit import onnx
from modkit.checkpoint import load_checkpoint
from modkit.commands.screen import write
from modkit.errors import ParameterError, check_known


def work(arguments: Namespace) -> None:
    """Write the ONNX model."""
    net, args, auxs = load_checkpoint(arguments.prefix, arguments.epoch)
    shapes, inputs = dict(arguments.shape), [n for n in net.list_arguments() if n not in args]
    for name in shapes:
        check_known("no input", name, inputs)
    if inputs and not shapes:
        raise ParameterError(f"give the shapes of the inputs: --shape {inputs[0]}=1,3,224,224")
    given = [shapes[n] for n in inputs if n in shapes]
    onnx.export_model(
        net, [args, auxs], given, onnx_file_path=arguments.model, dynamic=arguments.dynamic
    )
    write(f"wrote {arguments.model}")

"""``modkit predict``: outputs of a checkpoint for a picture or arrays."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from modkit.artefacts import Table, write_arrays
from modkit.artefacts.base import json_text
from modkit.artefacts.containers import kind_by_ending
from modkit.artefacts.npz import read_npy
from modkit.artefacts.stored import measure, pieces_of
from modkit.checkpoint import load_checkpoint
from modkit.commands.arguments import Shape
from modkit.commands.parsers import PICTURE_DEFAULTS
from modkit.commands.preprocessing import Preparation, read_picture
from modkit.commands.screen import complain, show, write
from modkit.context import Context
from modkit.errors import ParameterError, ShapeError, check_known
from modkit.files import text_lines
from modkit.ndarray import NDArray
from modkit.predictor import Predictor, open_inputs, rank
from modkit.symbol import Symbol
from modkit.symbol.graph import Entry, Graph

_PICTURE_HINT = (
    ". --size sets the height and width of a picture, and --shape {}=1,1,H,W its channels too"
)


def work(arguments: Namespace) -> None:
    """Print or save the outputs."""
    if arguments.save:
        kind_by_ending(arguments.save)  # reports a wrong ending before anything is computed
    labels = [line for _, line in text_lines(arguments.labels)] if arguments.labels else None
    net, args, auxs = load_checkpoint(arguments.prefix, arguments.epoch)
    names = open_inputs(net, {*args, *auxs})
    shapes, paths = dict(arguments.shape), _inputs(arguments.input, names)
    _refuse_preparation(paths.values(), arguments)
    channels = _channels(net, args)
    arrays = {n: _read(path, shapes.get(n), channels, arguments) for n, path in paths.items()}
    _check_arrays(arrays, shapes)
    bound = {n: shapes.get(n, a.shape) for n, a in arrays.items()}
    context = Context(*arguments.ctx) if arguments.ctx else None
    try:
        predictor = Predictor(net, (args, auxs), bound, context)
    except ShapeError as error:
        pictures = [n for n, path in paths.items() if not _is_array(path) and n not in shapes]
        hint = _PICTURE_HINT.format(pictures[0]) if pictures else ""
        raise ShapeError(f"--input {', '.join(paths.values())}: {error}{hint}") from error
    found = predictor.predict(arrays)
    found = found if isinstance(found, list) else [found]
    outputs = dict(zip(predictor.output_names, found, strict=True))
    if arguments.save:
        write_arrays(arguments.save, outputs)
    heads = zip(predictor.output_names, net.heads, strict=True)
    scores = [n for n, head in heads if _scores(head, outputs[n])]
    k = 5 if arguments.top_k is None else arguments.top_k
    _report(outputs, scores, k, labels, arguments.json)
    for name in scores if arguments.top_k else ():
        if k > (count := outputs[name].shape[1]):
            complain("predict", f"--top-k {k}: {name} has {count} classes; all are shown")


def _inputs(given: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """Paths by input name."""
    found: dict[str, str] = {}
    for text in given:
        name, equals, path = text.partition("=")
        if not equals or (name not in names and Path(text).exists()):
            if len(names) != 1:
                raise ParameterError(
                    f"--input {text}: which input? The net takes {', '.join(names) or 'none'}; "
                    "give it as NAME=FILE"
                )
            name, path = names[0], text
        check_known("--input: no input", name, names, "The net takes")
        if name in found:
            raise ParameterError(f"--input: {name!r} is given twice")
        if not path:
            raise ParameterError(f"--input {text}: got no file, expected NAME=FILE")
        found[name] = path
    missing = [n for n in names if n not in found]
    if missing:
        raise ParameterError(f"--input: {missing[0]!r} is missing; give {missing[0]}=FILE")
    return found


def _check_arrays(arrays: Mapping[str, np.ndarray], shapes: Mapping[str, Shape]) -> None:
    """Raise for an input without samples, and for a shape of no input."""
    for name, array in arrays.items():
        if not array.size:
            raise ParameterError(
                f"--input {name}: got an array of shape {array.shape}, which has no sample to "
                "predict for; expected at least one"
            )
    for name in shapes:
        check_known("--shape: no input", name, arrays, "The net takes")


def _refuse_preparation(paths: Collection[str], arguments: Namespace) -> None:
    """Raise for options of pictures where no input is one: arrays go in as they are."""
    given = [o for o, unset in PICTURE_DEFAULTS.items() if getattr(arguments, o) != unset]
    if given and all(map(_is_array, paths)):
        raise ParameterError(
            f"--{given[0]}: is for pictures, and {next(iter(paths))} is an array, which goes into "
            "the net as it is; prepare it before it is saved"
        )


def _is_array(path: str) -> bool:
    return Path(path).suffix.lower() == ".npy"


def _channels(net: Symbol, args: Mapping[str, NDArray]) -> int:
    """Channels of a picture: 1 if the weight of the first convolution has 1, otherwise 3."""
    for node in Graph(net.heads).nodes:
        if node.op_name == "Convolution" and node.params["layout"] in (None, "NCHW"):
            weight = args.get(node.inputs[1].node.name)
            if weight is not None:
                return 1 if weight.shape[1] * node.params["num_group"] == 1 else 3
    return 3


def _read(path: str, shape: Shape | None, channels: int, arguments: Namespace) -> np.ndarray:
    if _is_array(path):
        return read_npy(path)
    of_maps = shape is not None and len(shape) == 4
    channels = shape[1] if shape is not None and of_maps else channels
    if channels not in (1, 3):
        raise ParameterError(f"--shape: a picture has 1 or 3 channels, got {channels}")
    size = (shape[2], shape[3]) if shape is not None and of_maps else None
    preparation = Preparation(
        size=arguments.size or size, short=arguments.short, channels=channels, bgr=arguments.bgr,
        mean=arguments.mean, std=arguments.std, scale=arguments.scale,
    )  # fmt: skip
    return read_picture(path, preparation)


# An array of so many columns is shown as it is.
_COLUMNS = 8


def _scores(head: Entry, values: np.ndarray) -> bool:
    """True if an output has a score for each of several classes."""
    regression = head.node.op_name.endswith("RegressionOutput")
    return values.ndim == 2 and values.shape[1] > 1 and not regression


def _report(
    outputs: dict[str, np.ndarray],
    scores: Collection[str],
    k: int,
    labels: Sequence[str] | None,
    as_json: bool,
) -> None:
    """Top classes of scores, all values of short rows, and statistics of other outputs."""
    facts: list[dict[str, Any]] = []
    tables: list[Table] = []
    for name, values in outputs.items():
        entry: dict[str, Any] = {"name": name, "shape": list(values.shape)}
        if name in scores:
            best = rank(values, k, labels, where=name)
            entry["top"] = [[each._asdict() for each in row] for row in best]
            tables.append(_class_table(name, best))
        elif values.ndim == 2 and values.shape[1] <= _COLUMNS:
            entry["values"] = values.tolist()
            tables.append(_row_table(name, values))
        else:
            found = measure(pieces_of(values))
            entry.update(minimum=found.minimum, maximum=found.maximum, mean=found.mean)
            tables.append(_value_table(name, values, entry))
        facts.append(entry)
    if as_json:
        write(json_text(facts))
    else:
        show(tables)


def _class_table(name: str, best: Sequence[Sequence[Any]]) -> Table:
    columns = ("sample", "score", "class", "label")
    rows = [
        (str(sample), f"{each.score:.6g}", str(each.class_id), each.label or "")
        for sample, row in enumerate(best)
        for each in row
    ]
    shown = len(columns) if any(row[-1] for row in rows) else len(columns) - 1
    return Table(name, tuple(row[:shown] for row in rows), columns[:shown], frozenset({0, 1, 2}))


def _row_table(name: str, values: np.ndarray) -> Table:
    columns = ("sample", *map(str, range(values.shape[1])))
    rows = tuple((str(i), *(f"{n:.6g}" for n in row)) for i, row in enumerate(values))
    return Table(name, rows, columns, frozenset(range(len(columns))))


def _value_table(name: str, values: np.ndarray, entry: dict[str, Any]) -> Table:
    shape = "x".join(map(str, values.shape)) or "scalar"
    spread = [entry[each] for each in ("minimum", "maximum", "mean")]
    row = (shape, *("" if n is None else f"{n:.6g}" for n in spread))
    return Table(name, (row,), ("shape", "min", "max", "mean"), frozenset({1, 2, 3}))

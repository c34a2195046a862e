"""Arguments that several commands take."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from pathlib import Path

Shape = tuple[int, ...]


def positive(text: str) -> int:
    """The type of an argument that is a number from 1 on."""
    return count(text, 1)


def count(text: str, least: int = 0) -> int:
    """The type of an argument that is a number from ``least`` on."""
    if not text.isdecimal() or int(text) < least:
        raise ArgumentTypeError(f"got {text!r}, expected a number from {least} on")
    return int(text)


def program_of(arguments: Namespace) -> list[str]:
    """A program and its arguments, without the ``--`` that may stand before them."""
    program = arguments.program
    return program[1:] if program[:1] == ["--"] else program


def missing(program: Sequence[str], as_module: bool) -> str | None:
    """Why a program with its arguments cannot be run; ``None`` if it is a file or a module."""
    if not program:
        return "the name of a program is missing"
    return None if as_module or Path(program[0]).exists() else f"can't find {program[0]!r}"


def add_symbol(parser: ArgumentParser) -> None:
    """``SYMBOL``: the path of a net, for `symbol_file.load_symbol`."""
    parser.add_argument("symbol", metavar="SYMBOL", help="a -symbol.json file")


def add_shape(parser: ArgumentParser, what: str) -> None:
    """``--shape NAME=SIZES``, which may be given several times; ``shape`` is a list of pairs."""
    parser.add_argument(
        "--shape",
        action="append",
        default=[],
        type=named_shape,
        metavar="NAME=SIZES",
        help=f"{what}, batch included, such as data=1,3,224,224; may be given several times",
    )


def named_shape(text: str) -> tuple[str, Shape]:
    """A name and sizes.

    >>> named_shape("data=1,3,224,224")
    ('data', (1, 3, 224, 224))
    """
    name, equals, sizes = text.rpartition("=")
    try:
        shape = tuple(int(each) for each in sizes.strip("()[] ").split(",") if each.strip())
    except ValueError:
        shape = ()
    if not equals or not name or not shape or min(shape) < 1:
        raise ArgumentTypeError(f"got {text!r}, expected a name and sizes: data=1,3,224,224")
    return name, shape


def numbers(text: str) -> tuple[float, ...]:
    """Numbers with commas between.

    >>> numbers("123.68,116.78,103.94")
    (123.68, 116.78, 103.94)
    """
    try:
        return tuple(float(each) for each in text.split(","))
    except ValueError as error:
        raise ArgumentTypeError(f"got {text!r}, expected numbers: 123.68,116.78,103.94") from error


def picture_size(text: str) -> tuple[int, int]:
    """Height and width, or one number for both.

    >>> picture_size("224"), picture_size("480,640")
    ((224, 224), (480, 640))
    """
    parts = text.replace("x", ",").split(",")
    try:
        sizes = [int(each) for each in parts]
    except ValueError:
        sizes = []
    if len(sizes) not in (1, 2) or min(sizes) < 1:
        raise ArgumentTypeError(f"got {text!r}, expected height and width: 224,224")
    return sizes[0], sizes[-1]

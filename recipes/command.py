"""A recipe as a command: common options; errors and Ctrl-C end in one line."""

import argparse
import sys
from pathlib import Path

from modkit.errors import ModkitError


def options(doc, name=None, **numbers):
    """A parser with the options that all recipes share, and one option for each number.

    Args:
        doc: the docstring of the recipe; its first line is the description.
        name: the default picture is ``out/<name>.png``; ``None`` for a recipe that draws none.
        numbers: defaults by name; their types are those of the values.
    """
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    for key, value in numbers.items():
        flag = "--" + key.replace("_", "-")
        parser.add_argument(flag, type=type(value), default=value, help=f"default {value}")
    parser.add_argument("--seed", type=int, default=0)
    if name is not None:
        parser.add_argument("--picture", default=f"out/{name}.png", help="where the picture goes")
    parser.add_argument("--smoke", action="store_true", help="a short run, to see that it works")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    return parser


def command(main, on_interrupt=lambda arguments: "interrupted"):
    """Run ``main`` with the arguments of the process, and exit.

    Args:
        main: a function of the list of arguments.
        on_interrupt: gives the last line after Ctrl-C, from the same list.
    """
    arguments = [a for a in sys.argv[1:] if a != "--debug"]
    try:
        main(arguments)
    except KeyboardInterrupt:
        line, status = on_interrupt(arguments), 130
    except (ModkitError, OSError) as error:
        line, status = f"{error} (--debug shows the traceback)", 2
        if "--debug" in sys.argv:
            raise
    else:
        return
    sys.stderr.write(f"{Path(sys.argv[0]).stem}: {line}\n")
    sys.exit(status)

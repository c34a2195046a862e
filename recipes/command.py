"""A recipe as a command: errors and Ctrl-C end in one line; ``--debug`` shows the traceback."""

import sys
from pathlib import Path

from modkit.errors import ModkitError


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

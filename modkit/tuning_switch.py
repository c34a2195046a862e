"""``MODKIT_TUNING``: the pieces of the tuning that are on."""

from __future__ import annotations

import os

from modkit.errors import ParameterError

VARIABLE = "MODKIT_TUNING"
"""``on`` is the default; ``off`` runs without; else the pieces that are on: ``xla,forms``."""

PIECES = ("allocator", "turns", "xla", "forms", "loops")


def active_pieces() -> frozenset[str]:
    """Those of `PIECES` that the environment leaves on; none: a plain run.

    Raises:
        ParameterError: the variable has an unknown word.
    """
    wanted = os.environ.get(VARIABLE, "").strip().lower() or "on"
    if wanted in ("on", "off"):
        return frozenset(PIECES if wanted == "on" else ())
    pieces = frozenset(word.strip() for word in wanted.split(","))
    if unknown := pieces.difference(PIECES):
        raise ParameterError(
            f"{VARIABLE}: got {', '.join(sorted(unknown))!r}, expected 'on', 'off', or some of "
            f"{', '.join(PIECES)} with commas between"
        )
    return pieces

"""Storage types of a graph's variables and results."""

from __future__ import annotations

from typing import Any

from modkit.ops.storage import CSR, DENSE, ROWS

_NAMES = {"0": DENSE, "1": ROWS, "2": CSR}


def storage_types(symbol: Any) -> dict[str, str]:
    """The storage types that ``Variable(stype=...)`` declares, by name."""
    declared = {n.name: str(n.attrs.get("__storage_type__")) for n in symbol.graph.inputs}
    return {name: _NAMES[code] for name, code in declared.items() if code in _NAMES}

"""A module as text and as HTML, for prompts and notebooks."""

from __future__ import annotations

import html
import math
from typing import Any

import numpy as np


def text_of(module: Any) -> str:
    """The network, bound shapes, parameters, devices and optimizer."""
    head = f"<{type(module).__name__} {module._symbol.name or 'group'}"
    where = ", ".join(map(str, module._context))
    if not module.binded:
        return f"{head}, not bound, {where}>"
    shapes = ", ".join(f"{each.name} {tuple(each.shape)}" for each in module._bound_for)
    weights = module._weights(module._param_names)
    count = sum(math.prod(w.shape) for w in weights)
    state = "" if module.params_initialized else ", not initialized"
    optimizer = f", {module._optimizer!r}" if module.optimizer_initialized else ""
    return (
        f"{head}: {shapes}; {len(weights)} parameters of {count:,} values{state}; "
        f"{where}{optimizer}>"
    )


def html_of(module: Any) -> str:
    """The summary line and a table of parameters, for notebooks."""
    head = f"<p><code>{html.escape(repr(module))}</code></p>"
    if not module.binded:
        return head
    names = module._param_names
    rows = "".join(
        f"<tr><td>{html.escape(name)}</td><td>{weight.shape}</td>"
        f"<td>{np.dtype(weight.dtype).name}</td></tr>"
        for name, weight in zip(names, module._weights(names), strict=True)
    )
    titles = "<tr><th>parameter</th><th>shape</th><th>dtype</th></tr>"
    return f"{head}<table>{titles}{rows}</table>"

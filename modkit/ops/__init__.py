"""Operators: pure functions of arrays in families, all in one registry."""

import importlib
import pkgutil

from modkit.ops.registry import OPS as OPS
from modkit.ops.registry import get_op as get_op
from modkit.ops.registry import op as op

for _file in pkgutil.walk_packages(__path__, f"{__name__}."):  # each registers its operators
    importlib.import_module(_file.name)

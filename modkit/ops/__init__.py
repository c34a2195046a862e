"""Operators: pure functions of arrays, a file a family, all in one registry."""

from modkit.ops.registry import OPS as OPS
from modkit.ops.registry import get_op as get_op
from modkit.ops.registry import op as op

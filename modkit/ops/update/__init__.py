"""Optimizer updates: the formulas, and MXNet's update operators."""

from modkit.ops.update import adam as adam
from modkit.ops.update import adamw as adamw
from modkit.ops.update import layerwise as layerwise
from modkit.ops.update import sgd as sgd

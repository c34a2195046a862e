"""Optimizer updates: the formulas, and MXNet's update operators."""

from modkit.ops.update import adam, adamw, layerwise, sgd

"""Optimizer updates: the formulas, and MXNet's update operators."""

"""Stochastic variance-reduced gradients."""

from modkit.contrib.svrg_optimization.svrg_module import SVRGModule as SVRGModule

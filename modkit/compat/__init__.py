"""Compatibility with MXNet: `install` makes ``import mxnet as mx`` import modkit."""

from modkit.compat.alias import install as install
from modkit.compat.alias import uninstall as uninstall

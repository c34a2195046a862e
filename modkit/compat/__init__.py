"""``import mxnet as mx`` over modkit: `install` makes it work in this process."""

from modkit.compat.alias import install as install
from modkit.compat.alias import uninstall as uninstall

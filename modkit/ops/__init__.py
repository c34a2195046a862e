"""Operators: pure functions of arrays in families, all in one registry."""

from modkit.ops import array as array
from modkit.ops import custom as custom
from modkit.ops import detection as detection
from modkit.ops import elementwise as elementwise
from modkit.ops import image as image
from modkit.ops import linalg as linalg
from modkit.ops import loss as loss
from modkit.ops import nn as nn
from modkit.ops import quantized as quantized
from modkit.ops import random as random
from modkit.ops import update as update
from modkit.ops.registry import OPS as OPS
from modkit.ops.registry import get_op as get_op
from modkit.ops.registry import op as op

"""Losses: a forward value, and a gradient of their own."""

from modkit.ops.loss import ctc as ctc
from modkit.ops.loss import hawkes as hawkes
from modkit.ops.loss import make_loss as make_loss
from modkit.ops.loss import regression_output as regression_output
from modkit.ops.loss import softmax_output as softmax_output
from modkit.ops.loss import svm_output as svm_output

"""Losses: a forward value, and a gradient of their own."""

from modkit.ops.loss import ctc, hawkes, make_loss, regression_output, softmax_output, svm_output

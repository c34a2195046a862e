"""Layers: convolution, pooling, normalization, recurrence, dropout, softmax, spatial sampling."""

from modkit.ops.nn import activation as activation
from modkit.ops.nn import adaptive_pooling as adaptive_pooling
from modkit.ops.nn import batch_norm as batch_norm
from modkit.ops.nn import bilinear_resize as bilinear_resize
from modkit.ops.nn import convolution as convolution
from modkit.ops.nn import correlation as correlation
from modkit.ops.nn import deconvolution as deconvolution
from modkit.ops.nn import dropout as dropout
from modkit.ops.nn import embedding as embedding
from modkit.ops.nn import fully_connected as fully_connected
from modkit.ops.nn import im2col as im2col
from modkit.ops.nn import normalization as normalization
from modkit.ops.nn import pooling as pooling
from modkit.ops.nn import pooling_v1 as pooling_v1
from modkit.ops.nn import rnn as rnn
from modkit.ops.nn import softmax as softmax
from modkit.ops.nn import spatial_transformer as spatial_transformer
from modkit.ops.nn import upsampling as upsampling

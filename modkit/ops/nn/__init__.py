"""Layers: convolution, pooling, normalization, recurrence, dropout, softmax, spatial sampling."""

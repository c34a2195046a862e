"""Object detection: boxes, anchors, proposals, non-maximum suppression, pooling of regions."""

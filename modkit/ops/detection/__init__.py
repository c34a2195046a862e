"""Object detection: boxes, anchors, non-maximum suppression, ROI pooling."""

from modkit.ops.detection import box_nms as box_nms
from modkit.ops.detection import multibox as multibox
from modkit.ops.detection import roi_pooling as roi_pooling

"""Object detection: boxes, anchors, proposals, non-maximum suppression, pooling of regions."""

from modkit.ops.detection import bipartite_matching as bipartite_matching
from modkit.ops.detection import box_codes as box_codes
from modkit.ops.detection import box_nms as box_nms
from modkit.ops.detection import deformable_convolution as deformable_convolution
from modkit.ops.detection import multibox as multibox
from modkit.ops.detection import proposal as proposal
from modkit.ops.detection import psroi_pooling as psroi_pooling
from modkit.ops.detection import roi_align as roi_align
from modkit.ops.detection import roi_pooling as roi_pooling

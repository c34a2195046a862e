"""Matrix products, transforms, factorizations, triangular solves."""

from modkit.ops.linalg import count_sketch as count_sketch
from modkit.ops.linalg import dot as dot
from modkit.ops.linalg import factorization as factorization
from modkit.ops.linalg import fourier as fourier
from modkit.ops.linalg import gemm as gemm
from modkit.ops.linalg import interleaved as interleaved
from modkit.ops.linalg import triangular as triangular

"""``mx.test_utils``: helpers for tests: comparisons, gradient checks, random arrays."""

from typing import Any as _Any

from modkit.base import data_dir as data_dir
from modkit.errors import NotSupportedError as _NotSupportedError
from modkit.test_utils.arrays import assign_each as assign_each
from modkit.test_utils.arrays import assign_each2 as assign_each2
from modkit.test_utils.arrays import collapse_sum_like as collapse_sum_like
from modkit.test_utils.arrays import create_2d_tensor as create_2d_tensor
from modkit.test_utils.arrays import create_vector as create_vector
from modkit.test_utils.arrays import get_identity_mat as get_identity_mat
from modkit.test_utils.arrays import get_identity_mat_batch as get_identity_mat_batch
from modkit.test_utils.arrays import (
    new_matrix_with_real_eigvals_2d as new_matrix_with_real_eigvals_2d,
)
from modkit.test_utils.arrays import (
    new_matrix_with_real_eigvals_nd as new_matrix_with_real_eigvals_nd,
)
from modkit.test_utils.arrays import new_orthonormal_matrix_2d as new_orthonormal_matrix_2d
from modkit.test_utils.arrays import (
    new_sym_matrix_with_real_eigvals_2d as new_sym_matrix_with_real_eigvals_2d,
)
from modkit.test_utils.arrays import (
    new_sym_matrix_with_real_eigvals_nd as new_sym_matrix_with_real_eigvals_nd,
)
from modkit.test_utils.arrays import np_reduce as np_reduce
from modkit.test_utils.arrays import rand_coord_2d as rand_coord_2d
from modkit.test_utils.arrays import rand_ndarray as rand_ndarray
from modkit.test_utils.arrays import rand_shape_2d as rand_shape_2d
from modkit.test_utils.arrays import rand_shape_3d as rand_shape_3d
from modkit.test_utils.arrays import rand_shape_nd as rand_shape_nd
from modkit.test_utils.arrays import random_arrays as random_arrays
from modkit.test_utils.arrays import random_sample as random_sample
from modkit.test_utils.arrays import random_uniform_arrays as random_uniform_arrays
from modkit.test_utils.comparison import _find_max_violation as _find_max_violation
from modkit.test_utils.comparison import almost_equal as almost_equal
from modkit.test_utils.comparison import almost_equal_ignore_nan as almost_equal_ignore_nan
from modkit.test_utils.comparison import assert_allclose as assert_allclose
from modkit.test_utils.comparison import assert_almost_equal as assert_almost_equal
from modkit.test_utils.comparison import (
    assert_almost_equal_ignore_nan as assert_almost_equal_ignore_nan,
)
from modkit.test_utils.comparison import (
    assert_almost_equal_with_err as assert_almost_equal_with_err,
)
from modkit.test_utils.comparison import assert_exception as assert_exception
from modkit.test_utils.comparison import checkShapes as checkShapes
from modkit.test_utils.comparison import compare_ndarray_tuple as compare_ndarray_tuple
from modkit.test_utils.comparison import locationError as locationError
from modkit.test_utils.comparison import same as same
from modkit.test_utils.comparison import same_array as same_array
from modkit.test_utils.comparison import same_symbol_structure as same_symbol_structure
from modkit.test_utils.consistency import check_consistency as check_consistency
from modkit.test_utils.consistency import check_speed as check_speed
from modkit.test_utils.consistency import compare_optimizer as compare_optimizer
from modkit.test_utils.datasets import download as download
from modkit.test_utils.datasets import download_model as download_model
from modkit.test_utils.datasets import get_bz2_data as get_bz2_data
from modkit.test_utils.datasets import get_cifar10 as get_cifar10
from modkit.test_utils.datasets import get_im2rec_path as get_im2rec_path
from modkit.test_utils.datasets import get_mnist as get_mnist
from modkit.test_utils.datasets import get_mnist_iterator as get_mnist_iterator
from modkit.test_utils.datasets import get_mnist_pkl as get_mnist_pkl
from modkit.test_utils.datasets import get_mnist_ubyte as get_mnist_ubyte
from modkit.test_utils.datasets import get_zip_data as get_zip_data
from modkit.test_utils.defaults import default_atols as default_atols
from modkit.test_utils.defaults import default_context as default_context
from modkit.test_utils.defaults import default_dtype as default_dtype
from modkit.test_utils.defaults import default_numeric_eps as default_numeric_eps
from modkit.test_utils.defaults import default_rtols as default_rtols
from modkit.test_utils.defaults import effective_dtype as effective_dtype
from modkit.test_utils.defaults import get_atol as get_atol
from modkit.test_utils.defaults import get_etol as get_etol
from modkit.test_utils.defaults import get_rtol as get_rtol
from modkit.test_utils.defaults import get_tolerance as get_tolerance
from modkit.test_utils.defaults import get_tols as get_tols
from modkit.test_utils.defaults import list_gpus as list_gpus
from modkit.test_utils.defaults import set_default_context as set_default_context
from modkit.test_utils.process import DummyIter as DummyIter
from modkit.test_utils.process import discard_stderr as discard_stderr
from modkit.test_utils.process import environment as environment
from modkit.test_utils.process import has_tvm_ops as has_tvm_ops
from modkit.test_utils.process import is_aarch64_run as is_aarch64_run
from modkit.test_utils.process import is_cd_run as is_cd_run
from modkit.test_utils.process import is_op_runnable as is_op_runnable
from modkit.test_utils.process import retry as retry
from modkit.test_utils.sampling import chi_square_check as chi_square_check
from modkit.test_utils.sampling import gen_buckets_probs_with_ppf as gen_buckets_probs_with_ppf
from modkit.test_utils.sampling import mean_check as mean_check
from modkit.test_utils.sampling import var_check as var_check
from modkit.test_utils.sampling import verify_generator as verify_generator
from modkit.test_utils.sparse import create_sparse_array as create_sparse_array
from modkit.test_utils.sparse import create_sparse_array_zd as create_sparse_array_zd
from modkit.test_utils.sparse import rand_sparse_ndarray as rand_sparse_ndarray
from modkit.test_utils.sparse import shuffle_csr_column_indices as shuffle_csr_column_indices
from modkit.test_utils.symbolic import _parse_aux_states as _parse_aux_states
from modkit.test_utils.symbolic import _parse_location as _parse_location
from modkit.test_utils.symbolic import check_numeric_gradient as check_numeric_gradient
from modkit.test_utils.symbolic import check_symbolic_backward as check_symbolic_backward
from modkit.test_utils.symbolic import check_symbolic_forward as check_symbolic_forward
from modkit.test_utils.symbolic import numeric_grad as numeric_grad
from modkit.test_utils.symbolic import simple_forward as simple_forward
from modkit.util import get_cuda_compute_capability as get_cuda_compute_capability
from modkit.util import getenv as getenv
from modkit.util import setenv as setenv
from modkit.util import use_np as use_np


def check_gluon_hybridize_consistency(*_: _Any, **__: _Any) -> None:
    """Raise: Gluon is not part of modkit."""
    raise _NotSupportedError("Gluon is not part of modkit: write the network as a Symbol")

"""``mx.nd``: eager arrays and every operator as a function of them."""

from modkit.ndarray import random as random
from modkit.ndarray.creation import arange as arange
from modkit.ndarray.creation import concatenate as concatenate
from modkit.ndarray.creation import empty as empty
from modkit.ndarray.creation import eye as eye
from modkit.ndarray.creation import from_dlpack as from_dlpack
from modkit.ndarray.creation import from_numpy as from_numpy
from modkit.ndarray.creation import full as full
from modkit.ndarray.creation import linspace as linspace
from modkit.ndarray.creation import moveaxis as moveaxis
from modkit.ndarray.creation import onehot_encode as onehot_encode
from modkit.ndarray.creation import ones as ones
from modkit.ndarray.creation import waitall as waitall
from modkit.ndarray.creation import zeros as zeros
from modkit.ndarray.files import load as load
from modkit.ndarray.files import load_frombuffer as load_frombuffer
from modkit.ndarray.files import save as save
from modkit.ndarray.ndarray import NDArray as NDArray
from modkit.ndarray.ndarray import array as array
from modkit.ndarray.ndarray import from_jax as from_jax
from modkit.ndarray.ndarray import invoke as invoke
from modkit.ops.frontend import install as _install

_install(globals(), lambda op, args, kwargs, _called: invoke(op, args, kwargs), __name__)

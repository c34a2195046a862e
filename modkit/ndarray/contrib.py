"""``mx.nd.contrib``: control flow and other functions, beside the operators of that prefix."""

from modkit.ndarray.contrib_functions import adamw_update as adamw_update
from modkit.ndarray.contrib_functions import boolean_mask as boolean_mask
from modkit.ndarray.contrib_functions import isfinite as isfinite
from modkit.ndarray.contrib_functions import isinf as isinf
from modkit.ndarray.contrib_functions import isnan as isnan
from modkit.ndarray.contrib_functions import mp_adamw_update as mp_adamw_update
from modkit.ndarray.contrib_functions import multi_adamw_update as multi_adamw_update
from modkit.ndarray.contrib_functions import multi_lamb_update as multi_lamb_update
from modkit.ndarray.contrib_functions import multi_mp_adamw_update as multi_mp_adamw_update
from modkit.ndarray.contrib_functions import multi_mp_lamb_update as multi_mp_lamb_update
from modkit.ndarray.contrib_functions import rand_zipfian as rand_zipfian
from modkit.ndarray.control_flow import cond as cond
from modkit.ndarray.control_flow import foreach as foreach
from modkit.ndarray.control_flow import while_loop as while_loop

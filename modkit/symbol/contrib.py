"""``mx.sym.contrib``: control flow and other functions, beside the operators of that prefix."""

from modkit.symbol.contrib_functions import adamw_update as adamw_update
from modkit.symbol.contrib_functions import mp_adamw_update as mp_adamw_update
from modkit.symbol.contrib_functions import rand_zipfian as rand_zipfian
from modkit.symbol.control_flow_functions import cond as cond
from modkit.symbol.control_flow_functions import foreach as foreach
from modkit.symbol.control_flow_functions import while_loop as while_loop

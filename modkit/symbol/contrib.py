"""``mx.sym.contrib``: control flow and other functions, beside the operators of that prefix."""

from modkit.symbol.functions import adamw_update as adamw_update
from modkit.symbol.functions import mp_adamw_update as mp_adamw_update
from modkit.symbol.functions import rand_zipfian as rand_zipfian
from modkit.symbol.loops import cond as cond
from modkit.symbol.loops import foreach as foreach
from modkit.symbol.loops import while_loop as while_loop

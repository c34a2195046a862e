"""``mx.nd.contrib``: control flow, beside the operators of that prefix."""

from modkit.ndarray.loops import cond as cond
from modkit.ndarray.loops import foreach as foreach
from modkit.ndarray.loops import while_loop as while_loop

"""``mx.sym``: graphs of operators, and every operator as a function of them."""

from modkit.ops.frontend import install as _install
from modkit.symbol import contrib as contrib
from modkit.symbol import random as random
from modkit.symbol.creation import arange as arange
from modkit.symbol.creation import eye as eye
from modkit.symbol.creation import full as full
from modkit.symbol.creation import histogram as histogram
from modkit.symbol.creation import hypot as hypot
from modkit.symbol.creation import linspace as linspace
from modkit.symbol.creation import maximum as maximum
from modkit.symbol.creation import minimum as minimum
from modkit.symbol.creation import ones as ones
from modkit.symbol.creation import pow as pow
from modkit.symbol.creation import power as power
from modkit.symbol.creation import split_v2 as split_v2
from modkit.symbol.creation import zeros as zeros
from modkit.symbol.files import load as load
from modkit.symbol.files import load_json as load_json
from modkit.symbol.symbol import Symbol as Symbol
from modkit.symbol.symbol import invoke as invoke
from modkit.symbol.variable import Group as Group
from modkit.symbol.variable import Variable as Variable
from modkit.symbol.variable import var as var

_install(globals(), invoke, __name__)

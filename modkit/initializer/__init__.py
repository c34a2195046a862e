"""``mx.init``: initializers of parameters."""

from modkit.initializer.base import InitDesc as InitDesc
from modkit.initializer.base import Initializer as Initializer
from modkit.initializer.base import alias as alias
from modkit.initializer.base import create as create
from modkit.initializer.base import register as register
from modkit.initializer.mixed import Load as Load
from modkit.initializer.mixed import Mixed as Mixed
from modkit.initializer.rnn import FusedRNN as FusedRNN
from modkit.initializer.rnn import LSTMBias as LSTMBias
from modkit.initializer.values import Bilinear as Bilinear
from modkit.initializer.values import Constant as Constant
from modkit.initializer.values import MSRAPrelu as MSRAPrelu
from modkit.initializer.values import Normal as Normal
from modkit.initializer.values import One as One
from modkit.initializer.values import Orthogonal as Orthogonal
from modkit.initializer.values import Uniform as Uniform
from modkit.initializer.values import Xavier as Xavier
from modkit.initializer.values import Zero as Zero

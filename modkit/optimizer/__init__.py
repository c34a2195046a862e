"""``mx.optimizer``: optimizers, and the updater that owns their states."""

from modkit.optimizer import contrib as contrib
from modkit.optimizer.adagrad import AdaDelta as AdaDelta
from modkit.optimizer.adagrad import AdaGrad as AdaGrad
from modkit.optimizer.adagrad import Ftrl as Ftrl
from modkit.optimizer.adagrad import RMSProp as RMSProp
from modkit.optimizer.adam import FTML as FTML
from modkit.optimizer.adam import Adam as Adam
from modkit.optimizer.adam import Adamax as Adamax
from modkit.optimizer.adam import Nadam as Nadam
from modkit.optimizer.base import Optimizer as Optimizer
from modkit.optimizer.base import register as register
from modkit.optimizer.create import create as create
from modkit.optimizer.layerwise import LAMB as LAMB
from modkit.optimizer.layerwise import LARS as LARS
from modkit.optimizer.lbsgd import LBSGD as LBSGD
from modkit.optimizer.optax_adapter import OptaxOptimizer as OptaxOptimizer
from modkit.optimizer.sgd import DCASGD as DCASGD
from modkit.optimizer.sgd import NAG as NAG
from modkit.optimizer.sgd import SGD as SGD
from modkit.optimizer.sgd import SGLD as SGLD
from modkit.optimizer.sgd import Signum as Signum
from modkit.optimizer.sgd import Test as Test
from modkit.optimizer.sgd import ccSGD as ccSGD
from modkit.optimizer.updater import Updater as Updater
from modkit.optimizer.updater import get_updater as get_updater

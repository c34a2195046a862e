"""``mx.callback``: callbacks of ``fit``, as functions and as objects."""

from modkit.callback.averages import EMA as EMA
from modkit.callback.averages import SWA as SWA
from modkit.callback.base import Callback as Callback
from modkit.callback.checkpoint import Checkpoint as Checkpoint
from modkit.callback.checkpoint_folder import ResumeError as ResumeError
from modkit.callback.clip import ClipGlobalNorm as ClipGlobalNorm
from modkit.callback.curves import Curves as Curves
from modkit.callback.early_stopping import EarlyStopping as EarlyStopping
from modkit.callback.freezing import Freeze as Freeze
from modkit.callback.functions import BatchEnd as BatchEnd
from modkit.callback.functions import BatchEndParams as BatchEndParam
from modkit.callback.functions import Checkpoints as Checkpoints
from modkit.callback.functions import EpochEnd as EpochEnd
from modkit.callback.functions import LogValidationMetricsCallback as LogValidationMetricsCallback
from modkit.callback.functions import ProgressBar as ProgressBar
from modkit.callback.functions import Speedometer as Speedometer
from modkit.callback.functions import do_checkpoint as do_checkpoint
from modkit.callback.functions import log_train_metric as log_train_metric
from modkit.callback.functions import module_checkpoint as module_checkpoint
from modkit.callback.keep_best import KeepBest as KeepBest
from modkit.callback.logs import CSVLogger as CSVLogger
from modkit.callback.logs import JSONLines as JSONLines
from modkit.callback.lr_finder import LRFinder as LRFinder
from modkit.callback.nan import NotFiniteError as NotFiniteError
from modkit.callback.nan import TerminateOnNaN as TerminateOnNaN
from modkit.callback.plateau import ReduceLROnPlateau as ReduceLROnPlateau
from modkit.callback.progress import Progress as Progress
from modkit.callback.run import Run as Run
from modkit.callback.timer import Timer as Timer
from modkit.callback.trackers import MLflow as MLflow
from modkit.callback.trackers import TensorBoard as TensorBoard
from modkit.callback.trackers import WandB as WandB
from modkit.lazy import dir_of

__dir__ = dir_of(__name__)

"""``mx.metric``: metrics, as running means over batches."""

from modkit.lazy import dir_of
from modkit.metric.all_workers import reduce_over as reduce_over
from modkit.metric.base import EvalMetric as EvalMetric
from modkit.metric.base import alias as alias
from modkit.metric.base import check_label_shapes as check_label_shapes
from modkit.metric.base import register as register
from modkit.metric.classification import F1 as F1
from modkit.metric.classification import MCC as MCC
from modkit.metric.classification import PCC as PCC
from modkit.metric.classification import Accuracy as Accuracy
from modkit.metric.classification import TopKAccuracy as TopKAccuracy
from modkit.metric.composite import CompositeEvalMetric as CompositeEvalMetric
from modkit.metric.composite import create as create
from modkit.metric.custom import CustomMetric as CustomMetric
from modkit.metric.custom import np as np
from modkit.metric.likelihood import CrossEntropy as CrossEntropy
from modkit.metric.likelihood import NegativeLogLikelihood as NegativeLogLikelihood
from modkit.metric.likelihood import Perplexity as Perplexity
from modkit.metric.regression import MAE as MAE
from modkit.metric.regression import MSE as MSE
from modkit.metric.regression import RMSE as RMSE
from modkit.metric.regression import Caffe as Caffe
from modkit.metric.regression import Loss as Loss
from modkit.metric.regression import PearsonCorrelation as PearsonCorrelation
from modkit.metric.regression import Torch as Torch

__dir__ = dir_of(__name__)

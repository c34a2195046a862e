"""Prediction: a network with its parameters as a thread-safe function."""

from modkit.predictor.plan import open_inputs as open_inputs
from modkit.predictor.predictor import Predictor as Predictor
from modkit.predictor.ranking import Ranked as Ranked
from modkit.predictor.ranking import rank as rank

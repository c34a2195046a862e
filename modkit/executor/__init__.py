"""Executors: bound graphs, run lazily, compiled once."""

from modkit.executor.binding import bind as bind
from modkit.executor.binding import simple_bind as simple_bind
from modkit.executor.executor import Executor as Executor
from modkit.step.bound import Bound as Bound

"""``mx.autograd``: gradients of imperative code, by a tape of what was computed.

>>> x = mx.nd.array([1, 2, 3])
>>> x.attach_grad()
>>> with mx.autograd.record():
...     y = (x * x).sum()
>>> y.backward()
>>> x.grad.asnumpy()
array([2., 4., 6.], dtype=float32)
"""

from modkit.autograd.function import Function as Function
from modkit.autograd.gradients import backward as backward
from modkit.autograd.gradients import grad as grad
from modkit.autograd.gradients import mark_variables as mark_variables
from modkit.autograd.recorded import get_symbol as get_symbol
from modkit.autograd.scopes import is_recording as is_recording
from modkit.autograd.scopes import is_training as is_training
from modkit.autograd.scopes import pause as pause
from modkit.autograd.scopes import predict_mode as predict_mode
from modkit.autograd.scopes import record as record
from modkit.autograd.scopes import set_recording as set_recording
from modkit.autograd.scopes import set_training as set_training
from modkit.autograd.scopes import train_mode as train_mode

"""``mx.operator``: custom operators in Python, over NDArrays."""

from modkit.operator.bridge import PropBridge as PropBridge
from modkit.operator.custom_op import CustomOp as CustomOp
from modkit.operator.custom_op import CustomOpProp as CustomOpProp
from modkit.operator.numpy_op import NDArrayOp as NDArrayOp
from modkit.operator.numpy_op import NumpyOp as NumpyOp
from modkit.operator.numpy_op import PythonOp as PythonOp
from modkit.operator.registry import OperatorArguments as OperatorArguments
from modkit.operator.registry import get_all_registered_operators as get_all_registered_operators
from modkit.operator.registry import get_operator_arguments as get_operator_arguments
from modkit.operator.registry import register as register

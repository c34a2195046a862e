"""``mx.mod``: modules, which train symbols."""

from modkit.module import base_module as base_module
from modkit.module import bucketing_module as bucketing_module
from modkit.module import executor_group as executor_group
from modkit.module import module as module
from modkit.module import python_module as python_module
from modkit.module import sequential_module as sequential_module
from modkit.module.base_module import BaseModule as BaseModule
from modkit.module.bucketing_module import BucketingModule as BucketingModule
from modkit.module.module import Module as Module
from modkit.module.python_module import PythonLossModule as PythonLossModule
from modkit.module.python_module import PythonModule as PythonModule
from modkit.module.sequential_module import SequentialModule as SequentialModule

"""``mx.mod``: modules, which train symbols."""

from modkit.module.base_module import BaseModule as BaseModule
from modkit.module.module import Module as Module

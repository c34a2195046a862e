"""The package ``mxnet`` of Python processes that a program of `modkit run` starts: modkit.

A Python with another prefix than the program's, perhaps an old version, imports an MXNet of its
own. So no name of modkit, such as that of the variable, is imported before prefixes are compared.
"""

import importlib
import json
import os
import sys
from pathlib import Path

_FOLDER = Path(__file__).resolve().parent.parent

del sys.modules[__name__]
if json.loads(os.environ.get("MODKIT_RUN", "[null]"))[0] == sys.prefix:
    from modkit.compat.run import prepare_child

    prepare_child()
sys.path[:] = [path for path in sys.path if Path(path).resolve() != _FOLDER]
sys.modules[__name__] = importlib.import_module(__name__)

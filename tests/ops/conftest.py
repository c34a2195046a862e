"""Lets test files and tables say ``from case import Case``, as the recorder does."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))

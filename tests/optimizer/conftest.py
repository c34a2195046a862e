"""Lets test files say ``import runs``, as the recorder does."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))

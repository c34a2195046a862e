"""``python -m modkit``: the command line."""

import sys

from modkit.cli import main

sys.exit(main())

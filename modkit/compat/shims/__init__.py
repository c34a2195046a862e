"""Shims: names that Python and NumPy have dropped since 2020, put back for one process."""

from modkit.compat.shims.shims import Shims as Shims

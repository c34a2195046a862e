"""``DMLC_ROLE``, by which MXNet's launchers start processes: only workers have work here."""

from __future__ import annotations

import os
import sys


def end_unless_worker() -> None:
    """End a process with status 0 whose ``DMLC_ROLE`` is ``server`` or ``scheduler``.

    MXNet's launch scripts start such processes with the training program, which in MXNet does not
    get beyond the import.
    """
    role = os.environ.get("DMLC_ROLE")
    if role in ("server", "scheduler"):
        sys.stderr.write(
            f"modkit: this process has DMLC_ROLE={role}, which is not needed: workers sum their "
            "gradients themselves\n"
        )
        sys.exit(0)

"""``html``."""

from __future__ import annotations

import html


def escape(s: str, quote: bool = False) -> str:
    """``html.escape(s, quote=False)``."""
    return html.escape(s, quote)

"""Counts of tokens in a text."""

from __future__ import annotations

import re
from collections import Counter


def count_tokens_from_str(
    source_str: str,
    token_delim: str = " ",
    seq_delim: str = "\n",
    to_lower: bool = False,
    counter_to_update: Counter[str] | None = None,
) -> Counter[str]:
    r"""Count the tokens of a text.

    >>> count_tokens_from_str(" Life is great ! \n life is good . ", to_lower=True)["life"]
    2

    Args:
        token_delim: a regular expression between tokens.
        seq_delim: a regular expression between sequences.
        counter_to_update: a counter to add to, which is returned; default a new one.
    """
    tokens = filter(None, re.split(f"{token_delim}|{seq_delim}", source_str))
    counts = (each.lower() if to_lower else each for each in tokens)
    counter = Counter() if counter_to_update is None else counter_to_update
    counter.update(counts)
    return counter

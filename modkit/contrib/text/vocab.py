"""Vocabulary: tokens by index, and indices by token."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from modkit.errors import expect, wrong


class Vocabulary:
    """An index of tokens.

    Index 0 is the unknown token; reserved tokens follow, then counted ones by falling count, those
    of equal count in alphabetical order.

    >>> v = Vocabulary(Counter({"a": 1, "b": 3, "c": 1}), reserved_tokens=["<pad>"])
    >>> v.idx_to_token, v.to_indices(["b", "z"])
    (['<unk>', '<pad>', 'b', 'a', 'c'], [2, 0])

    Args:
        most_freq_count: how many counted tokens to take at most; default all.
        min_freq: smallest count of a token that is taken.
        unknown_token: stands for every token that is not in the index.
        reserved_tokens: further tokens; no one may be there twice.

    Raises:
        ParameterError: ``min_freq`` is below 1, or a reserved token is repeated or unknown.
    """

    def __init__(
        self,
        counter: Counter[Any] | None = None,
        most_freq_count: int | None = None,
        min_freq: int = 1,
        unknown_token: Hashable = "<unk>",
        reserved_tokens: Sequence[Hashable] | None = None,
    ):
        if counter is not None and not isinstance(counter, Counter):
            raise wrong("Vocabulary: counter", type(counter), "a collections.Counter of tokens")
        expect(min_freq >= 1, "Vocabulary: min_freq", min_freq, "1 or more")
        special = [unknown_token, *(reserved_tokens or [])]
        if len(set(special)) < len(special):
            expected = f"different tokens, without {unknown_token!r}"
            raise wrong("Vocabulary: reserved_tokens", reserved_tokens, expected)
        self._unknown_token = unknown_token
        self._reserved_tokens = None if reserved_tokens is None else list(reserved_tokens)
        pairs = sorted((counter or Counter()).items(), key=lambda pair: pair[0])
        pairs.sort(key=lambda pair: pair[1], reverse=True)
        taken = [t for t, n in pairs if n >= min_freq and t not in special][:most_freq_count]
        self._idx_to_token: list[Any] = [*special, *taken]
        self._token_to_idx: dict[Any, int] = {t: i for i, t in enumerate(self._idx_to_token)}

    def __len__(self) -> int:
        return len(self._idx_to_token)

    @property
    def token_to_idx(self) -> dict[Any, int]:
        """Indices by token."""
        return self._token_to_idx

    @property
    def idx_to_token(self) -> list[Any]:
        """Tokens by index."""
        return self._idx_to_token

    @property
    def unknown_token(self) -> Any:
        """The token of index 0."""
        return self._unknown_token

    @property
    def reserved_tokens(self) -> list[Any] | None:
        """The reserved tokens."""
        return self._reserved_tokens

    def to_indices(self, tokens: Any) -> Any:
        """The index of a token, or of each in a list; 0 for unknown ones."""
        if isinstance(tokens, list):
            return [self._token_to_idx.get(token, 0) for token in tokens]
        return self._token_to_idx.get(tokens, 0)

    def to_tokens(self, indices: Any) -> Any:
        """The token of an index, or of each in a list.

        Raises:
            ParameterError: an index outside the vocabulary.
        """
        many: Iterable[int] = indices if isinstance(indices, list) else [indices]
        tokens = []
        for index in many:
            inside = isinstance(index, int) and 0 <= index < len(self)
            expect(inside, "to_tokens: index", index, f"0 .. {len(self) - 1}")
            tokens.append(self._idx_to_token[index])
        return tokens if isinstance(indices, list) else tokens[0]

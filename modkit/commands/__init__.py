"""The commands of ``modkit``, one a file; `parsers` has their arguments."""

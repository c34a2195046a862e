"""Constants of vocabularies."""

UNKNOWN_IDX = 0
"""The index of tokens that a vocabulary lacks."""

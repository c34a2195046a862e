"""Tuning for CPUs: allocator, XLA options, forms of operators; `config` is what others import.

`MODKIT_TUNING=off` in the environment runs without.
"""

"""Operators as methods of arrays and symbols: ``a.relu()`` for ``relu(a)``."""

from __future__ import annotations


class Methods:
    """The base of NDArray and Symbol that declares the methods to type checkers.

    They are installed on the classes themselves, from the registry of operators; what they are
    called and what they take is in the stub file beside this one.
    """

    __slots__ = ()

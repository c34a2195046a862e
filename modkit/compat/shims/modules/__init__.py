"""Modules that left Python's standard library in 3.12, with the functions that programs used."""

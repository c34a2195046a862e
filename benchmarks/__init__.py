"""Benchmarks: time and memory of modkit relative to peers measured in the same run."""

"""Compiled programs: ahead-of-time compilation, the disk cache, executables in memory, progress."""

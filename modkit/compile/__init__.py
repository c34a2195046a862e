"""Compiled programs: ahead-of-time compilation, the disk cache and its keys, progress lines."""

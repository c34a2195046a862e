"""Operators on images, (height, width, channels)."""

"""Losses: a forward value, and a gradient of their own."""

"""The commands of ``modkit``, one a file; each adds its parser to the command line."""

from modkit.commands import convert, inspect, plot, predict, summary

COMMANDS = (inspect, summary, plot, convert, predict)
"""In the order in which help lists them."""

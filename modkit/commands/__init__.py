"""The commands of ``modkit``, one a file; each adds its parser to the command line."""

from modkit.commands import convert, export, inspect, launch, plot, predict, summary

COMMANDS = (inspect, summary, plot, convert, export, predict, launch)
"""In the order in which help lists them."""

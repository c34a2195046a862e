"""Traced programs run by NumPy, without a compilation."""

from modkit.interpreter.elementwise import convert as convert
from modkit.interpreter.program import NumPyProgram as NumPyProgram
from modkit.interpreter.program import program_of as program_of
from modkit.interpreter.program import quietly as quietly

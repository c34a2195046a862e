"""MXNet's file formats: descriptions of files, and conversion of their arrays."""

from modkit.artefacts.arrays import ArrayFacts as ArrayFacts
from modkit.artefacts.arrays import ArraysFacts as ArraysFacts
from modkit.artefacts.base import Facts as Facts
from modkit.artefacts.base import Labels as Labels
from modkit.artefacts.containers import open_arrays as open_arrays
from modkit.artefacts.containers import read_arrays as read_arrays
from modkit.artefacts.containers import write_arrays as write_arrays
from modkit.artefacts.describe import describe as describe
from modkit.artefacts.describe import kind_of as kind_of
from modkit.artefacts.lists import IndexFacts as IndexFacts
from modkit.artefacts.lists import ListFacts as ListFacts
from modkit.artefacts.records import RecordsFacts as RecordsFacts
from modkit.artefacts.states import StateFacts as StateFacts
from modkit.artefacts.states import StatesFacts as StatesFacts
from modkit.artefacts.stored import Statistics as Statistics
from modkit.artefacts.symbols import SymbolFacts as SymbolFacts
from modkit.artefacts.table import Table as Table

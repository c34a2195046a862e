"""``mx.viz``: nets as tables and as pictures."""

from modkit.visualization.plot import plot_network as plot_network
from modkit.visualization.summary import print_summary as print_summary

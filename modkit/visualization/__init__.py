"""``mx.viz``: summaries and drawings of networks."""

from modkit.visualization.plot import plot_network as plot_network
from modkit.visualization.summary import print_summary as print_summary

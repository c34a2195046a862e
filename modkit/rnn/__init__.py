"""``mx.rnn``: recurrent cells, unrolled into graphs, and iterators over sentences."""

from modkit.rnn.base import BaseRNNCell as BaseRNNCell
from modkit.rnn.base import RNNParams as RNNParams
from modkit.rnn.cells import GRUCell as GRUCell
from modkit.rnn.cells import LSTMCell as LSTMCell
from modkit.rnn.cells import RNNCell as RNNCell
from modkit.rnn.checkpoint import do_rnn_checkpoint as do_rnn_checkpoint
from modkit.rnn.checkpoint import load_rnn_checkpoint as load_rnn_checkpoint
from modkit.rnn.checkpoint import rnn_unroll as rnn_unroll
from modkit.rnn.checkpoint import save_rnn_checkpoint as save_rnn_checkpoint
from modkit.rnn.containers import BidirectionalCell as BidirectionalCell
from modkit.rnn.containers import SequentialRNNCell as SequentialRNNCell
from modkit.rnn.conv import BaseConvRNNCell as BaseConvRNNCell
from modkit.rnn.conv import ConvGRUCell as ConvGRUCell
from modkit.rnn.conv import ConvLSTMCell as ConvLSTMCell
from modkit.rnn.conv import ConvRNNCell as ConvRNNCell
from modkit.rnn.fused import FusedRNNCell as FusedRNNCell
from modkit.rnn.modifiers import DropoutCell as DropoutCell
from modkit.rnn.modifiers import ModifierCell as ModifierCell
from modkit.rnn.modifiers import ResidualCell as ResidualCell
from modkit.rnn.modifiers import ZoneoutCell as ZoneoutCell
from modkit.rnn.sentences import BucketSentenceIter as BucketSentenceIter
from modkit.rnn.sentences import encode_sentences as encode_sentences

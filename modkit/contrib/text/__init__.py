"""``mx.contrib.text``: vocabularies and pretrained word vectors."""

from modkit.contrib.text import embedding as embedding
from modkit.contrib.text import utils as utils
from modkit.contrib.text import vocab as vocab

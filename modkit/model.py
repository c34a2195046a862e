"""``mx.model``: checkpoints, and `FeedForward`."""

from modkit.callback import BatchEndParam as BatchEndParam
from modkit.checkpoint import load_checkpoint as load_checkpoint
from modkit.checkpoint import load_params as load_params
from modkit.checkpoint import save_checkpoint as save_checkpoint
from modkit.kvstore.create import create_kvstore as create_kvstore
from modkit.kvstore.update_params import initialize_kvstore as _initialize_kvstore
from modkit.kvstore.update_params import update_params as _update_params
from modkit.kvstore.update_params import update_params_on_kvstore as _update_params_on_kvstore
from modkit.module.feedforward import FeedForward as FeedForward

_create_kvstore = create_kvstore
_UPDATES = (_initialize_kvstore, _update_params, _update_params_on_kvstore)

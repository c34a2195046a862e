"""``mx.kv``: stores of keyed arrays, summed over devices."""

from modkit.kvstore.base import KVStoreBase as KVStoreBase
from modkit.kvstore.create import create as create
from modkit.kvstore.local import KVStore as KVStore
from modkit.kvstore.teststore import TestStore as TestStore
from modkit.lazy import dir_of

__dir__ = dir_of(__name__)

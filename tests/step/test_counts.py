"""A step's work on the host is the same for any number of parameters."""

from tools.count_step import count, files

CALLS, FILES = 71, 12
"""The batch-end callback of the count is one of the calls; four begin and end deferred signals, and
four look for methods that a program has set on the optimizer or its class."""


def test_a_steady_batch_takes_as_many_calls_for_any_number_of_parameters():
    small, large = count(1), count(41)
    assert len(small) == len(large)
    assert len(small) <= CALLS
    assert len(files(small)) <= FILES

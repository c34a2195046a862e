"""Calls in forked children."""

import multiprocessing
import os
import signal

import pytest


def in_child(work):
    """The result of ``work`` in a forked process, or the name of the error it raised."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        try:
            answer = repr(work())
        except Exception as error:
            answer = type(error).__name__
        os.write(writer, answer.encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader) as file:
        return file.read()


def forking(test):
    """Mark a test that forks, while threads run."""
    has = "fork" in multiprocessing.get_all_start_methods()
    test = pytest.mark.skipif(not has, reason="needs fork")(test)
    test = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")(test)
    return pytest.mark.filterwarnings("ignore:.*fork.*:RuntimeWarning")(test)

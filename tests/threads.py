"""Waiting for threads to be where a test wants them, without sleeping for a guessed time."""

import sys
import time


def run_all(threads):
    """Start threads and wait for their ends."""
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), f"{thread.name} has not ended within 60 s"


def wait_until_calling(caller, *threads):
    """Return once each thread has ended or is inside a Python function that ``caller`` has called.

    A thread that waits for a lock there stays there, so the order of events is known.
    """
    deadline = time.monotonic() + 30
    while not all(_calls(thread, caller.__code__) for thread in threads):
        assert time.monotonic() < deadline, f"no call from {caller.__name__} within 30 s"
        time.sleep(0.001)


def _calls(thread, code):
    if thread.ident is not None and not thread.is_alive():
        return True
    frame = sys._current_frames().get(thread.ident)
    while frame is not None and frame.f_back is not None:
        frame = frame.f_back
        if frame.f_code is code:
            return True
    return False

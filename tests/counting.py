"""The work of Python code, as a number that no other load on the machine changes."""

import sys


def calls(work):
    """The number of functions, of Python and of C, that are called until `work()` has returned.

    `work` itself counts; a class that is called and has no ``__init__`` in Python does not.
    """
    count = 0

    def seen(_frame, event, _argument):
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count

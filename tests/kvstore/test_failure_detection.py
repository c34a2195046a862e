"""The judgement about workers that are lost."""

import pytest

from modkit.kvstore.failure_detection import Report, failure_reason
from tests.fresh import answer

FINE = Report(4, None, 0.0, False, 100.0)
WAITS = FINE._replace(entered=5, waiting_s=61.0)


@pytest.mark.parametrize(
    ("reports", "reason"),
    [
        ([FINE, FINE], None),
        ([WAITS, WAITS], None),  # a long step: all compute
        ([FINE, FINE._replace(reported_s=39.0)], "worker 1 has not answered for 60 s"),
        ([WAITS._replace(waiting_s=59.0), FINE], None),
        ([WAITS, FINE], "worker 1 has not come to sum 5, in which worker 0 has waited for 61 s"),
        ([FINE, WAITS, WAITS], "worker 0 has not come to sum 5"),
        ([WAITS, FINE._replace(load=0.9)], None),
        ([WAITS._replace(waiting_s=601.0), FINE._replace(load=0.9)], "worker 1 has not come"),
        ([WAITS._replace(waiting_s=0.0), FINE._replace(left=True)],
         "worker 1 has ended, and worker 0 waits for it"),
        ([FINE, FINE._replace(left=True)], None),
        ([WAITS._replace(doing="a sum of 1 numbers", history=1), WAITS._replace(doing="a step")],
         "worker 0 and worker 1 have made different calls, of which number 5 is a sum of 1 numbers "
         "and a step: all workers have to make the same calls"),
    ],
)  # fmt: skip
def test_judgements(reports, reason):
    found = failure_reason(dict(enumerate(reports)), 100.0, 60.0)
    assert found == reason or (found or "").startswith(reason or "nothing")


FORK = """
import atexit, json, os, signal, socket, sys, warnings
from modkit.kvstore.failure_detection import WorkerWatch

warnings.simplefilter("ignore")
ours, theirs = socket.socketpair()
watch = WorkerWatch(1, {0: theirs}, 60.0)
read, write = os.pipe()
atexit.register(os.write, write, b"exit function,")
statuses = []
for end in (
    "sys.exit()", "sys.exit(3)", "sys.exit('a reason')", "raise ValueError", "exit(4)", "quit(5)"
):
    if not (child := os.fork()):
        signal.alarm(20)
        watch.abandon()
        assert theirs.fileno() == -1
        exec(end)
    statuses.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
os.close(write)
print(json.dumps([statuses, os.read(read, 99).decode().count("exit function")]))
sys.stdout.flush()
os._exit(0)
"""


def test_a_forked_child_ends_without_the_others_with_its_own_status():
    """It has no thread that would hear that all may end."""
    assert answer(FORK) == [[0, 3, 1, 1, 4, 5], 6]

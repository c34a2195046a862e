"""benchmarks.scaling: collectives of compiled programs, and the model on paper."""

import socket
from pathlib import Path

import pytest

from benchmarks import scaling, scaling_work

HLO = """
  %a = f32[64,3]{1,0} all-reduce(%x), replica_groups={{0,1}}, to_apply=%add
  %b = (f32[10]{0}, bf16[4,2]{1,0}) all-reduce(%y, %z), to_apply=%add
  %c = f32[] add(%p, %q)
  ROOT %d = f16[8]{0} all-gather-start(%e), dimensions={0}
"""


def test_collectives_of_a_program():
    assert scaling.collectives(HLO) == [("all-reduce", 768), ("all-reduce", 56), ("all-gather", 16)]


def test_a_ring_sends_almost_twice_the_bytes():
    cluster = scaling.Cluster("x", 100.0, 10.0, 0.5, gpus=2)
    assert scaling.ring_s(200.0, 2, cluster) == 2.0 + 2 * 0.5
    assert scaling.ring_s(200.0, 4, cluster) == 30.0 + 6 * 0.5  # the slow link counts


def test_sums_beside_the_backward_pass_cost_the_last_one():
    rows = scaling.modelled([0.0, 0.0, 450e9 / 1.75], 2.0, [8])
    row = next(r for r in rows if r["gpus"] == 8)
    hop_s = 14 * scaling.CLUSTERS[0].hop_s
    assert row["sum_ms"] == pytest.approx(1e3 + 3e3 * hop_s)
    assert row["beside"] == pytest.approx(2 / (3 + hop_s))
    assert row["behind"] == pytest.approx(2 / (3 + 3 * hop_s))


def test_buckets_have_all_bytes():
    assert scaling.buckets(60.0, 25.0) == [25.0, 25.0, 10.0]
    assert scaling.buckets(50.0, 25.0) == [25.0, 25.0]


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts sockets under /proc")
def test_bytes_of_connections_are_counted():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        before = scaling_work.tcp_bytes()
        with socket.create_connection(listener.getsockname()) as client:
            server, _ = listener.accept()
            with server:
                client.sendall(b"x" * 5000)
                server.makefile("rb").read(5000)
                sent, received = scaling_work.tcp_bytes() - before
    assert 5000 <= sent <= 5010
    assert 5000 <= received <= 5010

"""Automatic names."""

import threading

from modkit.name import NameManager, Prefix


def test_counts_start_anew_inside_and_go_on_outside():
    outer = NameManager()
    with outer:
        assert NameManager.current is outer
        assert [outer.get(None, "fc") for _ in range(2)] == ["fc0", "fc1"]
        with NameManager() as inner:
            assert NameManager.current is inner
            assert inner.get(None, "fc") == "fc0"
        assert NameManager.current.get(None, "fc") == "fc2"
        assert NameManager.current.get("mine", "fc") == "mine"


def test_prefixes_do_not_nest():
    with Prefix("a_"), Prefix("b_"):
        assert NameManager.current.get(None, "fc") == "b_fc0"
        assert NameManager.current.get("x", "fc") == "b_x"


def test_each_thread_counts_for_itself():
    found = []
    with Prefix("main_"):
        thread = threading.Thread(target=lambda: found.append(NameManager.current.get(None, "fc")))
        thread.start()
        thread.join()
    assert found == ["fc0"]

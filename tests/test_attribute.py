"""Attribute scopes."""

import threading

import pytest

import modkit as mx
from modkit.attribute import AttrScope


def test_scopes_add_up_and_the_inner_one_wins():
    outer = AttrScope(a="1", b="1")
    with outer, AttrScope(b="2") as inner:
        assert AttrScope.current is inner
        assert inner.get({"c": "3"}) == {"a": "1", "b": "2", "c": "3"}
        assert inner.get({"a": "0"}) == {"a": "0", "b": "2"}
    assert inner.get(None) == {"b": "2"}
    assert outer.get(None) == {"a": "1", "b": "1"}
    assert AttrScope.current.get(None) == {}


def test_values_must_be_strings():
    with pytest.raises(ValueError, match="'a': got 1, expected a string"):
        AttrScope(a=1)


def test_each_thread_has_its_own():
    found = []
    with AttrScope(a="1"):
        thread = threading.Thread(target=lambda: found.append(AttrScope.current.get(None)))
        thread.start()
        thread.join()
    assert found == [{}]


def test_operators_without_parameters_keep_any_attribute():
    x = mx.sym.Variable("x")
    with AttrScope(group="1"):
        made = mx.sym.relu(x) * mx.sym.Variable("y")
    again = mx.sym.load_json(made.tojson())
    assert made.attr("group") == again.attr("group") == "1"
    ones = mx.nd.ones((2,))
    assert again.eval(x=ones, y=ones)[0].asnumpy().tolist() == [1, 1]


def test_a_scope_entered_twice_and_by_two_threads_adds_to_what_is_around_it():
    shared, found = AttrScope(a="1"), []
    entered, left = threading.Event(), threading.Event()

    def work():
        with AttrScope(b="2"), shared:
            entered.set()
            left.wait(60)
            found.append(AttrScope.current.get(None))

    thread = threading.Thread(target=work)
    thread.start()
    entered.wait(60)
    with AttrScope(c="3"), shared:
        with shared:
            pass
        assert AttrScope.current.get(None) == {"c": "3", "a": "1"}
    left.set()
    thread.join(60)
    assert found == [{"b": "2", "a": "1"}]

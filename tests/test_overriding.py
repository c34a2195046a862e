"""Overridden methods, of a class and of an object."""

import functools

from modkit.optimizer import SGD
from modkit.overriding import of_modkit, overrides, replaced


class Base:
    def first(self):
        pass

    def second(self):
        pass


class Own(Base):
    def second(self):
        pass


def test_methods_of_classes_and_objects_are_found():
    assert not overrides(Base, Base, "first", "second")
    assert overrides(Own, Base, "first", "second")
    assert not overrides(Own, Base, "first")
    made = Base()
    assert not overrides(made, Base, "first")
    made.first = print
    assert overrides(made, Base, "first")
    assert not overrides(made, Base, "second")


def test_a_mixin_overrides_too():
    class Mixed(Own, SGD):
        pass

    assert of_modkit(Mixed) is SGD
    assert of_modkit(SGD) is SGD


def test_functions_that_a_program_sets_on_a_class_are_found(monkeypatch):
    assert not replaced(SGD, "update", "_update_impl", "_get_lr")
    own = functools.wraps(SGD._update_impl)(lambda *_: None)
    monkeypatch.setattr(SGD, "_update_impl", own)
    assert replaced(SGD, "update", "_update_impl")
    assert not replaced(SGD, "update")
    made = SGD()
    assert replaced(made, "_update_impl") and not replaced(made, "update")
    made.update = own
    assert replaced(made, "update")

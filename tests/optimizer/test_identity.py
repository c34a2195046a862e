"""Optimizers as plain values."""

import optax

import modkit as mx
from modkit.optimizer.identity import identity, settings


def test_settings_have_what_two_workers_have_to_share():
    schedule = mx.lr_scheduler.FactorScheduler(10, 0.5)
    sgd = mx.optimizer.create("sgd", learning_rate=0.5, momentum=0.9, wd=1e-4, rescale_grad=0.25)
    assert identity(sgd) == {"class": "SGD", "momentum": "0.9", "lazy_update": "True"}
    found = settings(sgd)
    assert found["rescale_grad"] == "0.25"
    assert found["wd"] == "0.0001"
    assert found["learning_rate"] == "0.5"
    sgd.set_lr_mult({"w": 2.0})
    assert settings(sgd)["lr_mult"] == "[('w', 2.0)]"
    adam = settings(mx.optimizer.create("adam", lr_scheduler=schedule))
    assert adam["lr_scheduler"].startswith("FactorScheduler {")


def test_texts_have_no_addresses():
    made = mx.optimizer.create(optax.sgd(0.1))
    assert " at 0x" not in str(settings(made))

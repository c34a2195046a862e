"""Optimizer states made to run code, to change classes, or to take all memory or time."""

import builtins
import functools
import operator
import os
import pickle
import posix
import struct
import subprocess

import numpy as np

TOUCHED = "touched"
"""The file in the present folder that a gadget makes if it runs."""

_COMMAND = f"touch {TOUCHED}"
_CODE = f"open({TOUCHED!r}, 'w')"


class Calls:
    """Something that is unpickled by calling a function."""

    def __init__(self, *reduced):
        self.reduced = reduced

    def __reduce__(self):
        return self.reduced


def name(module, attribute):
    """A name, as protocol 0 spells it."""
    return f"c{module}\n{attribute}\n".encode()


def text(value):
    """A string."""
    content = value.encode()
    return pickle.BINUNICODE + struct.pack("<I", len(content)) + content


def data(content):
    """Bytes."""
    return pickle.BINBYTES + struct.pack("<I", len(content)) + content


def with_state(made, state):
    """An object, given a state."""
    return made + state + b"b."


SGD = name("mxnet.optimizer.optimizer", "SGD")
ARRAY = name("mxnet.ndarray.ndarray", "NDArray")
BYTES = name("builtins", "bytearray")
_FAILS = functools.partial(os.system, _COMMAND)
_CALLS = {
    "os.system": Calls(os.system, (_COMMAND,)),
    "posix.system": Calls(posix.system, (_COMMAND,)),
    "eval": Calls(builtins.eval, (_CODE,)),
    "exec": Calls(builtins.exec, (_CODE,)),
    "open": Calls(builtins.open, (TOUCHED, "w")),
    "import": Calls(builtins.__import__, ("antigravity",)),
    "getattr": Calls(builtins.getattr, ("", "format")),
    "popen": Calls(subprocess.Popen, (["touch", TOUCHED],)),
    "partial": _FAILS,
    "attrgetter": operator.attrgetter("__class__.__base__"),
    "state": Calls(dict, (), {"a": Calls(os.system, (_COMMAND,))}),
    "items": Calls(list, (), None, iter([Calls(os.system, (_COMMAND,))])),
    "setter": Calls(dict, (), None, None, None, _FAILS),
    "objects": np.array([Calls(os.system, (_COMMAND,))], object),
    "array": np.ones(2),
    "class": Calls,
    "type": Calls(type, ("Made", (), {})),
    "memoryview": Calls(builtins.bytes, (10**12,)),
}


def _calls():
    for what, gadget in _CALLS.items():
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            try:
                yield f"{what} by protocol {protocol}", pickle.dumps({0: gadget}, protocol)
            except TypeError:  # this protocol has no such thing
                continue


def _handle(content):
    return b"}" + text("handle") + content + b"s"


def _doubled(times):
    """A list that holds a list twice, which holds a list twice, ..."""
    return b"]q\x00" + b"".join(
        b"](h" + bytes([i]) + b"h" + bytes([i]) + b"eq" + bytes([i + 1]) for i in range(times)
    )


_EMPTY_DICT, _EMPTY_TUPLE = b"}", b")"
_RAW = {
    # Names that are allowed, used otherwise.
    "a class is changed": with_state(SGD, b"N}" + text("update") + SGD + b"s\x86"),
    "a class is given attributes": with_state(SGD, b"}" + text("update") + SGD + b"s"),
    "a function is changed": with_state(name("_codecs", "encode"), b"}" + text("a") + b"Ns"),
    "slots are set": with_state(SGD + b")\x81", b"}}" + text("__class__") + ARRAY + b"s\x86"),
    "an optimizer is called": SGD + b"(" + text("x") + b"tR.",
    "an optimizer without a state": SGD + b")\x81}" + text("lr") + b"Nsb.",
    "a name in a name": name("modkit.optimizer.sgd", "SGD.update.__globals__") + b".",
    "a module in a module": name("modkit.optimizer.states", "pickle.loads") + b".",
    "a base class's method": name("modkit.optimizer.base", "Optimizer.create_optimizer") + b".",
    "a name that is escaped": name("os", "\\u0073ystem") + b".",
    "a name alone": SGD + b".",
    "a name in a tuple": SGD + b"\x85.",
    "a name as a state": with_state(SGD + b")\x81", b"}" + text("lr_scheduler") + SGD + b"s"),
    "rebuilt by another base": name("copy_reg", "_reconstructor") + name("os", "_wrap_close")
        + name("builtins", "object") + b"N\x87R.",
    "persistent": b"Pos.system\n.", "extension": b"\x82\x01.", "old instance": b"(ios\nsystem\n.",
    "old object": b"(" + SGD + b"o.", "keywords": SGD + b")}\x92.",
    # Sizes.
    "bytes of a number": BYTES + b"\x8a\x06" + (2**40).to_bytes(6, "little") + b"\x85R.",
    "bytes without end": b"\x8e" + struct.pack("<Q", 2**63) + b".",
    "a large bytearray": b"\x96" + struct.pack("<Q", 2**40) + b".",
    "a negative number": b"\x8b" + struct.pack("<i", -5) + b".",
    "text of 4 GiB": b"X" + struct.pack("<I", 2**32 - 1) + b"abc.",
    "a frame of 2^63": b"\x80\x04\x95" + struct.pack("<Q", 2**63 - 1) + b"N.",
    "a million digits": b"I" + b"9" * 10**6 + b"\n.",
    "a long of a million digits": b"L" + b"9" * 10**6 + b"L\n.",
    "a long of a megabyte": b"\x8b" + struct.pack("<i", 2**20) + b"\x7f" * 2**20 + b".",
    "a number of type object": name("numpy.core.multiarray", "scalar") + name("numpy", "dtype")
        + text("O") + b"\x85R" + data(bytes(8)) + b"\x86R.",
    "a number of fields": name("numpy", "dtype") + text("f8") + b"\x85R"
        + b"(K\x03" + text("<") + text("f8,f8") + b"}N" + b"J\xff\xff\xff\xff" * 2 + b"K\x00tb.",
    # Memory.
    "the last place": b"Nr" + struct.pack("<I", 2**32 - 1) + b".",
    "a place that is empty": b"h\x07.",
    "a place that is empty, far": b"j" + struct.pack("<I", 2**31) + b".",
    "doubled 60 times": _doubled(60) + b".",
    "doubled as a state": with_state(SGD + b")\x81", b"}" + text("x") + _doubled(40) + b"s"),
    "a list in itself": b"]q\x00h\x00a.",
    "a dict in itself": b"}q\x00K\x00h\x00s.",
    "nested": b"]" * 10**4 + b"a" * (10**4 - 1) + b".",
    "a tuple nested": b")" + b"\x85" * 10**4 + b".",
    "copies of bytes": data(bytes(10**5)) + b"q\x000" + (BYTES + b"h\x00\x85R") * 2000 + b".",
    "copies of text": text("a" * 10**5) + b"q\x000(" + (
        name("_codecs", "encode") + b"h\x00" + text("latin1") + b"\x86R") * 2000 + b"l.",
    "one state for many": _handle(data(bytes(10**5))) + b"q\x000(" + (
        ARRAY + b")Rh\x00b") * 2000 + b"l.",
    "keys of one hash": b"}(" + b"".join(
        b"\x8a\x10" + (i * (2**61 - 1)).to_bytes(16, "little") + b"N" for i in range(9999)) + b"u.",
    "keys that are tuples": b"}((K\x01tNu.", "keys that are lists": b"}(]Nu.",
    # Arrays.
    "an array of text": with_state(ARRAY + b")R", _handle(text("abc"))),
    "an array without bytes": ARRAY + b"N\x85R.",
    "an array of an array": ARRAY + ARRAY + b")R\x85R.",
    "an array of a huge shape": with_state(ARRAY + b")R", _handle(data(struct.pack(
        "<IiI2q3i", 0xF993FAC9, 0, 2, 2**31, 2**31, 1, 0, 0)))),
    # The machine.
    "nothing": b"", "no end": b"N", "no value": b".", "no mark": b"t.", "only a mark": b"(.",
    "an odd dict": b"}(Nu.", "a list of none": b"NNa.", "a dict of none": b"NNNs.",
    "two ends": b"0.", "an unknown instruction": b"\xff.", "a call of text": text("a") + b")R.",
}  # fmt: skip

GADGETS = {**dict(_calls()), **_RAW}
"""Contents of ``.states`` files by what is wrong with them."""

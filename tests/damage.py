"""Ways to damage files: hypothesis strategies for bytes, JSON documents and pickles."""

import json
import pickle
import struct

from hypothesis import strategies as st

SIZES = [0, 1, 2**7, 2**15, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**62, 2**63 - 1, 2**63, 2**64 - 1]
"""Sizes that a file may claim."""


def forge(content, at, size, width):
    """``content`` with a size of ``width`` bytes written over it."""
    field = (size % 2 ** (8 * width)).to_bytes(width, "little")
    return content[:at] + field + content[at + width :]


# ── Bytes ───────────────────────────────────────────────────────────────────────────────────


@st.composite
def damaged(draw, seeds):
    """One of the good files, cut, flipped, forged, mixed with another, a few times over."""
    content = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(len(content) - 1, 0)))
        damage, *values = draw(_ONE_DAMAGE)
        content = damage(content, at, *values, seeds=seeds)
    return content


def _cut(content, at, *, seeds):
    return content[:at]


def _replaced(content, at, byte, *, seeds):
    return content[:at] + bytes([byte]) + content[at + 1 :]


def _flipped(content, at, bit, *, seeds):
    return content[:at] + bytes(b ^ 1 << bit for b in content[at : at + 1]) + content[at + 1 :]


def _forged(content, at, size, width, *, seeds):
    return forge(content, at, size, width)


def _inserted(content, at, more, *, seeds):
    return content[:at] + more + content[at:]


def _removed(content, at, count, *, seeds):
    return content[:at] + content[at + count :]


def _repeated(content, at, count, *, seeds):
    return content[: at + count] + content[at:]


def _mixed(content, at, other, *, seeds):
    return content[:at] + seeds[other % len(seeds)][at:]


# A strategy made for each damage takes hypothesis four times as long.
_ONE_DAMAGE = st.one_of(
    st.tuples(st.just(_cut)),
    st.tuples(st.just(_replaced), st.integers(0, 255)),
    st.tuples(st.just(_flipped), st.integers(0, 7)),
    st.tuples(st.just(_forged), st.sampled_from(SIZES), st.sampled_from([1, 2, 4, 8])),
    st.tuples(st.just(_inserted), st.binary(max_size=12)),
    st.tuples(st.just(_removed), st.integers(1, 40)),
    st.tuples(st.just(_repeated), st.integers(1, 40)),
    st.tuples(st.just(_mixed), st.integers(0, 255)),
)


# ── JSON ────────────────────────────────────────────────────────────────────────────────────

_NUMBERS = st.one_of(
    st.sampled_from([*SIZES, -1, -(2**63), 10**30, True, 0.5, 1e308, float("nan")]), st.integers()
)
_WORDS = st.one_of(
    st.text(max_size=8),
    st.sampled_from(
        ["null", "Concat", "SliceChannel", "BatchNorm", "RNN", "NoSuch", "(3, 3)", "None", "-1",
         "num_args", "num_outputs", "((((", "9" * 5000, "1e400", "__lr_mult__", "weight_lr_mult",
         "(1" + ",1" * 200 + ")", "1000000000000", "\ud800", "mxnet_version"]
    ),
)  # fmt: skip
anything = st.recursive(
    st.one_of(st.none(), st.booleans(), _NUMBERS, _WORDS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(_WORDS, inner, max_size=4)
    ),
    max_leaves=8,
)


def _places(value, path=()):
    """The paths to every value in a document."""
    yield path
    if isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in list(pairs):
            yield from _places(inner, (*path, key))


@st.composite
def documents(draw, seeds):
    """One of the good graphs with values, names and references replaced."""
    document = json.loads(draw(st.sampled_from(seeds)))
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(list(_places(document))))
        if not path:
            continue
        holder = document
        for key in path[:-1]:
            holder = holder[key]
        match draw(st.integers(0, 4)):
            case 0:
                del holder[path[-1]]
            case 1 if isinstance(holder, dict):
                holder[draw(_WORDS)] = holder.pop(path[-1])
            case _:
                holder[path[-1]] = draw(anything)
    return json.dumps(document).encode()


# ── Pickles ─────────────────────────────────────────────────────────────────────────────────

_OPCODES = [
    value for name, value in vars(pickle).items()
    if name.isupper() and isinstance(value, bytes) and len(value) == 1
]  # fmt: skip
_NAMES = st.sampled_from(
    ["os system", "builtins eval", "builtins bytearray", "builtins object", "_codecs encode",
     "mxnet.ndarray.ndarray NDArray", "mxnet.optimizer.optimizer SGD", "numpy dtype",
     "mxnet.lr_scheduler FactorScheduler", "numpy.core.multiarray scalar",
     "copy_reg _reconstructor", "modkit.optimizer SGD.update", "modkit.optimizer.base Optimizer"]
)  # fmt: skip


def _text(text):
    content = text.encode()
    return pickle.BINUNICODE + struct.pack("<I", len(content)) + content


_INSTRUCTIONS = st.one_of(
    st.sampled_from(_OPCODES),
    st.sampled_from(
        [pickle.MARK, pickle.EMPTY_DICT, pickle.EMPTY_TUPLE, pickle.REDUCE, pickle.NEWOBJ,
         pickle.BUILD, pickle.TUPLE1, pickle.TUPLE2, pickle.SETITEM, pickle.NONE, pickle.MEMOIZE]
    ),
    _NAMES.map(lambda name: b"c" + name.replace(" ", "\n").encode() + b"\n"),
    st.sampled_from(["handle", "lr", "num_update", "begin_num_update", "f8", "latin1"]).map(_text),
    st.integers(-(2**70), 2**70).map(lambda n: pickle.dumps(n, 2)[2:-1]),
    st.binary(max_size=30).map(
        lambda data: pickle.BINBYTES + struct.pack("<I", len(data)) + data
    ),
    st.sampled_from(SIZES).map(lambda n: pickle.BINBYTES8 + struct.pack("<Q", n)),
    st.sampled_from(SIZES).map(lambda n: pickle.LONG_BINPUT + struct.pack("<I", n % 2**32)),
    st.integers(0, 5).map(lambda n: pickle.BINPUT + bytes([n])),
    st.integers(0, 5).map(lambda n: pickle.BINGET + bytes([n])),
)  # fmt: skip

pickles = st.lists(_INSTRUCTIONS, max_size=30).map(lambda parts: b"".join(parts) + pickle.STOP)
"""Instructions in any order: most make no sense, many nearly do."""

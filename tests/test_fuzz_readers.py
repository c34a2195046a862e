"""Damaged and hostile files: every reader answers each by an error that says what and where."""

import itertools
import json
import os
import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

import modkit as mx
from modkit.errors import FileFormatError, MXNetError
from tests.answers import BadAnswer, ask
from tests.damage import damaged, documents, forge, pickles
from tests.gadgets import GADGETS, TOUCHED
from tests.mutations import mutated
from tests.readers import BYTE, READERS, Reader


@pytest.fixture
def folder():
    """A folder in memory, where there is one: thousands of files are written to it."""
    memory = "/dev/shm"
    where = memory if os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="modkit-", dir=where) as made:
        yield Path(made)


def settled(examples):
    return settings(
        max_examples=examples,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )


def asked(folder, name, content, **options):
    """The result of a reader for this content of a file."""
    reader = READERS[name]
    path = folder / f"damaged{reader.ending}"
    path.write_bytes(content)
    return ask(reader, path, **options)


def spread(count, most):
    """Up to ``most`` of the numbers below ``count``, evenly."""
    return range(0, count, max(1, -(-count // most)))


@pytest.mark.parametrize("name", READERS)
def test_good_files_are_read(folder, name):
    for content in READERS[name].seeds():
        assert asked(folder, name, content, measure=True) is None


# ── Every place of a file ───────────────────────────────────────────────────────────────────


def cut_files(folder, name, seeds, most):
    for content in seeds:
        for length in spread(len(content), most):
            asked(folder, name, content[:length])


def flipped_files(folder, name, seeds, most):
    for content in seeds:
        for at in spread(8 * len(content), most):
            flipped = content[at // 8] ^ 1 << at % 8
            asked(folder, name, content[: at // 8] + bytes([flipped]) + content[at // 8 + 1 :])


def forged_files(folder, name, seeds, most):
    for content in seeds:
        for at in spread(len(content), most):
            for size, width in itertools.product((2**63, 2**63 - 1, 2**31 - 1), (4, 8)):
                asked(folder, name, forge(content, at, size, width))


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("damage", [cut_files, flipped_files, forged_files])
def test_damage_here_and_there(folder, name, damage):
    damage(folder, name, READERS[name].seeds()[:2], most=20)


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("damage", [cut_files, flipped_files, forged_files])
def test_damage_everywhere(folder, name, damage):
    damage(folder, name, READERS[name].seeds(), most=40)


@pytest.mark.parametrize("name", ["params", "states", "records", "symbol"])
def test_a_cut_file_is_never_taken_for_a_whole_one(folder, name):
    content = READERS[name].seeds()[0]
    marks = read_ends(content) if name == "records" else []
    for length in range(len(content) if name != "symbol" else content.rindex(b"}")):
        error = asked(folder, name, content[:length])
        assert (error is None) == (length in marks), length


def read_ends(content):
    """Where a file of records may end: where a record does."""
    magic = content[:4]
    return [0, *(at for at in range(4, len(content)) if content[at : at + 4] == magic)]


# ── Damage of any kind ──────────────────────────────────────────────────────────────────────


def search(folder, name, strategy, examples, **options):
    @settled(examples)
    @given(strategy)
    def any_damage(content):
        asked(folder, name, content, **options)

    any_damage()


@pytest.mark.parametrize("name", READERS)
def test_any_damage(folder, name):
    search(folder, name, damaged(READERS[name].seeds()), 25, measure=True)


@pytest.mark.parametrize("name", ["symbol", "describe symbol"])
def test_any_damage_to_a_graph(folder, name):
    search(folder, name, documents(READERS["symbol"].seeds()), 60)


@pytest.mark.parametrize("name", ["states", "describe states"])
def test_any_instructions_for_states(folder, name):
    search(folder, name, pickles, 100)


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_much_damage(folder, name):
    search(folder, name, damaged(READERS[name].seeds()), 100)
    if "symbol" in name:
        search(folder, name, documents(READERS["symbol"].seeds()), 100)
    if "states" in name:
        search(folder, name, pickles, 200)


@pytest.mark.parametrize("name", READERS)
def test_damage_that_keeps_the_structure(folder, name):
    chance, reader = random.Random(name), READERS[name]
    for _ in range(25):
        asked(folder, name, mutated(chance, reader, reader.seeds()))


# ── Hostile files ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("what", GADGETS)
def test_states_that_are_made_to_harm(folder, monkeypatch, what):
    monkeypatch.chdir(folder)
    before = dict(vars(mx.optimizer.SGD)), dict(vars(mx.optimizer.Optimizer))
    for name in ("states", "describe states"):
        for measure in (False, True):
            error = asked(folder, name, GADGETS[what], measure=measure)
            assert isinstance(error, FileFormatError)
    assert not Path(TOUCHED).exists()
    assert (dict(vars(mx.optimizer.SGD)), dict(vars(mx.optimizer.Optimizer))) == before


def deep(open_, inner, close, times):
    return open_ * times + inner + close * times


GRAPH = (
    '{"nodes": [{"op": "null", "name": "a", "inputs": %s}], "arg_nodes": [0], "heads": [[0, 0]]}'
)
CHAIN = {
    "nodes": [
        {"op": "null", "name": "x", "inputs": []},
        *({"op": "Flatten", "name": f"n{i}", "inputs": [[i, 0]]} for i in range(5000)),
    ],
    "arg_nodes": [0],
    "heads": [[5000, 0]],
}


@pytest.mark.parametrize(
    "text",
    [
        deep("[", "", "]", 10**6), "[" * 10**6, deep('{"a":', "1", "}", 10**5),
        GRAPH % deep("[", "", "]", 900), GRAPH % deep("[", "", "]", 10**5),
        GRAPH.replace('"null"', deep("[", "", "]", 700)) % "[]", GRAPH % "[[1e400, 0]]",
        GRAPH % f"[[{'9' * 10**5}, 0]]", GRAPH % f"[[{2**63}, {2**63}]]", GRAPH % "[[0, 0]]",
        '{"nodes": [' + "{}," * 10**5 + "{}]}", '{"nodes": ' + '"a' * 10**5,
    ],
    ids=range(12),
)  # fmt: skip
def test_graphs_that_are_made_to_harm(folder, text):
    for name in ("symbol", "describe symbol"):
        assert asked(folder, name, text.encode()) is not None
        assert asked(folder, name, text.encode(), measure=True) is not None


def test_a_long_chain_is_a_graph(folder):
    assert asked(folder, "symbol", json.dumps(CHAIN).encode()) is None


def test_errors_of_contents_without_a_file_say_where():
    for read, content, where in [
        (mx.nd.load_frombuffer, b"junk" * 8, "buffer: at byte 0"),
        (mx.sym.load_json, "{", "JSON text: .*line 1 column 2"),
        (mx.optimizer.get_updater(mx.optimizer.create("sgd")).set_states, b"N.", "states: at byte"),
        (mx.recordio.unpack, b"abc", "got 3 bytes, expected at least 24"),
    ]:
        with pytest.raises(MXNetError, match=where):
            read(content)


# ── The judge itself ────────────────────────────────────────────────────────────────────────


def fail(message):
    raise FileFormatError(message)


@pytest.mark.parametrize(
    ("read", "says"),
    [
        (lambda path: os.system("true"), "did .*os.system"),
        (lambda path: exec("1"), "did .*exec"),
        (lambda path: path.write_bytes(b""), "did .*open"),
        (lambda path: bytes(10**8), "took 10.* bytes for a file of 3"),
        (lambda path: fail("at byte 3: wrong"), "does not name the file"),
        (lambda path: fail(f"{path}: wrong"), "does not say where"),
        (lambda path: fail(f"{path}: at byte 3: "), "gives no reason"),
    ],
)
def test_a_bad_answer_is_seen(folder, read, says):
    path = folder / "x.bin"
    path.write_bytes(b"abc")
    with pytest.raises(BadAnswer, match=says):
        ask(Reader("mine", ".bin", read, list, BYTE), path, measure="bytes" in says)


def test_other_errors_are_not_taken_for_answers(folder):
    path = folder / "x.bin"
    path.write_bytes(b"abc")
    with pytest.raises(KeyError):
        ask(Reader("mine", ".bin", lambda path: {}[path], list, BYTE), path)

"""`state_dict` of every iterator: a new one goes on where another was, and over the next epochs."""

import random
import struct

import numpy as np
import pytest

import modkit as mx
from modkit import recordio
from modkit.errors import ParameterError
from modkit.io.order import Shuffler
from tests.module.resuming import buckets

COUNT, SIZE = 11, 3
X = np.arange(COUNT * 2, dtype=np.float32).reshape(COUNT, 2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("positions")
    np.savetxt(made / "x.csv", X, delimiter=",")
    lines = [f"{i} 0:{i + 1} 2:{i / 2}" for i in range(COUNT)]
    (made / "x.svm").write_text("\n".join(lines))
    images = np.arange(COUNT * 4, dtype=np.uint8)
    (made / "images").write_bytes(struct.pack(">4I", 0x803, COUNT, 2, 2) + images.tobytes())
    (made / "labels").write_bytes(struct.pack(">2I", 0x801, COUNT) + bytes(range(COUNT)))
    stream = np.random.RandomState(3)
    with recordio.MXRecordIO(str(made / "x.rec"), "w") as file:
        for i in range(COUNT):
            image = stream.randint(0, 255, (6, 6, 3)).astype(np.uint8)
            header = recordio.IRHeader(0, float(i), i, 0)
            file.write(recordio.pack_img(header, image, img_fmt=".png"))
    return made


def images(folder, **options):
    options = {"shuffle": True, "rand_crop": True, "rand_mirror": True, "seed": 4} | options
    return mx.io.ImageRecordIter(str(folder / "x.rec"), (3, 4, 4), SIZE, **options)


def csv(folder):
    return mx.io.CSVIter(str(folder / "x.csv"), (2,), batch_size=SIZE)


def arrays(_, **options):
    return mx.io.NDArrayIter(X, X[:, 0], SIZE, shuffle=True, **options)


MAKERS = {
    "arrays": arrays,
    "rolled": lambda f: arrays(f, last_batch_handle="roll_over"),
    "discarded": lambda f: arrays(f, last_batch_handle="discard"),
    "csv": csv,
    "libsvm": lambda f: mx.io.LibSVMIter(str(f / "x.svm"), (3,), batch_size=SIZE),
    "mnist": lambda f: mx.io.MNISTIter(str(f / "images"), str(f / "labels"), SIZE, seed=2),
    "images": images,
    "unrounded": lambda f: images(f, round_batch=False),
    "prefetched": lambda f: mx.io.PrefetchingIter(arrays(f, last_batch_handle="roll_over")),
    "prefetched images": lambda f: mx.io.PrefetchingIter(images(f)),
    "resized": lambda f: mx.io.ResizeIter(arrays(f), 7),
    "sentences": lambda _: buckets(),
}


def read(it, count):
    """So many batches, over epochs, as plain lists."""
    found = []
    while len(found) < count:
        try:
            batch = it.next()
        except StopIteration:
            it.reset()
            found.append("reset")
            continue
        found.append([a.asnumpy().tolist() for a in [*batch.data, *batch.label]] + [batch.pad])
    return found


@pytest.mark.parametrize("name", MAKERS)
def test_a_new_iterator_goes_on_behind_any_batch(name, folder):
    np.random.seed(1)  # noqa: NPY002 - the stream that orders come from
    random.seed(1)
    first = MAKERS[name](folder)
    for count in (0, 2, 3, 1):
        read(first, count)
        state, streams = first.state_dict(), (np.random.get_state(), random.getstate())  # noqa: NPY002
        expected = read(first, 9)
        second = MAKERS[name](folder)
        read(second, 1)  # it may be anywhere
        np.random.set_state(streams[0])  # noqa: NPY002
        random.setstate(streams[1])
        second.load_state_dict(state)
        assert read(second, 9) == expected
        first = second


@pytest.mark.parametrize("name", MAKERS)
def test_an_iterator_begins_anew_by_its_seed(name, folder):
    def begun(before):
        it = MAKERS[name](folder)
        read(it, before)
        if hasattr(it, "reseed"):
            np.random.seed(2)  # noqa: NPY002
            random.seed(2)
            it.reseed(5)
        else:
            it.reset()
        return read(it, 7)

    assert begun(0) == begun(0)
    if hasattr(MAKERS[name](folder), "reseed"):
        assert begun(2) == begun(0)


def test_words_of_a_shuffle_are_counted(folder):
    first, second = Shuffler(3), Shuffler(3)
    first.shuffled(range(2000))
    second.move_to(first.drawn)
    assert first.shuffled(range(50)) == second.shuffled(range(50))


@pytest.mark.parametrize("name", ["arrays", "csv", "resized", "sentences"])
def test_a_state_of_other_data_is_refused(name, folder):
    state = MAKERS[name](folder).state_dict()
    change = {"arrays": ("num_data", 5), "csv": ("batch_size", 5), "resized": ("size", 2),
              "sentences": ("data", [])}[name]  # fmt: skip
    with pytest.raises(ParameterError, match="load_state_dict: got"):
        MAKERS[name](folder).load_state_dict({**state, change[0]: change[1]})


def test_an_iterator_around_one_without_a_state_has_none():
    class Plain(mx.io.DataIter):
        provide_data = provide_label = [("data", (2, 2))]  # noqa: RUF012

        def next(self):
            raise StopIteration

    assert mx.io.PrefetchingIter(Plain(2)).state_dict() is None
    assert mx.io.ResizeIter(Plain(2), 3).state_dict() is None

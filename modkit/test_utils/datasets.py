"""Data sets for tests, read from local files; and a download function."""

from __future__ import annotations

import gzip
import logging
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np

from modkit.base import data_dir
from modkit.errors import NotSupportedError, expect
from modkit.io import MNISTIter
from modkit.io.mnist import read_idx

_MNIST = {
    "train_data": "train-images-idx3-ubyte",
    "train_label": "train-labels-idx1-ubyte",
    "test_data": "t10k-images-idx3-ubyte",
    "test_label": "t10k-labels-idx1-ubyte",
}


def _find_mnist(name: str, first: str | None = None) -> Path:
    home = Path(data_dir())
    folders = [Path("data"), Path(), home / "datasets" / "mnist", home]
    folders[:0] = [Path(first)] if first else []
    for folder in folders:
        for path in (folder / name, folder / f"{name}.gz"):
            if path.is_file():
                return path
    places = ", ".join(str(folder.absolute()) for folder in folders)
    raise NotSupportedError(
        f"MNIST: {name} (or {name}.gz) is in none of {places}. modkit downloads no data sets: "
        f"put the four files {', '.join(_MNIST.values())} into ./data"
    )


def get_mnist(path: str | None = None) -> dict[str, np.ndarray]:
    """MNIST as arrays, from local files.

    Args:
        path: a directory that is searched before the default ones.

    Returns:
        ``train_data``, ``train_label``, ``test_data`` and ``test_label``; images (N, 1, 28, 28)
        in [0, 1].

    Raises:
        NotSupportedError: the files are missing; the message lists the directories.
    """
    found = {}
    for key, name in _MNIST.items():
        images = key.endswith("data")
        array = read_idx(str(_find_mnist(name, path)), ndim=3 if images else 1)
        found[key] = array.reshape(-1, 1, 28, 28).astype(np.float32) / 255 if images else array
    return found


def get_mnist_ubyte(path: str | None = None) -> None:
    """Ensure that MNIST's four files are in ``./data``, decompressed if necessary.

    Raises:
        NotSupportedError: the files are missing; the message lists the directories.
    """
    target = Path(path or "data")
    for name in _MNIST.values():
        if (target / name).is_file():
            continue
        source = _find_mnist(name)
        raw = source.read_bytes()
        target.mkdir(parents=True, exist_ok=True)
        (target / name).write_bytes(gzip.decompress(raw) if source.suffix == ".gz" else raw)


def get_mnist_iterator(
    batch_size: int,
    input_shape: tuple[int, ...],
    num_parts: int = 1,
    part_index: int = 0,
    path: str | None = None,
) -> tuple[Any, Any]:
    """Iterators over MNIST for training and for validation.

    Args:
        input_shape: (784,) for flat images, (1, 28, 28) otherwise.
        num_parts: number of workers that share the training data.
        part_index: index of this worker.
        path: directory of the files; default ``./data``.

    Returns:
        The training and the validation iterator.

    Raises:
        NotSupportedError: the files are missing; the message lists the directories.
    """
    get_mnist_ubyte(path)
    folder = Path(path or "data")

    def make(kind: str, **more: Any) -> Any:
        return MNISTIter(
            image=str(folder / _MNIST[f"{kind}_data"]),
            label=str(folder / _MNIST[f"{kind}_label"]),
            batch_size=batch_size,
            flat=len(input_shape) != 3,
            **more,
        )

    train = make("train", shuffle=True, num_parts=num_parts, part_index=part_index)
    return train, make("test", shuffle=False)


def _refuse(what: str, instead: str) -> NotSupportedError:
    return NotSupportedError(f"{what}: modkit downloads no data sets; {instead}")


def get_cifar10() -> None:
    """Raise NotSupportedError unless ``data/cifar/train.rec`` and ``test.rec`` exist."""
    if not all((Path("data/cifar") / f"{n}.rec").is_file() for n in ("train", "test")):
        raise _refuse("CIFAR-10", "put train.rec and test.rec into ./data/cifar")


def get_mnist_pkl() -> None:
    """Raise NotSupportedError unless ``data/mnist.pkl.gz`` exists."""
    if not Path("data/mnist.pkl.gz").is_file():
        raise _refuse("mnist.pkl.gz", "put it into ./data, or use get_mnist()")


def get_zip_data(data_dir: str, url: str, data_origin_name: str) -> None:
    """Raise: data sets are not downloaded."""
    raise _refuse(url, f"download and unzip it into {data_dir} as {data_origin_name}")


def get_bz2_data(data_dir: str, data_name: str, url: str, data_origin_name: str) -> None:
    """Raise NotSupportedError unless ``data_dir/data_name`` exists."""
    if not (Path(data_dir) / data_name).is_file():
        raise _refuse(url, f"download it ({data_origin_name}) and unpack it to "
                      f"{Path(data_dir) / data_name}")  # fmt: skip


def download_model(model_name: str, dst_dir: str = "./", meta_info: Any = None) -> None:
    """Raise: pretrained models are not downloaded."""
    raise _refuse(model_name, "load the files that you have with mx.model.load_checkpoint")


def get_im2rec_path(home_env: str = "MXNET_HOME") -> str:
    """Raise: MXNet's ``im2rec.py`` is not part of modkit."""
    raise NotSupportedError("im2rec.py is not part of modkit; write records with mx.recordio")


def download(
    url: str,
    fname: str | None = None,
    dirname: str | None = None,
    overwrite: bool = False,
    retries: int = 5,
) -> str:
    """Download one file.

    Args:
        fname: name of the file; default: the last part of ``url``.
        dirname: directory, created if missing; default: that of ``fname``.

    Returns:
        The path of the file.

    Raises:
        ParameterError: ``url`` is neither http nor https.
        OSError: all attempts failed.
    """
    expect(url.startswith(("http://", "https://")), "download", url, "an http or https address")
    target = Path(dirname or "") / (fname or url.rstrip("/").rsplit("/", 1)[-1])
    if target.exists() and not overwrite:
        logging.info("%s exists, skipping download", target)
        return str(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    for attempt in range(max(1, retries)):
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                target.write_bytes(answer.read())
            break
        except OSError:
            if attempt + 1 >= retries:
                raise
            logging.info("download of %s failed, trying again", url)
    logging.info("downloaded %s into %s successfully", url, target)
    return str(target)

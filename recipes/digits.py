"""scikit-learn's handwritten digits, 1,797 real images of 8x8 pixels, as iterators."""

import numpy as np
from sklearn.datasets import load_digits

import modkit as mx

VALIDATION = 360


def arrays():
    """Images (1797, 1, 8, 8) in [0, 1] and labels, in a fixed random order."""
    bunch = load_digits()
    order = np.random.RandomState(0).permutation(len(bunch.target))
    images = (bunch.images[order] / 16).astype(np.float32)[:, None]
    return images, bunch.target[order].astype(np.float32)


def iterators(batch_size):
    """Training and validation iterators; the last fifth of the images is for validation."""
    images, labels = arrays()
    train = mx.io.NDArrayIter(
        images[:-VALIDATION], labels[:-VALIDATION], batch_size, shuffle=True,
        last_batch_handle="roll_over",
    )  # fmt: skip
    return train, mx.io.NDArrayIter(images[-VALIDATION:], labels[-VALIDATION:], batch_size)

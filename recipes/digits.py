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


def iterators(batch_size, **part):
    """Training and validation iterators; the last fifth of the images is for validation.

    ``part`` has ``num_parts`` and ``part_index``, where several workers share the batches.
    """
    images, labels = arrays()
    train = mx.io.NDArrayIter(
        images[:-VALIDATION], labels[:-VALIDATION], batch_size, shuffle=True,
        last_batch_handle="roll_over", **part,
    )  # fmt: skip
    held_out = slice(-VALIDATION, None)
    return train, mx.io.NDArrayIter(images[held_out], labels[held_out], batch_size, **part)

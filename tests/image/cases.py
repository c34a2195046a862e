"""Calls of ``mx.image`` that modkit and MXNet 1.9.1 both run: the table of `test_image.py`.

It knows nothing but NumPy and the standard library, so that the reference's Python can read it.
"""

import random
import struct
import zlib

import numpy as np


def pixels(height=12, width=16):
    """A colour image with gradients and an edge."""
    y, x = np.mgrid[:height, :width]
    made = np.stack([x * 255 // width, y * 255 // height, (x * 5 + y * 9) % 64 * 4], -1)
    made[height // 3 : height // 2, 3:9] = [200, 30, 90]
    return made.astype(np.uint8)


def png(image):
    """The image as a PNG file."""
    height, width, _ = image.shape
    rows = b"".join(b"\0" + row.tobytes() for row in image)

    def chunk(kind, data):
        crc = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", crc)

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


PNG = png(pixels())
SIZES = [(8, 6), (16, 24), (9, 20), (20, 5), (5, 5)]
JITTER = {"brightness": 0.3, "contrast": 0.3, "saturation": 0.3, "hue": 0.2, "pca_noise": 0.1}

# name: a function of the package and of the image, uint8 or float32 by the name's end
CASES = {
    "imdecode": lambda mx, im: mx.image.imdecode(PNG),
    "imdecode bgr": lambda mx, im: mx.image.imdecode(PNG, to_rgb=False),
    "imdecode grey": lambda mx, im: mx.image.imdecode(PNG, flag=0),
    "resize_short": lambda mx, im: mx.image.resize_short(im, 7),
    "resize_short 9": lambda mx, im: mx.image.resize_short(im, 7, interp=9),
    "resize_short 10": lambda mx, im: mx.image.resize_short(im, 7, interp=10),
    "fixed_crop": lambda mx, im: mx.image.fixed_crop(im, 2, 3, 6, 5),
    "fixed_crop size": lambda mx, im: mx.image.fixed_crop(im, 2, 3, 6, 5, (9, 8)),
    "center_crop": lambda mx, im: mx.image.center_crop(im, (7, 6)),
    "center_crop large": lambda mx, im: mx.image.center_crop(im, (20, 30)),
    "random_crop": lambda mx, im: mx.image.random_crop(im, (7, 6)),
    "random_size_crop": lambda mx, im: mx.image.random_size_crop(
        im, (7, 6), (0.1, 1), (0.7, 1.4)
    ),
    "random_size_crop one": lambda mx, im: mx.image.random_size_crop(im, (7, 6), 0.3, (1, 1)),
    "random_size_crop none": lambda mx, im: mx.image.random_size_crop(im, (7, 6), (3, 4), (1, 1)),
    "color_normalize float32": lambda mx, im: mx.image.color_normalize(
        im, mx.nd.array([1, 2, 3]), mx.nd.array([2, 4, 8])
    ),
    "border": lambda mx, im: mx.image.copyMakeBorder(im, 1, 2, 3, 4, values=(7, 8, 9)),
    "border 1": lambda mx, im: mx.image.copyMakeBorder(im, 1, 2, 3, 4, type=1),
    "border 2": lambda mx, im: mx.image.copyMakeBorder(im, 1, 2, 3, 4, type=2),
    "border 3": lambda mx, im: mx.image.copyMakeBorder(im, 1, 2, 3, 4, type=3),
    "border 4": lambda mx, im: mx.image.copyMakeBorder(im, 1, 2, 3, 4, type=4),
    "brightness float32": lambda mx, im: mx.image.BrightnessJitterAug(0.4)(im),
    "contrast float32": lambda mx, im: mx.image.ContrastJitterAug(0.4)(im),
    "saturation float32": lambda mx, im: mx.image.SaturationJitterAug(0.4)(im),
    "hue float32": lambda mx, im: mx.image.HueJitterAug(0.4)(im),
    "grey float32": lambda mx, im: mx.image.RandomGrayAug(1)(im),
    "mirror": lambda mx, im: mx.image.HorizontalFlipAug(1)(im),
    "mirror perhaps": lambda mx, im: mx.image.HorizontalFlipAug(0.5)(im),
    "force": lambda mx, im: mx.image.ForceResizeAug((5, 9), interp=9)(im),
    "colours float32": lambda mx, im: mx.image.ColorJitterAug(0.4, 0.3, 0.2)(im),
    "lighting float32": lambda mx, im: mx.image.CreateAugmenter((3, 4, 4), pca_noise=0.1)[-1](im),
    "all": lambda mx, im: mx.image.SequentialAug(
        mx.image.CreateAugmenter((3, 6, 6), resize=8, rand_crop=True, rand_mirror=True,
                                 mean=True, std=True, inter_method=1, **JITTER)
    )(im),
    "rotate float32": lambda mx, im: mx.image.imrotate(im.transpose((2, 0, 1)), 30),
    "rotate in float32": lambda mx, im: mx.image.imrotate(
        im.transpose((2, 0, 1)), 30, zoom_in=True
    ),
    "rotate out float32": lambda mx, im: mx.image.imrotate(
        im.transpose((2, 0, 1)), 130, zoom_out=True
    ),
    "rotate several float32": lambda mx, im: mx.image.imrotate(
        im.transpose((2, 0, 1)).expand_dims(1), mx.nd.array([10, -20, 90])
    ),
    "random_rotate float32": lambda mx, im: mx.image.random_rotate(
        im.transpose((2, 0, 1)), (-40, 40)
    ),
    **{
        f"resize {w} {h} {interp} {dtype}": lambda mx, im, w=w, h=h, interp=interp: (
            mx.image.imresize(im, w, h, interp)
        )
        for w, h in SIZES
        for interp in range(5)
        for dtype in ("uint8", "float32")
    },
}  # fmt: skip


def run(mx, name):
    """The arrays of a case."""
    seed = zlib.crc32(name.encode()) % 1000
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - the stream that augmenters draw from
    dtype = "float32" if name.endswith("float32") else "uint8"
    made = CASES[name](mx, mx.nd.array(pixels(), dtype=dtype))
    image, *region = made if isinstance(made, tuple) else (made,)
    return [image.asnumpy(), *(np.array(r) for r in region)]

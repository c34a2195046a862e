"""Random changes of `ImageDetRecordIter`, by figures of MXNet 1.9.1 for an image of 200 x 300."""

import numpy as np
import pytest

from modkit.errors import ParameterError
from modkit.io.detection_augmentation import OPTIONS, DetectionAugmentation

DEFAULTS = {name: default for name, (_, default) in OPTIONS.items()}
WHOLE = [[1, 0, 0, 1, 1]]
CENTRAL = [[1, 0.45, 0.4, 0.55, 0.6]]
THREE = [[1, 0.1, 0.1, 0.4, 0.5], [2, 0.5, 0.5, 0.9, 0.9], [3, 0.05, 0.7, 0.15, 0.8]]
ALL_STAY = {"crop_emit_mode": "overlap", "emit_overlap_thresh": 0.0}
FULL = np.array([0.0, 0.0, 1.0, 1.0])


def drawn(boxes, count=2000, size=(200, 300), **options):
    """Results for an image whose two channels are its columns and its rows."""
    rows, columns = np.indices(size)
    image = np.stack([columns % 256, rows, columns // 256], 2).astype(np.uint8)
    changes = DetectionAugmentation({**DEFAULTS, **options})
    boxes = np.array(boxes, np.float32)
    return [changes(image, boxes, np.random.default_rng(seed)) for seed in range(count)]


def sizes(results):
    return np.array([image.shape[:2] for image, _ in results])


def cropped(boxes, count=2000, **options):
    options = {"rand_crop_prob": 1.0, "max_crop_trials": (50,), **options}
    return drawn(boxes, count, **options)


def rectangle(image):
    """The part of [0, 1] that an image of `drawn` is."""
    first, (height, width) = image[0, 0].astype(int), image.shape[:2]
    left, top = first[0] + 256 * first[2], first[1]
    return np.array([left / 300, top / 200, (left + width) / 300, (top + height) / 200])


def shared(crop, box):
    sides = np.minimum(crop[2:], box[2:]) - np.maximum(crop[:2], box[:2])
    return np.prod(np.maximum(sides, 0))


def area(box):
    return np.prod(box[2:] - box[:2])


def test_sizes_and_places_of_crops():
    ratios = {"min_crop_aspect_ratios": (0.3,), "max_crop_aspect_ratios": (3,)}
    scales = {"min_crop_scales": (0.2,), "max_crop_scales": (0.95,)}
    results = cropped(WHOLE, 4000, **ratios, **scales, **ALL_STAY)
    height, width = sizes(results).T
    scale, ratio = np.sqrt(height * width / 60000), width / height
    near = np.percentile(scale, [0, 50, 100])
    np.testing.assert_allclose(near, [0.2, 0.575, 0.95], atol=0.02)
    for low, high, want in (
        (0.2, 0.4, [0.3, 0.58, 0.85, 1.09, 1.36, 1.67, 1.91, 2.2, 2.5, 2.76, 3.05]),
        (0.8, 1.0, [1.03, 1.24, 1.32, 1.39, 1.46, 1.54, 1.61, 1.68, 1.76, 1.9, 2.31]),
    ):
        some = ratio[(low < scale) & (scale < high)]
        np.testing.assert_allclose(np.percentile(some, range(0, 101, 10)), want, atol=0.13)
    small = [rectangle(i) for i, _ in results if i.shape[1] < 200 and i.shape[0] < 150]
    share = [r[:2] / (1 - r[2:] + r[:2]) for r in small]
    np.testing.assert_allclose(np.mean(share, 0), 0.5, atol=0.03)


@pytest.mark.parametrize(
    ("scales", "ratios", "want"),
    [
        ((0.7, 0.9), (0.5, 0.6), [0.665, 0.755, 0.815, 0.882, 0.97, 1.205]),
        ((0.85, 0.9), (3, 4), [1.875, 2.069, 2.174, 2.256, 2.344, 2.5]),
    ],
)
def test_ratios_without_room(scales, ratios, want):
    results = cropped(WHOLE, 1000, min_crop_scales=scales[:1], max_crop_scales=scales[1:],
                      min_crop_aspect_ratios=ratios[:1], max_crop_aspect_ratios=ratios[1:],
                      **ALL_STAY)  # fmt: skip
    height, width = sizes(results).T
    found = np.percentile(width / height, range(0, 101, 20))
    np.testing.assert_allclose(found, want, atol=0.05)
    assert ((width == 300) | (height == 200)).all()


@pytest.mark.parametrize(("trials", "unchanged"), [(1, 0.93), (5, 0.702), (25, 0.166), (0, 1)])
def test_after_the_last_trial_the_image_stays(trials, unchanged):
    results = cropped(CENTRAL, 1000, min_crop_scales=(0.2,), max_crop_scales=(0.21,),
                      max_crop_trials=(trials,))  # fmt: skip
    assert abs((sizes(results)[:, 1] == 300).mean() - unchanged) < 0.04


@pytest.mark.parametrize(
    ("options", "counts"),
    [
        ({}, [0, 303, 97, 0]),
        ({"crop_emit_mode": "overlap"}, [0, 247, 142, 11]),
        ({"crop_emit_mode": "overlap", "emit_overlap_thresh": 0.7}, [0, 352, 48, 0]),
    ],
)
def test_boxes_that_a_crop_keeps(options, counts):
    results = cropped(THREE, 1000, min_crop_scales=(0.4,), max_crop_scales=(0.7,), **options)
    found = np.bincount([len(boxes) for _, boxes in results], minlength=4)
    np.testing.assert_allclose(found / 1000, np.array(counts) / 400, atol=0.05)
    for image, boxes in results[:200]:
        crop = rectangle(image)
        for box in boxes:
            before = np.array(THREE[int(box[0]) - 1][1:])
            want = (before.reshape(2, 2) - crop[:2]) / (crop[2:] - crop[:2])
            np.testing.assert_allclose(box[1:], want.clip(0, 1).ravel(), atol=0.03)


@pytest.mark.parametrize(
    "options",
    [
        {"overlaps": (0.1, 0.2)}, {"sample_coverages": (0.1, 0.2)},
        {"object_coverages": (0.4, 0.6)}, {"overlaps": (0.0001, 0.1)},
        {"sample_coverages": (0.3, 1), "object_coverages": (0.9, 1)},
    ],
)  # fmt: skip
def test_one_box_fulfils_all_ranges(options):
    limits = {f"{end}_crop_{n}": (r[i],) for n, r in options.items()
              for i, end in enumerate(("min", "max"))}  # fmt: skip
    results = cropped(THREE, 300, min_crop_scales=(0.3,), max_crop_scales=(0.7,), **limits)
    results = [image for image, _ in results if image.shape[1] < 300]
    assert len(results) > 150
    for image in results:
        crop = rectangle(image)
        fits = []
        for box in np.array(THREE)[:, 1:]:
            part = shared(crop, box)
            values = {"overlaps": part / (area(box) + area(crop) - part),
                      "sample_coverages": part / area(crop),
                      "object_coverages": part / area(box)}  # fmt: skip
            room = 0.12 if box[2] - box[0] < 0.2 else 0.04  # pixels of the crop are rounded
            fits.append(all(low - room <= values[n] <= high + room
                            for n, (low, high) in options.items()))  # fmt: skip
        assert any(fits), crop


def test_the_upper_end_alone_limits_nothing():
    same = {"min_crop_scales": (0.3,), "max_crop_scales": (0.7,)}
    limited = cropped(THREE, 20, **same, max_crop_overlaps=(0.1,))
    for (image, boxes), (want, want_boxes) in zip(limited, cropped(THREE, 20, **same), strict=True):
        np.testing.assert_array_equal(image, want)
        np.testing.assert_array_equal(boxes, want_boxes)


@pytest.mark.parametrize(
    ("options", "shares"),
    [
        ({}, [0.333, 0.333, 0.333, 0]),
        ({"min_crop_overlaps": (0.99, 0, 0)}, [0, 0.5, 0.5, 0]),
        ({"min_crop_overlaps": (0.99, 0.99, 0)}, [0, 0, 1, 0]),
        ({"max_crop_trials": (0, 50, 50)}, [0, 0.5, 0.5, 0]),
        ({"rand_crop_prob": 0.6}, [0.2, 0.2, 0.2, 0.4]),
        ({"num_crop_sampler": 0, "min_crop_scales": (0,), "max_crop_scales": (1,)}, [0, 0, 0, 1]),
    ],
)
def test_kinds_of_crops_are_tried_in_random_order(options, shares):
    kinds = {"num_crop_sampler": 3, "min_crop_scales": (0.2, 0.5, 0.8),
             "max_crop_scales": (0.3, 0.6, 0.9), **ALL_STAY}  # fmt: skip
    height, width = sizes(cropped(WHOLE, 800, **{**kinds, **options})).T
    scale = np.sqrt(height * width / 60000)
    found = [((low < scale) & (scale < high)).mean()
             for low, high in ((0.15, 0.35), (0.45, 0.65), (0.75, 0.93), (0.95, 1.1))]  # fmt: skip
    np.testing.assert_allclose(found, shares, atol=0.06)


def test_borders():
    results = drawn(CENTRAL, 1000, rand_pad_prob=1.0, max_pad_scale=3.0, fill_value=9)
    height, width = sizes(results).T
    want = [200, 243, 288, 332, 376, 402, 449, 475, 508, 556, 595]
    np.testing.assert_allclose(np.percentile(height, range(0, 101, 10)), want, atol=30)
    assert (np.abs(width / height - 1.5) < 0.01).all()
    places = []
    for image, boxes in results[:200]:
        high, wide = image.shape[:2]
        inside = image[..., 1] != 9  # a row of the image has this number too
        left, top = (np.nonzero(inside.any(axis))[0][0] for axis in (0, 1))
        want = [(left + 135) / wide, (top + 80) / high, (left + 165) / wide, (top + 120) / high]
        np.testing.assert_allclose(boxes[0, 1:], want, atol=1e-5)
        if wide > 400:
            places.append([left / (wide - 300), top / (high - 200)])
    np.testing.assert_allclose(np.mean(places, 0), 0.5, atol=0.07)


def test_small_borders_are_left_out():
    results = drawn(CENTRAL, 1000, rand_pad_prob=0.5, max_pad_scale=1.2)
    width = sizes(results)[:, 1]
    assert abs((width == 300).mean() - 0.635) < 0.04
    assert width[width > 300].min() >= 314


def test_a_crop_comes_after_a_border_and_colours_before():
    results = drawn(WHOLE, 100, rand_pad_prob=1.0, max_pad_scale=2.0, rand_crop_prob=1.0,
                    min_crop_scales=(0.9,), max_crop_scales=(0.95,), fill_value=9,
                    random_contrast_prob=1.0, max_random_contrast=0.5, **ALL_STAY)  # fmt: skip
    height, width = sizes(results).T
    assert (width / height < 1.4).all() and height.max() > 300
    assert all((image == 9).all(2).any() for image, _ in results if image.shape[0] > 300)


@pytest.mark.parametrize(
    ("name", "most", "low", "high"),
    [
        ("hue", 20, [179, 40, 40], [200, 200, 40]),
        ("hue", -20, [179, 40, 40], [200, 200, 40]),
        ("saturation", 40, [182, 120, 22], [218, 120, 58]),
        ("illumination", 40, [135, 81, 27], [223, 159, 95]),
        ("contrast", 0.5, [100, 60, 20], [255, 180, 60]),
        ("contrast", -0.5, [100, 60, 20], [255, 180, 60]),
    ],
)
def test_colours(name, most, low, high):
    image = np.full((1, 1, 3), (200, 120, 40), np.uint8)
    options = {f"random_{name}_prob": 1.0, f"max_random_{name}": most}
    changes = DetectionAugmentation({**DEFAULTS, **options})
    pixels = [changes(image, np.array(WHOLE), np.random.default_rng(s))[0] for s in range(500)]
    found = np.concatenate(pixels)[:, 0].astype(int)
    np.testing.assert_allclose(found.min(0), low, atol=1)
    np.testing.assert_allclose(found.max(0), high, atol=1)
    half = DetectionAugmentation({**DEFAULTS, **options, f"random_{name}_prob": 0.5})
    some = [half(image, np.array(WHOLE), np.random.default_rng(s))[0] for s in range(500)]
    assert abs(np.mean([(p == image).all() for p in some]) - 0.53) < 0.08


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"num_crop_sampler": 3, "min_crop_scales": (0.2, 0.5)}, "min_crop_scales.*sampler=3"),
        ({"min_crop_scales": (0.5,), "max_crop_scales": (0.4,)}, "got 0.5 and 0.4"),
        ({"min_crop_scales": (0.5,), "max_crop_scales": (0.5,)}, "got 0.5 and 0.5"),
        ({"min_crop_scales": (-0.5,)}, "0 <= min < max <= 1"),
        ({"max_crop_scales": (1.5,)}, "0 <= min < max <= 1"),
        ({"min_crop_scales": (float("nan"),)}, "got nan and 1"),
        ({"max_pad_scale": float("inf")}, "max_pad_scale: got inf"),
        ({"min_crop_aspect_ratios": (2.0,)}, "got 2 and 1, expected 0 <= min <= max$"),
        ({"min_crop_overlaps": (1.5,)}, "got 1.5 and 1"),
    ],
)
def test_ranges_that_are_refused(options, told):
    with pytest.raises(ParameterError, match=told):
        DetectionAugmentation({**DEFAULTS, **options})

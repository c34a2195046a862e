"""``mx.nd.image`` and ``mx.sym.image``: draws, gradients, and what is no image."""

import numpy as np
import pytest

import modkit as mx

PIXELS = np.random.RandomState(0).uniform(20, 200, (5, 7, 3)).astype("float32")
GREY = PIXELS[..., :1]


def image(name, data=PIXELS, **attrs):
    return getattr(mx.nd.image, name)(mx.nd.array(data, dtype=data.dtype), **attrs).asnumpy()


def gradient(name, data, **attrs):
    """The head gradient, and what the operator makes of it."""
    symbol = getattr(mx.sym.image, name)(mx.sym.Variable("data"), **attrs)
    executor = symbol.simple_bind(mx.cpu(), data=data.shape)
    executor.arg_dict["data"][:] = data
    shape = executor.forward(is_train=True)[0].shape
    head = np.random.RandomState(1).uniform(-1, 1, shape).astype("float32")
    executor.backward(mx.nd.array(head))
    return head, executor.grad_dict["data"].asnumpy()


def test_flips_of_odd_sizes_write_every_pixel():
    np.testing.assert_array_equal(image("flip_left_right"), PIXELS[:, ::-1])
    np.testing.assert_array_equal(image("flip_top_bottom"), PIXELS[::-1])


@pytest.mark.parametrize("way", ["left_right", "top_bottom"])
def test_random_flips_flip_half_of_the_images(way):
    mx.random.seed(3)
    made = [image(f"random_flip_{way}") for _ in range(60)]
    flipped = PIXELS[:, ::-1] if way == "left_right" else PIXELS[::-1]
    count = sum(np.array_equal(each, flipped) for each in made)
    assert count + sum(np.array_equal(each, PIXELS) for each in made) == 60
    assert 18 <= count <= 42


def test_factors_are_drawn_from_their_interval():
    mx.random.seed(3)
    draws = [
        (image("random_brightness", min_factor=0.5, max_factor=1.5) / PIXELS).mean()
        for _ in range(60)
    ]
    assert 0.5 <= min(draws) < 0.6 and 1.4 < max(draws) <= 1.5
    mx.random.seed(3)
    again = image("random_brightness", min_factor=0.5, max_factor=1.5) / PIXELS
    np.testing.assert_allclose(again, draws[0], rtol=1e-5)


def test_lighting_is_normally_distributed():
    mx.random.seed(3)
    plain = np.zeros((1, 1, 3), "float32")
    draws = np.stack([image("random_lighting", plain, alpha_std=0.1).ravel() for _ in range(200)])
    unit = np.stack([image("adjust_lighting", plain, alpha=row).ravel() for row in np.eye(3)], 1)
    np.testing.assert_allclose(np.cov(draws.T), 0.01 * unit @ unit.T, rtol=0.35)


def test_a_jitter_of_one_kind_is_that_kind():
    mx.random.seed(3)
    rest = {"brightness": 0, "contrast": 0, "saturation": 0, "hue": 0}
    ratios = image("random_color_jitter", **{**rest, "brightness": 0.4}) / PIXELS
    np.testing.assert_allclose(ratios, ratios[0, 0, 0], rtol=1e-5)
    assert 0.6 <= ratios[0, 0, 0] <= 1.4 and ratios[0, 0, 0] != 1
    turned = image("random_color_jitter", **{**rest, "hue": 0.2})
    np.testing.assert_allclose(turned.max(-1), PIXELS.max(-1), rtol=1e-5)
    np.testing.assert_array_equal(image("random_color_jitter", **rest), PIXELS)


@pytest.mark.parametrize(
    ("name", "attrs"),
    [
        ("random_hue", {"min_factor": 0.3, "max_factor": 0.3}),
        ("random_saturation", {"min_factor": 0.3, "max_factor": 0.3}),
        ("adjust_lighting", {"alpha": (1, 2, 3)}),
    ],
)
def test_colours_leave_grey_images_as_they_are(name, attrs):
    np.testing.assert_array_equal(image(name, GREY, **attrs), GREY)


def test_gradients_are_those_of_the_result():
    head, got = gradient("flip_left_right", PIXELS)
    np.testing.assert_array_equal(got, head[:, ::-1])
    head, got = gradient("to_tensor", PIXELS)
    np.testing.assert_allclose(got, head.transpose(1, 2, 0) / 255, rtol=1e-6)
    head, got = gradient("random_brightness", PIXELS, min_factor=1.5, max_factor=1.5)
    np.testing.assert_allclose(got, head * 1.5, rtol=1e-6)
    head, got = gradient("resize", PIXELS, size=(14, 10))
    np.testing.assert_allclose(got.sum(), head.sum(), rtol=1e-4)
    head, got = gradient("random_hue", PIXELS, min_factor=1, max_factor=1)
    np.testing.assert_allclose(got, head, atol=1e-4)


@pytest.mark.parametrize(
    ("name", "shape", "attrs", "told"),
    [
        ("flip_left_right", (2, 5, 7, 3), {}, r"\(2, 5, 7, 3\), expected \(H, W, C\).*each image"),
        ("random_hue", (5, 7, 4), {"min_factor": 0, "max_factor": 1}, "1 or 3 channels"),
        ("to_tensor", (5, 7), {}, r"to_tensor: got data of shape \(5, 7\)"),
        ("normalize", (5, 7, 3), {"mean": 0, "std": 1}, "to_tensor makes them"),
        ("normalize", (3, 5, 7), {}, "mean.*expected 1 or 3 numbers"),
        ("normalize", (3, 5, 7), {"mean": 1, "std": (1, 2)}, "std.*expected 1 or 3 numbers"),
        ("crop", (5, 7, 3), {"x": 5, "y": 0, "width": 3, "height": 1}, "width 7 and height 5"),
        ("crop", (5, 7, 3), {"x": -1, "y": 0, "width": 3, "height": 1}, "x=-1"),
        ("crop", (5, 7, 3), {"x": 0, "y": 0, "width": 0, "height": 1}, "width=0"),
        ("resize", (5, 7, 3), {}, "size"),
        ("resize", (5, 7, 3), {"size": (1, 2, 3)}, r"\(1, 2, 3\)"),
        ("resize", (5, 7, 3), {"size": (0, 3)}, r"\(0, 3\)"),
        ("resize", (5, 7, 3), {"size": 3, "interp": 9}, "interp"),
        ("random_contrast", (5, 7, 3), {"min_factor": -1, "max_factor": 1}, "min_factor=-1"),
        ("adjust_lighting", (5, 7, 3), {"alpha": (1, 2)}, "three numbers"),
    ],
)
def test_what_is_refused(name, shape, attrs, told):
    with pytest.raises(mx.MXNetError, match=told):
        image(name, np.zeros(shape, "float32"), **attrs)

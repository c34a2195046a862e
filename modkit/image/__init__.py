"""``mx.image``: images decoded and augmented in Python, and iterators over them."""

from modkit.lazy import Names as _Names

_names = _Names(
    __name__,
    modules={
        "detection": "modkit.image.detection",
        "det": "modkit.image.detection",
        "image": "modkit.image.functions",
    },
    members={
        "modkit.image.augmenters": (
            "Augmenter", "BrightnessJitterAug", "CastAug", "CenterCropAug", "ColorJitterAug",
            "ColorNormalizeAug", "ContrastJitterAug", "CreateAugmenter", "ForceResizeAug",
            "HorizontalFlipAug", "HueJitterAug", "LightingAug", "RandomCropAug", "RandomGrayAug",
            "RandomOrderAug", "RandomSizedCropAug", "ResizeAug", "SaturationJitterAug",
            "SequentialAug",
        ),
        "modkit.image.detection": (
            "CreateDetAugmenter", "CreateMultiRandCropAugmenter", "DetAugmenter", "DetBorrowAug",
            "DetHorizontalFlipAug", "DetRandomCropAug", "DetRandomPadAug", "DetRandomSelectAug",
            "ImageDetIter",
        ),
        "modkit.image.functions": (
            "center_crop", "color_normalize", "copyMakeBorder", "fixed_crop", "imdecode",
            "imread", "imresize", "imrotate", "random_crop", "random_rotate", "random_size_crop",
            "resize_short", "scale_down",
        ),
        "modkit.image.iterator": ("ImageIter",),
    },
)  # fmt: skip
__all__ = _names.all  # pyright: ignore[reportUnsupportedDunderAll]
__getattr__, __dir__ = _names.find, _names.listed

"""``mx.io``: data iterators, batches and their descriptions."""

from modkit.lazy import Names as _Names

_names = _Names(
    __name__,
    modules={"recordio": "modkit.io.recordio"},
    members={
        "modkit.io.array": ("NDArrayIter",),
        "modkit.io.base": ("DataBatch", "DataDesc", "DataIter"),
        "modkit.io.file_iter": ("MXDataIter",),
        "modkit.io.image_det_record": ("ImageDetRecordIter",),
        "modkit.io.image_record": (
            "ImageRecordInt8Iter",
            "ImageRecordIter",
            "ImageRecordIter_v1",
            "ImageRecordUInt8Iter",
            "ImageRecordUInt8Iter_v1",
        ),
        "modkit.io.mnist": ("MNISTIter",),
        "modkit.io.prefetch": ("PrefetchingIter",),
        "modkit.io.resize": ("ResizeIter",),
        "modkit.io.text": ("CSVIter", "LibSVMIter"),
    },
)
__all__ = _names.all  # pyright: ignore[reportUnsupportedDunderAll]
__getattr__, __dir__ = _names.find, _names.listed

"""``mx.io``: data iterators, batches and their descriptions."""

from modkit.lazy import Names as _Names

_names = _Names(
    __name__,
    modules={"recordio": "modkit.io.recordio"},
    members={
        "modkit.io.array": ("NDArrayIter",),
        "modkit.io.base": ("DataBatch", "DataDesc", "DataIter"),
        "modkit.io.file_iter": ("MXDataIter",),
        "modkit.io.image_record": ("ImageRecordIter", "ImageRecordUInt8Iter"),
        "modkit.io.mnist": ("MNISTIter",),
        "modkit.io.prefetch": ("PrefetchingIter",),
        "modkit.io.resize": ("ResizeIter",),
        "modkit.io.text": ("CSVIter", "LibSVMIter"),
    },
    absent={
        name: f"mx.io.{name} is not part of modkit; write a DataIter that reads with "
        "mx.recordio.MXIndexedRecordIO"
        for name in ("ImageDetRecordIter", "ImageRecordInt8Iter")
    },
)
__all__ = _names.all  # pyright: ignore[reportUnsupportedDunderAll]
__getattr__, __dir__ = _names.find, _names.listed

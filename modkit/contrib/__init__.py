"""``mx.contrib``: operators, word vectors, SVRG and adapters, imported at first access."""

from modkit.lazy import Names as _Names

_names = _Names(
    __name__,
    modules={
        "amp": "modkit.contrib.amp", "autograd": "modkit.contrib.autograd",
        "io": "modkit.contrib.io", "nd": "modkit.ndarray.contrib",
        "ndarray": "modkit.ndarray.contrib", "onnx": "modkit.contrib.onnx",
        "quant": "modkit.contrib.quantization", "quantization": "modkit.contrib.quantization",
        "svrg_optimization": "modkit.contrib.svrg_optimization", "sym": "modkit.symbol.contrib",
        "symbol": "modkit.symbol.contrib", "tensorboard": "modkit.contrib.tensorboard",
        "text": "modkit.contrib.text",
    },
    members={},
)  # fmt: skip
__all__ = _names.all  # pyright: ignore[reportUnsupportedDunderAll]
__getattr__, __dir__ = _names.find, _names.listed

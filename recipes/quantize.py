"""Train a network on handwritten digits, quantize it to 8 bits, and compare both.

python recipes/quantize.py          # seed 0: accuracy 0.981 with float32, 0.981 with 8 bits
python recipes/quantize.py --smoke  # in miniature, a few seconds
python recipes/quantize.py --calib-mode naive --dtype int8

Ranges of the values between layers are calibrated on training images: those of the least
divergence (``entropy``) or the smallest and the largest value (``naive``). Both networks are read
back from their files; that of 8 bits is about a quarter as large.
"""

import logging
from pathlib import Path

import numpy as np
from command import command, options
from digits import VALIDATION, arrays, iterators
from networks import NETWORKS
from pictures import curves

import modkit as mx


def parse(arguments=None):
    """The parsed command line."""
    parser = options(__doc__, "quantize", epochs=8, batch_size=64, examples=512)
    parser.add_argument("--network", choices=sorted(NETWORKS), default="lenet")
    parser.add_argument("--calib-mode", choices=("none", "naive", "entropy"), default="entropy")
    parser.add_argument("--dtype", choices=("int8", "uint8", "auto"), default="auto")
    parser.add_argument("--exclude", nargs="*", default=[], help="layers that stay float32")
    parser.add_argument("--prefix", default="out/quantized", help="where the files go")
    args = parser.parse_args(arguments)
    if args.smoke:
        args.network, args.epochs, args.examples = "mlp", 1, 64
    return args


def main(arguments=None):
    """Train, quantize, save and score; returns accuracy and bytes of both networks."""
    args = parse(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    mx.random.seed(args.seed)
    np.random.seed(args.seed)  # noqa: NPY002 - what NDArrayIter shuffles with
    Path(args.prefix).parent.mkdir(parents=True, exist_ok=True)
    training, validation = iterators(args.batch_size)
    module = mx.mod.Module(NETWORKS[args.network]())
    module.fit(
        training,
        eval_data=validation,
        optimizer_params={"learning_rate": 0.1, "momentum": 0.9},
        initializer=mx.init.Xavier(rnd_type="gaussian", factor_type="in", magnitude=2),
        num_epoch=args.epochs,
    )
    arg_params, aux_params = module.get_params()
    quantized = mx.contrib.quantization.quantize_model(
        module.symbol,
        arg_params,
        aux_params,
        calib_mode=args.calib_mode,
        calib_data=None if args.calib_mode == "none" else training,
        num_calib_examples=args.examples,
        quantized_dtype=args.dtype,
        excluded_sym_names=args.exclude,
    )
    images, labels = (array[-VALIDATION:] for array in arrays())
    results, lines = {}, {}
    networks = {"float32": (module.symbol, arg_params, aux_params), "8 bits": quantized}
    for name, (symbol, params, states) in networks.items():
        prefix = f"{args.prefix}-{name.replace(' ', '')}"
        mx.model.save_checkpoint(prefix, 0, symbol, params, states)
        size = Path(f"{prefix}-0000.params").stat().st_size
        predicted = mx.Predictor.from_checkpoint(prefix, 0, {"data": images.shape}).predict(images)
        results[name] = (predicted.argmax(1) == labels).mean(), size
        lines[name] = predicted[np.arange(VALIDATION), labels.astype(int)]
        print(f"{name:8s} accuracy {results[name][0]:.4f}  parameters {size:,} bytes")
    hardest = lines["float32"].argsort()[:60]
    lines = {name: line[hardest] for name, line in lines.items()}
    curves(args.picture, lines, x="validation image, hardest first", y="probability of its digit")
    return results


if __name__ == "__main__":
    command(main)

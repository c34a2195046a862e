"""Train a network on handwritten digits, quantize it to 8 bits, and compare both.

python recipes/quantize.py                                 # ranges of least divergence
python recipes/quantize.py --calib-mode naive --dtype auto
python recipes/quantize.py --smoke                         # one epoch, a few examples
"""

import argparse
import logging
from pathlib import Path

from command import command
from digits import iterators
from networks import NETWORKS

import modkit as mx


def parse(arguments=None):
    """The parsed command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--network", choices=sorted(NETWORKS), default="lenet")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--calib-mode", choices=("none", "naive", "entropy"), default="entropy")
    parser.add_argument("--dtype", choices=("int8", "uint8", "auto"), default="auto")
    parser.add_argument("--examples", type=int, default=512, help="examples for the calibration")
    parser.add_argument("--exclude", nargs="*", default=[], help="layers that stay float32")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--prefix", default="out/quantized", help="where the files go")
    parser.add_argument("--smoke", action="store_true", help="a short run, to see that it works")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    args = parser.parse_args(arguments)
    if args.smoke:
        args.network, args.epochs, args.examples = "mlp", 1, 64
    return args


def accuracy(prefix, batch_size):
    """Validation accuracy of a network from its files."""
    symbol, arg_params, aux_params = mx.model.load_checkpoint(prefix, 0)
    _, validation = iterators(batch_size)
    module = mx.mod.Module(symbol)
    module.bind(validation.provide_data, validation.provide_label, for_training=False)
    module.set_params(arg_params, aux_params)
    return dict(module.score(validation, "acc"))["accuracy"]


def main(arguments=None):
    """Train, quantize, save and score; returns accuracy and bytes of both networks."""
    args = parse(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    mx.random.seed(args.seed)
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
    results = {}
    networks = {"float32": (module.symbol, arg_params, aux_params), "8 bits": quantized}
    for name, (symbol, params, states) in networks.items():
        prefix = f"{args.prefix}-{name.replace(' ', '')}"
        mx.model.save_checkpoint(prefix, 0, symbol, params, states)
        size = Path(f"{prefix}-0000.params").stat().st_size
        results[name] = accuracy(prefix, args.batch_size), size
        print(f"{name:8s} accuracy {results[name][0]:.4f}  parameters {size:,} bytes")
    return results


if __name__ == "__main__":
    command(main)

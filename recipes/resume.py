"""Stop a training anywhere and go on: the parameters get the same bits as without the stop.

python recipes/resume.py                    # seed 0: accuracy 0.961; kill it, and start it again
python recipes/resume.py --stop-at 30       # ends after batch 30, as a crash does
"""

import hashlib
import logging
import sys

from command import command, options
from digits import iterators
from networks import NETWORKS

import modkit as mx


class StopAt(mx.callback.Callback):
    """Ends the process after a batch."""

    def __init__(self, step):
        self.step = step

    def on_batch_end(self, run):
        """Exit at the batch."""
        if run.step == self.step:
            sys.exit(f"stopped after batch {run.step}; start it again without --stop-at")


def main(arguments=None):
    """Train from the newest checkpoint to the end; the SHA-256 of the parameters."""
    parser = options(__doc__, epochs=5)
    parser.add_argument("--folder", default="out/resume", help="where checkpoints go")
    parser.add_argument("--stop-at", type=int, help="end after this batch")
    args = parser.parse_args(arguments)
    if args.smoke:
        args.epochs = 2
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    train, validation = iterators(64)
    with mx.name.NameManager():  # names begin at 0, so that a second network is the same one
        module = mx.mod.Module(NETWORKS["mlp"]())
    module.fit(
        train,
        validation,
        num_epoch=args.epochs,
        seed=args.seed,
        optimizer="adam",
        optimizer_params={"learning_rate": 0.002},
        initializer=mx.init.Xavier(),
        callbacks=[
            mx.callback.CSVLogger(f"{args.folder}/log.csv"),
            mx.callback.Checkpoint(f"{args.folder}/checkpoints", every_n_batches=10),
            mx.callback.Progress(),
            StopAt(args.stop_at),
        ],
        resume=f"{args.folder}/checkpoints",
    )
    params, _ = module.get_params()
    total = hashlib.sha256(b"".join(v.asnumpy().tobytes() for _, v in sorted(params.items())))
    logging.info("SHA-256 of the parameters: %s", total.hexdigest())
    return total.hexdigest()


if __name__ == "__main__":
    command(main)

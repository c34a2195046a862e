"""Draw digits with a generative adversarial network: two Modules, and gradients between them.

python recipes/gan.py          # seed 0: 96 of 100 drawn digits are recognised
python recipes/gan.py --smoke  # in miniature, a few seconds

The generator (arXiv:1406.2661) has no loss of its own. The discriminator is bound with
``inputs_need_grad=True``, and the gradient of its loss by the images is the head gradient of the
generator: ``generator.backward(discriminator.get_input_grads())``.
"""

import logging

import numpy as np
from command import command, options
from digits import VALIDATION, arrays
from pictures import rows

import modkit as mx

CLASSES = 10


def generator_network(width):
    """Images of 64 pixels in [0, 1] from noise and a digit."""
    net = mx.sym.concat(mx.sym.Variable("noise"), mx.sym.Variable("digit"), dim=1)
    for name in ("g1", "g2"):
        net = mx.sym.FullyConnected(net, num_hidden=width, name=name)
        net = mx.sym.Activation(mx.sym.BatchNorm(net, fix_gamma=False), act_type="relu")
    net = mx.sym.FullyConnected(net, num_hidden=64, name="image")
    return mx.sym.Activation(net, act_type="sigmoid", name="drawn")


def discriminator_network(width):
    """The probability that an image of a digit is a real one."""
    net = mx.sym.concat(mx.sym.Variable("image"), mx.sym.Variable("digit"), dim=1)
    for name in ("d1", "d2"):
        net = mx.sym.FullyConnected(net, num_hidden=width, name=name)
        net = mx.sym.LeakyReLU(net, slope=0.2)
    net = mx.sym.FullyConnected(net, num_hidden=1, name="real")
    return mx.sym.LogisticRegressionOutput(net, mx.sym.Variable("label"), name="verdict")


def ready(module, data, label, args):
    """A module that is bound to these shapes and can be trained."""
    module.bind(data, label, inputs_need_grad=True)
    module.init_params(mx.init.Xavier())
    parameters = {"learning_rate": args.lr, "beta1": 0.5, "rescale_grad": 1 / args.batch_size}
    module.init_optimizer(optimizer="adam", optimizer_params=parameters)
    return module


def step(generator, discriminator, real, digits, noise):
    """Update both networks once."""
    ones, zeros = mx.nd.ones((len(real), 1)), mx.nd.zeros((len(real), 1))
    generator.forward(mx.io.DataBatch([digits, noise]), is_train=True)
    (drawn,) = generator.get_outputs()
    for images, label in ((real, ones), (drawn, zeros)):
        discriminator.forward_backward(mx.io.DataBatch([digits, images], [label]))
        discriminator.update()
    # The generator's aim: drawn images that count as real.
    discriminator.forward_backward(mx.io.DataBatch([digits, drawn], [ones]))
    generator.backward(discriminator.get_input_grads()[1:])
    generator.update()


def share_recognised(train, labels, drawn, wanted):
    """The share of drawn images whose nearest real image is of the digit that was wanted."""
    distances = (drawn**2).sum(1)[:, None] - 2 * drawn @ train.T + (train**2).sum(1)
    return float((labels[distances.argmin(1)] == wanted).mean())


def main(arguments=None):
    """Train; returns the share of drawn digits that are recognised, and a digit's mean spread."""
    parser = options(__doc__, "gan", epochs=100, width=128, noise=16, batch_size=64, lr=0.001)
    args = parser.parse_args(arguments)
    if args.smoke:
        args.epochs, args.lr = 30, 0.002
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    mx.random.seed(args.seed)
    random = np.random.default_rng(args.seed)
    images, labels = arrays()
    images = images.reshape(-1, 64)[:-VALIDATION]
    labels = labels[:-VALIDATION].astype(int)
    codes = np.eye(CLASSES, dtype=np.float32)
    size, digit = args.batch_size, ("digit", (args.batch_size, CLASSES))
    generator = ready(
        mx.mod.Module(generator_network(args.width), ["digit", "noise"], None),
        [digit, ("noise", (size, args.noise))], None, args,
    )  # fmt: skip
    discriminator = ready(
        mx.mod.Module(discriminator_network(args.width), ["digit", "image"], ["label"]),
        [digit, ("image", (size, 64))], [("label", (size, 1))], args,
    )  # fmt: skip

    def noise(count):
        return mx.nd.array(random.standard_normal((count, args.noise)))

    for epoch in range(args.epochs):
        order = random.permutation(len(images))
        for at in range(0, len(order) - size + 1, size):
            chosen = order[at : at + size]
            real, digits = mx.nd.array(images[chosen]), mx.nd.array(codes[labels[chosen]])
            step(generator, discriminator, real, digits, noise(size))
        if epoch % 20 == 19:
            verdict = discriminator.get_outputs()[0].asnumpy().mean()
            logging.info("epoch %d: drawn digits count as real with %.2f", epoch + 1, verdict)

    wanted = np.arange(CLASSES).repeat(12)
    data = {"noise": noise(len(wanted)), "digit": codes[wanted]}
    drawn = generator.predict(mx.io.NDArrayIter(data, None, size)).asnumpy()
    share = share_recognised(images, labels, drawn, wanted)
    spread = float(drawn.reshape(CLASSES, 12, 64).std(1).mean())
    rows(args.picture, {str(d): drawn[wanted == d].reshape(-1, 8, 8) for d in range(CLASSES)})
    print(f"recognised: {share:.3f}, standard deviation of a pixel among a digit: {spread:.3f}")
    return share, spread


if __name__ == "__main__":
    command(main)

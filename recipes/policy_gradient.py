"""Balance a pole by a policy gradient: one Module acts, another with the same parameters learns.

python recipes/policy_gradient.py          # seed 0: upright for 200 of 200 steps, at first 23
python recipes/policy_gradient.py --smoke  # in miniature, a few seconds

REINFORCE (Williams, 1992): actions that were followed by more reward than usual become likelier.
The loss is ``-log p(action) * advantage``, by ``MakeLoss``; the probabilities are a second output,
without a gradient. The acting Module has the batch of one step of all carts, the learning one that
of their whole episodes, and ``shared_module`` gives both the same parameters.
"""

import logging

import numpy as np
from command import command, options
from pictures import curves

import modkit as mx

STEPS = 200  # of an episode, at most


class Carts:
    """Carts with a pole each (Barto, Sutton and Anderson, 1983), pushed to the left or right."""

    def __init__(self, count, random):
        # Rows: position (m), speed, angle of the pole (rad), angular speed.
        self.state = random.uniform(-0.05, 0.05, (4, count))
        self.upright = np.ones(count, bool)

    def step(self, right):
        """0.02 s with a force of 10 N; a cart that left its track or lost its pole stays so."""
        _, speed, angle, turning = self.state
        force = np.where(right, 10.0, -10.0)
        sine, cosine = np.sin(angle), np.cos(angle)
        pushed = (force + 0.05 * turning**2 * sine) / 1.1
        bending = (9.8 * sine - cosine * pushed) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
        moved = pushed - 0.05 * bending * cosine / 1.1
        self.state = self.state + 0.02 * np.stack([speed, moved, turning, bending])
        self.upright &= (np.abs(self.state[0]) < 2.4) & (np.abs(self.state[2]) < np.radians(12))


def network(width):
    """Probabilities of both actions, and the loss of the actions that were taken."""
    net = mx.sym.FullyConnected(mx.sym.Variable("state"), num_hidden=width, name="hidden")
    net = mx.sym.Activation(net, act_type="tanh")
    scores = mx.sym.FullyConnected(net, num_hidden=2, name="scores")
    chosen = mx.sym.pick(mx.sym.log_softmax(scores), mx.sym.Variable("action"), axis=1)
    loss = mx.sym.MakeLoss(-chosen * mx.sym.Variable("advantage"), name="loss")
    return mx.sym.Group([mx.sym.BlockGrad(mx.sym.softmax(scores), name="probability"), loss])


def bound(symbol, count, **how):
    """A Module for ``count`` states at once."""
    module = mx.mod.Module(symbol, ["state"], ["action", "advantage"])
    labels = [("action", (count,)), ("advantage", (count,))]
    module.bind([("state", (count, 4))], labels, **how)
    return module


def episodes(acting, count, random, greedy=False):
    """States (STEPS, count, 4), actions (STEPS, count), and who was upright before each action."""
    carts, states, actions, upright = Carts(count, random), [], [], []
    for _ in range(STEPS):
        states.append(carts.state.T.astype(np.float32))
        upright.append(carts.upright.copy())
        acting.forward(mx.io.DataBatch([mx.nd.array(states[-1])]), is_train=False)
        right = acting.get_outputs()[0].asnumpy()[:, 1]
        actions.append(right > (0.5 if greedy else random.random(count)))
        carts.step(actions[-1])
    return np.stack(states), np.stack(actions), np.stack(upright)


def advantages(upright, discount=0.98):
    """Discounted rewards that follow, less their mean over the carts; 0 after the end."""
    follows, total = np.zeros(upright.shape), 0
    for step in reversed(range(len(upright))):
        follows[step] = total = upright[step] + discount * total
    rest = np.where(upright, follows - follows.mean(1, keepdims=True), 0)
    return rest / (rest.std() + 1e-6)


def main(arguments=None):
    """Train; returns the mean steps upright of new carts: by the policy, and by chance."""
    parser = options(__doc__, "policy_gradient", rounds=40, carts=32, width=32, lr=0.02)
    args = parser.parse_args(arguments)
    if args.smoke:
        args.rounds, args.carts = 15, 16
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    mx.random.seed(args.seed)
    random = np.random.default_rng(args.seed)
    learning = bound(network(args.width), STEPS * args.carts)
    learning.init_params(mx.init.Xavier())
    learning.init_optimizer(
        optimizer="adam",
        optimizer_params={"learning_rate": args.lr, "rescale_grad": 1 / (STEPS * args.carts)},
    )
    acting = bound(learning.symbol, args.carts, for_training=False, shared_module=learning)
    lengths = []
    for number in range(args.rounds):
        states, actions, upright = episodes(acting, args.carts, random)
        lengths.append(float(upright.sum(0).mean()))
        labels = [actions.reshape(-1), advantages(upright).reshape(-1)]
        batch = mx.io.DataBatch(
            [mx.nd.array(states.reshape(-1, 4))], list(map(mx.nd.array, labels))
        )
        learning.forward_backward(batch)
        learning.update()
        if number % 10 == 9:
            logging.info("round %d: upright for %.1f of %d steps", number + 1, lengths[-1], STEPS)
    reached = float(episodes(acting, args.carts, random, greedy=True)[2].sum(0).mean())
    curves(args.picture, {"policy": lengths}, x="round", y="steps upright", level=("most", STEPS))
    print(f"new carts: upright for {reached:.1f} of {STEPS} steps; at first {lengths[0]:.1f}")
    return reached, lengths[0]


if __name__ == "__main__":
    command(main)

"""Defects of Apache MXNet 1.9.1 that random cases find, each with its reason.

`compare_ops.py` counts a difference that a row fits as the reference's.
"""

import fnmatch
import re

DEFECTS = [
    ("*", "the reference crashes", "it ends the process"),
    (
        "*",
        "the reference does not add",
        "its added gradients are not its written ones and what was there",
    ),
    ("*", "the reference does not write", "it leaves the gradient of a label or length as it was"),
    (
        "*",
        r"only modkit runs: .*(Unsupported data type|only supported? (by|floating|FP32|float)|"
        r"[Tt]BlobX?|data type do not match|requires uniform type|not implemented|NotImplemented|"
        r"do not support|does not support|isn't support|not supported)",
        "the reference has no kernel for the type or shape, and says so",
    ),
    (
        "*",
        "only modkit runs: .*didn't register FGradient",
        "it has no gradient there, zeros here",
    ),
    ("ctc_loss", "outputs", "labels that are no class: it reads other memory"),
    (
        "slice*",
        "only the reference runs: .*'NoneType'",
        "an empty result: a size of 0 is not known",
    ),
]
"""Operator (a pattern of `fnmatch`), difference (a regular expression for its start), reason."""


def excuse(case, what):
    """The reason why a difference is the reference's defect; ``""`` if it is none that is known."""
    for name, kind, reason in DEFECTS:
        if fnmatch.fnmatch(case["op"], name) and re.match(kind, what):
            return reason
    return ""

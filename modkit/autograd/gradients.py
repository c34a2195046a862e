"""Gradients of heads: written to those of the variables, or returned."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from modkit.context import Context
from modkit.errors import NotReadyError, ParameterError, expect
from modkit.ndarray import NDArray, tape_gradients
from modkit.ndarray.ndarray import require_array
from modkit.ndarray.storage import new_cell
from modkit.ndarray.tape import Use, free

Arrays = NDArray | Sequence[NDArray]


def _listed(what: str, arrays: Any) -> list[Any]:
    """The arrays as a list; ParameterError for something else than NDArrays."""
    listed = [arrays] if isinstance(arrays, NDArray) else _elements(what, arrays)
    for at, each in enumerate(listed):
        require_array(f"{what}: {at}", each)
    return listed


def _elements(what: str, given: Any) -> list[Any]:
    expect(isinstance(given, Iterable), what, given, "an NDArray or a list of them")
    return list(given)


def _head_grads(heads: Sequence[NDArray], head_grads: Any) -> list[Any]:
    if head_grads is None:
        return [None] * len(heads)
    return [head_grads] if isinstance(head_grads, NDArray) else _elements("head_grads", head_grads)


def mark_variables(
    variables: Arrays, gradients: Arrays, grad_reqs: str | Sequence[str] = "write"
) -> None:
    """Make arrays variables whose gradients go to the given arrays.

    Args:
        gradients: as many, of the variables' shapes.
        grad_reqs: ``"write"``, ``"add"`` or ``"null"``; for all, or one for each.

    Raises:
        ParameterError: the numbers differ, or another ``grad_reqs``.
        ShapeError: a gradient of another shape than its variable.
    """
    marked = _listed("mark_variables: variables", variables)
    grads = _listed("mark_variables: gradients", gradients)
    reqs = [grad_reqs] * len(marked) if isinstance(grad_reqs, str) else list(grad_reqs)
    if not len(marked) == len(grads) == len(reqs):
        raise ParameterError(
            f"mark_variables: got {len(marked)} variables, {len(grads)} gradients and "
            f"{len(reqs)} grad_reqs, expected as many of each"
        )
    for variable, grad, req in zip(marked, grads, reqs, strict=True):
        tape_gradients.attach(variable, grad, req)


def backward(
    heads: Arrays,
    head_grads: NDArray | Sequence[NDArray | None] | None = None,
    retain_graph: bool = False,
    train_mode: bool = True,
) -> None:
    """Compute the gradients of the heads and write them to those of the variables.

    Args:
        heads: what to differentiate: one array or several.
        head_grads: their cotangents; ``None``, for one or for all, means ones.
        retain_graph: keep the tape, so that it can be differentiated again.
        train_mode: ``False`` differentiates BatchNorm with its moving statistics.

    Raises:
        NotReadyError: a head was not computed from a variable while recording, or its tape was
            freed.
        ParameterError: not one cotangent for each head.
        ShapeError: a cotangent of another shape than its head.

    Differs: the cotangents of a head that is listed twice are added; MXNet takes the last one
    alone.
    """
    listed = _listed("backward: heads", heads)
    tape_gradients.backward(listed, _head_grads(listed, head_grads), retain_graph, train_mode)


def grad(
    heads: Arrays,
    variables: Arrays,
    head_grads: NDArray | Sequence[NDArray | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    train_mode: bool = True,
) -> list[NDArray]:
    """The gradients of the heads with respect to variables, as new arrays.

    Args:
        heads: what to differentiate: one array or several.
        variables: marked by `NDArray.attach_grad` or `mark_variables`; their own gradients stay.
        head_grads: cotangents of the heads; ``None``, for one or for all, means ones.
        retain_graph: keep the tape; default as ``create_graph``.
        create_graph: put the gradients on the tape, so that they can be differentiated too.
        train_mode: ``False`` differentiates BatchNorm with its moving statistics.

    Returns:
        A list, one gradient for each variable.

    Raises:
        NotReadyError: a head is not on the tape, or does not depend on a variable.
        ParameterError: no variables, or one that was not marked.
    """
    listed, wanted = _listed("grad: heads", heads), _listed("grad: variables", variables)
    if not wanted:
        raise ParameterError("grad: variables: got an empty list, expected one or more")
    leaves = [_marked(at, each) for at, each in enumerate(wanted)]
    uses = tape_gradients.head_uses(listed)
    cotangents = tape_gradients.cotangents(listed, _head_grads(listed, head_grads))
    found = tape_gradients.gradients(uses, cotangents, train_mode, record=create_graph)
    for at, leaf in enumerate(leaves):
        if leaf not in found:
            raise NotReadyError(
                f"grad: variable {at} of shape {wanted[at].shape}: no head depends on it"
            )
    if not (create_graph if retain_graph is None else retain_graph):
        free(uses)
    return [_handle(found[leaf], each._ctx) for leaf, each in zip(leaves, wanted, strict=True)]


def _marked(at: int, variable: NDArray) -> Any:
    source = variable._entry[0] if variable._entry else None
    if not getattr(source, "marked", False):
        raise ParameterError(
            f"grad: variable {at} of shape {variable.shape} is not marked: attach_grad() comes "
            "before it is used in a recorded call"
        )
    return source


def _handle(use: Use, ctx: Context) -> NDArray:
    """A gradient as an array of its variable's context, which may share a device with others."""
    if isinstance(use.value, NDArray):  # row-sparse
        return use.value
    array = NDArray(new_cell(use.value, ctx), ctx)
    array._entry = (use.source, use.output)
    return array

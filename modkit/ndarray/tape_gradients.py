"""Variables of the tape, and the gradients that ``backward`` computes with respect to them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from modkit.compile.executables import Eager
from modkit.errors import (
    DTypeError,
    NotReadyError,
    NotSupportedError,
    ParameterError,
    ShapeError,
    nearest,
    wrong,
)
from modkit.ndarray.invoke import Call
from modkit.ndarray.replay import part, run
from modkit.ndarray.storage import LateCell, needs_x64, x64_scope
from modkit.ndarray.tape import Array, Host, Leaf, TapeNode, Use, entry_of, free, uses_of

REQUESTS = ("write", "add", "null")


def attach(variable: Array, grad: Array, req: str) -> None:
    """Make an array a variable whose gradient goes to ``grad``.

    Raises:
        DTypeError: the array holds truth values.
        ParameterError: another ``req``.
        ShapeError: the gradient's shape is another one.
    """
    where = f"a variable of shape {variable.shape}"
    if req not in REQUESTS:
        raise ParameterError(
            f"{where}: grad_req: got {req!r}, expected one of {', '.join(REQUESTS)}."
            f"{nearest(req, REQUESTS)}"
        )
    if variable.dtype == np.bool_:
        raise DTypeError(f"{where}: got bool, expected numbers: use array.astype('float32')")
    if grad.shape != variable.shape:
        raise ShapeError(f"{where}: got a gradient of shape {grad.shape}")
    variable._entry = (Leaf(grad, req, marked=True), 0)


def backward(
    heads: Sequence[Array], out_grads: Sequence[Array | None], retain_graph: bool, train_mode: bool
) -> None:
    """Compute the gradients of the heads and write them to those of the variables.

    Raises:
        NotReadyError: a head is not on the tape, or has no variable behind it.
        ShapeError: a cotangent of another shape than its head.
    """
    uses = head_uses(heads)
    found = gradients(uses, cotangents(heads, out_grads), train_mode)
    written = {leaf: use for leaf, use in found.items() if leaf.req != "null"}
    if not written:
        raise NotReadyError(
            "backward: no variable behind the heads takes a gradient: attach_grad() with grad_req "
            "'write' or 'add' comes before recording"
        )
    for leaf, use in written.items():
        _store(leaf, use.value)
    if not retain_graph:
        free(uses)


def head_uses(heads: Sequence[Array]) -> list[Use]:
    """The heads as places on the tape; NotReadyError where one has none."""
    for at, head in enumerate(heads):
        entry = entry_of(head)
        if entry is None or (isinstance(entry[0], Leaf) and not entry[0].marked):
            raise NotReadyError(
                f"backward: head {at} of shape {head.shape} is not on the tape: it was not "
                "computed from a variable (an array after attach_grad()) inside autograd.record(), "
                "or an earlier backward() freed its tape (retain_graph=True keeps it)"
            )
    return uses_of(heads, [kept_value(head) for head in heads])


def kept_value(array: Any) -> Any:
    """The value that the tape keeps: on the host for CPU contexts, and dense."""
    if array.stype != "default":
        return array._dense()
    return array._cell.lent() if array._ctx._is_cpu else array._cell.get()


def cotangents(heads: Sequence[Array], given: Sequence[Any]) -> list[Use | None]:
    """The cotangents of the heads; ``None`` for ones.

    Raises:
        ParameterError: not one for each head, or something else than an array.
        ShapeError: one of another shape than its head.
    """
    if len(given) != len(heads):
        raise ParameterError(f"head_grads: got {len(given)} for {len(heads)} heads")
    found: list[Use | None] = []
    for at, (head, grad) in enumerate(zip(heads, given, strict=True)):
        if grad is not None and not hasattr(grad, "stype"):
            raise wrong(f"head_grads: {at}", type(grad), "an NDArray or None")
        if grad is None or _ignores(head):
            found.append(None)
            continue
        if grad.shape != head.shape:
            raise ShapeError(
                f"head_grads: {at}: got shape {grad.shape}, expected that of its head, {head.shape}"
            )
        array = grad._as_dense().as_in_context(head._ctx)
        source, output = entry_of(array) or (Leaf(), 0)
        found.append(Use(source, output, kept_value(array), array._ctx))
    return found


def _ignores(head: Array) -> bool:
    """Whether a head is the result of a loss that ignores its cotangent."""
    source = head._entry[0] if head._entry else None
    return isinstance(source, TapeNode) and getattr(source.call.fn, "ignores_cotangent", False)


def _store(leaf: Leaf, value: Any) -> None:
    grad: Any = leaf.grad
    leaf.fresh = 1
    if _is_sparse(value) and (leaf.req != "add" or _is_sparse(grad)):
        grad._assign(grad + value if leaf.req == "add" else value)
        return
    value = _plain(value)
    if leaf.req == "add" and grad.stype == "default":
        _add_to(grad._cell, value)
        return
    if leaf.req == "add":
        before = grad._dense()
        with x64_scope(needs_x64(value.dtype, before.dtype)):
            value = before + value
    if grad.stype != "default" or grad._cell.aval.dtype != value.dtype:
        grad._assign(value)
    elif isinstance(value, jax.Array):
        grad._cell.set(value)
    elif isinstance(grad._cell, LateCell):
        grad._cell.set_rows(value, aliased=True)
    else:
        grad._assign(value)


def _add_to(cell: Any, value: Any) -> None:
    """Add to a gradient; no addition of another thread is lost meanwhile."""
    if isinstance(value, np.ndarray) and cell.is_on_host:
        cell.write(lambda rows: np.add(rows, value, out=rows, casting="unsafe"))
        return
    with x64_scope(needs_x64(value.dtype, cell.aval.dtype)):
        cell.edit(lambda before: (before + value).astype(before.dtype))


def _is_sparse(value: Any) -> bool:
    """Whether a gradient is a row-sparse array, as those of sparse products and embeddings are."""
    return getattr(value, "stype", "default") != "default"


def _plain(value: Any) -> Any:
    return value._dense() if _is_sparse(value) else value


# ── Between programs ────────────────────────────────────────────────────────────────────────


class GradientSums(NamedTuple):
    """Gradients found so far: of variables, and of outputs of calls on the host."""

    leaves: dict[Leaf, Use]
    hosts: dict[Host, dict[int, Use]]

    def add(self, source: Any, use: Use) -> None:
        """Add to the gradient of a leaf, or of a call on the host and one of its outputs."""
        if isinstance(source, Leaf):
            place: dict[Any, Use] = self.leaves
            at: Any = source
        else:
            place, at = self.hosts.setdefault(source[0], {}), source[1]
        place[at] = _summed(place[at], use) if at in place else use


def gradients(
    heads: Sequence[Use], given: Sequence[Use | None], train_mode: bool, record: bool = False
) -> dict[Leaf, Use]:
    """Gradients with respect to all variables behind the heads.

    Args:
        heads: places on the tape.
        given: their cotangents; ``None`` for ones.
        train_mode: see `NDArray.backward`.
        record: whether the gradients are on the tape themselves.
    """
    totals = GradientSums({}, {})
    _differentiate(heads, given, train_mode, record, totals)
    while totals.hosts:
        # A later call may depend on an earlier one, never the other way round.
        host = max(totals.hosts, key=lambda each: each.serial)
        back = _pulled(host, totals.hosts.pop(host), record)
        through: list[Use] = []
        cotangents: list[Use | None] = []
        for use, each in zip(host.uses, back, strict=True):
            if each and isinstance(use.source, Leaf) and use.source.marked:
                totals.add(use.source, each)
            elif each:
                through.append(use)
                cotangents.append(each._replace(value=_plain(each.value)))
        _differentiate(through, cotangents, train_mode, record, totals)
    return totals.leaves


def _differentiate(
    heads: Sequence[Use],
    given: Sequence[Use | None],
    train_mode: bool,
    record: bool,
    totals: GradientSums,
) -> None:
    """Add the gradients of the heads up to variables and calls on the host, device by device."""
    groups: dict[Any, list[int]] = {}
    for at, head in enumerate(heads):
        groups.setdefault(head.ctx.jax_device, []).append(at)
    for places in groups.values():
        chosen = [given[at] for at in places]
        tape = part([heads[at] for at in places], [g is not None for g in chosen], train_mode)
        if not tape.sources:
            continue
        extra = [g for g in chosen if g is not None]
        ctx = heads[places[0]].ctx
        values = run(tape, [g.value for g in extra], on_host=ctx._is_cpu)
        node = TapeNode(tape.call, [*tape.arguments, *extra], ctx) if record else None
        for index, (source, value) in enumerate(zip(tape.sources, values, strict=True)):
            totals.add(source, Use(node or Leaf(), index if node else 0, value, ctx))


def _pulled(host: Host, given: dict[int, Use], record: bool) -> list[Use | None]:
    """The cotangents of a host call's inputs."""
    with x64_scope(needs_x64(*(v.dtype for v in host.values))):
        full = [
            given[at].value if at in given else jnp.zeros_like(value)
            for at, value in enumerate(host.values)
        ]
    back = host.pull(full)
    source: Leaf | Host = Leaf()
    if record:
        back = [_plain(each) for each in back]
        values = [jnp.zeros(()) if each is None else each for each in back]
        uses = [*given.values(), *host.uses]
        source = Host(f"the gradient of {host.name}", values, _refuse(host.name), uses, host.ctx)
    return [
        None if value is None else Use(source, at if record else 0, value, use.ctx)
        for at, (value, use) in enumerate(zip(back, host.uses, strict=True))
    ]


def _refuse(name: str) -> Callable[[Any], Any]:
    def pull(_: Any) -> Any:
        raise NotSupportedError(
            f"{name}: got a gradient of its gradient, which Python code computed: write what it "
            "computes with operators for derivatives of higher order"
        )

    return pull


@functools.cache
def _add() -> Callable[..., Any]:
    return Eager(lambda arrays, key_data, numbers: ((arrays[0] + arrays[1],), {}))


def _summed(one: Use, other: Use) -> Use:
    """The sum, on the tape where one of the two is."""
    if _is_sparse(one.value) and _is_sparse(other.value):
        return one._replace(value=one.value + other.value)
    one, other = (use._replace(value=_plain(use.value)) for use in (one, other))
    call = Call(_add(), None, [], needs_x64(one.value.dtype, other.value.dtype))
    with x64_scope(call.needs_x64):
        (value,), _ = call.fn([one.value, other.value], None, [])
    if all(isinstance(use.source, Leaf) for use in (one, other)):
        return Use(Leaf(), 0, value, one.ctx)
    return Use(TapeNode(call, [one, other], one.ctx), 0, value, one.ctx)

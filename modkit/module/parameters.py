"""Parameters of a bound module by name: initialized, set and copied out as logical arrays."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from modkit.context import Context, cpu
from modkit.errors import NotReadyError, ParameterError, ShapeError, nearest, some, warn_caller
from modkit.initializer import InitDesc
from modkit.ndarray import NDArray
from modkit.ndarray.storage import Cell, LateCell, copy_of, new_cell, x64_for
from modkit.symbol import Symbol
from modkit.symbol.roles import roles_of

Params = Mapping[str, NDArray]


class InitArguments(NamedTuple):
    """The arguments of ``init_params``."""

    initializer: Any
    arg_params: Params | None
    aux_params: Params | None
    allow_missing: bool
    force_init: bool
    allow_extra: bool


class Copies(NamedTuple):
    """Copies of the parameters of a module, and what they are copies of.

    Attributes:
        params: the field of the store's state that ``args`` are copies of.
        aux: the field that ``auxs`` are copies of.
    """

    args: dict[str, NDArray]
    auxs: dict[str, NDArray]
    params: Mapping[str, Any]
    aux: Mapping[str, Any]


class MissingParameterError(NotReadyError, ParameterError):
    """A parameter of the network has no value."""


class Parameters(NamedTuple):
    """The parameters and auxiliary states of a bound module.

    Values are logical arrays: one for all replicas of a parameter, and the mean over the replicas
    of an auxiliary state.
    """

    store: Any
    names: Sequence[str]
    aux_names: Sequence[str]
    ctx: Context
    stypes: Mapping[str, str]

    def init(self, given: InitArguments, attrs: Mapping[str, Any]) -> None:
        """Give every parameter and auxiliary state a value; nothing changes if one is refused.

        Args:
            given: values, and the initializer of those that are not given.
            attrs: attributes of the variables, for the initializer.

        Raises:
            MissingParameterError: a value is missing.
            ShapeError: a value of another shape.
        """
        args, auxs = given.arg_params, given.aux_params
        if not given.allow_missing:
            self._check_complete(args, auxs)
        fresh = []
        for is_aux, names, values in ((False, self.names, args), (True, self.aux_names, auxs)):
            for name in sorted(names):
                handle = self._copy(name, is_aux=is_aux)
                if values is not None and name in values:
                    _assign(name, handle, values[name])
                elif given.initializer is not None:
                    given.initializer(InitDesc(name, attrs.get(name)), handle)
                elif values is None:
                    raise MissingParameterError(
                        f"{name!r} has no value and no initializer: pass one of the two"
                    )
                fresh.append((name, handle, is_aux))
        self._write(fresh)

    def _check_complete(self, args: Params | None, auxs: Params | None) -> None:
        """Raise for parameters without a value, or auxiliary states, where some have one."""
        for is_aux, names, given, other in (
            (False, self.names, args, auxs),
            (True, self.aux_names, auxs, args),
        ):
            if given is None or not (lacking := sorted(set(names).difference(given))):
                continue
            if swapped := sorted({*lacking}.intersection(other or ())):
                raise MissingParameterError(_swapped(swapped[0], is_aux=is_aux))
            strange = sorted(set(given).difference(self.names, self.aux_names))
            hint = nearest(lacking[0], strange)
            if f"arg:{lacking[0]}" in strange or f"aux:{lacking[0]}" in strange:
                hint = " Names with arg: and aux: are those of a file: mx.model.load_checkpoint()."
            raise MissingParameterError(
                f"got {len(given)} arrays, and none for {some(lacking)}.{hint} Give each "
                "a value; or pass allow_missing=True, and init_params() initialises what is "
                "missing, set_params() leaves it as it is"
            )

    def set(self, args: Params | None, auxs: Params | None) -> None:
        """Set those parameters and auxiliary states that are given; pass over other names.

        Raises:
            ShapeError: a value of another shape. Nothing has changed then.
        """
        fresh = []
        for is_aux, given in ((False, args), (True, auxs)):
            for name, value in (given or {}).items():
                if name in self._cells(is_aux=is_aux):
                    handle = self._copy(name, is_aux=is_aux)
                    _assign(name, handle, value)
                    fresh.append((name, handle, is_aux))
        self._write(fresh)

    def copies(self, before: Copies | None = None) -> Copies:
        """Copies of parameters and auxiliary states, on ``cpu(0)``, in their storage types.

        Args:
            before: earlier ones, which stay, edited or not, until the store has other values.
        """
        store = self.store
        with store.lock:  # all of one step, also where another thread trains
            store.settle("params", "aux")
            args = before.args if before and before.params is store.state.params else None
            auxs = before.auxs if before and before.aux is store.state.aux else None
            if args is None:
                args = {n: self._on_cpu(n, is_aux=False) for n in self.names}
                args |= {n: args[n].tostype(s) for n, s in self.stypes.items() if n in args}
            if auxs is None:
                auxs = {n: self._on_cpu(n, is_aux=True) for n in self.aux_names}
            return Copies(args, auxs, store.state.params, store.state.aux)

    def average(self, workers: Any = None) -> None:
        """Give all replicas, and those of all workers, the mean of their auxiliary states.

        Of parameters too, where replicas train them apart.
        """
        if self.store.home.count > 1 or workers is not None:
            means = {n: self._copy(n, is_aux=True) for n in self.aux_names}
            if workers is not None and means:
                means = averaged(means, workers)
            self._write([(n, mean, True) for n, mean in means.items()])
        if self.store.apart:
            self._write([(n, self._copy(n, is_aux=False), False) for n in self.names])

    def extra(self, args: Params | None, auxs: Params | None) -> list[str]:
        """Names that are given and that the network lacks."""
        return [
            name
            for is_aux, given in ((False, args), (True, auxs))
            for name in given or ()
            if name not in self._cells(is_aux=is_aux)
        ]

    def refuse_extra(self, args: Params | None, auxs: Params | None) -> None:
        """Raise ParameterError for a name that the network lacks."""
        extra = self.extra(args, auxs)
        if extra:
            known = [*self.names, *self.aux_names]
            if extra[0] in known:
                raise ParameterError(_swapped(extra[0], is_aux=extra[0] in self.aux_names))
            raise ParameterError(
                f"set_params: {extra[0]!r} is not in the network.{nearest(extra[0], known)} "
                "Pass allow_extra=True to pass over such names"
            )

    def _cells(self, *, is_aux: bool) -> Any:
        return self.store.aux if is_aux else self.store.params

    def _copy(self, name: str, *, is_aux: bool) -> NDArray:
        """The present value in an array of its own."""
        return NDArray(new_cell(self._logical(name, is_aux=is_aux), self.ctx), self.ctx)

    def _on_cpu(self, name: str, *, is_aux: bool) -> NDArray:
        value = self._logical(name, is_aux=is_aux)
        with x64_for(value.dtype):
            return NDArray(Cell(jax.device_put(value, cpu().jax_device)), cpu())

    def _logical(self, name: str, *, is_aux: bool) -> Any:
        cell = self._cells(is_aux=is_aux)[name]
        return (self.store.home.mean(cell) if is_aux else self.store.logical(cell)).unmoved()

    def _write(self, fresh: list[tuple[str, NDArray, bool]]) -> None:
        """Store values, and empty the list: arrays that nothing else refers to go one by one."""
        store = self.store
        while fresh:
            name, handle, is_aux = fresh.pop(0)
            cell = handle._cell
            rows = cell.rows if isinstance(cell, LateCell) and not cell.aliased else None
            # A copy of initial numbers on the device, which a first step may donate.
            value = cell.peek() if rows is None else self._on_device(rows)
            split = store.home.at(name).split
            stored = split(value, -1) if is_aux else store.stored(name, value)
            self._cells(is_aux=is_aux)[name].set(stored, aliased=rows is None)

    def _on_device(self, rows: np.ndarray) -> jax.Array:
        """A copy of rows on the device; `jax.device_put` alone may use their memory."""
        with x64_for(rows.dtype):
            return copy_of(jax.device_put(rows, self.ctx.jax_device))


def in_order(given: Sequence[Params], names: Sequence[Sequence[str]]) -> list[list[str]]:
    """Names of parameters and of auxiliary states, in the order of dictionaries of some of them."""
    pairs = [
        (dict.fromkeys([*some, *own]), set(own)) for some, own in zip(given, names, strict=True)
    ]
    return [[name for name in every if name in own] for every, own in pairs]


def present_params(place: int) -> property:
    """``_arg_params`` or ``_aux_params`` of a module, which programs written for MXNet use."""

    def get(module: Any) -> Params | None:
        if module.binded:
            return module._copied_params()[place]
        return module.get_params()[place] if module.params_initialized else None

    def give(module: Any, values: Params | None) -> None:
        given: list[Any] = [None, None]
        given[place] = values or {}
        module._give(*given)

    return property(get, give)


def averaged(arrays: Mapping[str, NDArray], workers: Any) -> dict[str, NDArray]:
    """The means of arrays over all workers, each of which calls this."""
    values = [array._cell.peek() for array in arrays.values()]
    with x64_for(*(value.dtype for value in values)):
        totals = workers.sum(values)
        means = [(total / workers.size).astype(total.dtype) for total in totals]
    named = zip(arrays.items(), means, strict=True)
    return {name: NDArray(Cell(mean), array.ctx) for (name, array), mean in named}


def check_given(arg_params: Any, aux_params: Any, initializer: Any) -> None:
    """Raise ParameterError for parameters in no dictionary, or an initializer not callable."""
    for what, given in (("arg_params", arg_params), ("aux_params", aux_params)):
        if given is not None and not isinstance(given, Mapping):
            raise ParameterError(
                f"{what}: got {type(given).__name__}, expected a dictionary of name to NDArray"
            )
    if isinstance(initializer, type):
        raise ParameterError(
            f"initializer: got the class {initializer.__name__}, expected an instance of it: "
            f"mx.init.{initializer.__name__}()"
        )
    if initializer is not None and not callable(initializer):
        raise ParameterError(
            f"initializer: got {initializer!r}, expected an Initializer such as mx.init.Xavier()"
        )


def _swapped(name: str, *, is_aux: bool) -> str:
    """The message of a value that is given in the dictionary of the other kind."""
    got, expected = ("arg_params", "aux_params")[:: 1 if is_aux else -1]
    return f"{name!r} is given in {got}, expected in {expected}; are the two swapped?"


def warn_of_extra(extra: Sequence[str], auxs: Collection[str] = (), known: Any = ()) -> None:
    """Warn of names that the network lacks, which MXNet passes over in silence.

    Args:
        auxs: names of auxiliary states: one in ``extra`` is given as a parameter.
        known: names of all values: others in ``extra`` are given as auxiliary states.
    """
    misplaced = [n for n in extra if n in known]
    extra = [n for n in extra if n not in known]
    if misplaced:
        text = f"{_swapped(misplaced[0], is_aux=misplaced[0] in auxs)} It is not used"
        warn_caller(text)
    if extra:
        warn_caller(
            f"the network has no parameter {some(extra)}: these values "
            f"are not used.{nearest(extra[0], known)} Leave them out of what is given, or pass "
            "allow_extra=True to init_params() or set_params()"
        )


def refuse_unnamed_labels(
    symbol: Symbol, params: Sequence[str], labels: Sequence[str], given: Params, cause: Exception
) -> None:
    """Raise where a label of a network is left without a value as a parameter."""
    found = roles_of(symbol).labels
    unnamed = [n for n in found if n in params and n not in given]
    if unnamed:
        raise ParameterError(
            f"init_params: {unnamed[0]!r} is a label of the network, and the module was made "
            f"with label_names={labels}: to train, make it with Module(..., "
            f"label_names={list(found)}) and give the iterator label_name={unnamed[0]!r}; to "
            "predict, use mx.Predictor, or set_params(..., allow_missing=True)"
        ) from cause


def _assign(name: str, handle: NDArray, value: Any) -> None:
    """Write a value to a handle: ParameterError for no array, ShapeError for another shape."""
    shape = getattr(value, "shape", None)
    if shape is None:
        raise ParameterError(f"parameter {name!r}: got {type(value).__name__}, expected an NDArray")
    if tuple(shape) != handle.shape:
        raise ShapeError(
            f"parameter {name!r}: got shape {tuple(shape)}, expected {handle.shape}; is it "
            "of another network, or of another input size?"
        )
    handle._set(value)

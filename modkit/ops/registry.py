"""The schema of an operator: one entry holds its function, parameters, shapes and names."""

from __future__ import annotations

import ast
import functools
import inspect
import math
import sys
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypedDict, Union, Unpack

import numpy as np

from modkit.errors import (
    DTypeError,
    ModkitError,
    NameNotFoundError,
    ParameterError,
    ShapeError,
    nearest,
    not_taken,
)
from modkit.interpreter.shared import shared
from modkit.interpreter.tracing import is_for_numpy
from modkit.ops.own_gradient import without_gradient

Shape = tuple[int, ...]
"""Sizes. In shape inference a 0 is a size that is not known yet, and ``None`` a whole shape."""

Size = Annotated[int, "1 or more"]
"""A count: an integer of at least 1."""

Fraction = Annotated[float, "0 to 1"]
"""A share, such as a probability."""

Axes = tuple[int, ...]
"""An axis or several."""

Traced = Annotated[float, "traced"]
"""A number that is an argument of the compiled program, so that a new value compiles nothing."""

TracedTuple = Annotated[tuple[float, ...], "traced"]
"""Several such numbers."""

TracedInt = Annotated[int, "traced"]
"""A number of updates: whole, and an argument of the compiled program."""

TracedInts = Annotated[tuple[int, ...], "traced"]
"""Several of these."""

_ARGUMENTS = (Traced, TracedTuple, TracedInt, TracedInts)

DType = Annotated[str, "dtype"]
"""The name of an element type: ``"float32"``."""

Precision = Literal["through", "alike", "float32"] | tuple[str, ...]
"""The element types that an operator reads under a 16-bit compute type.

``"through"``: what comes, in 16 bits or in 32. ``"alike"``: 16 bits where all inputs have them,
else float32. ``"float32"``: float32 always, for losses, powers, exponentials, sums and gathers (the
gradient of a gather is a sum). A tuple: the inputs of these names in 16 bits, for products.
"""

Gradient = Literal["derivative", "zero", "loss", "added", "refused"]
"""Kinds of gradients.

``"derivative"``: the cotangents of its outputs, times its derivative. ``"zero"``: 0 whatever they
are. ``"loss"``: one of its own whatever they are. ``"added"``: one of its own, and that of the
cotangents. Operators after a loss or an added gradient that stop gradients do not stop this one, as
in MXNet 1.9.1. ``"refused"``: MXNet 1.9.1 has none; a cotangent raises an error.
"""

REQUIRED = inspect.Parameter.empty
"""The default of a parameter that has none."""

_RESERVED = ("key", "train")

Attrs = Mapping[str, Any]
"""An operator's parsed parameters, by name."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Op:
    """One operator. Made by `op`, which reads ``inputs`` to ``takes_train`` from the function.

    Attributes:
        name: MXNet's name.
        fn: the pure function.
        inputs: names of the tensor inputs.
        types: annotations of the parameters.
        defaults: defaults of the parameters that have one.
        takes_key: the function takes a random key.
        takes_train: the function takes whether this is training.
        inert: parameters that are parsed and kept, not passed.
        hint: the stem of automatic names.
        precision: the element types it reads in mixed precision; see `Precision`.
        params: ``params(data_shape, **attrs) -> {input name: shape}``, shapes of learnable
            inputs and labels from the first input's shape.
        when: for optional inputs (default ``None``), whether they exist: ``attrs -> bool``.
        aux: inputs that are auxiliary states (moving statistics), which training updates.
        rewrites: learnable inputs that training may overwrite (a fixed gamma, with 1).
        outputs: names of all outputs, or ``attrs -> names``.
        visible: the number of outputs that are shown, or ``attrs -> number``; default all.
        variadic: the parameter that counts ``*args`` inputs (``"num_args"``).
        names: for a variadic operator, ``attrs -> names`` of its inputs; default ``arg0``, ...
        same_shape: all inputs and outputs have one shape (elementwise operators): inference
            fills any of them from any other, size by size.
        partial: ``partial(ins, outs, attrs) -> (ins, outs)`` refines partly known shapes in
            both directions; shapes are ``None`` or tuples in which 0 is unknown.
        partial_is_complete: sizes that ``partial`` leaves open stay unknown: inference does not
            evaluate the operator with stand-in sizes to find them.
        dtypes: ``dtypes(ins, attrs) -> (ins, outs)`` over dtype names or ``None``. The default
            rule: all inputs and outputs have one dtype, and a parameter called ``dtype`` sets
            the outputs'.
        gradient: its kind of gradient, or ``attrs -> kind``; see `Gradient`.
        elementwise: an element of the output depends on the inputs' elements at the same position
            only, so that any order of axes gives the same result.
        channels_last: ``attrs -> function`` that takes and returns the same for arrays of 4 axes
            whose channels, MXNet's axis 1, come last, and is made for CPUs; or ``None``.
        costly: its results are kept for the backward pass where cheap ones are computed again.
        slow_in_loops: on CPUs it runs many times slower inside a loop of XLA's.
        sized_by_values: the size of its result may depend on values: where inference leaves it
            unknown, bound graphs run node by node.
        input_init: the ``__init__`` attribute of input variables, by input name.
        keeps_any: nodes keep attributes of unknown names, which have no effect, as in MXNet; those
            of operators without parameters do, too.
        check_values: ``check_values(arrays, attrs)`` raises an error for values that eager
            calls refuse. It waits for the arrays that it reads; compiled graphs do not call it.
    """

    name: str
    fn: Callable[..., Any]
    inputs: tuple[str, ...]
    types: Mapping[str, Any]
    defaults: Attrs
    takes_key: bool
    takes_train: bool
    inert: tuple[str, ...]
    hint: str
    precision: Precision
    params: Callable[..., Mapping[str, Shape]] | None = None
    when: Mapping[str, Callable[[Attrs], bool]] = field(default_factory=dict)
    aux: Sequence[str] = ()
    rewrites: Sequence[str] = ()
    outputs: Sequence[str] | Callable[[Attrs], Sequence[str]] = ("output",)
    visible: int | Callable[[Attrs], int] | None = None
    variadic: str | None = None
    names: Callable[[Attrs], Sequence[str]] | None = None
    same_shape: bool = False
    partial: Callable[..., Any] | None = None
    partial_is_complete: bool = False
    dtypes: Callable[..., Any] | None = None
    gradient: Gradient | Callable[[Attrs], Gradient] = "derivative"
    elementwise: bool = False
    channels_last: Callable[[Attrs], Callable[..., Any] | None] | None = None
    costly: bool = False
    slow_in_loops: bool = False
    sized_by_values: bool = False
    input_init: Mapping[str, str] = field(default_factory=dict)
    keeps_any: bool = False
    check_values: Callable[[Sequence[Any], Attrs], None] | None = None

    @functools.cached_property
    def doc(self) -> str:
        """The operator's documentation."""
        return inspect.getdoc(self.fn) or ""

    @functools.cached_property
    def most_arguments(self) -> int:
        """The number of inputs and parameters that have names."""
        return len(self.inputs) + len(self.types)

    def input_names(self, attrs: Attrs) -> list[str]:
        """Names of the tensor inputs that exist for these attributes, auxiliary ones last."""
        if self.names:
            return list(self.names(attrs))
        if self.variadic:
            fixed = [n for n in self.inputs if self.exists(n, attrs)]
            return fixed + [f"arg{i}" for i in range(int(attrs.get(self.variadic) or 0))]
        return [n for n in self.inputs if self.exists(n, attrs)]

    def is_known(self, _attrs: Attrs) -> bool:
        """Whether a node with these attributes, as strings, can be run."""
        return True

    def takes(self, name: str) -> bool:
        """Whether there is a parameter of that name."""
        return name in self.types

    @property
    def ignores_unknown(self) -> bool:
        """Whether parameters of unknown names are ignored, as in MXNet, and no mistakes."""
        return self.keeps_any or not self.types

    @property
    def bodies(self) -> int:
        """The number of graphs that a node has for the operator to run."""
        return 0

    def check(self, attrs: Attrs, count: int) -> None:
        """Check that parsed parameters fit the graphs of a node with ``count`` inputs."""

    @property
    def on_host(self) -> bool:
        """Whether the running program calls Python for this operator."""
        return False

    def own(self, attrs: Attrs, name: str, stypes: Sequence[str]) -> Mapping[str, Any]:
        """The attributes for one node of one lowered graph, where running it keeps state.

        Args:
            attrs: parsed attributes, which all equal nodes share.
            name: the node's name, for error messages.
            stypes: storage types of its inputs; ``"undefined"`` where unknown.
        """
        return attrs

    def storage(self, attrs: Attrs, stypes: Sequence[str]) -> Sequence[str] | None:
        """Storage types of the outputs; ``None``: by the rules of `modkit.ops.stype`.

        Args:
            attrs: parsed attributes.
            stypes: storage types of the inputs; ``"undefined"`` where unknown.
        """
        return None

    def renew(self, attrs: Attrs) -> None:
        """Set the state that `own` made to that of a new node."""

    @property
    def may_have_aux(self) -> bool:
        """Whether there are auxiliary states for any parameters at all."""
        return bool(self.aux)

    def aux_names(self, _attrs: Attrs) -> Sequence[str]:
        """Names of the inputs that are auxiliary states for these parsed attributes."""
        return self.aux

    def ignores_cotangent(self, attrs: Attrs) -> bool:
        """Whether ``backward()`` needs no head gradient for it."""
        return self._gradient(attrs) in ("zero", "loss")

    def has_own_gradient(self, attrs: Attrs) -> bool:
        """Whether it has a gradient where the cotangents of its outputs are 0."""
        return self._gradient(attrs) in ("loss", "added")

    def _gradient(self, attrs: Attrs) -> Gradient:
        return self.gradient(attrs) if callable(self.gradient) else self.gradient

    def exists(self, name: str, attrs: Attrs) -> bool:
        """Whether the optional input ``name`` is there for these attributes."""
        return name not in self.when or bool(self.when[name](attrs))

    def output_names(self, attrs: Attrs) -> Sequence[str]:
        """Names of all outputs, hidden ones too: ``("output",)`` for most."""
        return self.outputs(attrs) if callable(self.outputs) else self.outputs

    def visible_outputs(self, attrs: Attrs) -> int:
        """The number of outputs that composition and ``list_outputs`` show."""
        shown = self.visible(attrs) if callable(self.visible) else self.visible
        return len(self.output_names(attrs)) if shown is None else shown

    def makes_x64(self, attrs: Attrs, count: int) -> bool:
        """Whether it makes 64-bit values of ``count`` inputs, by its parameters or its nature."""
        if any(isinstance(v, str) and v in WIDE for v in attrs.values()):
            return True
        return self.dtypes is not None and any(
            t in WIDE for t in self.dtypes([None] * count, attrs)[1]
        )

    def parse(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Typed parameters from strings or values, with defaults filled in.

        Raises:
            ParameterError: a parameter that the operator does not take, a value that cannot be
                read, or a missing one that has no default.
        """
        parsed = dict(self.defaults)
        for name, value in given.items():
            if name not in self.types:
                if self.ignores_unknown:
                    continue
                raise not_taken(self.name, name, self.types)
            parsed[name] = parse_value(value, self.types[name], where=f"{self.name}: {name}")
        missing = [n for n in self.types if n not in parsed]
        if missing:
            raise ParameterError(
                f"{self.name}: required parameter {missing[0]!r} is missing "
                f"(expected {_spell(self.types[missing[0]])})"
            )
        return parsed

    def traced(self) -> tuple[str, ...]:
        """Names of the parameters that are arguments of the compiled program."""
        return tuple(n for n, t in self.types.items() if t in _ARGUMENTS)

    def call(
        self,
        arrays: Sequence[Any],
        attrs: Attrs,
        *,
        key: Any = None,
        train: bool = False,
        fn: Callable[..., Any] | None = None,
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Run the pure function.

        Args:
            arrays: the inputs in the order of ``input_names(attrs)``.
            attrs: parsed attributes.
            key: a JAX random key; used only where ``takes_key``.
            train: training mode; used only where ``takes_train``.
            fn: another form of the function, which takes and returns the same.

        Returns:
            All outputs, and the new auxiliary states by input name.
        """
        if fn is not None or not (is_for_numpy() and self.is_shared):
            return self._call(arrays, attrs, key, train, fn or self.fn)
        return shared(*self.as_function(attrs, train), arrays)

    @property
    def is_shared(self) -> bool:
        """Whether traces for NumPy share its own; see `as_function`."""
        return not (self.takes_key or self.on_host or self.bodies)

    def as_function(
        self, attrs: Attrs, train: bool
    ) -> tuple[Callable[[Sequence[Any]], Any], Callable[[], Any]]:
        """`call` of arrays alone, and what makes the key of its traces: zeros have signs there."""

        def key() -> Any:
            items = tuple(sorted(attrs.items()))
            return self, items, repr(items), train and self.takes_train

        return lambda arrays: self._call(arrays, attrs, None, train, self.fn), key

    def _call(
        self, arrays: Sequence[Any], attrs: Attrs, key: Any, train: bool, fn: Callable[..., Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        kwargs = {n: v for n, v in attrs.items() if n not in self.inert}
        if self.takes_key:
            kwargs["key"] = key
        if self.takes_train:
            kwargs["train"] = train
        if self.variadic:
            kwargs.pop(self.variadic, None)
            result = fn(*arrays, **kwargs)
        else:
            result = fn(**dict(zip(self.input_names(attrs), arrays, strict=True)), **kwargs)
        new_aux: dict[str, Any] = {}
        if self.aux:
            result, new_aux = result
        outputs = tuple(result) if isinstance(result, tuple | list) else (result,)
        for each in outputs:
            check_elements(f"{self.name}: output", np.shape(each))
        return outputs, new_aux


_MOST_ELEMENTS = 2**40


def check_elements(what: str, shape: Shape) -> None:
    """Refuse an array that no machine holds: XLA ends the process where sizes overflow.

    Raises:
        ShapeError: the shape has 2**40 elements or more.
    """
    if math.prod(n or 1 for n in shape) >= _MOST_ELEMENTS:
        raise ShapeError(
            f"{what}: shape {shape} has too many elements, expected fewer than 2**40, which take "
            "4 TiB in float32"
        )


Params = tuple[tuple[str, Any], ...]
"""Parsed parameters as a hashable."""


@functools.lru_cache(maxsize=4096)
def as_mapping(params: Params) -> Mapping[str, Any]:
    """Parameters by name, for inference only: cached by equality, 0.0 is -0.0. Do not change it."""
    return dict(params)


OPS: dict[str, Op] = {}
"""Every operator by each of its names, aliases included."""


def get_op(name: str) -> Op:
    """The operator of that name or alias.

    Raises:
        NameNotFoundError: naming the nearest ones.
    """
    if name not in OPS:
        raise NameNotFoundError(
            f"operator {name!r} is not one that modkit has.{nearest(name, OPS)}"
        )
    return OPS[name]


@functools.lru_cache(maxsize=64)
def numbered(count: int) -> tuple[str, ...]:
    """Names of outputs: ``output`` of a single one, else ``output0``, ``output1``, ..."""
    return ("output",) if count == 1 else tuple(f"output{i}" for i in range(count))


def _placed(types: dict[str, Any], name: str, kind: Any, before: str = "") -> dict[str, Any]:
    """Types by parameter with one more, ahead of ``before`` or at the end."""
    rest = list(types.items())
    at = list(types).index(before) if before else len(rest)
    return dict([*rest[:at], (name, kind), *rest[at:]])


class OpFields(TypedDict, total=False):
    """The fields of `Op` that have a default, for type checkers; a test compares the two."""

    params: Callable[..., Mapping[str, Shape]] | None
    when: Mapping[str, Callable[[Attrs], bool]]
    aux: Sequence[str]
    rewrites: Sequence[str]
    outputs: Sequence[str] | Callable[[Attrs], Sequence[str]]
    visible: int | Callable[[Attrs], int] | None
    variadic: str | None
    names: Callable[[Attrs], Sequence[str]] | None
    same_shape: bool
    partial: Callable[..., Any] | None
    partial_is_complete: bool
    dtypes: Callable[..., Any] | None
    gradient: Gradient | Callable[[Attrs], Gradient]
    elementwise: bool
    channels_last: Callable[[Attrs], Callable[..., Any] | None] | None
    costly: bool
    slow_in_loops: bool
    sized_by_values: bool
    input_init: Mapping[str, str]
    keeps_any: bool
    check_values: Callable[[Sequence[Any], Attrs], None] | None


class Declared(OpFields, total=False):
    """The arguments of functions that pass them on to `op`."""

    aliases: Sequence[str]
    like: Callable[..., Any]
    inert: Mapping[str, tuple[Any, ...]]


def op(
    name: str,
    *,
    precision: Precision,
    aliases: Sequence[str] = (),
    like: Callable[..., Any] | None = None,
    inert: Mapping[str, tuple[Any, ...]] | None = None,
    hint: str | None = None,
    loss: bool | Callable[[Attrs], bool] = False,
    kind: type[Op] = Op,
    **fields: Unpack[OpFields],
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated pure function as an operator.

    The function's positional arguments are its tensor inputs, its keyword-only arguments its
    parameters (annotated), of which ``key`` and ``train`` are given by the caller. It returns an
    array or a tuple of arrays; with ``aux``, ``(that, {aux name: new value})``.

    Args:
        name: MXNet's name.
        precision: see `Op`.
        aliases: more names of the same operator.
        like: another operator's function, or a dataclass. The function takes its parameters as
            ``**given``, which stand ahead of the function's own; its inputs, too, if the function
            names none.
        inert: parameters that MXNet takes and that cannot matter here (``workspace``,
            ``cudnn_off``), as ``{name: (type, default)}``, or ``(type, default, before)`` with the
            parameter that follows it in MXNet's order.
        hint: the stem of automatic names; default the lower-case name without underscores ahead.
        loss: whether, or for which parsed attributes, its ``gradient`` is ``"loss"``.
        kind: the class of the entry.
        fields: see `Op`.

    Raises:
        ModkitError: a name is taken.
        ParameterError: ``fields`` has something else.
    """
    known = OpFields.__annotations__
    if unknown := [each for each in fields if each not in known]:
        raise not_taken(f"op({name!r})", unknown[0], known, "field")
    if callable(loss):
        fields["gradient"] = lambda attrs: "loss" if loss(attrs) else "derivative"
    elif loss:
        fields["gradient"] = "loss"

    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        if like is not None:
            _inherit(fn, like)
        signature = inspect.signature(fn)
        hints = _hints(fn)
        kinds = inspect.Parameter
        tensors = [
            p for p in signature.parameters.values() if p.kind == kinds.POSITIONAL_OR_KEYWORD
        ]
        attrs = [
            p
            for p in signature.parameters.values()
            if p.kind == kinds.KEYWORD_ONLY and p.name not in _RESERVED
        ]
        types_ = {p.name: hints.get(p.name, Any) for p in attrs}
        defaults = {p.name: p.default for p in attrs if p.default is not kinds.empty}
        for extra, (annotation, default, *before) in (inert or {}).items():
            types_, defaults[extra] = _placed(types_, extra, annotation, *before), default
        variadic = fields.get("variadic")
        if variadic and variadic not in types_:
            types_[variadic], defaults[variadic] = int, 0
        made = fn
        if fields.get("gradient") == "refused":
            constants = {"train", *(n for n, t in types_.items() if t not in _ARGUMENTS)}
            made = without_gradient(name, fn, constants)
        entry = kind(
            name=name,
            fn=made,
            inputs=tuple(p.name for p in tensors),
            types=types_,
            defaults=defaults,
            takes_key="key" in signature.parameters,
            takes_train="train" in signature.parameters,
            inert=tuple(inert or {}),
            hint=hint or name.lower().lstrip("_"),
            precision=precision,
            **fields,
        )
        for each in (name, *aliases):
            if each in OPS:
                raise ModkitError(f"operator name {each!r} is already registered")
            OPS[each] = entry
        return fn

    return register


def _hints(fn: Any) -> dict[str, Any]:
    """Evaluated annotations. Each text is evaluated once in a module, as operators share most."""
    return {n: _evaluated(a, fn.__module__) for n, a in fn.__annotations__.items()}


@functools.cache
def _evaluated(annotation: Any, module: str) -> Any:
    one: Any = types.SimpleNamespace(__annotations__={"it": annotation})
    return typing.get_type_hints(one, vars(sys.modules[module]), include_extras=True)["it"]


def _inherit(fn: Any, like: Callable[..., Any]) -> None:
    """Give ``fn`` the signature that `op` reads of a function with ``**given``."""
    kind = inspect.Parameter
    own, other = (list(inspect.signature(f).parameters.values()) for f in (fn, like))
    tensors, inputs = (
        [p for p in each if p.kind is kind.POSITIONAL_OR_KEYWORD] for each in (own, other)
    )
    named = {p.name: p for p in (*other, *own) if p.kind is kind.KEYWORD_ONLY}
    fn.__signature__ = inspect.Signature([*(tensors or inputs), *named.values()])
    fn.__annotations__ = {
        **typing.get_type_hints(like, include_extras=True), **fn.__annotations__
    }  # fmt: skip


def with_schema(
    fn: Callable[..., Any],
    name: str,
    doc: str,
    tensors: Sequence[str] | None,
    attrs: Mapping[str, tuple[Any, Any]],
    *,
    takes_key: bool = False,
) -> Callable[..., Any]:
    """A function of a table row, with the signature that `op` reads its schema from.

    Args:
        fn: takes everything by keyword; tensors by position, if they are ``*data``.
        name: its name.
        doc: its documentation.
        tensors: names of the tensor inputs; ``None`` for ``*data``.
        attrs: annotation and default of each parameter.
        takes_key: whether it takes a random key.
    """
    kind = inspect.Parameter
    parameters = [kind(n, kind.POSITIONAL_OR_KEYWORD) for n in tensors or ()]
    if tensors is None:
        parameters.append(kind("data", kind.VAR_POSITIONAL))
    if takes_key:
        parameters.append(kind("key", kind.KEYWORD_ONLY))
    parameters += [kind(n, kind.KEYWORD_ONLY, default=d) for n, (_, d) in attrs.items()]
    made: Any = fn
    made.__name__, made.__doc__ = name.lstrip("_"), doc
    made.__annotations__ = {n: annotation for n, (annotation, _) in attrs.items()}
    made.__signature__ = inspect.Signature(parameters)
    return made


def unary(
    name: str,
    fn: Callable[[Any], Any],
    doc: str,
    *,
    precision: Precision,
    aliases: Sequence[str] = (),
    **fields: Unpack[OpFields],
) -> None:
    """Register a table row: an elementwise function of one array."""
    _register_row(lambda data: fn(data), name, doc, precision, aliases, fields)


def binary(
    name: str,
    fn: Callable[[Any, Any], Any],
    doc: str,
    *,
    precision: Precision,
    aliases: Sequence[str] = (),
    **fields: Unpack[OpFields],
) -> None:
    """Register a table row: a function of two arrays, of one shape unless ``same_shape=False``."""
    _register_row(lambda lhs, rhs: fn(lhs, rhs), name, doc, precision, aliases, fields)


def _register_row(
    run: Any, name: str, doc: str, precision: Precision, aliases: Sequence[str], fields: OpFields
) -> None:
    run.__doc__ = doc[0].upper() + doc[1:] + ("" if doc.endswith(".") else ".")
    run.__name__ = name.lstrip("_")
    fields = {"same_shape": True, "elementwise": True, **fields}
    op(name, precision=precision, aliases=aliases, **fields)(run)


# ── Reading parameters ──────────────────────────────────────────────────────────────────────


UNREADABLE = (ValueError, TypeError, SyntaxError, OverflowError, RecursionError, MemoryError)
"""Exceptions of reading a value from text; the last two come of text that is nested too deeply."""


def parse_value(value: Any, kind: Any, *, where: str) -> Any:
    """A typed parameter from a value or from MXNet's text for it.

    Args:
        value: ``3``, ``"3"``, ``(3, 3)``, ``"(3, 3)"``, ``"None"``, ``"True"``, ...
        kind: the annotation.
        where: operator and parameter, for the error.

    Raises:
        ParameterError: it cannot be read as ``kind``.
    """
    try:
        return _read(value, kind)
    except UNREADABLE as error:
        raise ParameterError(f"{where}: got {_shown(value)}, expected {_spell(kind)}") from error


def _shown(value: Any) -> str:
    """A value in an error message: of a number, which symbols keep as text, its digits alone."""
    try:
        float(value if isinstance(value, str) else "")
    except ValueError:
        return repr(value)
    return value


def _read(value: Any, kind: Any) -> Any:
    origin = typing.get_origin(kind)
    if origin in (Union, types.UnionType):
        return _read_union(value, typing.get_args(kind))
    if origin is Literal:
        return _read_literal(value, typing.get_args(kind))
    if origin is tuple:
        return _read_tuple(value, typing.get_args(kind)[0])
    return _READERS[kind](value)


def _read_union(value: Any, kinds: tuple[Any, ...]) -> Any:
    if type(None) in kinds and (value is None or value == "None"):
        return None
    failure: Exception = ValueError(value)
    for kind in kinds:
        if kind is type(None):
            continue
        try:
            return _read(value, kind)
        except (ValueError, TypeError, SyntaxError) as error:
            failure = error
    raise failure


def _read_literal(value: Any, choices: tuple[Any, ...]) -> Any:
    for choice in choices:
        if value == choice or str(value) == str(choice):
            return choice
    if isinstance(value, type | np.dtype) and dtype_name(value) in choices:
        return dtype_name(value)
    raise ValueError(value)


def _read_tuple(value: Any, kind: Any) -> tuple[Any, ...]:
    if isinstance(value, str):
        text = value.strip().replace("L", "")
        value = ast.literal_eval(text) if text else ()
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, tuple | list):
        value = (value,)
    return tuple(_read(v, kind) for v in value)


def _read_bool(value: Any) -> bool:
    if isinstance(value, str):
        words = {"true": True, "1": True, "false": False, "0": False}
        if value.strip().lower() not in words:
            raise ValueError(value)
        return words[value.strip().lower()]
    if isinstance(value, bool | int | np.bool_ | np.integer) and value in (0, 1):
        return bool(value)
    raise ValueError(value)


def _read_int(value: Any) -> int:
    if isinstance(value, str):
        return int(value.strip().removesuffix("L"))
    if isinstance(value, float) and not value.is_integer():
        raise ValueError(value)
    return int(value)


def _read_size(value: Any) -> int:
    size = _read_int(value)
    if size < 1:
        raise ValueError(value)
    return size


def _read_fraction(value: Any) -> float:
    fraction = float(value)
    if not 0 <= fraction <= 1:
        raise ValueError(value)
    return fraction


_READERS: dict[Any, Callable[[Any], Any]] = {
    bool: _read_bool,
    int: _read_int,
    float: float,
    str: str,
    Any: lambda value: value,
    DType: lambda value: dtype_name(value),
    Size: _read_size,
    Fraction: _read_fraction,
    Traced: float,
    TracedTuple: lambda value: _read_tuple(value, float),
    TracedInt: lambda value: float(_read_int(value)),
    TracedInts: lambda value: tuple(map(float, _read_tuple(value, int))),
}

_SPELLED: dict[Any, str] = {
    DType: "an element type",
    Size: "an int of 1 or more",
    Fraction: "a fraction from 0 to 1",
    Traced: "float",
    TracedTuple: "a tuple of float",
    TracedInt: "int",
    TracedInts: "a tuple of int",
    type(None): "None",
}


@functools.cache
def _spell(kind: Any) -> str:
    """An annotation in words for an error message."""
    if kind in _SPELLED:
        return _SPELLED[kind]
    if typing.get_origin(kind) is Literal:
        return "one of " + ", ".join(repr(c) for c in typing.get_args(kind))
    if typing.get_origin(kind) in (Union, types.UnionType):
        return " or ".join(_spell(k) for k in typing.get_args(kind))
    if typing.get_origin(kind) is tuple:
        return f"a tuple of {_spell(typing.get_args(kind)[0])}"
    return getattr(kind, "__name__", str(kind))


# ── Element types ───────────────────────────────────────────────────────────────────────────

DTYPE_CODES: dict[int, str] = {
    0: "float32", 1: "float64", 2: "float16", 3: "uint8", 4: "int32", 5: "int8", 6: "int64",
    7: "bool", 8: "int16", 9: "uint16", 10: "uint32", 11: "uint64", 12: "bfloat16",
}  # fmt: skip
"""The element type of each number of MXNet's."""

CODE_OF_DTYPE = {name: code for code, name in DTYPE_CODES.items()}
"""MXNet's number of each element type."""

WIDE = frozenset({"float64", "int64", "uint64"})
"""Element types that need JAX's 64-bit mode."""


def dtype_name(value: Any) -> str:
    """The name of an element type given as a name, NumPy dtype, Python type or MXNet's number.

    >>> import numpy as np
    >>> dtype_name(np.float32), dtype_name("int32"), dtype_name(float)
    ('float32', 'int32', 'float64')

    Raises:
        DTypeError: it is none.
    """
    if isinstance(value, str) and value in CODE_OF_DTYPE:
        return value
    if isinstance(value, int) and value in DTYPE_CODES and not isinstance(value, bool):
        return DTYPE_CODES[value]
    kind: Any = value
    try:
        name = np.dtype(kind).name
    except TypeError:
        name = getattr(value, "name", getattr(value, "__name__", str(value)))
    if name not in CODE_OF_DTYPE:
        raise DTypeError(
            f"got {value!r}, expected an element type.{nearest(name, CODE_OF_DTYPE)} "
            f"There are: {', '.join(CODE_OF_DTYPE)}"
        )
    return name

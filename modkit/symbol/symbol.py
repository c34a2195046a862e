"""Symbol: outputs of a graph, with methods to compose, infer, bind and save it."""

from __future__ import annotations

import ctypes
import html
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from modkit.context import Context, current_context
from modkit.errors import (
    NameNotFoundError,
    NotSupportedError,
    ParameterError,
    check_known,
    expect,
    listed,
    nearest,
    one_of,
    warn_caller,
)
from modkit.files import atomic_write
from modkit.handles import handle_of, owner_of
from modkit.ops.entry import Op
from modkit.ops.registry import get_op
from modkit.symbol.attrs import check_for_op, check_strings, shown, stored_name
from modkit.symbol.compose import make_node, single_entry, with_inputs
from modkit.symbol.debug_str import describe
from modkit.symbol.drawing import svg
from modkit.symbol.fluent import Fluent
from modkit.symbol.graph import Entry, Graph, Node, entry_name, parsed, rewrite, visible_entries
from modkit.symbol.infer_arguments import Inferred, infer_shape, infer_type
from modkit.symbol.json import dumps, loads

if TYPE_CHECKING:
    from modkit.executor import Executor
    from modkit.ndarray import NDArray

BACKENDS = ("MKLDNN", "MKLDNN_QUANTIZE", "TensorRT", "default", "default_v2")
"""Names of the optimizers of graphs in MXNet's builds."""


class Symbol(Fluent):
    """Some outputs of a graph of operators and variables.

    Made by `Variable`, by calling operators (``mx.sym.FullyConnected(data, num_hidden=10)``), by
    arithmetic, and by `load`.

    Args:
        heads: the outputs; or the handle of a symbol that has them.

    Raises:
        ParameterError: it is the handle of a symbol that is gone.
    """

    __slots__ = ("__weakref__", "_graph", "heads")
    __array_priority__ = 1000.0

    def __init__(self, heads: Iterable[Entry] | ctypes.c_void_p):
        if isinstance(heads, ctypes.c_void_p):
            self.heads: tuple[Entry, ...] = owner_of(heads, Symbol).heads
        else:
            self.heads = tuple(heads)
        self._graph: Graph | None = None

    @property
    def handle(self) -> ctypes.c_void_p:
        """A number by which other code refers to this symbol, as long as it lives."""
        return handle_of(self)

    @property
    def graph(self) -> Graph:
        """The graph below the outputs."""
        if self._graph is None:
            self._graph = Graph(self.heads)
        return self._graph

    # ── What it is ──────────────────────────────────────────────────────────────────────────

    @property
    def name(self) -> str | None:
        """The node's name; ``None`` for a group of several nodes."""
        first = self.heads[0].node
        return first.name if all(h.node is first for h in self.heads) else None

    def __repr__(self) -> str:
        if self.name is None:
            return f"<{type(self).__name__} group [{', '.join(h.node.name for h in self.heads)}]>"
        return f"<{type(self).__name__} {self.name}>"

    @property
    def _shown(self) -> str:
        """The symbol in a message: its repr, but for a large group."""
        return repr(self) if len(self) <= 8 else f"<Symbol group of {len(self):,} outputs>"

    def _repr_html_(self) -> str:
        """The graph as a picture, for notebooks; a line where it is too large for one."""
        nodes = self.graph.nodes
        text = html.escape(f"{self!r}, {len(nodes)} nodes")
        return f"<p><code>{text}</code></p>{svg(nodes) or ''}"

    def __len__(self) -> int:
        return len(self.heads)

    def __iter__(self) -> Iterator[Symbol]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: int | str | slice) -> Symbol:
        if isinstance(index, slice):
            picked = [self.heads[i] for i in _range_of(index, len(self))]
            if not picked:
                raise IndexError(f"{self._shown}: no outputs in {index}, it has {len(self)}")
            return Symbol(picked)
        if isinstance(index, str):
            index = self._find_output(index)
        if not isinstance(index, int):
            raise ParameterError(
                f"{self._shown}: got index {index!r} of type {type(index).__name__}, expected an "
                "int, a slice or the name of an output"
            )
        if index < 0:
            raise ParameterError(f"{self._shown}: got index {index}, expected 0 to {len(self) - 1}")
        if index >= len(self):
            raise IndexError(f"{self._shown}: got index {index}, it has {len(self)} outputs")
        return self if len(self) == 1 else Symbol([self.heads[index]])

    def _find_output(self, name: str) -> int:
        outputs = self.list_outputs()
        count = outputs.count(name)
        if count == 1:
            return outputs.index(name)
        if count:
            raise NameNotFoundError(
                f"{self._shown}: {count} outputs are called {name!r}; choose by number"
            )
        own = f"{name}_output"
        hint = f" Did you mean {own!r}?" if own in outputs else nearest(name, outputs)
        raise NameNotFoundError(
            f"{self._shown}: no output {name!r}.{hint} It has: {listed(outputs)}; "
            "get_internals() has those of all nodes"
        )

    def list_arguments(self) -> list[str]:
        """Names of the inputs that gradients can be taken for: data, labels, parameters."""
        return [n.name for n in self.graph.arguments]

    def list_auxiliary_states(self) -> list[str]:
        """Names of the inputs that training updates without gradients: moving statistics."""
        return [n.name for n in self.graph.auxiliary]

    def list_inputs(self) -> list[str]:
        """Names of the arguments and the auxiliary states, in the order of the graph."""
        return [n.name for n in self.graph.inputs]

    def list_outputs(self) -> list[str]:
        """Names of the outputs: ``["fc1_output"]``."""
        return [entry_name(h) for h in self.heads]

    def get_internals(self) -> Symbol:
        """A group of every output of every node: ``net.get_internals()["fc1_output"]``."""
        return Symbol(e for node in self.graph.nodes for e in visible_entries(node))

    def get_children(self) -> Symbol | None:
        """A group of the inputs of the nodes of the outputs; ``None`` where there are none."""
        nodes = list({id(h.node): h.node for h in self.heads}.values())
        inputs = [e for node in nodes for e in node.inputs]
        return Symbol(inputs) if inputs else None

    def debug_str(self) -> str:
        """The nodes in words, with inputs and attributes."""
        return describe(self.graph)

    # ── Attributes ──────────────────────────────────────────────────────────────────────────

    def attr(self, key: str) -> str | None:
        """An attribute of the node, its name among them; ``None`` where there is none.

        For groups always ``None``.
        """
        if self.name is None:
            return None
        return {**shown(self.heads[0].node.attrs), "name": self.name}.get(key)

    def list_attr(self, recursive: bool = False) -> dict[str, str]:
        """The attributes of the (first) node.

        Args:
            recursive: must be ``False``.

        Raises:
            DeprecationWarning: ``recursive`` is set; `attr_dict` does that.
        """
        if recursive:
            raise DeprecationWarning("list_attr(recursive=True) is gone; use attr_dict()")
        return shown(self.heads[0].node.attrs)

    def attr_dict(self) -> dict[str, dict[str, str]]:
        """The attributes of all nodes that have some, by node name."""
        found: dict[str, dict[str, str]] = {}
        for node in self.graph.nodes:
            if node.attrs:
                found.setdefault(node.name, {}).update(shown(node.attrs))
        return found

    def _set_attr(self, **kwargs: str) -> None:
        """Set attributes of the node; every symbol that shares it sees them.

        Raises:
            ParameterError: a value is not a string, the name is not an operator's parameter and
                not of the form ``__x__``, or the symbol is a group.
        """
        check_strings(kwargs)
        if self.name is None:
            raise ParameterError(
                f"{self._shown}: attributes can be set on one node, not on a group"
            )
        node = self.heads[0].node
        attrs = {stored_name(n, v): v for n, v in kwargs.items()}
        if node.known_op is not None:
            check_for_op(node.known_op, attrs)
            parsed(node.known_op, tuple({**node.attrs, **attrs}.items()))
        node.attrs.update(attrs)

    # ── Composition ─────────────────────────────────────────────────────────────────────────

    def __call__(self, *args: Symbol, **kwargs: Any) -> Symbol:
        """A copy in which other symbols stand for some variables: ``net2(data=net1)``.

        Args:
            *args: none: variables of a graph are named, not numbered.
            **kwargs: symbols by variable name; ``name`` for the node of the copy's first output.

        Raises:
            ParameterError: not a symbol, or a symbol of several outputs.
            NameNotFoundError: no variable of that name.
        """
        made = self.__copy__()
        made._compose(*args, **kwargs)
        return made

    def _compose(self, *args: Symbol, **kwargs: Any) -> None:
        """`__call__`, in place."""
        name = kwargs.pop("name", None)
        head = self.heads[0].node
        if args and kwargs:
            raise ParameterError("compose: symbols either by position or by name, not both")
        for value in (*args, *kwargs.values()):
            expect(isinstance(value, Symbol), "compose", value, "a Symbol")
        if head.known_op and not head.inputs and head.op.input_names(head.params):
            self.heads = tuple(visible_entries(with_inputs(head, name or "", args, kwargs)))
            self._graph = None
            return
        if args:
            names = self.list_inputs()
            hint = f": net({names[0]}=...)" if names else "; this symbol has no variables"
            raise ParameterError(f"compose: name the variable that each symbol stands for{hint}")
        if kwargs and head.is_variable and self.name is not None:
            raise NameNotFoundError(f"compose: {head.name!r} is a variable; nothing enters it")
        replaced: dict[int, Entry] = {}
        for key, symbol in kwargs.items():
            check_known("compose: no variable", key, self.list_inputs())
            found = [n for n in self.graph.inputs if n.name == key]
            entry = single_entry(symbol, f"compose: {key!r}")
            if not entry.node.is_variable and any(n in self.graph.auxiliary for n in found):
                raise ParameterError(
                    f"compose: {key!r} is an auxiliary state, which training writes to: got the "
                    f"output of node {entry.node.name!r}, expected a Variable"
                )
            replaced.update({id(n): entry for n in found})
        self.heads, self._graph = tuple(rewrite(self.graph, replaced)), None
        if name and not (head.is_variable and kwargs):  # else it may be a node of the caller's
            self.heads[0].node.name = name

    def _gen_atomic_symbol(self) -> Symbol:
        """The operator of the first output without inputs or a name, which a call gives it.

        >>> dense = mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=3, name="fc1")
        >>> dense._gen_atomic_symbol()(mx.sym.Variable("y"), name="fc2").list_arguments()
        ['y', 'fc2_weight', 'fc2_bias']

        Raises:
            ParameterError: it is a variable.
        """
        node = self.heads[0].node
        if node.is_variable:
            raise ParameterError(f"{node.name!r} is a variable, expected an operator's output")
        bare = Node(node.op_name, "", node.attrs, subgraphs=node.subgraphs)
        return Symbol(visible_entries(bare))

    def __copy__(self) -> Symbol:
        return Symbol(rewrite(self.graph, {}))

    def __deepcopy__(self, memo: Any) -> Symbol:
        return self.__copy__()

    def __reduce__(self) -> Any:
        return _unpickle, (self.tojson(remove_amp_cast=False),)

    def _call(self, op_name: str, called: str, *symbols: Any, **params: Any) -> Any:
        return invoke(get_op(op_name), symbols, params, called)

    # ── Inference ───────────────────────────────────────────────────────────────────────────

    def infer_shape(self, *args: Any, **kwargs: Any) -> Inferred:
        """Shapes of arguments, outputs and auxiliary states from some of the arguments' shapes.

        >>> from modkit import symbol as sym
        >>> net = sym.FullyConnected(sym.Variable("data"), num_hidden=4, name="fc")
        >>> net.infer_shape(data=(2, 3))
        ([(2, 3), (4, 3), (4,)], [(2, 4)], [])

        Args:
            *args: shapes in the order of ``list_arguments()``; ``None`` where unknown.
            **kwargs: or shapes by name. A 0 is an unknown size.

        Returns:
            Three lists of shapes, in the order of ``list_arguments()``, ``list_outputs()`` and
            ``list_auxiliary_states()``. Three times ``None``, with a warning that names the
            arguments, where what is given does not decide them all.

        Raises:
            ShapeError: the shapes do not fit; names the node.
            ParameterError: a shape is not a tuple of ints, or by position and by name at once.
            NameNotFoundError: no argument of that name.
        """
        return infer_shape(self.graph, args, kwargs, partial=False)

    def infer_shape_partial(self, *args: Any, **kwargs: Any) -> Inferred:
        """`infer_shape`, with ``()`` and 0 for what is not decided."""
        return infer_shape(self.graph, args, kwargs, partial=True)

    def infer_type(self, *args: Any, **kwargs: Any) -> Inferred:
        """Element types of arguments, outputs and auxiliary states from some of the arguments'.

        Results are as in `infer_shape`, with NumPy types for shapes.

        Args:
            *args: types in the order of ``list_arguments()``; ``None`` where unknown.
            **kwargs: or types by name.

        Raises:
            DTypeError: the types do not fit; names the node.
            ParameterError: not a type, or by position and by name at once.
            NameNotFoundError: no argument of that name.
        """
        return infer_type(self.graph, args, kwargs, partial=False)

    def infer_type_partial(self, *args: Any, **kwargs: Any) -> Inferred:
        """`infer_type`, with ``None`` for what is not decided."""
        return infer_type(self.graph, args, kwargs, partial=True)

    def _infer_shape_impl(self, partial: bool, *args: Any, **kwargs: Any) -> Inferred:
        return infer_shape(self.graph, args, kwargs, partial=partial)

    def _infer_type_impl(self, partial: bool, *args: Any, **kwargs: Any) -> Inferred:
        return infer_type(self.graph, args, kwargs, partial=partial)

    # ── Files ───────────────────────────────────────────────────────────────────────────────

    def tojson(self, remove_amp_cast: bool = True) -> str:
        """The graph as MXNet 1.9's JSON.

        Differs: ``node_row_ptr`` counts outputs; MXNet adds the workspaces of some operators.
        Nothing reads it.

        Args:
            remove_amp_cast: leave out the casts of automatic mixed precision.
        """
        return dumps(self.graph, remove_amp_cast=remove_amp_cast)

    def save(self, fname: str | os.PathLike[str], remove_amp_cast: bool = True) -> None:
        """Write `tojson` to a file, whole or not at all.

        Args:
            remove_amp_cast: see `tojson`.

        Raises:
            ParameterError: ``fname`` is not a path.
        """
        expect(isinstance(fname, str | os.PathLike), "save", fname, "a path")
        with atomic_write(fname) as file:
            file.write(self.tojson(remove_amp_cast).encode())

    # ── Running ─────────────────────────────────────────────────────────────────────────────

    def bind(
        self,
        ctx: Context,
        args: Sequence[NDArray] | Mapping[str, NDArray],
        args_grad: Any = None,
        grad_req: Any = "write",
        aux_states: Any = None,
        group2ctx: Mapping[str, Context] | None = None,
        shared_exec: Executor | None = None,
    ) -> Executor:
        """An executor over arrays that the caller has: see `modkit.executor.bind`.

        Differs: two variables of one name are refused if they have two arrays or a gradient. MXNet
        binds them, and writes the gradient of the last one alone into the array that they share.
        An operator without a derivative (`batch_take`, `argmax_channel`, updates, ...) raises an
        error where its result gets a gradient, in the backward pass; in MXNet `bind` raises it.
        """
        from modkit.executor import bind  # the one upward call

        return bind(self, ctx, args, args_grad, grad_req, aux_states, group2ctx, shared_exec)

    def simple_bind(
        self,
        ctx: Context,
        grad_req: Any = "write",
        type_dict: Mapping[str, Any] | None = None,
        stype_dict: Mapping[str, str] | None = None,
        group2ctx: Mapping[str, Context] | None = None,
        shared_arg_names: Sequence[str] | None = None,
        shared_exec: Executor | None = None,
        shared_buffer: dict[str, NDArray] | None = None,
        **kwargs: Any,
    ) -> Executor:
        """An executor over new arrays for given input shapes: see `modkit.executor.simple_bind`."""
        from modkit.executor import simple_bind  # the one upward call

        return simple_bind(
            self, ctx, grad_req, type_dict, stype_dict, group2ctx, shared_arg_names, shared_exec,
            shared_buffer, **kwargs,
        )  # fmt: skip

    def eval(self, ctx: Context | None = None, **kwargs: NDArray) -> list[NDArray]:
        """The outputs for these arguments.

        Args:
            ctx: device; default the current one.
            **kwargs: arrays by the name of the argument.
        """
        return self.bind(ctx or current_context(), kwargs).forward()

    def gradient(self, wrt: Sequence[str]) -> Symbol:
        """Raise NotSupportedError: gradients are taken by executors. ``wrt`` is not read."""
        raise NotSupportedError(
            f"gradient({list(wrt)!r}): a symbol of gradients is not supported (nor is it in "
            "MXNet); bind the symbol and call backward()"
        )

    def get_backend_symbol(self, backend: str) -> Symbol:
        """The symbol itself: XLA optimizes the whole graph, whatever the backend, at ``bind``.

        Args:
            backend: a name that MXNet knows.

        Raises:
            ParameterError: MXNet has no such backend.
        """
        one_of("backend", backend, BACKENDS)
        return self

    def optimize_for(self, backend: str, *_: Any, **__: Any) -> Symbol:
        """The symbol itself; see `get_backend_symbol`. An unknown backend is a warning.

        Args:
            backend: a name that MXNet knows.
            *_, **__: not read.

        Raises:
            ParameterError: the backend is not a text.
        """
        expect(isinstance(backend, str), "backend", backend, "a name such as 'MKLDNN'")
        if backend not in BACKENDS:
            text = f"optimize_for: got backend {backend!r}, expected one of {BACKENDS}"
            warn_caller(f"{text}; the symbol stays as it is")
        return self


def _range_of(index: slice, size: int) -> range:
    """A slice's numbers; ParameterError where it counts from the end."""
    start, stop = index.start or 0, size if index.stop is None else index.stop
    if start < 0 or stop < 0:
        raise ParameterError(f"got slice {index}, expected bounds from 0 to {size}")
    return range(start, min(stop, size), index.step or 1)


def invoke(
    op: Op, args: Sequence[Any], kwargs: Mapping[str, Any], called: str | None = None
) -> Symbol:
    """Call an operator on symbols: what every ``mx.sym.<name>`` function does.

    Besides the operator's own arguments it takes ``name``, ``attr`` (a dictionary of strings)
    and attributes of the form ``__x__``.

    Args:
        args: symbols, then parameters.
        kwargs: symbols and parameters by name.
        called: the name it was called by, from which an automatic name is made.
    """
    node = make_node(op, called or op.name, args, kwargs, lambda v: isinstance(v, Symbol))
    return Symbol(visible_entries(node))


def _unpickle(text: str) -> Symbol:
    return Symbol(loads(text, where="a pickled symbol"))

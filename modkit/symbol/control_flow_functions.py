"""Loops and branches in graphs: ``mx.sym.contrib.foreach``, ``while_loop`` and ``cond``.

A body is called once, with variables in the place of what changes from step to step. What it made
is cut out of the graph and becomes a subgraph of one node; what it took from outside becomes an
input of that node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from modkit.attribute import AttrScope
from modkit.errors import ParameterError, expect
from modkit.name import NameManager
from modkit.ops.nested import arguments, check_functions, flatten, iterations, pair, regroup
from modkit.ops.registry import get_op
from modkit.symbol import control_flow as control_flow
from modkit.symbol.attrs import stored_name
from modkit.symbol.compose import single_entry
from modkit.symbol.graph import VARIABLE, Entry, Graph, Node, entry_name, visible_entries
from modkit.symbol.symbol import Symbol, invoke
from modkit.symbol.variable import Variable

_OWNER = "__subgraph_name__"
"""The attribute of a node that names the body which made it."""

_names = NameManager()


class _CutOut(NamedTuple):
    """A graph that was cut out.

    Attributes:
        outside: for each of its variables, by name and in their order, the entry that it stands
            for.
    """

    graph: Graph
    outside: dict[str, Entry]

    @property
    def keys(self) -> list[tuple[str, Any]]:
        """For each variable, its name and what it stands for: several bodies have those in common.

        What it stands for may have the name of another, but variables of one name are one. A loop
        variable changes and what it stands for at first does not: their names tell them apart.
        """
        return [
            (name, entry.node.name if entry.node.is_variable else _identity(entry))
            for name, entry in self.outside.items()
        ]


def _identity(entry: Entry) -> tuple[int, int]:
    return id(entry.node), 0 if entry.node.is_variable else entry.output


class _BodyScope(AttrScope):
    """A scope whose nodes belong to one body.

    Args:
        name: of the body; a number is added, and the name of the body around it put ahead.
    """

    def __init__(self, name: str):
        around = AttrScope.current.get(None).get(_OWNER)
        full = f"{around}${name}" if around else name
        self.name = _names.get(None, full)
        super().__init__(**{_OWNER: self.name})
        self._given: dict[int, Entry] = {}

    def variables(self, symbols: Sequence[Symbol], where: str) -> list[Symbol]:
        """A variable of the body in the place of each symbol."""
        made = []
        for symbol in symbols:
            entry = single_entry(symbol, where)
            made.append(Variable(f"{entry.node.name}-{entry.output}"))
            self._given[id(made[-1].heads[0].node)] = entry
        return made

    def cut(self, symbols: Sequence[Symbol], where: str, copied: Sequence[int] = ()) -> _CutOut:
        """The graph of some outputs up to what was made outside.

        Outputs that the body did not compute become copies of their variables.

        Args:
            where: the function that returned them, for the error.
            copied: numbers of outputs that become copies whatever they are.

        Raises:
            ParameterError: a symbol has several outputs, or two variables have one name.
        """
        heads = [single_entry(s, where) for s in symbols]
        heads = [
            e
            if self._owns(e) and i not in copied
            else invoke(get_op("_copy"), [s], {}, "identity").heads[0]
            for i, (e, s) in enumerate(zip(heads, symbols, strict=True))
        ]
        made: dict[tuple[int, int], Entry] = {}
        outside: dict[int, Entry] = {}

        def moved(entry: Entry) -> Entry:
            node = entry.node
            key = _identity(entry)
            if self._owns(entry):
                return Entry(made[key[0], 0].node, entry.output)
            if key not in made:
                attrs = node.attrs if node.attrs.get(_OWNER) == self.name else {}
                made[key] = Entry(Node(VARIABLE, entry_name(entry), attrs))
                outside[id(made[key].node)] = self._given.get(id(node), entry)
            return made[key]

        for node in Graph(heads).nodes:
            if self._owns(Entry(node)):
                made[id(node), 0] = Entry(node.on([moved(e) for e in node.inputs]))
        graph = Graph([moved(e) for e in heads])
        for name, count in Counter(n.name for n in graph.inputs).items():
            if count > 1:
                raise ParameterError(
                    f"{where}: {count} variables of the body have the name {name!r}, "
                    "expected a name for each; one symbol cannot be looped over twice: pass "
                    "sym.identity(...) of it"
                )
        return _CutOut(graph, {n.name: outside[id(n)] for n in graph.inputs})

    def _owns(self, entry: Entry) -> bool:
        return not entry.node.is_variable and entry.node.attrs.get(_OWNER) == self.name


def _node(op_name: str, inputs: Sequence[Entry], bodies: Sequence[_CutOut], **params: Any) -> Node:
    """The node that runs some bodies."""
    op = get_op(op_name)
    attrs = {stored_name(n, v): v for n, v in AttrScope.current.get(None).items()}
    attrs |= {n: str(v) for n, v in params.items()}
    attrs["num_args"] = str(len(inputs) + len(bodies))
    name = NameManager.current.get(None, op_name)
    node = Node(op_name, name, attrs, inputs, [b.graph for b in bodies])
    op.check(node.params, len(inputs))
    return node


def _symbols(node: Node) -> list[Symbol]:
    return [Symbol([entry]) for entry in visible_entries(node)]


def _looped(node: Node, outputs: int, output_form: Any, state_form: Any) -> tuple[Any, Any]:
    """The results of a loop's node: outputs, so many, and the last states."""
    made = _symbols(node)
    return regroup(made[:outputs], output_form), regroup(made[outputs:], state_form)


def _used(what: str, variables: Sequence[Symbol], body: _CutOut, by: str) -> list[str]:
    """Names of variables of a body; ParameterError for one that it does not use."""
    names = [each.name or "" for each in variables]
    for i, name in enumerate(names):
        if name not in body.outside:
            raise ParameterError(
                f"{what} {i} ({name!r}) is not used by {by}, expected that each is; leave it out"
            )
    return names


def _union(bodies: Sequence[_CutOut]) -> dict[tuple[str, Any], Entry]:
    """The inputs of a node, by the keys of the variables that they feed."""
    found: dict[tuple[str, Any], Entry] = {}
    for body in bodies:
        for key, entry in zip(body.keys, body.outside.values(), strict=True):
            found.setdefault(key, entry)
    return found


def _locations(keys: Iterable[Any], among: Iterable[Any]) -> list[int]:
    numbers = {key: i for i, key in enumerate(among)}
    return [numbers[key] for key in keys]


def foreach(
    body: Callable[[Any, Any], Any], data: Any, init_states: Any, name: str = "foreach"
) -> tuple[Any, Any]:
    """A loop over the rows of arrays.

    Args:
        body: ``body(row, states) -> (outputs, new states)``; called once, with symbols. Both parts
            are a symbol or a nested list of them, and new states are of the form of the old.
        data: what to loop over, a symbol or a nested list; all have one number of rows, and the
            body uses each. Rows of one axis have the shape (1,).
        init_states: the states of the first step, a symbol or a nested list; the body uses each.
        name: the start of the names of nodes' subgraphs.

    Returns:
        The outputs of the steps, stacked along a new first axis, and the last states.

    Raises:
        ParameterError: an argument or a result of ``body`` is of another form, or is not used.

    Differs: auxiliary states of the body (moving statistics) are auxiliary states of the graph, and
    trained; in MXNet 1.9.1 they are arguments, and such a graph cannot be bound for training.
    """
    check_functions("foreach", body=body)
    rows, row_form = flatten(data, Symbol, "foreach: data")
    states, state_form = flatten(init_states, Symbol, "foreach: init_states")
    if not rows:
        raise ParameterError("foreach: data: got no symbols, expected one or more to loop over")
    with _BodyScope(name) as scope:
        now = scope.variables(rows, "foreach: data")
        old = scope.variables(states, "foreach: init_states")
        returned, new = pair(body(regroup(now, row_form), regroup(old, state_form)), "foreach")
        outputs, output_form = flatten(returned, Symbol, "foreach: outputs of the body")
        new, new_form = flatten(new, Symbol, "foreach: states of the body")
        if new_form != state_form:
            raise ParameterError(
                f"foreach: states of the body: got {len(new)} of the form {new_form}, expected "
                f"{len(states)} of the form of init_states, {state_form}"
            )
        made = {s.name for s in outputs}
        again = [len(outputs) + i for i, s in enumerate(new) if s.name in made]
        cut = scope.cut([*outputs, *new], "foreach: body", again)
    row_names = _used("foreach: data", now, cut, "the body")
    state_names = _used("foreach: init_states", old, cut, "the body")
    loop = {*row_names, *state_names}
    rest = [n for n in cut.outside if n not in loop]
    node = _node(
        "_foreach",
        [cut.outside[n] for n in (*row_names, *state_names, *rest)],
        [cut],
        num_outputs=len(outputs) + len(new),
        num_out_data=len(outputs),
        in_data_locs=_locations(row_names, cut.outside),
        in_state_locs=_locations(state_names, cut.outside),
        remain_locs=_locations(rest, cut.outside),
    )
    return _looped(node, len(outputs), output_form, state_form)


def while_loop(
    cond: Callable[..., Any],
    func: Callable[..., Any],
    loop_vars: Any,
    max_iterations: int | None = None,
    name: str = "while_loop",
) -> tuple[Any, Any]:
    """A loop as long as a condition holds.

    Args:
        cond: ``cond(*loop_vars)``, a symbol of one element, which ends the loop by 0.
        func: ``func(*loop_vars) -> (outputs, new loop_vars)``, outputs a symbol, a nested list or
            ``None``; called once, with symbols. It uses each loop variable.
        loop_vars: values before the first step: a symbol, or a nested list of one or more.
        max_iterations: the greatest number of steps, and the number of rows of the outputs.
        name: the start of the names of nodes' subgraphs.

    Returns:
        The outputs of the steps, stacked along a new first axis and filled up with zeros, and the
        last loop variables.

    Raises:
        ParameterError: an argument or a result is of another form, or a variable is not used.

    Differs: rows of steps that were not run are 0; in MXNet 1.9.1 they are not initialised. A loop
    without a step returns zeros; in MXNet it is an error.
    """
    check_functions("while_loop", cond=cond, func=func)
    steps = iterations(max_iterations, least=1)
    states, form = flatten(loop_vars, Symbol, "while_loop: loop_vars")
    if not states:
        raise ParameterError("while_loop: loop_vars: got none, expected one or more")
    with _BodyScope(f"{name}_cond") as scope:
        returned = cond(*arguments(scope.variables(states, "while_loop: loop_vars"), form))
        if not isinstance(returned, Symbol) or len(returned) != 1:
            raise ParameterError(
                f"while_loop: cond returned {returned!r}, expected a Symbol of one output"
            )
        test = scope.cut([returned], "while_loop: cond")
    with _BodyScope(f"{name}_func") as scope:
        old = scope.variables(states, "while_loop: loop_vars")
        returned, new = pair(func(*arguments(old, form)), "while_loop")
        returned = [] if returned is None else returned
        outputs, output_form = flatten(returned, Symbol, "while_loop: outputs of func")
        new, _ = flatten(new, Symbol, "while_loop: loop_vars of func")
        if len(new) != len(states):
            raise ParameterError(
                f"while_loop: func returned {len(new)} loop_vars, expected {len(states)}"
            )
        body = scope.cut([*outputs, *new], "while_loop: func")
    own = _used("while_loop: loop_vars", old, body, "func")
    inputs = _union([test, body])
    node = _node(
        "_while_loop",
        list(inputs.values()),
        [test, body],
        num_outputs=len(outputs) + len(new),
        num_out_data=len(outputs),
        max_iterations=steps,
        cond_input_locs=_locations(test.keys, inputs),
        func_input_locs=_locations(body.keys, inputs),
        func_var_locs=_locations(own, body.outside),
    )
    return _looped(node, len(outputs), output_form, form)


def cond(
    pred: Any, then_func: Callable[[], Any], else_func: Callable[[], Any], name: str = "cond"
) -> Any:
    """One of two branches.

    Args:
        pred: a symbol of one element, or a list of it; 0 chooses the second branch.
        then_func: without arguments; returns a symbol or a nested list. Called once.
        else_func: the same, with as many outputs of the same shapes.
        name: the start of the names of nodes' subgraphs.

    Returns:
        The outputs, in the form of those of ``then_func``.

    Raises:
        ParameterError: an argument or a result is of another form.
    """
    check_functions("cond", then_func=then_func, else_func=else_func)
    tests, _ = flatten(pred, Symbol, "cond: pred")
    expect(sum(map(len, tests)) == 1, "cond: pred", pred, "a Symbol of one output")
    with _BodyScope(f"{name}_pred") as scope:
        test = scope.cut(tests, "cond: pred")
    branches, forms, counts = [], [], []
    for which, branch in (("then", then_func), ("else", else_func)):
        with _BodyScope(f"{name}_{which}") as scope:
            outputs, form = flatten(branch(), Symbol, f"cond: outputs of {which}_func")
            branches.append(scope.cut(outputs, f"cond: {which}_func") if outputs else None)
        forms.append(form)
        counts.append(len(outputs))
    then, other = branches
    if then is None or other is None or counts[0] != counts[1]:
        raise ParameterError(
            f"cond: got {counts[0]} outputs of then_func and {counts[1]} of else_func, expected "
            "as many of both, one or more"
        )
    inputs = _union([test, then, other])
    node = _node(
        "_cond",
        list(inputs.values()),
        [test, then, other],
        num_outputs=counts[0],
        cond_input_locs=_locations(test.keys, inputs),
        then_input_locs=_locations(then.keys, inputs),
        else_input_locs=_locations(other.keys, inputs),
    )
    return regroup(_symbols(node), forms[0])

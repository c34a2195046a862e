"""Graphs as JSON text: MXNet's ``-symbol.json``, every dialect read and that of 1.9 written."""

from __future__ import annotations

import json
import re
import reprlib
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from modkit.errors import FileFormatError, MXNetError, ParameterError, ShapeError
from modkit.gc_pause import uncollected
from modkit.symbol.debug_str import versions
from modkit.symbol.graph import Entry, Graph, Node, copied, post_order
from modkit.symbol.upgrade import OLDEST, VERSION, StoredNode, check_outputs, upgrade
from modkit.util import is_np_shape

# ── Writing ─────────────────────────────────────────────────────────────────────────────────


def dumps(graph: Graph, *, remove_amp_cast: bool = True) -> str:
    """The graph as text, as MXNet 1.9.1 writes it."""
    if remove_amp_cast:
        graph = without_casts(graph)
    attrs = {"is_np_shape": '["int", 1]'} if is_np_shape() else {}
    attrs["mxnet_version"] = f'["int", {VERSION}]'
    version = {"attrs": _braces(attrs, 1, broken=False)}
    return _braces({**_fields(graph, 0), **version}, 0)


def _fields(graph: Graph, depth: int) -> dict[str, str]:
    """The fields of a graph as text, indented by ``depth`` levels."""
    written, final = versions(graph)

    def reference(entry: Entry, version: int) -> str:
        return f"[{', '.join(map(str, (*graph.position(entry), version)))}]"

    nodes, rows = [], [0]
    for node in graph.nodes:
        fields: dict[str, Any] = {"op": _text(node.op_name), "name": _text(node.name)}
        if node.attrs:
            pairs = {n: _text(node.attrs[n]) for n in sorted(node.attrs)}
            fields["attrs"] = _braces(pairs, depth + 3, broken=len(pairs) > 1)
        counts = written.get(id(node), ()) if node.inputs else ()
        fields["inputs"] = _brackets(list(map(reference, node.inputs, counts)), depth + 3)
        if node.subgraphs:
            parts = [_braces(_fields(g, depth + 4), depth + 4) for g in node.subgraphs]
            fields["subgraphs"] = _brackets(parts, depth + 3, broken=True)
        nodes.append(_braces(fields, depth + 2))
        rows.append(rows[-1] + (1 if node.is_variable else len(node.output_names())))
    arguments = [str(i) for i, n in enumerate(graph.nodes) if n.is_variable]
    heads = [reference(h, final.get(id(h.node), 0)) for h in graph.heads]
    return {
        "nodes": _brackets(nodes, depth + 1, broken=True),
        "arg_nodes": _brackets(arguments, depth + 1),
        "node_row_ptr": _brackets(list(map(str, rows)), depth + 1),
        "heads": _brackets(heads, depth + 1),
    }


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _braces(fields: Mapping[str, str], depth: int, *, broken: bool = True) -> str:
    parts = [f"{_text(n)}: {v}" for n, v in fields.items()]
    return _enclose("{", parts, "}", depth, broken)


def _brackets(parts: Sequence[str], depth: int, *, broken: bool | None = None) -> str:
    return _enclose("[", parts, "]", depth, len(parts) > 10 if broken is None else broken)


def _enclose(left: str, parts: Sequence[str], right: str, depth: int, broken: bool) -> str:
    if not broken:
        return f"{left}{', '.join(parts)}{right}"
    inner = "\n" + "  " * (depth + 1)
    return f"{left}{inner}{(', ' + inner).join(parts)}\n{'  ' * depth}{right}"


def without_casts(graph: Graph) -> Graph:
    """The graph without casts of mixed precision, but for those that are outputs."""
    shown = {id(head.node) for head in graph.heads}
    casts = {
        id(n)
        for n in graph.nodes
        if n.op_name in ("amp_cast", "amp_multicast") and id(n) not in shown
    }
    if not casts:
        return graph
    return Graph(copied(graph, lambda n, inputs: inputs if id(n) in casts else n.on(inputs)))


# ── Reading ─────────────────────────────────────────────────────────────────────────────────

_TOP = {"nodes", "arg_nodes", "node_row_ptr", "heads", "attrs"}
_FIELDS = {
    "op", "name", "inputs", "param", "attr", "attrs", "backward_source_id", "control_deps",
    "subgraphs",
}  # fmt: skip


def loads(text: str, *, where: str = "JSON text") -> list[Entry]:
    """The outputs of the graph that a text describes.

    Files of older versions are upgraded as MXNet 1.9.1 does. Operators that modkit lacks stay as
    they are: the graph can be listed and saved, and says what is missing when it is run.

    Args:
        where: the file, for the message.

    Raises:
        FileFormatError: the text is not a graph; names node and reason.
    """
    if not text.strip():
        raise FileFormatError(f"{where}: at byte 0: the file is empty, expected a graph")
    try:
        with uncollected(len(text) >= _MANY_CHARACTERS):
            document = _parse(text)
            return _build(document, _version(document))
    except MXNetError as error:
        raise FileFormatError(f"{where}: {error}") from error


_MANY_CHARACTERS = 2**20


def _parse(text: str) -> Any:
    half = _HALF_CHARACTER.search(text)
    try:
        document = json.loads(text)
        if half:  # two halves together are a character
            json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise _not_json("half a character", text, half) from None
    except RecursionError as error:
        raise FileFormatError("not a graph: lists or objects are nested too deeply") from error
    except json.JSONDecodeError as error:
        raise FileFormatError(f"not JSON: {error}") from error
    except ValueError:  # Python reads no number that is so long
        raise _not_json("a number is too long", text, _LONG_NUMBER.search(text)) from None
    return document


def _not_json(reason: str, text: str, found: re.Match[str] | None) -> FileFormatError:
    place = json.JSONDecodeError(reason, text, found.start() if found else 0)
    return FileFormatError(f"not JSON: {place}")


_HALF_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")
_LONG_NUMBER = re.compile(r"\d{4301}")


# Values in messages, shortened: a file may have put anything there, of any size and depth.
_shown = reprlib.repr


_MOST_NESTED = 32


def _build(document: Any, version: int, nested: int = 0) -> list[Entry]:
    if nested > _MOST_NESTED:
        raise FileFormatError(f"subgraphs are nested more than {_MOST_NESTED} deep")
    if not isinstance(document, dict) or not isinstance(document.get("nodes"), list):
        raise FileFormatError("expected an object with a list of 'nodes'")
    _only(document, _TOP, "the graph")
    drafts = [_draft(i, each, version, nested) for i, each in enumerate(document["nodes"])]
    heads = document.get("heads")
    if heads is None:
        used = {source for d in drafts for source, _ in d.inputs}
        heads = [[i, 0] for i in range(len(drafts)) if i not in used]
    found = _references(heads, "heads")
    _check_ranges(drafts, found)
    made: dict[int, Node] = {}
    needed = [source for source, _ in found]
    for i in post_order(needed, lambda i: [source for source, _ in drafts[i].inputs]):
        draft = drafts[i]
        for source, _ in draft.inputs:
            if source not in made:
                raise FileFormatError(f"node {drafts[source].name!r} needs its own output")
        inputs = [Entry(made[source], index) for source, index in draft.inputs]
        try:
            made[i] = upgrade(draft, inputs, version)
        except (ParameterError, ShapeError) as error:
            raise FileFormatError(f"node {i} ({draft.name!r}): {error}") from error
        check_outputs(draft.name, inputs)
    check_outputs("heads", [Entry(made[source], index) for source, index in found])
    return [Entry(made[source], index) for source, index in found]


def _only(fields: Mapping[str, Any], known: set[str], what: str) -> None:
    if not fields.keys() <= known:
        raise FileFormatError(
            f"{what} has a field {min(set(fields) - known)!r}; expected only "
            f"{', '.join(sorted(known))}"
        )


def _draft(number: int, fields: Any, version: int, nested: int) -> StoredNode:
    what = f"node {number}"
    if not isinstance(fields, dict):
        raise FileFormatError(f"{what} is {_shown(fields)}, expected an object")
    _only(fields, _FIELDS, what)
    op_name, name = fields.get("op"), fields.get("name")
    if not isinstance(op_name, str) or not isinstance(name, str):
        raise FileFormatError(
            f"{what}: got op {_shown(op_name)} and name {_shown(name)}, expected strings"
        )
    what = f"{what} ({name!r})"
    attrs: dict[str, str] = {}
    for key in ("param", "attr", "attrs"):
        pairs = fields.get(key)
        if not pairs:
            continue
        if not isinstance(pairs, dict) or not all(isinstance(v, str) for v in pairs.values()):
            raise FileFormatError(f"{what}: {key!r}: expected strings by name")
        attrs.update(pairs)
    inputs = _references(fields.get("inputs", []), what)
    subgraphs = fields.get("subgraphs") or []
    if not isinstance(subgraphs, list):
        raise FileFormatError(f"{what}: got subgraphs {_shown(subgraphs)}, expected a list")
    graphs = (_subgraph(each, version, nested + 1, what) for each in subgraphs)
    return StoredNode(op_name, name, attrs, inputs, tuple(graphs))


def _subgraph(document: Any, version: int, nested: int, what: str) -> Graph:
    try:
        return Graph(_build(document, version, nested))
    except FileFormatError as error:
        raise FileFormatError(f"{what}: a subgraph: {error}") from error


_ONLY_INT = {int}


def _references(value: Any, what: str) -> list[tuple[int, int]]:
    """``[[node, output], ...]`` or, since 0.9, ``[[node, output, version], ...]``."""
    if not isinstance(value, list):
        raise FileFormatError(f"{what}: got {_shown(value)}, expected a list of [node, output]")
    found = []
    for each in value:
        good = type(each) is list and len(each) in (2, 3)
        if not good or set(map(type, each)) != _ONLY_INT or min(each) < 0:
            raise FileFormatError(f"{what}: got {_shown(each)}, expected [node, output]")
        found.append((each[0], each[1]))
    return found


def _check_ranges(drafts: Sequence[StoredNode], heads: Sequence[tuple[int, int]]) -> None:
    count = len(drafts)
    for name, references in chain(((d.name, d.inputs) for d in drafts), [("heads", heads)]):
        for source, _ in references:
            if source >= count:
                raise FileFormatError(f"{name!r} refers to node {source}, but there are {count}")


def _version(document: Any) -> int:
    """The version that wrote the file; 0.8 wrote none."""
    attrs = document.get("attrs") if isinstance(document, dict) else None
    pair = attrs.get("mxnet_version") if isinstance(attrs, dict) else None
    if pair is None:
        return OLDEST
    if not (isinstance(pair, list) and len(pair) == 2 and type(pair[1]) is int):
        raise FileFormatError(f"mxnet_version: got {_shown(pair)}, expected ['int', 10901]")
    return pair[1]

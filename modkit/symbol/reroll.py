"""Loop rerolling: segments of a graph that repeat, as in unrolled recurrent networks, become loops.

A graph unrolled over 60 steps of time has 60 copies of one cell. XLA compiles every copy, which
takes minutes; as the body of one `lax.scan` the cell is compiled once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from modkit.ops import loops
from modkit.symbol.graph import post_order
from modkit.symbol.layout import Row, Stack, Value

LEAST = 8
"""Fewer segments than these stay unrolled."""

_PERIODS = 4
"""The largest number of nodes with equal labels in a segment."""

_ATTEMPTS = 50
"""The largest number of candidates that are examined."""

Ref = tuple[int, int]
"""A result: the index of its node, and which output of it."""

Segments = Sequence[tuple[int, ...]]
"""Node indices for each segment; nodes at one place have equal labels."""


class Inner(NamedTuple):
    """An input that another node of the same segment makes."""

    place: int
    output: int


class Carried(NamedTuple):
    """An input that the segment before makes: number in `Loop.carried`."""

    number: int


class Fixed(NamedTuple):
    """An input that is the same for all segments: number in `Loop.fixed`."""

    number: int


class Each(NamedTuple):
    """An input from outside of the loop, another one for each segment: number in `Loop.each`."""

    number: int


Input = Inner | Carried | Fixed | Each


class Loop(NamedTuple):
    """Segments of a graph that are equal but for what they read.

    Attributes:
        segments: the nodes of each segment, by index; a node's position is its place.
        inputs: for each place, where its inputs come from.
        carried: results, by place and output, that the next segment reads.
        initial: the values that are carried into the first segment.
        fixed: results from outside that every segment reads.
        each: results from outside, one for each segment.
        leaving: results, by place and output, that are read outside of the loop.
    """

    segments: tuple[tuple[int, ...], ...]
    inputs: tuple[tuple[Input, ...], ...]
    carried: tuple[Inner, ...]
    initial: tuple[Ref, ...]
    fixed: tuple[Ref, ...]
    each: tuple[tuple[Ref, ...], ...]
    leaving: tuple[Inner, ...]


class Nodes(NamedTuple):
    """The nodes of a graph, by index.

    Attributes:
        kinds: equal for nodes of the same operator and parameters; ``None`` where the node must
            stay outside of loops.
        reads: the results that each node reads.
        variables: the nodes that are variables.
        heads: the results that the graph returns.
        writers: the nodes that write a variable, and those that read one which is written.
    """

    kinds: Sequence[Hashable | None]
    reads: Sequence[Sequence[Ref]]
    variables: Collection[int]
    heads: Collection[Ref]
    writers: Collection[int] = ()


def rerolled(nodes: Nodes, order: Sequence[int]) -> tuple[int | Loop, ...]:
    """Nodes and loops in the order of execution; ``order`` has the nodes, topologically."""
    if len(order) < LEAST:
        return tuple(order)
    for segments in islice(_repeats(nodes, order), _ATTEMPTS):
        found, after = _fitting(nodes, segments, order)
        if len(found) < LEAST:
            continue
        inside = {i for segment in found for i in segment}
        last = max(at for at, i in enumerate(order) if i in inside)
        before = [i for i in order[:last] if i not in inside and i not in after]
        behind = [i for i in order[:last] if i in after] + [*order[last + 1 :]]
        return (*rerolled(nodes, before), *_loops(nodes, found), *rerolled(nodes, behind))
    return tuple(order)


def _labels(nodes: Nodes, order: Sequence[int]) -> tuple[dict[int, Hashable], set[int]]:
    """Labels of nodes, by kind and shared weights, and these: variables with many readers."""
    readers = Counter(a for i in order for a, _ in {*nodes.reads[i]} if a in nodes.variables)
    shared = {a for a, count in readers.items() if count >= LEAST}
    labels: dict[int, Hashable] = {
        i: (nodes.kinds[i], *(a if a in shared else None for a, _ in nodes.reads[i]))
        for i in order
        if nodes.kinds[i] is not None
    }
    return labels, shared


def _repeats(nodes: Nodes, order: Sequence[int]) -> Iterator[Segments]:
    """Segments whose labels repeat, each of which begins by reading a weight of them all."""
    labels, shared = _labels(nodes, order)
    often = Counter(labels.values())
    chain = [i for i in order if i in labels and often[labels[i]] >= LEAST]
    sequence = [labels[i] for i in chain]
    places: dict[Hashable, list[int]] = {}
    for at, i in enumerate(chain):
        if any(a in shared for a, _ in nodes.reads[i]):
            places.setdefault(sequence[at], []).append(at)
    for start in sorted(at for found in places.values() for at in found):
        found = places[sequence[start]]
        here = found.index(start)
        for later in found[here + 1 : here + 1 + _PERIODS]:
            period, end = later - start, later
            while end < len(sequence) and sequence[end] == sequence[end - period]:
                end += 1
            count = (end - start) // period
            if count >= LEAST:
                whole = [tuple(chain[start + k * period :][:period]) for k in range(count)]
                yield whole
                yield whole[1:]  # the first one may read differently
                break


def _fitting(
    nodes: Nodes, segments: Segments, order: Sequence[int]
) -> tuple[Segments, Collection[int]]:
    """The first segments, as many as form a loop, and the nodes that depend on these."""
    while len(segments) >= LEAST:
        place = _places(segments)
        after: set[int] = set()
        writes = False  # a node after the loop writes a variable: other writers keep their order
        for i in order:
            late = any(a in place or a in after for a, _ in nodes.reads[i])
            if i not in place and (late or (writes and i in nodes.writers)):
                after.add(i)
                writes = writes or i in nodes.writers
        count = _alike(nodes, segments, place, after)
        if count == len(segments):
            return segments, after
        segments = segments[:count]
    return [], ()


def _places(segments: Segments) -> dict[int, tuple[int, int]]:
    """The segment of a node, and its place there."""
    return {i: (k, at) for k, segment in enumerate(segments) for at, i in enumerate(segment)}


def _alike(
    nodes: Nodes, segments: Segments, place: Mapping[int, tuple[int, int]], after: Collection[int]
) -> int:
    """The number of segments, from the first on, that read as the second one does."""

    def origins(k: int) -> list[tuple[int, int, int] | None]:
        """Segments back, place and output of inputs from the loop; ``None`` for others."""
        refs = [ref for i in segments[k] for ref in nodes.reads[i]]
        return [(k - place[a][0], place[a][1], out) if a in place else None for a, out in refs]

    def reads_after(k: int) -> bool:
        return any(a in after for i in segments[k] for a, _ in nodes.reads[i])

    pattern = origins(1)
    first = [None if origin and origin[0] == 1 else origin for origin in pattern]
    if any(o and o[0] > 1 for o in pattern) or origins(0) != first or reads_after(0):
        return 0
    for k in range(1, len(segments)):
        if origins(k) != pattern or reads_after(k):
            return k
    return len(segments)


def _loops(nodes: Nodes, segments: Segments) -> list[Loop]:
    """The segments as loops: one for each cycle of dependences, and loops without order.

    A node in no cycle, as the product of an input with a weight, runs over all segments at once.
    (Loop distribution: Kennedy and McKinley, 1990.)
    """
    place = _places(segments)
    reads = [{place[a] for a, _ in nodes.reads[i] if a in place} for i in segments[1]]

    def below(at: int) -> list[int]:
        return [other for _, other in reads[at]]

    # The places that a place depends on; itself only if it is in a cycle.
    reached = [{*post_order(below(at), below)} for at in range(len(reads))]
    cycles = [frozenset(o for o in found if at in reached[o]) for at, found in enumerate(reached)]
    sources = [
        {(k, o) for member in cycle | {at} for k, o in reads[member] if o not in cycle}
        for at, cycle in enumerate(cycles)
    ]
    level = [0] * len(reads)  # the number of loops that run one after the other before a place
    changed = True
    while changed:
        changed = False
        for at, cycle in enumerate(cycles):
            steps = (level[o] + bool(cycle or cycles[o] or k == 0) for k, o in sources[at])
            found = max(steps, default=0)
            changed, level[at] = changed or found != level[at], found
    groups: dict[tuple[int, frozenset[int]], list[int]] = {}
    for at in range(len(reads)):
        groups.setdefault((level[at], cycles[at]), []).append(at)
    return [
        _built(nodes, [tuple(segment[at] for at in groups[key]) for segment in segments])
        for key in sorted(groups, key=lambda key: key[0])
    ]


def _built(nodes: Nodes, segments: Segments) -> Loop:
    place = _places(segments)
    carried: dict[tuple[Inner, Ref], int] = {}
    fixed: dict[Ref, int] = {}
    each: dict[tuple[Ref, ...], int] = {}
    inputs = []
    for at, i in enumerate(segments[1]):
        sources: list[Input] = []
        for m, (a, output) in enumerate(nodes.reads[i]):
            refs = tuple(nodes.reads[segment[at]][m] for segment in segments)
            source = Inner(place[a][1], output) if a in place else None
            if source is not None and place[a][0] == 1:
                sources.append(source)
            elif source is not None:
                sources.append(Carried(carried.setdefault((source, refs[0]), len(carried))))
            elif len({*refs}) == 1:
                sources.append(Fixed(fixed.setdefault(refs[0], len(fixed))))
            else:
                sources.append(Each(each.setdefault(refs, len(each))))
        inputs.append(tuple(sources))
    outside = {ref for i, refs in enumerate(nodes.reads) if i not in place for ref in refs}
    outside |= {*nodes.heads}
    leaving = sorted({Inner(place[a][1], output) for a, output in outside if a in place})
    return Loop(
        tuple(segments), tuple(inputs), tuple(source for source, _ in carried),
        tuple(start for _, start in carried), tuple(fixed), tuple(each), tuple(leaving),
    )  # fmt: skip


Run = Callable[[int, Sequence[Value], Any], tuple[Value, ...]]
"""Runs a node, by index, on its inputs, with the number of its random stream."""


def run_loop(
    loop: Loop, env: Mapping[int, tuple[Value, ...]], run: Run, numbers: Any
) -> dict[int, tuple[Value, ...]]:
    """The results of a loop's nodes that nodes outside read, by index.

    The first segment runs by itself if its initial values have other shapes or types than the
    later ones: a state that is broadcast, or float32 beside 16 bits. Segments that differ even
    then run one by one.

    Args:
        env: results of the nodes before the loop, by index.
        numbers: the random stream of each node: an array, a row for each segment.
    """
    found: dict[int, tuple[Value, ...]] = {}
    carry = [env[a][b].plain for a, b in loop.initial]
    fixed = [env[a][b].plain for a, b in loop.fixed]
    each = [[env[a][b] for a, b in refs] for refs in loop.each]
    for k, segment in enumerate(loop.segments):
        now = partial(_segment, loop, segment, run, fixed)
        if k < 2:
            rest = [values[k:] for values in each]
            looped = _scanned(loop, now, carry, rest, numbers[k:])
            if looped is not None:
                for at, nodes in enumerate(loop.segments[k:]):
                    rows = [Value(None, row=Row(stack, at)) for stack in looped]
                    found |= _by_node(loop, nodes, rows)
                return found
        carry, leaving = now(carry, [values[k].plain for values in each], numbers[k])
        found |= _by_node(loop, segment, list(map(Value, leaving)))
    return found


def _by_node(loop: Loop, nodes: Sequence[int], leaving: Sequence[Value]) -> dict[int, Any]:
    """Results that leave a segment as the outputs of its nodes, ``None`` for the other outputs."""
    found: dict[int, list[Any]] = {}
    for (place, output), value in zip(loop.leaving, leaving, strict=True):
        outputs = found.setdefault(nodes[place], [])
        outputs += [None] * (output + 1 - len(outputs))
        outputs[output] = value
    return {i: tuple(outputs) for i, outputs in found.items()}


def _segment(
    loop: Loop,
    nodes: Sequence[int],
    run: Run,
    fixed: Sequence[Any],
    carry: Sequence[Any],
    each: Sequence[Any],
    numbers: Any,
) -> tuple[list[Any], list[Any]]:
    """Results of one segment: those that the next one reads, and those that leave the loop."""
    made: list[tuple[Value, ...]] = []

    def value(source: Input) -> Value:
        match source:
            case Inner(place, output):
                return made[place][output]
            case Carried(number):
                return Value(carry[number])
            case Fixed(number):
                return Value(fixed[number])
            case Each(number):
                return Value(each[number])

    for place, sources in enumerate(loop.inputs):
        made.append(run(nodes[place], list(map(value, sources)), numbers[place]))
    carried, leaving = (
        [made[place][output].plain for place, output in wanted]
        for wanted in (loop.carried, loop.leaving)
    )
    return carried, leaving


def _scanned(
    loop: Loop,
    segment: Callable[..., tuple[list[Any], list[Any]]],
    carry: list[Any],
    each: Sequence[Sequence[Value]],
    numbers: Any,
) -> list[Stack] | None:
    """Results that leave the loop, by segment; ``None`` if segments differ in a shape or type."""
    stacks = list(map(stacked, each))
    if any(stack is None for stack in stacks) or not all(map(_is_dense, carry)):
        return None
    made, _ = jax.eval_shape(segment, carry, [values[0].plain for values in each], numbers[0])
    if list(map(_aval, made)) != list(map(_aval, carry)):
        return None
    if loop.carried:
        _, left = loops.scan(lambda now, xs: segment(now, *xs), carry, (stacks, numbers))
    else:
        _, left = jax.vmap(partial(segment, carry))(stacks, numbers)
    return list(map(Stack, left))


def _aval(array: Any) -> tuple[Any, ...]:
    return array.shape, array.dtype


def _is_dense(array: Any) -> bool:
    return isinstance(array, jax.Array | np.ndarray)


# ── Operators around a loop ─────────────────────────────────────────────────────────────────


def stacked(values: Sequence[Value]) -> jax.Array | None:
    """Arrays along a new first axis; ``None`` for sparse ones and different shapes or types."""
    if (rows := _rows(values)) is not None:
        return rows
    rows = _rows(values[1:]) if len(values) > 1 else None
    if rows is not None and _aval(values[0].plain) == _aval(values[1].plain):
        return jnp.concatenate([values[0].plain[None], rows])
    arrays = [value.plain for value in values]
    alike = all(map(_is_dense, arrays)) and len({*map(_aval, arrays)}) == 1
    return jnp.stack(arrays) if alike else None


def _rows(values: Sequence[Value]) -> jax.Array | None:
    """Successive rows of one stack, in either direction; ``None`` for other values."""
    places = [value.row.at for value in values if value.row is not None]
    stacks = {value.row and value.row.stack for value in values}
    if len(places) < len(values) or len(stacks) != 1:
        return None
    (stack,) = stacks
    first, last, step = places[0], places[-1], 1 if places[-1] >= places[0] else -1
    if stack is None or places != [*range(first, last + step, step)]:
        return None
    rows = stack.array[min(first, last) : max(first, last) + 1]
    return rows if step == 1 else jnp.flip(rows, 0)


def split(name: str, attrs: Mapping[str, Any], inputs: Sequence[jax.Array]) -> Stack | None:
    """The outputs of a SliceChannel of many parts, for a loop that reads them."""
    if name != "SliceChannel" or attrs["num_outputs"] < LEAST:
        return None
    (whole,) = inputs
    axis, count = attrs["axis"] % whole.ndim, attrs["num_outputs"]

    def make() -> jax.Array:
        shape = (*whole.shape[:axis], count, whole.shape[axis] // count, *whole.shape[axis + 1 :])
        parts = jnp.moveaxis(whole.reshape(shape), axis, 0)
        return jnp.squeeze(parts, axis + 1) if attrs["squeeze_axis"] else parts

    return Stack(make)


def joinable(name: str, values: Sequence[Value]) -> jax.Array | None:
    """The rows of a loop that Concat or stack joins; ``None`` for other inputs and operators."""
    return _rows(values) if name in ("Concat", "stack") and len(values) >= LEAST else None


def joined(name: str, attrs: Mapping[str, Any], rows: jax.Array) -> jax.Array:
    """The result of Concat or stack for the rows of a loop."""
    if name == "stack":
        return jnp.moveaxis(rows, 0, attrs["axis"])
    axis, shape = attrs["dim"] % (rows.ndim - 1), rows.shape[1:]
    merged = (*shape[:axis], len(rows) * shape[axis], *shape[axis + 1 :])
    return jnp.moveaxis(rows, 0, axis).reshape(merged)

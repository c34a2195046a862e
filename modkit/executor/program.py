"""A compiled function: looked for among kept programs, compiled where it is new, then called."""

from __future__ import annotations

import functools
import logging
import pickle
import re
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
from jax.core import Tracer
from jax.experimental import serialize_executable

from modkit.allocator import one_heap
from modkit.executor.compiler import compile_program, options_for
from modkit.executor.identity import NotDescribable, describe, digest, setting, surroundings
from modkit.executor.in_turn import InTurn, in_turn
from modkit.executor.quiet import without_loader_notes
from modkit.executor.store import Store, default_store
from modkit.executor.waiting import Progress
from modkit.heap import SLOW_S

KEEP_FROM_S = 0.5
"""Programs that compile faster than this are not worth a file."""

_SETTINGS = (
    "jax_enable_x64", "jax_default_matmul_precision", "jax_default_prng_impl",
    "jax_threefry_partitionable", "jax_numpy_dtype_promotion", "jax_numpy_rank_promotion",
)  # fmt: skip
"""What a program is traced under and users change within a process, often for a few lines."""

_BY_JIT = ("jax_disable_jit", "jax_debug_nans", "jax_debug_infs")
"""Under these `jax.jit` does more than to run a program."""

_CALLS_PYTHON = re.compile(r"custom_call @\w*callback")
_log = logging.getLogger(__name__)


class Signature(NamedTuple):
    """What a compiled form is for: the arguments' nesting, types and places."""

    layout: Any
    settings: tuple[Any, ...]
    leaves: tuple[tuple[Any, Any], ...]

    @property
    def devices(self) -> set[Any]:
        """Where the arguments are."""
        return {d for _, place in self.leaves if place for d in place[0].device_set}

    def text(self) -> str:
        """The same in every process."""
        leaves = [f"{a.str_short()} {a.weak_type} {place and place[1]}" for a, place in self.leaves]
        return "\n".join([str(self.layout), str(self.settings), *leaves])


class Program:
    """A function as `jax.jit` would run it, one compiled form for each signature of arguments.

    The first call with a signature compiles, or loads what an earlier process has compiled. Later
    ones go straight to the form that was used last; where its signature is another one, the right
    one is looked up.

    Args:
        jitted: the function under `jax.jit`.
        about: what it is, in values that `describe` may know.
        name: for people who wait.
        where: the sharding of all arguments, if ``jitted`` says one: those from the host and those
            that are there already have one form.
        donates: each run takes what the one before has made, as training steps do. Large ones
            then run in turn: see `InTurn`.
    """

    def __init__(
        self, jitted: Any, about: Sequence[Any], name: str, where: Any = None, donates: bool = False
    ):
        self._jitted, self._about, self._name, self._donates = jitted, about, name, donates
        self._place = _place if where is None else lambda leaf: (where, True)
        self._forms: dict[Any, Callable[..., Any]] = {}
        self._latest: Callable[..., Any] | None = None
        self._making = threading.RLock()
        self._settings: tuple[Any, ...] = ()

    def __call__(self, *args: Any) -> Any:
        """The function's results."""
        if any(map(setting, _BY_JIT)):
            return self._jitted(*args)
        settings = tuple(map(setting, _SETTINGS))
        if self._latest is not None and settings == self._settings:
            try:
                return self._latest(*args)
            except (TypeError, ValueError):
                pass  # most likely other shapes; if not, it says so once more
        leaves, layout = jax.tree.flatten(args)
        if any(isinstance(x, Tracer) for x in leaves):
            return self._jitted(*args)
        signature = Signature(
            layout,
            settings,
            tuple((jax.typeof(x), self._place(x)) for x in leaves),
        )
        form = self._forms.get(signature)
        if form is None:
            with self._making:  # threads that ask at once wait for one compilation
                form = self._forms.get(signature)
                if form is None:
                    form = self._forms[signature] = self._ready(args, signature)
        # A large one is not tried: it would make room before it finds that the shapes are others.
        self._latest, self._settings = None if isinstance(form, InTurn) else form, settings
        return form(*args)

    def _ready(self, args: Sequence[Any], signature: Signature) -> Callable[..., Any]:
        heap = one_heap()
        if heap is None or {d.platform for d in signature.devices} != {"cpu"}:
            return self._made(args, signature)
        begun = time.perf_counter()
        form = self._made(args, signature)
        if time.perf_counter() - begun >= SLOW_S:
            heap.take_holes()
        return in_turn(form, heap) if self._donates else form

    def _made(self, args: Sequence[Any], signature: Signature) -> Callable[..., Any]:
        store = default_store()
        devices = signature.devices
        if store is None or len(devices) != 1 or not store.usable:
            lowered = self._jitted.lower(*args)
            return self._compiled(lowered, lowered.as_text, devices)[0]
        (device,) = devices
        kept = Kept(store, device)
        key = self._key(signature, device)
        form = kept.load(key, signature.layout, None) if key else None
        if form is not None:
            return form
        lowered = self._jitted.lower(*args)
        text, out_tree = functools.cache(lowered.as_text), lowered.out_tree
        if key is None or not _can_be_pickled(out_tree):
            key = digest("text", text(), surroundings(device))
            form = kept.load(key, signature.layout, out_tree)
            if form is not None:
                return form
        form, seconds = self._compiled(lowered, text, devices)
        if seconds >= KEEP_FROM_S and not _CALLS_PYTHON.search(text()):
            kept.keep(key, form)
        return form

    def _key(self, signature: Signature, device: Any) -> str | None:
        """The key that needs no tracing; ``None`` where something is not modkit's own."""
        if not _can_be_pickled(signature.layout):
            return None
        try:
            about = describe(self._about)
        except (NotDescribable, ValueError, RecursionError):
            return None
        return digest("named", about, signature.text(), surroundings(device))

    def _compiled(
        self, lowered: Any, text: Callable[[], str], devices: set[Any]
    ) -> tuple[Any, float]:
        platform = next((d.platform for d in devices), jax.default_backend())
        started = time.perf_counter()
        with Progress(self._name):
            compiled = compile_program(lowered, options_for(text, platform))
        return compiled, time.perf_counter() - started


def _place(leaf: Any) -> tuple[Any, bool] | None:
    return (leaf.sharding, leaf.committed) if isinstance(leaf, jax.Array) else None


def _can_be_pickled(layout: Any) -> bool:
    """Whether a nesting is made of plain containers: no functions, as those of a derivative."""
    try:
        pickle.dumps(layout)
    except Exception:  # whatever a container's own type says
        return False
    return True


class Kept:
    """Compiled forms for one device, in a store."""

    def __init__(self, store: Store, device: Any):
        self._store, self._device = store, device

    def load(self, key: str, in_tree: Any, out_tree: Any | None) -> Callable[..., Any] | None:
        """A form, if it is there and JAX takes it; ``out_tree`` where the entry has none."""
        content = self._store.read(key)
        if content is None:
            return None
        by_position = jax.tree.unflatten(in_tree, range(in_tree.num_leaves))
        try:
            binary, kept_tree = pickle.loads(content)
            with without_loader_notes():
                return serialize_executable.deserialize_and_load(
                    binary,
                    jax.tree.structure((by_position, {})),
                    out_tree if kept_tree is None else kept_tree,
                    self._device.client,
                    execution_devices=[self._device],
                )
        except Exception as error:  # made by something that had the same key and is not the same
            _log.debug("a kept program cannot be used: %s", error)
            self._store.forget(key)
            return None

    def keep(self, key: str, form: Any) -> None:
        """Keep a form, if its device can write it down."""
        try:
            binary, _, tree = serialize_executable.serialize(form)
            content = pickle.dumps((binary, tree if _can_be_pickled(tree) else None))
        except Exception as error:  # a device or program that JAX cannot write down
            _log.debug("a compiled program cannot be kept: %s", error)
            return
        self._store.write(key, content)

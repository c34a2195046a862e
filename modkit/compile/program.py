"""A function compiled ahead of time for each signature, or loaded from the disk cache."""

from __future__ import annotations

import functools
import logging
import operator
import pickle
import re
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
from jax.core import Tracer
from jax.experimental import serialize_executable

from modkit.compile.cache_key import (
    NotDescribable,
    describe,
    digest,
    process_settings,
    surroundings,
)
from modkit.compile.disk_cache import DiskCache, default_cache
from modkit.compile.executables import Kept, graphs, uses
from modkit.compile.progress import CompilationProgress
from modkit.errors import ModkitError
from modkit.fork import process
from modkit.gc_pause import uncollected
from modkit.signals import DeferredReads
from modkit.tuning.config import current
from modkit.tuning.xla_options import compile_program

KEEP_FROM_S = 0.05
"""Programs that compile faster than this are not written to the disk cache; a load takes 5 ms."""

_SETTINGS = (
    "jax_enable_x64", "jax_default_matmul_precision", "jax_default_prng_impl",
    "jax_threefry_partitionable", "jax_numpy_dtype_promotion", "jax_numpy_rank_promotion",
)  # fmt: skip
"""Settings of JAX that change traced programs and may change within a process."""

BY_JIT = ("jax_disable_jit", "jax_debug_nans", "jax_debug_infs")
"""Settings that `jax.jit` implements: it runs the calls. Under the first, nothing is compiled."""

_present_settings = operator.attrgetter(*BY_JIT, *_SETTINGS)
"""Current values of these settings in this thread."""

_CALLS_PYTHON = re.compile(r"custom_call @\w*callback")
_RESULT_NAMES = re.compile(r'jax\.result_info = "[^"]*"')
_log = logging.getLogger(__name__)

_compiled_here: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()
"""Programs compiled in this process and still in use, by their HLO without names of arrays.

Two networks that differ by names only, as those of unnamed layers do, compile once.
"""
_seconds: weakref.WeakKeyDictionary[Any, float] = weakref.WeakKeyDictionary()
"""The time that compiling each of them took."""


class Signature(NamedTuple):
    """Tree structure, types and shardings of arguments: one executable for each signature."""

    layout: Any
    settings: tuple[Any, ...]
    leaves: tuple[tuple[Any, Any], ...]

    @property
    def devices(self) -> set[Any]:
        """The devices of the arguments."""
        return {d for _, place in self.leaves if place for d in place[0].device_set}

    def text(self) -> str:
        """A text that is the same in every process."""
        return f"{self.layout}\n{self.values_text()}"

    def values_text(self) -> str:
        """The same without the tree structure, and so without names of arrays."""
        leaves = [f"{a.str_short()} {a.weak_type} {place and place[1]}" for a, place in self.leaves]
        return "\n".join([str(self.settings), *leaves])


class Executable(NamedTuple):
    """A compiled program and the signature of the arguments that it accepts."""

    signature: Signature
    run: Callable[..., Any]


class Program(Kept):
    """A function compiled as by `jax.jit`: one executable for each signature of arguments.

    The first call with a signature compiles, or loads the executable from the disk cache. Later
    calls try the most recently used executable first, and look another one up if it rejects the
    arguments.

    Args:
        fn: the function, which is given to `jax.jit` when XLA is to run it.
        about: cache key parts of the function, for `describe`.
        name: name in progress lines.
        sharding: the sharding of all arguments; NumPy arrays and arrays on the device then share
            one executable. Default: that of each argument.
        donated: the arguments whose buffers a run may take: results of the run before, as in
            training. Runs of large programs are then serialized: see `modkit.tuning.in_flight`.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        about: Sequence[Any],
        name: str,
        sharding: jax.sharding.Sharding | None = None,
        donated: tuple[int, ...] = (),
    ):
        super().__init__()
        self._fn, self._about, self._name = fn, about, name
        self._sharding, self._donated = sharding, donated
        self._place = _place if sharding is None else lambda leaf: (sharding, True)
        self._executables: dict[Any, Executable] = {}
        self._latest: Executable | None = None
        self._making = threading.RLock()

    @functools.cached_property
    def _jitted(self) -> Any:
        placed: dict[str, Any] = {}
        if self._sharding is not None:
            placed["in_shardings"] = self._sharding
        return jax.jit(self._fn, donate_argnums=self._donated, **placed)

    def __call__(self, *args: Any) -> Any:
        """Run the function; NotSupportedError in a child process forked after JAX had started."""
        if process.forked:
            raise process.error()
        self.used = next(uses)
        values = _present_settings(jax.config)
        if any(values[: len(BY_JIT)]):
            return (self._fn if values[0] else self._jitted)(*args)
        settings = values[len(BY_JIT) :]
        latest = self._latest  # read once: another thread may replace it
        if latest is not None and latest.signature.settings == settings:
            try:
                return latest.run(*args)
            except (TypeError, ValueError):
                # The executable rejected another signature, or the program itself has failed.
                if self._signature(args, settings) == latest.signature:
                    raise
        signature = self._signature(args, settings)
        if signature is None:
            return self._jitted(*args)
        self._latest = found = self._executables.get(signature) or self._make(args, signature)
        return found.run(*args)

    def is_compiled_for(self, args: Sequence[Any]) -> bool:
        """Whether there is an executable for arguments like these."""
        if not self._executables:
            return False
        settings = _present_settings(jax.config)[len(BY_JIT) :]
        return self._signature(args, settings) in self._executables

    def free(self) -> None:
        """Free the executables; the next call compiles again, or loads from the disk cache."""
        self._executables.clear()
        self._latest = None
        self._jitted.clear_cache()

    def _signature(self, args: Sequence[Any], settings: tuple[Any, ...]) -> Signature | None:
        """The signature of arguments; ``None`` if one of them is a tracer."""
        leaves, layout = jax.tree.flatten(args)
        if any(isinstance(x, Tracer) for x in leaves):
            return None
        places = tuple((jax.typeof(x), self._place(x)) for x in leaves)
        return Signature(layout, settings, places)

    def _make(self, args: Sequence[Any], signature: Signature) -> Executable:
        """Compile or load an executable, in one thread at a time."""
        graphs.trim()
        with self._making:
            found = self._executables.get(signature)
            if found is None:
                try:
                    found = Executable(signature, self._runnable(args, signature))
                except BaseException as error:
                    # JAX takes the next trace of a function for a recursion if this one was
                    # interrupted: of ours, and of any of its own that was being traced.
                    self._jitted.clear_cache()
                    if not isinstance(error, Exception):
                        jax.clear_caches()
                    raise
                self._executables[signature] = found
                graphs.note(self, hash(signature))
            return found

    def _runnable(self, args: Sequence[Any], signature: Signature) -> Callable[..., Any]:
        """The compiled program, whose runs are serialized if it is a large training step."""
        with CompilationProgress(self._name):
            compiled, text = self._load_or_compile(args, signature)
        platforms = {d.platform for d in signature.devices}
        if not self._donated or len(platforms) != 1 or (text and _CALLS_PYTHON.search(text())):
            return compiled  # Python code called by a run may start another run: a deadlock
        return current().one_in_flight(compiled, *platforms)

    def _load_or_compile(
        self, args: Sequence[Any], signature: Signature
    ) -> tuple[Callable[..., Any], Callable[[], str] | None]:
        """The compiled program and, if it was not cached, a function that returns its HLO text."""
        devices = signature.devices
        if len(devices) != 1:
            lowered = self._lowered(args)
            text = functools.cache(lowered.as_text)
            return self._compiled(lowered, text, devices)[0], text
        (device,) = devices
        cached = CachedExecutables(default_cache(), device)
        key = self._key(signature, device) if cached.usable else None
        compiled = cached.load(key, signature.layout, None)
        if compiled is not None:
            return compiled, None
        lowered = self._lowered(args)
        text, kept = functools.cache(lowered.as_text), _kept_arguments(lowered)
        if kept is None or _CALLS_PYTHON.search(text()):
            return self._compiled(lowered, text, devices)[0], text
        out_tree = lowered.out_tree
        if cached.usable and (key is None or not _can_be_pickled(out_tree)):
            key = self._text_key(text(), kept, device)
            compiled = cached.load(key, signature.layout, out_tree)
            if compiled is not None:
                return compiled, None
        anonymous = _RESULT_NAMES.sub("", text()), kept, signature.values_text()
        shared = digest(*anonymous, process_settings(device))
        compiled, binary, seconds = _of_other_names(shared, signature.layout, out_tree, device)
        if compiled is None:
            compiled, seconds = self._compiled(lowered, text, devices)
            _seconds[compiled] = seconds  # first: a thread that finds the program reads it
            _compiled_here[shared] = compiled
        if key is not None and seconds >= KEEP_FROM_S:
            cached.store(key, binary or _serialized(compiled), out_tree)
        return compiled, text

    def _lowered(self, args: Sequence[Any]) -> Any:
        """The program as HLO. Collections are a sixth of the time of ResNet-50's trace."""
        with DeferredReads(), uncollected():  # a handler's own calls would be part of the trace
            try:
                return self._jitted.lower(*args)
            except ModkitError as error:
                vars(error).pop("__notes__", None)  # JAX's, on frames that it hides
                raise

    def _text_key(self, text: str, kept: str, device: Any) -> str | None:
        """The cache key of a traced program; ``None`` if modkit is imported from an archive."""
        try:
            return digest("text", text, kept, surroundings(device))
        except NotDescribable:
            return None

    def _key(self, signature: Signature, device: Any) -> str | None:
        """The cache key without tracing; ``None`` if the function closes over foreign objects."""
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
        compiled = compile_program(lowered, current().xla_options(text, platform))
        seconds = time.perf_counter() - started
        current().after_compilation(seconds)
        return compiled, seconds


def _place(leaf: Any) -> tuple[Any, bool] | None:
    return (leaf.sharding, leaf.committed) if isinstance(leaf, jax.Array) else None


def _kept_arguments(lowered: Any) -> str | None:
    """Positions of the arguments that the HLO module has; JAX drops unused ones.

    Its text does not list them. They are in a private attribute of JAX: ``None`` without it.
    """
    try:
        return str(sorted(lowered._lowering.compile_args["kept_var_idx"]))
    except (AttributeError, KeyError, TypeError):
        return None


def _can_be_pickled(layout: Any) -> bool:
    """True if a tree structure can be pickled: that of a derivative contains functions."""
    try:
        pickle.dumps(layout)
    except Exception:  # a user's own container type may raise anything
        return False
    return True


@functools.cache
def _find_lapack() -> None:
    """Make jaxlib look up SciPy's LAPACK, as it does when such a call is lowered.

    A loaded program is not lowered, and ends the process where its calls have no addresses.
    """
    one = jax.ShapeDtypeStruct((1, 1), "float32")
    jax.jit(jax.lax.linalg.cholesky).trace(one).lower(lowering_platforms=("cpu",))


def _loaded(binary: bytes, in_tree: Any, out_tree: Any, device: Any) -> Callable[..., Any]:
    """The deserialized program, for arguments and results of these tree structures."""
    if b"lapack_" in binary:
        _find_lapack()
    by_position = jax.tree.unflatten(in_tree, range(in_tree.num_leaves))
    return serialize_executable.deserialize_and_load(
        binary,
        jax.tree.structure((by_position, {})),
        out_tree,
        device.client,
        execution_devices=[device],
    )


def _serialized(compiled: Any) -> bytes | None:
    """A compiled program as bytes; ``None`` if JAX cannot serialize it."""
    try:
        return serialize_executable.serialize(compiled)[0]
    except Exception as error:  # JAX cannot serialize every program on every device
        _log.debug("a compiled program cannot be shared or cached: %s", error)
        return None


def _of_other_names(
    key: str, in_tree: Any, out_tree: Any, device: Any
) -> tuple[Any, bytes | None, float]:
    """The program of ``_compiled_here`` for other tree structures; ``None`` if there is none.

    Also its serialized form, and the seconds of its compilation.
    """
    source = _compiled_here.get(key)
    binary = None if source is None else _serialized(source)
    if binary is None:
        return None, None, 0.0
    try:
        return _loaded(binary, in_tree, out_tree, device), binary, _seconds[source]
    except Exception as error:  # another form of the same program
        _log.debug("a compiled program cannot be shared: %s", error)
        return None, None, 0.0


class CachedExecutables:
    """Compiled programs for one device, serialized in the disk cache."""

    def __init__(self, cache: DiskCache | None, device: Any):
        self._cache = cache if cache is not None and cache.usable else None
        self._device = device

    @property
    def usable(self) -> bool:
        """Whether there is a disk cache."""
        return self._cache is not None

    def load(
        self, key: str | None, in_tree: Any, out_tree: Any | None
    ) -> Callable[..., Any] | None:
        """The program of a key; ``None`` if it is missing or JAX rejects it.

        ``out_tree`` is the result's tree structure, for entries that do not contain it.
        """
        if self._cache is None or key is None or (content := self._cache.read(key)) is None:
            return None
        try:
            binary, kept_tree = pickle.loads(content)
            out_tree = out_tree if kept_tree is None else kept_tree
            return _loaded(binary, in_tree, out_tree, self._device)
        except Exception as error:  # another program under the same key
            _log.debug("a cached program cannot be loaded: %s", error)
            self._cache.forget(key)
            return None

    def store(self, key: str, binary: bytes | None, out_tree: Any) -> None:
        """Write a serialized program, if there is one, and its results' tree to the cache."""
        if self._cache is not None and binary is not None:
            kept_tree = out_tree if _can_be_pickled(out_tree) else None
            self._cache.write(key, pickle.dumps((binary, kept_tree)))

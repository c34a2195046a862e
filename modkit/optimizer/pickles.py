"""Pickles read as data: plain values, and objects of the kinds that the caller names.

Python's own reader calls what a file tells it to call. This one only builds: a name in the file
is looked up among the caller's kinds, and whatever else a pickle can ask for is refused.
"""

from __future__ import annotations

import io
import pickletools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from modkit.errors import FileFormatError

MOST_BITS = 64
"""Size of the largest number."""

KEYS = (str, bytes, int, float, type(None))
"""What keys of dicts may be: Python finds others by hashes that a file could choose all alike."""

_MOST_DEPTH = 100
# How much larger than the file values may become that use a part of it more than once.
_MOST_SHARING = 4


@dataclass(frozen=True)
class Kind:
    """What a name in a pickle stands for.

    Attributes:
        make: makes an object of the arguments in the file; raises for arguments it does not take.
        build: gives an object the state in the file; ``None`` where it takes none.
        alone: whether objects are made without arguments and without a call (``__new__``).
        hollow: whether an object is nothing without its state.
    """

    make: Callable[..., Any]
    build: Callable[[Any, Any], None] | None = None
    alone: bool = False
    hollow: bool = False


class _Stop(Exception):
    """The end of the pickle."""


@dataclass(frozen=True)
class _Name:
    """A name in the file, with its kind."""

    text: str
    kind: Kind


_MARK: Any = object()


def read_pickle(data: bytes, where: str, kind_of: Callable[[str, str], Kind | None]) -> Any:
    """The value in a pickle of any protocol.

    Args:
        data: the pickle.
        where: what it is, for errors.
        kind_of: from the module and the name in the file, what they stand for; ``None`` for what
            is not allowed.

    Raises:
        FileFormatError: the bytes are no pickle, are cut off, or ask for something that is not
            allowed; names the place.
    """
    machine = _Machine(len(data), kind_of)
    stream = io.BytesIO(data)
    at = 0
    try:
        for opcode, argument, _ in pickletools.genops(stream):
            machine.step(opcode.name, argument)
            at = stream.tell()
    except _Stop:
        return machine.stack.pop()
    except FileFormatError as error:
        raise FileFormatError(f"{where}: at byte {at}: {error}") from error
    except (ValueError, OverflowError, MemoryError, DeprecationWarning) as error:  # of genops
        raise FileFormatError(f"{where}: at byte {at}: not a pickle: {error}") from error
    raise FileFormatError(f"{where}: at byte {at}: the pickle has no end")


class _Machine:
    """The stack and the memory that a pickle's instructions work on."""

    def __init__(self, size_bytes: int, kind_of: Callable[[str, str], Kind | None]):
        self.stack: list[Any] = []
        self._memo: dict[int, Any] = {}
        self._made: dict[int, tuple[Any, Kind]] = {}
        self._hollow: set[int] = set()
        self._left = _MOST_SHARING * (size_bytes + 64)
        self._kind_of = kind_of

    def step(self, name: str, argument: Any) -> None:
        """Do what one instruction says."""
        if name in _VALUES:
            self.stack.append(_checked(argument))
            return
        do = _STEPS.get(name)
        if do is None:
            raise FileFormatError(f"the instruction {name} is not allowed")
        do(self, argument)

    # ── The stack ───────────────────────────────────────────────────────────────────────────

    def pop(self) -> Any:
        """The topmost value, taken away."""
        value = self.top()
        self.stack.pop()
        return value

    def top(self) -> Any:
        """The topmost value."""
        if not self.stack or self.stack[-1] is _MARK:
            raise FileFormatError("a value is missing")
        return self.stack[-1]

    def since_mark(self) -> list[Any]:
        """The values above the topmost mark, taken away with it."""
        values = []
        while self.stack:
            value = self.stack.pop()
            if value is _MARK:
                return values[::-1]
            values.append(value)
        raise FileFormatError("a mark is missing")

    def last(self, count: int) -> tuple[Any, ...]:
        """The topmost values, taken away."""
        return tuple([self.pop() for _ in range(count)][::-1])

    def remember(self, number: int | None) -> None:
        """Keep the topmost value under a number; ``None`` for the next one."""
        self._memo[len(self._memo) if number is None else number] = self.top()

    def recall(self, number: int) -> None:
        """Put a kept value on the stack."""
        if number not in self._memo:
            raise FileFormatError(f"value {number} was never kept")
        self.stack.append(self._memo[number])

    # ── Lists and dicts ─────────────────────────────────────────────────────────────────────

    def extend(self, values: Iterable[Any]) -> None:
        """Add values to the list on top."""
        target = self.top()
        if type(target) is not list:
            raise FileFormatError(f"values are added to a {type(target).__name__}, expected a list")
        target.extend(values)

    def update(self, values: list[Any]) -> None:
        """Add keys and values to the dict on top."""
        target = self.top()
        if type(target) is not dict:
            raise FileFormatError(f"keys are added to a {type(target).__name__}, expected a dict")
        if len(values) % 2:
            raise FileFormatError("a key has no value")
        for key, value in zip(values[::2], values[1::2], strict=True):
            if not isinstance(key, KEYS):
                raise FileFormatError(
                    f"a key is of type {type(key).__name__}, expected a string or number"
                )
            target[key] = value

    def new_dict(self, values: list[Any]) -> None:
        """Put a dict on the stack."""
        self.stack.append({})
        self.update(values)

    # ── Objects ─────────────────────────────────────────────────────────────────────────────

    def name(self, module: Any, name: Any) -> None:
        """Put a name on the stack, if it is an allowed one."""
        if not isinstance(module, str) or not isinstance(name, str):
            raise FileFormatError("a name that is no text")
        kind = self._kind_of(module, name)
        if kind is None:
            raise FileFormatError(
                f"{module}.{name} is not allowed here; expected arrays, plain values, optimizers "
                "and schedulers. Import a class of your own first"
            )
        self.stack.append(_Name(f"{module}.{name}", kind))

    def make(self, *, alone: bool) -> None:
        """Replace a name and its arguments by an object."""
        name, arguments = self.last(2)
        if not isinstance(name, _Name) or type(arguments) is not tuple:
            raise FileFormatError(f"a {type(name).__name__} is called, expected a name")
        if name.text in _REBUILD and len(arguments) == 3 and isinstance(arguments[0], _Name):
            name, arguments, alone = arguments[0], (), True
        if name.kind.alone != alone or (alone and arguments):
            raise FileFormatError(f"{name.text} is not made in this way")
        self._check_tree(arguments)
        try:
            made = name.kind.make(*arguments)
        except Exception as error:  # whatever arguments of a file may lead to
            raise FileFormatError(
                f"{name.text} cannot be made of what is given: {error}"
            ) from error
        if name.kind.build:
            self._made[id(made)] = made, name.kind
        if name.kind.hollow:
            self._hollow.add(id(made))
        self.stack.append(made)

    def build(self) -> None:
        """Give the object on top, which was made here, its state."""
        state, target = self.pop(), self.top()
        made, kind = self._made.get(id(target), (None, None))
        if made is not target or kind is None or kind.build is None:
            raise FileFormatError(
                f"a {type(target).__name__} is given a state, which it does not take"
            )
        self._check_tree(state)
        try:
            kind.build(target, state)
        except FileFormatError:
            raise
        except Exception as error:  # whatever a state of a file may lead to
            raise FileFormatError(
                f"a {type(target).__name__} does not take its state: {error}"
            ) from error
        self._hollow.discard(id(target))

    def stop(self) -> None:
        """End with the one value on the stack."""
        self._check_tree(self.top())
        if self._hollow:
            raise FileFormatError("an object has no state")
        raise _Stop

    def _check_tree(self, root: Any) -> None:
        """Refuse what is nested too deeply, holds itself, or grows without end by sharing."""
        stack = [(root, 0)]
        while stack:
            value, depth = stack.pop()
            self._left -= 1 + (len(value) if isinstance(value, str | bytes) else 0)
            if depth > _MOST_DEPTH or self._left < 0:
                raise FileFormatError("values are nested too deeply, or used too often")
            if type(value) is dict:
                stack.extend((each, depth + 1) for each in value.values())
            elif type(value) in (list, tuple):
                stack.extend((each, depth + 1) for each in value)
            elif isinstance(value, _Name):
                raise FileFormatError(f"{value.text} is a value, expected an object of it")


def _checked(value: Any) -> Any:
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        raise FileFormatError(
            f"a number of {value.bit_length()} bits, expected {MOST_BITS} at most"
        )
    return bytes(value) if isinstance(value, bytearray) else value


# How old protocols make an object without a call.
_REBUILD = {"copy_reg._reconstructor", "copyreg._reconstructor"}

_VALUES = {
    "INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT",
    "STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE",
    "BINUNICODE8", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8",
}  # fmt: skip


def _push(value: Callable[[_Machine], Any]) -> Callable[[_Machine, Any], None]:
    return lambda machine, _: machine.stack.append(value(machine))


_STEPS: dict[str, Callable[[_Machine, Any], Any]] = {
    "PROTO": lambda machine, _: None,
    "FRAME": lambda machine, _: None,
    "STOP": lambda machine, _: machine.stop(),
    "MARK": _push(lambda _: _MARK),
    "POP": lambda machine, _: machine.pop(),
    "POP_MARK": lambda machine, _: machine.since_mark(),
    "DUP": _push(_Machine.top),
    "MEMOIZE": lambda machine, _: machine.remember(None),
    **dict.fromkeys(("PUT", "BINPUT", "LONG_BINPUT"), _Machine.remember),
    **dict.fromkeys(("GET", "BINGET", "LONG_BINGET"), _Machine.recall),
    "NONE": _push(lambda _: None),
    "NEWTRUE": _push(lambda _: True),
    "NEWFALSE": _push(lambda _: False),
    "EMPTY_LIST": _push(lambda _: []),
    "LIST": _push(_Machine.since_mark),
    "APPEND": lambda machine, _: machine.extend([machine.pop()]),
    "APPENDS": lambda machine, _: machine.extend(machine.since_mark()),
    "EMPTY_TUPLE": _push(lambda _: ()),
    "TUPLE": _push(lambda machine: tuple(machine.since_mark())),
    "TUPLE1": _push(lambda machine: machine.last(1)),
    "TUPLE2": _push(lambda machine: machine.last(2)),
    "TUPLE3": _push(lambda machine: machine.last(3)),
    "EMPTY_DICT": _push(lambda _: {}),
    "DICT": lambda machine, _: machine.new_dict(machine.since_mark()),
    "SETITEM": lambda machine, _: machine.update(list(machine.last(2))),
    "SETITEMS": lambda machine, _: machine.update(machine.since_mark()),
    "GLOBAL": lambda machine, text: machine.name(*text.split(" ", 1)),
    "STACK_GLOBAL": lambda machine, _: machine.name(*machine.last(2)),
    "REDUCE": lambda machine, _: machine.make(alone=False),
    "NEWOBJ": lambda machine, _: machine.make(alone=True),
    "BUILD": lambda machine, _: machine.build(),
}

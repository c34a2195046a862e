"""A restricted unpickler: plain values, and objects from an allow-list of constructors.

``pickle.load`` executes any call that a file contains. This one resolves names through the
caller's allow-list and raises on every other instruction.
"""

from __future__ import annotations

import io
import pickletools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from modkit.errors import FileFormatError

MOST_BITS = 64
"""Maximum size of an integer."""

KEYS = (str, bytes, int, float, type(None))
"""Types of dict keys. Others could be crafted with colliding hashes."""

_MAX_DEPTH = 100
# An array takes about thirty instructions, an optimizer a few hundred.
_MAX_STEPS = 2**21
# Maximum ratio of the expanded value to the file, for values that share parts (memo bombs).
_MAX_EXPANSION = 4


@dataclass(frozen=True)
class Kind:
    """An allow-list entry: the constructor that a name in a pickle resolves to.

    Attributes:
        make: constructs an object from the arguments in the file; raises for invalid ones.
        build: sets the state of an object from the file; ``None`` if it has no state.
        by_new: the object is created by ``__new__`` without arguments instead of a call.
        needs_state: the object is invalid until its state is set.
    """

    make: Callable[..., Any]
    build: Callable[[Any, Any], None] | None = None
    by_new: bool = False
    needs_state: bool = False


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

    ``kind_of`` maps module and name to an allow-list entry; ``None`` if not allowed.

    Raises:
        FileFormatError: the bytes are not a pickle, are truncated, or contain something that is
            not allowed; the message names the byte.
    """
    machine = _Machine(len(data), kind_of)
    stream = io.BytesIO(data)
    at = 0
    try:
        for number, (opcode, argument, _) in enumerate(pickletools.genops(stream)):
            if number == _MAX_STEPS:
                raise FileFormatError(f"more than {_MAX_STEPS} instructions")
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
    """The pickle virtual machine: stack, memo and instructions."""

    def __init__(self, size_bytes: int, kind_of: Callable[[str, str], Kind | None]):
        self.stack: list[Any] = []
        self._memo: dict[int, Any] = {}
        self._made: dict[int, tuple[Any, Kind]] = {}
        self._without_state: set[int] = set()
        self._budget = _MAX_EXPANSION * (size_bytes + 64)
        self._kind_of = kind_of

    def step(self, name: str, argument: Any) -> None:
        """Execute one instruction."""
        if name in _VALUES:
            self.stack.append(_checked(argument))
            return
        instruction = _INSTRUCTIONS.get(name)
        if instruction is None:
            raise FileFormatError(f"the instruction {name} is not allowed")
        instruction(self, argument)

    def pop(self) -> Any:
        """Remove and return the top value."""
        value = self.top()
        self.stack.pop()
        return value

    def top(self) -> Any:
        """The top value."""
        if not self.stack or self.stack[-1] is _MARK:
            raise FileFormatError("a value is missing")
        return self.stack[-1]

    def since_mark(self) -> list[Any]:
        """Remove and return the values above the last mark, and remove the mark."""
        values = []
        while self.stack:
            value = self.stack.pop()
            if value is _MARK:
                return values[::-1]
            values.append(value)
        raise FileFormatError("a mark is missing")

    def last(self, count: int) -> tuple[Any, ...]:
        """Remove and return the top ``count`` values."""
        return tuple([self.pop() for _ in range(count)][::-1])

    def memoize(self, index: int | None) -> None:
        """Store the top value in the memo; ``None`` for the next free index."""
        self._memo[len(self._memo) if index is None else index] = self.top()

    def get_memo(self, index: int) -> None:
        """Push a value from the memo."""
        if index not in self._memo:
            raise FileFormatError(f"memo index {index} is not set")
        self.stack.append(self._memo[index])

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
        """Push a dict."""
        self.stack.append({})
        self.update(values)

    def name(self, module: Any, name: Any) -> None:
        """Push a name from the allow-list."""
        if not isinstance(module, str) or not isinstance(name, str):
            raise FileFormatError("a name is not text")
        kind = self._kind_of(module, name)
        if kind is None:
            raise FileFormatError(
                f"{module}.{name} is not allowed here; expected arrays, plain values, optimizers "
                "and schedulers. Import a class of your own first"
            )
        self.stack.append(_Name(f"{module}.{name}", kind))

    def make(self, *, by_new: bool) -> None:
        """Replace a name and its arguments on the stack by an object."""
        name, arguments = self.last(2)
        if not isinstance(name, _Name) or type(arguments) is not tuple:
            raise FileFormatError(f"a {type(name).__name__} is called, expected a name")
        if name.text in _REBUILD and len(arguments) == 3 and isinstance(arguments[0], _Name):
            name, arguments, by_new = arguments[0], (), True
        if name.kind.by_new != by_new or (by_new and arguments):
            how = "__new__" if by_new else "a call"
            raise FileFormatError(f"{name.text} cannot be created by {how}")
        self._check_tree(arguments)
        try:
            made = name.kind.make(*arguments)
        except Exception as error:  # arguments from the file may raise anything
            raise FileFormatError(
                f"{name.text} does not accept these arguments: {error}"
            ) from error
        if name.kind.build:
            self._made[id(made)] = made, name.kind
        if name.kind.needs_state:
            self._without_state.add(id(made))
        self.stack.append(made)

    def build(self) -> None:
        """Set the state of the object on top, which must have been created by `make`."""
        state, target = self.pop(), self.top()
        made, kind = self._made.get(id(target), (None, None))
        if made is not target or kind is None or kind.build is None:
            raise FileFormatError(f"a {type(target).__name__} does not accept a state")
        self._check_tree(state)
        try:
            kind.build(target, state)
        except FileFormatError:
            raise
        except Exception as error:  # a state from the file may raise anything
            raise FileFormatError(
                f"a {type(target).__name__} does not accept its state: {error}"
            ) from error
        self._without_state.discard(id(target))

    def stop(self) -> None:
        """End; the result is the top value."""
        self._check_tree(self.top())
        if self._without_state:
            raise FileFormatError("an object has no state")
        raise _Stop

    def _check_tree(self, root: Any) -> None:
        """Raise for values that are too deep, cyclic, or expand too much by sharing."""
        stack = [(root, 0)]
        while stack:
            value, depth = stack.pop()
            self._budget -= 1 + (len(value) if isinstance(value, str | bytes) else 0)
            if depth > _MAX_DEPTH or self._budget < 0:
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


# Functions by which protocols 0 and 1 create an object without calling its class.
_REBUILD = {"copy_reg._reconstructor", "copyreg._reconstructor"}

_VALUES = {
    "INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT",
    "STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE",
    "BINUNICODE8", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8",
}  # fmt: skip


def _push(value: Callable[[_Machine], Any]) -> Callable[[_Machine, Any], None]:
    return lambda machine, _: machine.stack.append(value(machine))


_INSTRUCTIONS: dict[str, Callable[[_Machine, Any], Any]] = {
    "PROTO": lambda machine, _: None,
    "FRAME": lambda machine, _: None,
    "STOP": lambda machine, _: machine.stop(),
    "MARK": _push(lambda _: _MARK),
    "POP": lambda machine, _: machine.pop(),
    "POP_MARK": lambda machine, _: machine.since_mark(),
    "DUP": _push(_Machine.top),
    "MEMOIZE": lambda machine, _: machine.memoize(None),
    **dict.fromkeys(("PUT", "BINPUT", "LONG_BINPUT"), _Machine.memoize),
    **dict.fromkeys(("GET", "BINGET", "LONG_BINGET"), _Machine.get_memo),
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
    "REDUCE": lambda machine, _: machine.make(by_new=False),
    "NEWOBJ": lambda machine, _: machine.make(by_new=True),
    "BUILD": lambda machine, _: machine.build(),
}

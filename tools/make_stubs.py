"""Write the stub files of ``mx``, ``mx.io``, ``mx.nd``, ``mx.sym`` and of the latter's methods.

    .venv/bin/python tools/make_stubs.py

The functions of ``mx.nd`` and ``mx.sym`` are made from the registry of operators when the package
is imported, and the names of ``mx`` and ``mx.io`` are imported when they are asked for; these files
tell editors and type checkers of them. A test fails when they are not what this program writes.
"""

import importlib
import keyword
import subprocess
import sys
import textwrap
import types
import typing
from collections.abc import Mapping
from pathlib import Path

from modkit.ops.frontend import FLUENT, namespaces
from modkit.ops.registry import OPS, DType, Op

ROOT = Path(__file__).resolve().parent.parent

HEAD = '''"""{doc}

Made by tools/make_stubs.py from the registry of operators; do not edit.
"""

from collections.abc import Sequence
from types import ModuleType
from typing import Any, Literal

{imports}

{aliases}
op: ModuleType
_internal: ModuleType

'''

WORDS = {bool: "bool", int: "int", float: "float", str: "str", type(None): "None"}


class World(typing.NamedTuple):
    """What differs between ``mx.nd`` and ``mx.sym``."""

    package: str
    tensor: str
    """What functions return."""
    taken: str
    """What they take as an input."""
    extras: tuple[str, ...]
    """Keywords that every function takes."""
    makes_inputs: bool
    """Whether inputs that are left out become variables."""
    imports: str = ""
    aliases: str = ""

    @property
    def path(self) -> Path:
        """The package's folder."""
        return ROOT / "modkit" / self.package


WORLDS = (
    World(
        "ndarray", "NDArray", "_Array", ("out: Any = None", "name: str | None = None"), False,
        imports="import jax\nimport numpy as np\n\n",
        aliases="_Array = NDArray | np.ndarray | jax.Array\n\n",
    ),
    World(
        "symbol", "Symbol", "Symbol",
        ("name: str | None = None", "attr: dict[str, str] | None = None", "**kwargs: Any"), True,
    ),
)  # fmt: skip


def stub(world: World) -> str:
    """The whole file for one package, before ruff formats it."""
    source = (world.path / "__init__.py").read_text()
    exports = [x for x in source.splitlines() if x.startswith("from ") and " as _" not in x]
    by_hand = {line.split()[-1] for line in exports}
    doc, imports = source.split('"""')[1], world.imports + "\n".join(exports)
    parts = [HEAD.format(doc=doc, imports=imports, aliases=world.aliases)]
    spaces = namespaces(lambda *_: None, world.package)
    del spaces["op"], spaces["_internal"]  # the same again, and names with an underscore
    parts += [function(OPS[n], n, world) for n in sorted(spaces.pop("").keys() - by_hand)]
    for space in sorted(spaces.keys() - by_hand):
        parts.append(f'class {space}:\n    """Operators of ``{space}``."""\n\n')
        for name in sorted(spaces[space]):
            if name.isidentifier() and not keyword.iskeyword(name):
                text = "@staticmethod\n" + function(behind(space, name), name, world)
                parts.append(textwrap.indent(text, "    "))
    return "".join(parts)


METHODS = '''"""Operators as methods of arrays and symbols: ``a.relu()`` for ``relu(a)``.

Made by tools/make_stubs.py from the registry of operators; do not edit.
"""

from collections.abc import Sequence
from typing import Any, Literal, Self

class Methods:
    """The base of NDArray and Symbol that type checkers know the methods by."""

'''


def methods() -> str:
    """The stub of `modkit.ops.methods`: operators whose first input is the object itself."""
    world = World("ops", "Self", "Any", ("name: str | None = None", "**kwargs: Any"), False)
    parts = [METHODS]
    for name in FLUENT:
        if name in OPS:  # split_v2 is written by hand
            op = OPS[name]
            first = op.variadic or op.inputs[0]
            text = function(op, name, world).replace(f"({first}: Any", "(self", 1)
            parts.append(textwrap.indent(text, "    "))
    return "".join(parts)


def behind(space: str, name: str) -> Op:
    """The operator behind a function of a namespace."""
    for prefix in (f"_{space}_", f"{space}_"):
        if prefix + name in OPS:
            return OPS[prefix + name]
    raise LookupError(f"{space}.{name}")


def function(op: Op, name: str, world: World) -> str:
    """One function's declaration.

    Calls may give parameters by position, after the inputs, so they are no keyword-only ones; a
    parameter that must be given then has to look optional where an input before it may be left
    out.
    """
    params = [*inputs(op, world), *parameters(op)]
    if op.variadic:
        params = [f"*args: {world.taken} | Sequence[{world.taken}]", *(p for _, p in params)]
    else:
        params = ordered(params)
        params.append("*")
    params += [e for e in world.extras if e.split(":")[0] not in op.types]
    if not (op.inputs or op.variadic) and not world.makes_inputs and "ctx" not in op.types:
        params.append("ctx: Any = None")
    return f"def {name}({', '.join(params)}) -> {result(op, world)}:\n{docstring(op)}\n"


def docstring(op: Op) -> str:
    """The first paragraph of the operator's documentation."""
    words = " ".join(op.doc.split("\n\n")[0].split()).replace("\\", "\\\\")
    lines = textwrap.wrap(words, 80)
    end = '"""' if len(lines) == 1 else '\n"""'
    return textwrap.indent('"""' + "\n".join(lines) + end, "    ")


def ordered(params: list[tuple[str, str]]) -> list[str]:
    """Declarations, where what follows an optional one has a default too."""
    optional, declared = False, []
    for default, text in params:
        optional = optional or bool(default)
        declared.append(text if default or not optional else f"{text} = ...")
    return declared


def inputs(op: Op, world: World) -> list[tuple[str, str]]:
    """The tensors: whether they may be left out, and their declarations."""
    if op.variadic:
        return []
    found = []
    for name in op.inputs:
        may_lack = world.makes_inputs or name in op.when
        kind = f"{world.taken} | None = None" if may_lack else world.taken
        found.append(("None" if may_lack else "", f"{name}: {kind}"))
    return found


def parameters(op: Op) -> list[tuple[str, str]]:
    """The parameters: their defaults, and their declarations."""
    found = []
    for name, kind in op.types.items():
        if name == op.variadic:
            continue
        default = repr(op.defaults[name]) if name in op.defaults else ""
        declared = f"{name}: {annotation(kind)}"
        found.append((default, f"{declared} = {default}" if default else declared))
    return found


def annotation(kind: typing.Any) -> str:
    """A parameter's type as a caller may give it."""
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if kind is DType or kind == DType:
        return "Any"
    if origin is typing.Literal:
        return f"Literal[{', '.join(map(repr, args))}]"
    if origin in (typing.Union, types.UnionType):
        return union(*map(annotation, args))
    if origin is tuple:
        return union(annotation(args[0]), f"Sequence[{annotation(args[0])}]")
    if origin is typing.Annotated or hasattr(kind, "__metadata__"):
        return annotation(args[0])
    return WORDS.get(kind, "Any")


def union(*words: str) -> str:
    """One of these types, ``None`` last."""
    each = dict.fromkeys(w.removesuffix(" | None") for w in words)
    optional = any(w.endswith("None") for w in words)
    return " | ".join([w for w in each if w != "None"] + ["None"] * optional)


class _Asked(LookupError):
    """The number of outputs depends on a parameter."""


class _Unknown(Mapping):
    """Parameters that nobody may read."""

    def __getitem__(self, name):
        raise _Asked(name)

    def __iter__(self):
        raise _Asked

    def __len__(self):
        raise _Asked


def result(op: Op, world: World) -> str:
    """What a call returns: in ``mx.nd`` a list where there are several outputs."""
    if world.makes_inputs:
        return world.tensor
    try:
        one = op.visible_outputs(_Unknown()) == 1
        return world.tensor if one else f"list[{world.tensor}]"
    except _Asked:
        return "Any"


LAZY = ("modkit", "modkit.io")
"""Packages whose names are imported when they are asked for."""


def lazy_stub(package: str) -> str:
    """The names of one of them, as imports."""
    module = importlib.import_module(package)
    names = module._names
    lines = []
    for name, where in names.modules.items():
        parent, _, own = where.rpartition(".")
        lines.append(f"from {parent} import {own} as {own}")
        if own != name:
            lines.append(f"{name} = {own}")
    for where, members in names.members.items():
        lines += [f"from {where} import {name} as {name}" for name in members]
    imports = sorted({x for x in lines if x.startswith("from")})
    aliases = sorted({x for x in lines if not x.startswith("from")})
    first = (module.__doc__ or "").splitlines()[0]
    doc = f'"""{first}\n\nMade by tools/make_stubs.py; do not edit.\n"""\n'
    version = "__version__: str\n" if hasattr(module, "__version__") else ""
    parts = [doc, *imports, "", *aliases, "", version, f"__all__ = {names.all!r}\n"]
    return "\n".join(parts)


def formatted(text: str, path: Path) -> str:
    """The text as ruff formats it."""
    command = [sys.executable, "-m", "ruff", "format", "-", "--stdin-filename", str(path)]
    done = subprocess.run(command, input=text, capture_output=True, text=True, cwd=ROOT, check=True)
    return done.stdout


def made() -> dict[Path, str]:
    """The stub files, by path."""
    texts = {w.path / "__init__.pyi": stub(w) for w in WORLDS}
    texts[ROOT / "modkit" / "ops" / "methods.pyi"] = methods()
    for package in LAZY:
        texts[ROOT.joinpath(*package.split("."), "__init__.pyi")] = lazy_stub(package)
    return {path: formatted(text, path) for path, text in texts.items()}


def main() -> int:
    """Write the files."""
    for path, text in made().items():
        path.write_text(text)
        print(f"{path.relative_to(ROOT)}: {len(text.splitlines())} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())

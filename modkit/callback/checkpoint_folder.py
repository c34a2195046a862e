"""Folders of checkpoints: each one complete and checksummed, or absent."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import logging
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import jax
import numpy as np

import modkit
from modkit.checkpoint import read_params
from modkit.errors import FileFormatError, ModkitError
from modkit.files import named_errors, sync
from modkit.ndarray import NDArray
from modkit.ndarray.files import write_list
from modkit.optimizer.updater import Updater

FORMAT = 1
MANIFEST = "checkpoint.json"
_NAME = re.compile(r"step-(\d{10})")
_log = logging.getLogger(__name__)


class ResumeError(ModkitError, ValueError):
    """A checkpoint of another network, optimizer or data."""


class StoredCheckpoint(NamedTuple):
    """A checkpoint on disk.

    Attributes:
        path: its folder.
        manifest: position, versions, identity of network and optimizer, and files with checksums.
    """

    path: Path
    manifest: dict[str, Any]


def checkpoints(folder: str | os.PathLike[str]) -> list[Path]:
    """The folders of checkpoints, the newest first; whether they are complete is not checked."""
    found = [p for p in Path(folder).glob("step-*") if _NAME.fullmatch(p.name)]
    return sorted(found, key=lambda path: path.name, reverse=True)


def newest(folder: str | os.PathLike[str]) -> StoredCheckpoint | None:
    """The newest checkpoint whose files are all there and have their checksums.

    Damaged ones are passed over with a warning in the log.

    Raises:
        FileFormatError: all of them are damaged. A training that began anew would replace them.
    """
    faults = []
    for path in checkpoints(folder):
        try:
            return opened(path)
        except (OSError, FileFormatError) as error:
            _log.warning("%s: passed over: %s", path, error)
            if path.is_dir() and any(path.iterdir()):
                faults.append(error)
    if faults:
        raise FileFormatError(
            f"resume: {folder}: {len(faults)} checkpoint{'s' * (len(faults) > 1)}, none complete: "
            f"{faults[0]}; move them away, or give another folder"
        )
    return None


def opened(path: Path) -> StoredCheckpoint:
    """A checkpoint, once the size and checksum of each file are compared with its manifest.

    Raises:
        FileFormatError: one differs, or the manifest cannot be read.
        MissingFileError: a file is missing.
    """
    manifest = _manifest(path)
    for name, facts in manifest["files"].items():
        with named_errors(path / name, "read"):
            size, digest = (path / name).stat().st_size, _digest(path / name)
        if (size, digest) != (facts["bytes"], facts["sha256"]):
            raise FileFormatError(
                f"{path / name}: got {size} bytes of SHA-256 {digest[:12]}..., expected "
                f"{facts['bytes']} of {facts['sha256'][:12]}...: the file is damaged"
            )
    return StoredCheckpoint(path, manifest)


def _manifest(path: Path) -> dict[str, Any]:
    """The manifest of a checkpoint, without its own checksum, which is compared."""
    with named_errors(path / MANIFEST, "read"):
        text = (path / MANIFEST).read_bytes()
    try:
        manifest = json.loads(text)
        form, _, check = manifest["format"], manifest["files"], manifest.pop("sha256")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FileFormatError(f"{path / MANIFEST}: not a manifest: {error!r}") from error
    if check != _sum_of(manifest):
        raise FileFormatError(f"{path / MANIFEST}: its checksum is another: it was changed")
    if form != FORMAT:
        raise FileFormatError(f"{path / MANIFEST}: format {form}, expected {FORMAT}")
    return manifest


def _sum_of(manifest: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def training_of(path: Path) -> str | None:
    """The name of the training that a checkpoint belongs to; ``None`` where it cannot be read."""
    with contextlib.suppress(ModkitError):
        return _manifest(path).get("training")
    return None


def clear(folder: Path) -> None:
    """Remove all checkpoints."""
    for path in checkpoints(folder):
        _remove(path)


def write(
    folder: Path, state: Mapping[str, Any], symbol: str, identity: Mapping[str, Any], keep: int
) -> Path:
    """Write a checkpoint into a new folder, rename it, and remove older ones.

    A process that is killed meanwhile leaves a hidden folder, which `sweep` removes.

    Args:
        state: ``Run.state_dict()``.
        symbol: the network as JSON.
        identity: of network and optimizer, compared at a resume.
        keep: number of checkpoints to keep; 0 keeps all.

    Raises:
        FileAccessError: the disk is full, or permission is missing; older ones are unchanged.
    """
    target = folder / f"step-{state['step']:010d}"
    draft = folder / f".{target.name}.{secrets.token_hex(6)}.tmp"
    with named_errors(target, "written"):
        draft.mkdir()
        try:
            _fill(draft, state, symbol, identity)
            if target.exists():  # of an earlier run, and damaged or passed by
                _remove(target)
            draft.rename(target)
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise
        sync(folder)
        found = checkpoints(folder)
        abandoned = [p for p in found if p.name > target.name]  # of a training before this one
        mine = [p for p in found if p.name <= target.name]
        for old in [*abandoned, *(mine[keep:] if keep else ())]:
            _remove(old)
    return target


def check(state: Mapping[str, Any]) -> None:
    """Raise FileFormatError for a state that is not of numbers, texts, arrays and collections."""
    module = dict(state["module"])
    Updater(module.pop("updater").optimizer).get_states(dump_optimizer=True)
    _encoded({**state, "module": None, "metric": state["metric"]()}, {})


class _Hashed(io.FileIO):
    """A file that is hashed while it is written."""

    def __init__(self, path: Path):
        super().__init__(path, "w")
        self.size_bytes, self.sha256 = 0, hashlib.sha256()

    def write(self, data: Any) -> int:
        """Write some bytes; returns their number."""
        count = super().write(data)
        self.sha256.update(memoryview(data)[:count])
        self.size_bytes += count
        return count

    def seekable(self) -> bool:
        """False: what is written stays."""
        return False

    def tell(self) -> int:
        """An error, by which writers of archives see that they cannot go back."""
        raise io.UnsupportedOperation("tell")


def _fill(draft: Path, state: Mapping[str, Any], symbol: str, identity: Mapping[str, Any]) -> None:
    epoch = state["epoch"]
    module = dict(state["module"])
    updater: Updater = module.pop("updater")
    params = {f"arg:{n}": np.asarray(v) for n, v in module.pop("params").items()}
    aux = {n: np.asarray(v) for n, v in module.pop("aux").items()}
    means = {f"aux:{n}": v.mean(0).astype(v.dtype) for n, v in aux.items()}
    arrays: dict[str, np.ndarray] = {}
    state = {**state, "metric": state["metric"](), "module": {**module, "aux": aux}}
    tree = _encoded(state, arrays)
    with contextlib.ExitStack() as opened:
        files: dict[str, tuple[BinaryIO, _Hashed]] = {}

        def new(name: str) -> BinaryIO:
            raw = _Hashed(draft / name)
            file = opened.enter_context(io.BufferedWriter(raw))
            files[name] = file, raw
            return file

        new("model-symbol.json").write(symbol.encode())
        names, values = [*params, *means], [*params.values(), *means.values()]
        write_list(new(f"model-{epoch:04d}.params"), names, values)
        updater.write_states(new(f"model-{epoch:04d}.states"), dump_optimizer=True)
        new("state.json").write(json.dumps(tree).encode())
        np.savez(new("state.npz"), **arrays)  # type: ignore[arg-type]
        manifest = {
            "format": FORMAT, "modkit": modkit.__version__, "jax": jax.__version__,
            "numpy": np.__version__, "epoch": epoch, "batch": state["batch"],
            "step": state["step"], "training": state["training"], "identity": identity,
            "files": {name: _facts(*file) for name, file in files.items()},
        }  # fmt: skip
        check = _sum_of(json.loads(json.dumps(manifest)))
        new(MANIFEST).write(json.dumps({**manifest, "sha256": check}, indent=1).encode())
        for file, _ in files.values():  # after the last one: the first takes others with it
            file.flush()
            os.fsync(file.fileno())
    sync(draft)


def _facts(file: BinaryIO, raw: _Hashed) -> dict[str, Any]:
    file.flush()
    return {"bytes": raw.size_bytes, "sha256": raw.sha256.hexdigest()}


def _remove(path: Path) -> None:
    """Remove a checkpoint; it is renamed first, so that a crash leaves no half of it."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    path.rename(draft)
    shutil.rmtree(draft, ignore_errors=True)


def sweep(folder: Path) -> None:
    """Remove the drafts of processes that were killed. One training at a time owns a folder."""
    for path in folder.glob(".step-*.tmp"):
        shutil.rmtree(path, ignore_errors=True)


def read(checkpoint: StoredCheckpoint) -> dict[str, Any]:
    """The state of a checkpoint, for ``Run.load_state_dict``: arrays are NumPy's.

    Raises:
        FileFormatError: a file cannot be read.
    """
    path, epoch = checkpoint.path, checkpoint.manifest["epoch"]
    with named_errors(path, "read"), np.load(path / "state.npz", allow_pickle=False) as arrays:
        state = _decoded(json.loads((path / "state.json").read_text()), arrays)
        state["module"]["updater"] = (path / f"model-{epoch:04d}.states").read_bytes()
    state["module"]["params"] = read_params(str(path / f"model-{epoch:04d}.params"))[0]
    return state


def _encoded(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """A tree of plain values, with references to its arrays, which are added to ``arrays``."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return _encoded(value.item(), arrays)
    if isinstance(value, NDArray):
        value = value._cell.unmoved()
    if isinstance(value, np.ndarray | jax.Array):
        host = np.asarray(value)
        name = f"a{len(arrays)}"
        plain = host.dtype.kind in "biufc"
        if host.dtype.kind in "OSUMm":
            raise FileFormatError(f"a checkpoint: got an array of {host.dtype}, expected numbers")
        arrays[name] = host if plain else np.frombuffer(host.tobytes(), np.uint8)
        return {"~": "array", "name": name, "dtype": host.dtype.name, "shape": list(host.shape)}
    if isinstance(value, tuple):
        return {"~": "tuple", "items": [_encoded(each, arrays) for each in value]}
    if isinstance(value, list):
        return [_encoded(each, arrays) for each in value]
    if isinstance(value, Mapping):
        if all(isinstance(n, str) and n != "~" for n in value):
            return {n: _encoded(v, arrays) for n, v in value.items()}
        pairs = [[_encoded(n, arrays), _encoded(v, arrays)] for n, v in value.items()]
        return {"~": "dict", "items": pairs}
    raise FileFormatError(
        f"a checkpoint: got {type(value).__name__} in a state, expected numbers, texts, arrays, "
        "and lists, tuples and dicts of them"
    )


def _decoded(tree: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    if isinstance(tree, list):
        return [_decoded(each, arrays) for each in tree]
    if not isinstance(tree, dict):
        return tree
    kind = tree.get("~")
    if kind == "array":
        value = arrays[tree["name"]]
        if value.dtype.name != tree["dtype"]:
            value = np.frombuffer(value.tobytes(), jax.numpy.dtype(tree["dtype"]))
        return value.reshape(tree["shape"])
    if kind is not None:
        items = [_decoded(each, arrays) for each in tree["items"]]
        return tuple(items) if kind == "tuple" else dict(items)
    return {n: _decoded(v, arrays) for n, v in tree.items()}


def differences(stored: Any, present: Any, where: str = "") -> Iterator[str]:
    """Lines that say where two trees of plain values differ."""
    if isinstance(stored, dict) and isinstance(present, dict):
        for name in sorted({*stored, *present}):
            yield from differences(stored.get(name), present.get(name), f"{where} {name}".strip())
    elif stored != present:
        yield f"{where}: the checkpoint has {stored!r}, this training {present!r}"

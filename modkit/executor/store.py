"""A folder of the user's own that keeps compiled programs from one process to the next."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import logging
import os
import stat
import zlib
from pathlib import Path

from modkit.errors import ModkitError
from modkit.files import atomic_write

VARIABLE = "MODKIT_CACHE"
"""``off``, or another folder than ``$XDG_CACHE_HOME/modkit/programs``."""
LIMIT_BYTES = 1 << 30
"""What all entries together may take; the ones that were not used for longest go first."""

_MAGIC = b"modkit program 1\n"
_DIGEST_BYTES = hashlib.sha256().digest_size
_SUFFIX = ".program"
_log = logging.getLogger(__name__)


class Store:
    """Entries by key. What cannot be read or written is as if it were not there.

    An entry may be anything that JAX unpickles, so nothing is read that somebody else could have
    written: the folder and every entry belong to this user, and nobody else may write to them.

    Args:
        folder: made when the first entry is written.
        limit_bytes: what all entries together may take.
    """

    def __init__(self, folder: Path, limit_bytes: int = LIMIT_BYTES):
        self.folder, self._limit_bytes = folder, limit_bytes

    @functools.cached_property
    def usable(self) -> bool:
        """Whether the folder is there, or can be made, and is this user's alone."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            whose = self.folder.stat()
            open_to_others = [p for p in self.folder.resolve().parents if _anybody_writes(p)]
        except OSError as error:
            _log.debug("compiled programs are not kept: %s", error)
            return False
        if _is_own(whose) and not open_to_others:
            return True
        _log.warning(
            "%s: compiled programs are not kept, because others may write there; make it a folder "
            "of your own (chmod 700), or name one in %s",
            self.folder,
            VARIABLE,
        )
        return False

    def read(self, key: str) -> bytes | None:
        """An entry, if it is there and whole; one that is damaged is taken away."""
        path = self._path(key)
        if not self.usable:
            return None
        try:
            with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb") as file:
                about = os.fstat(file.fileno())
                data = file.read() if stat.S_ISREG(about.st_mode) and _is_own(about) else b""
        except OSError:
            return None
        content = _unpacked(data)
        with contextlib.suppress(OSError):
            if content is None:
                path.unlink()
            else:
                os.utime(path)
        return content

    def write(self, key: str, content: bytes) -> None:
        """Keep an entry, and let go of the oldest ones where there is no room."""
        if not self.usable:
            return
        packed = zlib.compress(content, 1)
        digest = hashlib.sha256(packed).digest()
        try:
            with atomic_write(self._path(key)) as file:
                file.write(_MAGIC + digest + packed)
            self._path(key).chmod(0o600)
            self._make_room()
        except (OSError, ModkitError) as error:
            _log.debug("a compiled program is not kept: %s", error)

    def forget(self, key: str) -> None:
        """Take an entry away."""
        with contextlib.suppress(OSError):
            self._path(key).unlink()

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{_SUFFIX}"

    def _make_room(self) -> None:
        entries = []
        for path in self.folder.iterdir():
            with contextlib.suppress(OSError):  # another process may have taken it away
                about = path.lstat()
                # Drafts count too: those of a process that was killed grow old and go.
                if path.name.endswith((_SUFFIX, ".tmp")):
                    entries.append((about.st_mtime_ns, about.st_size, path))
        total = sum(size for _, size, _ in entries)
        for _, size, path in sorted(entries):
            if total <= self._limit_bytes:
                return
            with contextlib.suppress(OSError):
                path.unlink()
            total -= size


def _unpacked(data: bytes) -> bytes | None:
    start = len(_MAGIC) + _DIGEST_BYTES
    packed = data[start:]
    if data[:start] != _MAGIC + hashlib.sha256(packed).digest():
        return None
    return zlib.decompress(packed)


def _is_own(about: os.stat_result) -> bool:
    """Whether it is this user's, and nobody else may write to it. Where nobody can say: yes."""
    if not hasattr(os, "geteuid"):
        return True
    return about.st_uid == os.geteuid() and not about.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _anybody_writes(folder: Path) -> bool:
    """Whether anybody may rename what is in a folder."""
    if not hasattr(os, "geteuid"):
        return False
    mode = folder.stat().st_mode
    return bool(mode & stat.S_IWOTH) and not mode & stat.S_ISVTX


def _folder() -> Path | None:
    named = os.environ.get(VARIABLE, "")
    if named.lower() == "off":
        return None
    if named:
        return Path(named).expanduser()
    caches = os.environ.get("XDG_CACHE_HOME", "")
    with contextlib.suppress(RuntimeError):  # nobody knows where home is
        home = Path(caches) if Path(caches).is_absolute() else Path.home() / ".cache"
        return home / "modkit" / "programs"
    return None


@functools.cache
def default_store() -> Store | None:
    """The store that the environment names; ``None`` where it is off."""
    folder = _folder()
    return None if folder is None else Store(folder)

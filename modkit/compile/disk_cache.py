"""Disk cache of compiled programs, in a folder that only the user may write to."""

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
"""Maximum size of all entries together; the least recently used are evicted."""

_MAGIC = b"modkit program 1\n"
_DIGEST_BYTES = hashlib.sha256().digest_size
_SUFFIX = ".program"
# Links are not followed, and opening a pipe does not block.
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_log = logging.getLogger(__name__)


class DiskCache:
    """Compiled programs by cache key. An entry that cannot be read counts as missing.

    The folder is created on first use, and its entries take ``limit_bytes`` at most.

    Entries are unpickled, which can run code. So the folder and each entry must belong to this
    user, and no other user may have write permission for them; entries that do not are deleted, or
    left unread in a folder of another user.
    """

    def __init__(self, folder: Path, limit_bytes: int = LIMIT_BYTES):
        self.folder, self._limit_bytes = folder, limit_bytes
        self._warned = False
        self._unweighed_bytes = limit_bytes  # the first write of a process weighs all entries

    @functools.cached_property
    def usable(self) -> bool:
        """True if the folder exists, or can be made, and only this user may write to it."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            whose = self.folder.stat()
            open_to_others = [p for p in self.folder.resolve().parents if _anybody_writes(p)]
        except OSError as error:
            self._warn(error)
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
        """The content of an entry; ``None`` if it is missing or damaged. Deletes damaged ones."""
        path = self._path(key)
        if not self.usable:
            return None
        try:
            with os.fdopen(os.open(path, _READ), "rb") as file:
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
        """Write an entry, and evict the least recently used ones above the size limit."""
        if not self.usable:
            return
        packed = zlib.compress(content, 1)
        digest = hashlib.sha256(packed).digest()
        try:
            with atomic_write(self._path(key)) as file:
                file.write(_MAGIC + digest + packed)
            self._path(key).chmod(0o600)
            self._make_room(len(packed))
        except (OSError, ModkitError) as error:
            self._warn(error)

    def _warn(self, error: Exception) -> None:
        """Log the first fault of the folder."""
        if not self._warned:
            self._warned = True
            _log.warning(
                "%s: compiled programs are not kept, so that every run compiles anew: %s; name "
                "another folder in %s, or switch the cache off: %s=off", self.folder, error,
                VARIABLE, VARIABLE,
            )  # fmt: skip

    def forget(self, key: str) -> None:
        """Delete an entry."""
        with contextlib.suppress(OSError):
            self._path(key).unlink()

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{_SUFFIX}"

    def _make_room(self, written_bytes: int) -> None:
        """Evict entries above the size limit; they are listed once per many small writes."""
        self._unweighed_bytes += written_bytes
        if self._unweighed_bytes < self._limit_bytes // 64:
            return
        self._unweighed_bytes = 0
        entries = []
        for path in self.folder.iterdir():
            with contextlib.suppress(OSError):  # another process may have deleted it
                about = path.lstat()
                # Drafts of killed processes count too, and are evicted by age.
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
    try:
        return zlib.decompress(packed)
    except zlib.error:
        return None


def _is_own(about: os.stat_result) -> bool:
    """True if only this user may write to it; always true on systems without POSIX user ids."""
    if not hasattr(os, "geteuid"):
        return True
    return about.st_uid == os.geteuid() and not about.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _anybody_writes(folder: Path) -> bool:
    """True if every user may rename the entries of a folder."""
    if not hasattr(os, "geteuid"):
        return False
    mode = folder.stat().st_mode
    return bool(mode & stat.S_IWOTH) and not mode & stat.S_ISVTX


def _folder() -> Path | None:
    named = os.environ.get(VARIABLE, "")
    if named.lower() == "off":
        return None
    caches = Path(os.environ.get("XDG_CACHE_HOME", ""))
    try:
        if named:
            return Path(named).expanduser().absolute()
        return (caches if caches.is_absolute() else Path.home() / ".cache") / "modkit" / "programs"
    except (RuntimeError, OSError) as error:  # an unknown home folder, a deleted working directory
        if named:
            _log.warning("%s=%s: compiled programs are not kept: %s", VARIABLE, named, error)
        return None


@functools.cache
def default_cache() -> DiskCache | None:
    """The cache in the folder named by the environment; ``None`` if it is switched off."""
    folder = _folder()
    return None if folder is None else DiskCache(folder)

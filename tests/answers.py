"""Calls of the readers of files.

A file is either read, or answered by one of modkit's own errors that names the file, the place
and the reason; within a second, in memory that the size of the file bounds, and without running
or importing anything.
"""

import codecs
import functools
import math
import re
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path
from unittest import mock

from modkit.errors import MXNetError
from modkit.io import image_decoding
from modkit.io.image_decoding import open_image
from tests.readers import READERS

MOST_SECONDS = 10  # of the reader's own thread: a second is meant, and machines are busy
_FORBIDDEN = (
    "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.remove", "os.rename",
    "os.mkdir", "os.rmdir", "os.chmod", "os.putenv", "subprocess.Popen", "exec", "socket.",
    "shutil.", "ctypes.", "code.__new__", "marshal.loads", "pickle.find_class", "urllib.",
    "webbrowser.", "setopencodehook", "sys.setprofile", "sys.settrace",
)  # fmt: skip
_seen: list[str] | None = None


def _listen(event, arguments):
    if _seen is None:
        return
    if event.startswith(_FORBIDDEN):
        _seen.append(f"{event}{arguments!r}"[:200])
    elif event == "import" and arguments[0].partition(".")[0] not in sys.modules:
        _seen.append(f"import {arguments[0]}")
    elif event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+"):
        _seen.append(f"open{arguments!r}"[:200])


@functools.cache
def _start_listening():
    # What Python imports the first time that it needs it.
    for name in ("cp437", "latin-1", "raw_unicode_escape", "unicode_escape", "utf-8"):
        codecs.lookup(name)
    sys.addaudithook(_listen)


@functools.cache
def warm():
    """Read all good files once, so that what is imported at first use is there."""
    for reader in READERS.values():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"good{reader.ending}"
            for content in reader.seeds():
                path.write_bytes(content)
                reader.read(path)


class BadAnswer(AssertionError):
    """A reader did what no reader should do."""


def ask(reader, path, *, measure=False):
    """The error that a reader answers a file with, or ``None`` where it reads it.

    Args:
        reader: one of READERS.
        path: of the file.
        measure: count the memory too, which is slow.

    Raises:
        BadAnswer: it took too long or too much, did something else than read, or its error does
            not say enough.
    """
    global _seen
    _start_listening()
    warm()
    if measure:
        tracemalloc.start()
    begun, error, pixels = time.thread_time(), None, [0]

    def opened(data):
        image = open_image(data)
        pixels.append(math.prod(image.size))
        return image

    _seen = []
    try:
        with mock.patch.object(image_decoding, "open_image", opened):
            reader.read(path)
    except MXNetError as raised:
        error = raised
    finally:
        seen, _seen = _seen, None
        taken = time.thread_time() - begun
        peak = tracemalloc.get_traced_memory()[1] if measure else 0
        tracemalloc.stop()
    size = path.stat().st_size
    if seen:
        raise BadAnswer(f"{reader.name}: did {seen}")
    if taken > MOST_SECONDS * (5 if measure else 1):  # counting is slow
        raise BadAnswer(f"{reader.name}: took {taken:.1f} s")
    if peak > most_memory(size, max(pixels)):
        raise BadAnswer(f"{reader.name}: took {peak} bytes for a file of {size}")
    if error is not None:
        _check_words(reader, path, str(error))
    return error


def most_memory(size_bytes, pixels):
    """The most bytes that a reader may allocate for a file.

    Args:
        size_bytes: of the file; each byte of text may become objects.
        pixels: of the largest image, whose header may be damaged. Readers allocate up to 22 bytes a
            pixel, for colours in float32 and copies of them.
    """
    return 400 * size_bytes + 4 * 2**20 + 28 * pixels


def _check_words(reader, path, message):
    if path.name not in message and (not reader.beside or reader.beside not in message):
        raise BadAnswer(f"{reader.name}: the error does not name the file: {message}")
    if not re.search(f"{reader.place}|the file is empty", message):
        raise BadAnswer(f"{reader.name}: the error does not say where: {message}")
    reason = message.replace(str(path), "")
    if not re.search(r"\w{3}", re.sub(reader.place, "", reason) if reader.place else reason):
        raise BadAnswer(f"{reader.name}: the error gives no reason: {message}")

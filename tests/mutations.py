"""Damage that keeps a file's structure: JSON, pickles, archives, images and records stay such."""

import io
import itertools
import json
import pickletools
import struct
import zipfile
import zlib

from tests.damage import SIZES, forge

WORDS = ["", "null", "None", "-1", "0", "1e400", "(((", "(3, 3)", "(1099511627776, 1099511627776)",
         "1000000000000", "9" * 30, "nan", "RNN", "Custom", "Convolution", "one_hot", "Reshape",
         "SliceChannel", "Concat", "num_outputs", "num_args", "depth", "pad", "__shape__",
         "__init__", '["uniform", {"scale": []}]', "\ud800"]  # fmt: skip
VALUES = [None, True, -1, 0.5, 2**40, 2**63, [], {}, [[0, 0, 0]], [[]], *WORDS]


def mutated(chance, reader, seeds):
    """A damaged copy of a good file: half of them by structure, half byte by byte.

    Args:
        chance: a `random.Random`.
        reader: one of READERS.
        seeds: contents of good files.
    """
    content = chance.choice(seeds)
    by_structure = _structure(content, reader.ending)
    if by_structure and chance.random() < 0.5:
        for _ in range(chance.randint(1, 3)):
            try:
                content = by_structure(chance, content)
            except (ValueError, LookupError, struct.error, zipfile.BadZipFile, zlib.error):
                break  # damaged too much to be parsed again
        return content
    for _ in range(chance.randint(1, 4)):
        content = _bytes(chance, content, seeds)
    return content


def _structure(content, ending):
    if ending == ".json":
        return _json
    if content.startswith(b"PK"):
        return _archive
    if content.startswith(b"\x89PNG"):
        return _png
    if content.startswith(struct.pack("<I", 0xCED7230A)):
        return _records
    if content.startswith(b"\x93NUMPY"):
        return _npy
    if ending == ".states":
        return _pickle
    return _lines if ending in (".csv", ".txt", ".lst", ".idx") else None


def _bytes(chance, content, seeds):
    at, count = chance.randrange(len(content) + 1), chance.randint(1, 40)
    match chance.randrange(6):
        case 0:
            return content[:at]
        case 1:
            return content[:at] + chance.randbytes(count % 8) + content[at + count % 8 :]
        case 2:
            return forge(content, at, chance.choice(SIZES), chance.choice((1, 2, 4, 8)))
        case 3:
            return content[:at] + content[at + count :]
        case 4:
            return content[: at + count] + content[at:]
        case _:
            return content[:at] + chance.choice(seeds)[at:]


def _json(chance, content):
    document = json.loads(content)
    holders = [document]
    for each in holders:
        inner = each.values() if isinstance(each, dict) else each
        holders += [value for value in inner if isinstance(value, dict | list) and value]
    holder = chance.choice(holders)
    key = chance.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
    match chance.randrange(4):
        case 0:
            del holder[key]
        case 1 if isinstance(holder, dict):
            holder[chance.choice(WORDS)] = holder.pop(key)
        case 2:
            other = chance.choice(holders)
            holder[key] = json.loads(json.dumps(other))
        case _:
            holder[key] = chance.choice(VALUES)
    return json.dumps(document).encode()


def _pickle(chance, content):
    places = [place for _, _, place in pickletools.genops(content)] + [len(content)]
    ops = [content[a:b] for a, b in itertools.pairwise(places)]
    at, other = chance.randrange(len(ops)), chance.randrange(len(ops))
    match chance.randrange(4):
        case 0:
            del ops[at]
        case 1:
            ops.insert(at, ops[other])
        case 2:
            ops[at], ops[other] = ops[other], ops[at]
        case _:
            ops[at:at] = [ops[other]] * chance.choice((2, 100, 10_000))
    return content[: places[0]] + b"".join(ops)


def _npy(chance, content):
    size = int.from_bytes(content[8:10], "little")
    text, rest = content[10 : 10 + size].decode("latin1"), content[10 + size :]
    old = chance.choice(["(", ")", ",", "'<f4'", "'<i8'", "False", "'shape'", "descr", "2", "{"])
    new = chance.choice([*WORDS, "True", "'|O'", "'<U9'", "[('a', '<f4')]", "(" * 500, "'''", "-"])
    text = text.replace(old, new, chance.choice((1, -1)))[:60_000].encode("latin1", "replace")
    return content[:8] + struct.pack("<H", len(text)) + text + rest


def _archive(chance, content):
    made, damage = io.BytesIO(), chance.choice((_npy, None))
    method = chance.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA))
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(made, "w", method) as new:
        for name in old.namelist():
            entry = old.read(name)
            new.writestr(name, damage(chance, entry) if damage else entry[: chance.randrange(300)])
    return made.getvalue()


def _png(chance, content):
    chunks, at = [], 8
    while at < len(content):
        (size,) = struct.unpack_from(">I", content, at)
        chunks.append(content[at + 4 : at + 8 + size])
        at += 12 + size
    at = chance.randrange(len(chunks))
    match chance.randrange(3):
        case 0:
            del chunks[at]
        case 1:
            chunks.insert(chance.randrange(len(chunks)), chunks[at])
        case _:
            place = chance.randrange(4, len(chunks[at]) + 1)
            forged = struct.pack(">I", chance.choice((0, 1, 9, 4000, 10**5, 2**31 - 1)))
            chunks[at] = chunks[at][:place] + forged + chunks[at][place + 4 :]
    body = [struct.pack(">I", len(c) - 4) + c + struct.pack(">I", zlib.crc32(c)) for c in chunks]
    return content[:8] + b"".join(body)


def _records(chance, content):
    records, at = [], 0
    while at + 8 <= len(content):
        size = struct.unpack_from("<I", content, at + 4)[0] & (2**29 - 1)
        records.append(content[at + 8 : at + 8 + size])
        at += 8 + size + -size % 4
    number = chance.randrange(len(records))
    records[number] = _bytes(chance, records[number], records)
    return b"".join(
        struct.pack("<II", 0xCED7230A, len(r)) + r + bytes(-len(r) % 4) for r in records
    )


def _lines(chance, content):
    words = content.replace(b"\n", b" \n ").split(b" ")
    words[chance.randrange(len(words))] = chance.choice(WORDS).encode("utf-8", "replace")
    return b" ".join(words)

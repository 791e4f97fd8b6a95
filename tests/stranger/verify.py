#!/usr/bin/env python3
"""Verifies a record or an export of prereg, knowing nothing of it but docs/record-format.md and docs/protocol.md.

    python3 verify.py RECORD|EXPORT

Prints `verified N HEAD`, `diverged ENTRY CODE: why` or `cannot check: why`, and exits with 0, 5 or 1. Rules that it does not
know are never verified. Of a record it reads the entries; the derived tables are for whoever wrote them.
"""
import hashlib
import sqlite3
import sys

from engine import Engine
from values import Diverged, Unsure, canonical, digest, is_digest, parse

GENESIS = bytes(32)


def sha(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def entry_digest(previous, seq, body):
    return sha(b"prereg-entry/1\n", previous, seq.to_bytes(8, "big"), len(body).to_bytes(8, "big"), body)


def commitment(salt, name, value):
    name_salt = sha(b"prereg-salt/1\n", salt, name.encode())
    return sha(b"prereg-commitment/1\n", name_salt, canonical(value)).hex()


def read_export(data):
    """Yields the header, then (seq, digest, body, opening) of each line."""
    lines = data.split(b"\n")
    if not data:
        raise Diverged(0, "not-a-record", "the file is empty")
    header = lines[0]
    try:
        told = parse(header)
        named = told.pop("digest")
    except (ValueError, AttributeError, KeyError) as error:
        raise Diverged(0, "not-a-record", f"no header: {error}")
    if named != digest(told) or told.get("format") != "prereg-export" or canonical({**told, "digest": named}) != header:
        raise Diverged(0, "not-a-record", "the first line is not a header")
    if isinstance(told.get("version"), int) and told["version"] > 1:
        raise Unsure(f"version {told['version']} of the export")
    if set(told) != {"entries", "format", "head", "sealed", "study", "version"}:
        raise Diverged(0, "not-a-record", "the header has other keys")
    yield told
    for place, line in enumerate(lines[1:-1], 1):
        try:
            yield split_line(line)
        except ValueError as error:
            raise Diverged(place, "line-syntax", str(error))
    if lines[-1]:
        raise Diverged(0, "line-syntax", "the last line has no end")


def split_line(line):
    """Takes a line apart without losing the bytes of its parts; they are canonical, so they can be made again."""
    told = parse(line)
    if not isinstance(told, dict) or set(told) - {"opening"} != {"body", "digest", "seq"} or not is_digest(told["digest"]):
        raise ValueError("the line is no entry")
    body, opening = canonical(told["body"]), told.get("opening")
    if canonical(told) != line:
        # Either the line is spelled otherwise, or its body or opening is: the latter is looked at after the digest.
        start = line.find(b'{"body":') + 8
        end = line.rfind(b',"digest":"' + told["digest"].encode())
        body = line[start:end]
        opened = b"" if opening is None else b',"opening":' + canonical(opening)
        if b'{"body":' + body + b',"digest":"%s"%s,"seq":%d}' % (told["digest"].encode(), opened, told["seq"]) != line:
            raise ValueError("the line is not spelled as entries are")
    return told["seq"], told["digest"], body, opening


def read_record(path):
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    connection.text_factory = bytes
    pragma = lambda name: connection.execute(f"PRAGMA {name}").fetchone()[0]
    if pragma("application_id") != 0x70726567:
        raise Diverged(0, "not-a-record", "the database is none of prereg's")
    if pragma("user_version") != 3:
        raise Unsure("another version of the tables")
    yield None
    for seq, found, body, opening in connection.execute("SELECT seq, digest, body, opening FROM entries ORDER BY seq"):
        value = None
        if opening is not None:
            try:
                value = parse(opening)
                if canonical(value) != opening:
                    raise ValueError("the opening is not canonical")
            except ValueError as error:
                raise Diverged(seq, "body-form", str(error))
        yield seq, found.hex(), body, value


def check_form(body):
    """Reads a body, which must be spelled as it is, and have what a body has."""
    value = parse(body)
    if canonical(value) != body:
        raise ValueError("the body is not canonical")
    if not isinstance(value, dict) or set(value) != {"command", "ruling", "sealed"}:
        raise ValueError("the body has other keys")
    command, ruling, sealed = value["command"], value["ruling"], value["sealed"]
    if set(command) - {"clock"} != {"action", "actor", "at", "key"} or not isinstance(command["at"], int):
        raise ValueError("the command has other keys")
    clock = command.get("clock", {"behind": 1})
    if not clock or set(clock) - {"behind", "jumped"} or not all(type(one) is int and one for one in clock.values()):
        raise ValueError("the clock is none")
    if len(ruling) != 1 or not isinstance(ruling.get("granted", ruling.get("refused")), (list, dict)):
        raise ValueError("the ruling is none")
    if not all(is_digest(one) for one in sealed.values()):
        raise ValueError("a commitment is no digest")
    return command, ruling, sealed


def verify(path):
    with open(path, "rb") as file:
        data = file.read()
    rows = read_record(path) if data.startswith(b"SQLite format 3\0") else read_export(data)
    header = next(rows)
    withholds = bool(header and header["sealed"])
    engine, previous, last, unsure = Engine(), GENESIS, 0, None
    for seq, found, body, opening in rows:
        if seq != last + 1:
            raise Diverged(last + 1, "sequence", f"entry {seq} stands there")
        if entry_digest(previous, seq, body).hex() != found:
            raise Diverged(seq, "digest", "it does not follow from the body and the entry before")
        try:
            command, ruling, sealed = check_form(body)
            values = opened(opening, sealed, withholds, seq)
            if unsure is None:
                engine.entry(seq, command, ruling, sealed, values)
        except Unsure as error:
            # The chain and the commitments are checked to the end all the same.
            unsure = unsure or f"entry {seq}: {error}"
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise Diverged(seq, "body-form", repr(error))
        if withholds and opening is not None:
            raise Diverged(seq, "line-syntax", "an opening stands where none should")
        previous, last = bytes.fromhex(found), seq
    if last == 0:
        raise Diverged(0, "not-a-record", "there are no entries")
    if header and (header["entries"], header["head"]) != (last, previous.hex()):
        raise Diverged(0, "head-differs", "the header says otherwise")
    if unsure:
        raise Unsure(unsure)
    if header and header["study"] != engine.protocol["study"]["id"]:
        raise Diverged(0, "head-differs", "the header names another study")
    return last, previous.hex()


def opened(opening, sealed, withholds, seq):
    """Returns the values that an entry seals; nothing where they are withheld."""
    if opening is None:
        if sealed and not withholds:
            raise Diverged(seq, "commitment", "what it seals is not opened")
        return None if sealed else {}
    if set(opening) != {"salt", "values"} or not is_digest(opening["salt"]):
        raise ValueError("the opening has other keys")
    salt = bytes.fromhex(opening["salt"])
    if {name: commitment(salt, name, value) for name, value in opening["values"].items()} != sealed:
        raise Diverged(seq, "commitment", "a value does not open its commitment")
    return opening["values"]


def main():
    sys.setrecursionlimit(10_000)
    try:
        last, head = verify(sys.argv[1])
    except Diverged as found:
        print(f"diverged {found.entry} {found.code}: {found.why}")
        return 5
    except sqlite3.DatabaseError as error:
        print(f"diverged 0 not-a-record: {error}")
        return 5
    except (Unsure, OSError) as error:
        print(f"cannot check: {error}")
        return 1
    print(f"verified {last} {head}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Verify an Orgate journal, format 2, offline: a database or an exported file.

This program shares no code with Orgate. It was written from docs/journal-format.md alone and needs
nothing but Python 3.9 or newer. It never writes to what it verifies.
"""
import argparse
import base64
import hashlib
import json
import os
import re
import sqlite3
import sys

ZEROS = "0" * 64
SAFE = 2**53 - 1
HEX64 = re.compile(r"[0-9a-f]{64}")
SALT = re.compile(r"[0-9a-f]{32}")
KEY_ID = re.compile(r"k_[0-9a-f]{24}")
NAME = r"[A-Za-z0-9_.-]{1,100}"
STREAM = re.compile(rf"{NAME}(:{NAME})?")
WRITER = re.compile(NAME)
PERSON = re.compile(r"[a-z][a-z0-9_-]{0,31}")
KIND = re.compile(r"[a-z]+(?:[.-][a-z]+)*(?:@(?:[2-9]|[1-9][0-9]+))?")
COUNT = r"[1-9][0-9]{0,15}"
WROTE = re.compile(rf"({NAME}(?::{NAME})?)#({COUNT}):([0-9a-f]{{64}})")
SEEN_SEAL = re.compile(rf"({NAME})@({COUNT}):([0-9a-f]{{64}})")
SEEN_SUM = re.compile(rf"(unknowns|questions)=0:[0-9a-f]{{64}}|counts=0:0{{64}}")
AUTHORITY = frozenset(("access", "erasures", "grants", "halt", "keys", "known", "policy", "trust"))
SEALED_AT_ONCE = frozenset(
    """session.opened session.forked session.closed agent.changed hold.taken turn.started turn.ended turn.halted turn.cancel-asked
    approval.asked approval.answered approval.expired approval.consumed grant.used unknown.resolved unknown.reconcile-asked
    act.late labels.removed known.learned known.recorded child.opened child.ended input.steered input.queued context.cleared
    context.compact-asked model.chosen dead-letter.dismissed intent.refused""".split()
)


class Bad(Exception):
    """Something is not as the format says; the text is the reason."""


class Misuse(Exception):
    """The program was called in a way that verifies nothing."""


# ---------------------------------------------------------------- Ed25519 (RFC 8032)

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
WINDOW = 5


def decode_point(data):
    """The point that 32 bytes stand for, in extended coordinates; only the one encoding of each point is read."""
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & (2**255 - 1)
    if y >= P:
        raise Bad("a point of the curve is not in its one form")
    u, v = (y * y - 1) % P, (D * y * y + 1) % P
    x = u * pow(v, 3, P) * pow(u * pow(v, 7, P), (P - 5) // 8, P) % P
    if (v * x * x - u) % P != 0:
        x = x * pow(2, (P - 1) // 4, P) % P
    if (v * x * x - u) % P != 0 or (x == 0 and sign == 1):
        raise Bad("32 bytes are no point of the curve")
    if x & 1 != sign:
        x = P - x
    return (x, y, 1, x * y % P)


def prepare(point):
    """The form in which `add` takes its second point."""
    x, y, z, t = point
    return ((y - x) % P, (y + x) % P, 2 * D * t % P, 2 * z % P)


def add(point, prepared):
    x, y, z, t = point
    a, b, c, d = (y - x) * prepared[0] % P, (y + x) * prepared[1] % P, t * prepared[2] % P, z * prepared[3] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return (e * f % P, g * h % P, f * g % P, e * h % P)


NOTHING = (0, 1, 1, 0)


def multiples(point):
    """All digits of all windows times the point: a multiplication is then one addition per window."""
    table = []
    for _ in range(0, 256, WINDOW):
        row, step, sum_ = [None], prepare(point), NOTHING
        for _ in range(2**WINDOW - 1):
            sum_ = add(sum_, step)
            row.append(prepare(sum_))
        table.append(row)
        point = add(sum_, step)
    return table


def add_multiple(point, table, scalar):
    for row in table:
        digit = scalar & (2**WINDOW - 1)
        if digit:
            point = add(point, row[digit])
        scalar >>= WINDOW
    return point


BASE = multiples(decode_point(bytes.fromhex("58" + "66" * 31)))
KEY_TABLES = {}


def is_signed(public_key, text, signature):
    """Whether the signature (base64) over the text is one of the public key (`ed25519:…`)."""
    key, signed = decode_key(public_key), decode_base64(signature, 64)
    if key not in KEY_TABLES:
        x, y, z, t = decode_point(key)
        KEY_TABLES[key] = multiples((P - x, y, z, P - t))
    s = int.from_bytes(signed[32:], "little")
    if s >= L:
        return False
    k = int.from_bytes(hashlib.sha512(signed[:32] + key + utf8(text)).digest(), "little") % L
    x, y, z, _ = add_multiple(add_multiple(NOTHING, BASE, s), KEY_TABLES[key], k)
    inverse = pow(z, P - 2, P)
    x, y = x * inverse % P, y * inverse % P
    return (y | (x & 1) << 255).to_bytes(32, "little") == signed[:32]


def decode_base64(text, size):
    """Strict: encoding the bytes again must give the same text, so unused bits are zero and nothing is skipped."""
    try:
        data = base64.b64decode(text, validate=True)
    except (ValueError, TypeError):
        raise Bad("base64 is expected")
    if len(data) != size or base64.b64encode(data).decode() != text:
        raise Bad(f"base64 of {size} bytes is expected")
    return data


def decode_key(public_key):
    if not isinstance(public_key, str) or not public_key.startswith("ed25519:"):
        raise Bad("a public key begins with `ed25519:`")
    return decode_base64(public_key[8:], 32)


# ---------------------------------------------------------------- texts, hashes, JSON (RFC 8785)


def utf8(text):
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise Bad("it is not UTF-8")


def sha256(text):
    return hashlib.sha256(utf8(text)).hexdigest()


def joined(*parts):
    return "\n".join(map(str, parts))


def payload_hash(salt, payload):
    return sha256(joined("orgate-payload-1", salt, payload))


def entry_hash(previous, stream, seq, header):
    """`header` is (at, kind, payloadHash)."""
    return sha256(joined("orgate-entry-1", previous, stream, seq, *header))


def key_id(public_key):
    return "k_" + sha256(public_key)[:24]


def length(text):
    """In UTF-16 code units."""
    return len(text) + sum(1 for c in text if c > "\uffff") if not text.isascii() else len(text)


# A string as RFC 8785 writes it: short escapes where there are any, \u00xx for the other control characters, nothing else escaped.
STRING = re.compile(r'"[^"\\\x00-\x1f]*(?:\\(?:["\\bfnrt]|u00(?:0[0-7be-f]|1[0-9a-f]))[^"\\\x00-\x1f]*)*"')
UNTIDY = re.compile(r'["\\\s]')


def number_text(value):
    """A number as ECMAScript writes it. Python finds the same shortest digits and lays them out in another way."""
    if value == 0:
        return "0"
    if value < 0:
        return "-" + number_text(-value)
    mantissa, _, exponent = repr(value).partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    point = len(whole) + int(exponent or 0)
    digits = (whole + fraction).lstrip("0")
    point -= len(whole + fraction) - len(digits)
    digits = digits.rstrip("0")
    if 0 < point <= 21:
        return digits.ljust(point, "0") if len(digits) <= point else f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return "0." + "0" * -point + digits
    head = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
    return f"{head}e{'+' if point > 0 else '-'}{abs(point - 1)}"


def read_int(text):
    value = int(text) if len(text) < 400 else 2**1100
    if abs(value) <= SAFE:
        if text == "-0":
            raise Bad("-0 is not how 0 is written")
        return value
    return read_float(text)


def read_float(text):
    value = float(text)
    if value in (float("inf"), float("-inf")) or number_text(value) != text:
        raise Bad(f"the number {text[:40]} is not in the form of RFC 8785")
    return value


def read_constant(text):
    raise Bad(f"{text} is no JSON")


def read_object(pairs):
    found = dict(pairs)
    keys = [key for key, _ in pairs]
    if len(keys) > 1:
        order = keys if all(map(str.isascii, keys)) else [key.encode("utf-16-be", "surrogatepass") for key in keys]
        if any(a >= b for a, b in zip(order, order[1:])):
            raise Bad("keys are not sorted, or one stands twice")
    return found


READER = json.JSONDecoder(
    object_pairs_hook=read_object, parse_int=read_int, parse_float=read_float, parse_constant=read_constant
)


def read_json(text):
    """The value of a JSON text, which must be in its one form."""
    utf8(text)
    try:
        value = READER.decode(text)
    except (ValueError, RecursionError):
        raise Bad("it is not JSON")
    if UNTIDY.search(STRING.sub("", text)):
        raise Bad("it is not in the form of RFC 8785")
    return value


def write_json(value):
    """Enough for what is signed or compared: texts in objects and lists."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def demand(condition, reason):
    if not condition:
        raise Bad(reason)


def is_count(value, least=1):
    return type(value) is int and least <= value <= SAFE


def matches(pattern, value):
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def has_fields(value, names):
    return isinstance(value, dict) and sorted(value) == sorted(names.split())


# ---------------------------------------------------------------- keys


UNTRUSTED = "the trusted root key is none of this journal's root keys"


class Keys:
    """The stream `keys`, folded: whose signature counts."""

    def __init__(self):
        self.holders = {}  # id of each key -> (its public key, what it is of)
        self.roots = []
        self.withdrawn = set()

    def fold(self, kind, payload):
        if kind == "key.certified":
            self.certify(payload)
        elif kind == "key.rotated":
            self.rotate(payload)
        elif kind == "key.withdrawn":
            self.withdraw(payload)
        else:
            raise Bad(f"`{kind}` does not belong into the stream `keys`")

    def certify(self, payload):
        demand(has_fields(payload, "by key of publicKey signature"), "a certificate has other fields")
        of, key, public_key = payload["of"], payload["key"], payload["publicKey"]
        is_root = of == {"kind": "root"}
        is_writer = has_fields(of, "kind writer") and of["kind"] == "writer" and matches(WRITER, of["writer"])
        is_person = has_fields(of, "kind name") and of["kind"] == "person" and matches(PERSON, of["name"])
        demand(is_root or is_writer or is_person, "a certificate does not say whose key it is")
        self.expect_new(key, public_key)
        demand(is_root == (not self.roots), "the first certificate, and no other, is the root's of itself")
        demand(payload["by"] == (key if is_root else self.roots[-1]), "a certificate is not by the root key of its moment")
        signer = public_key if is_root else self.holders[self.roots[-1]][0]
        text = joined("orgate-certificate-1", write_json({name: payload[name] for name in ("by", "key", "of", "publicKey")}))
        demand(is_signed(signer, text, payload["signature"]), "the signature of a certificate is wrong")
        self.holders[key] = (public_key, ("root",) if is_root else (of["kind"], of.get("writer") or of.get("name")))
        if is_root:
            self.roots.append(key)

    def rotate(self, payload):
        demand(has_fields(payload, "byNew byOld from publicKey to"), "a rotation has other fields")
        demand(self.roots and payload["from"] == self.roots[-1], "a rotation is not from the root key of its moment")
        self.expect_new(payload["to"], payload["publicKey"])
        text = joined("orgate-rotation-1", write_json({name: payload[name] for name in ("from", "publicKey", "to")}))
        demand(is_signed(self.holders[payload["from"]][0], text, payload["byOld"]), "the old root key did not sign the rotation")
        demand(is_signed(payload["publicKey"], text, payload["byNew"]), "the new root key did not sign the rotation")
        self.holders[payload["to"]] = (payload["publicKey"], ("root",))
        self.roots.append(payload["to"])

    def withdraw(self, payload):
        demand(has_fields(payload, "by key reason"), "a withdrawal has other fields")
        key = payload["key"]
        demand(isinstance(key, str) and key in self.holders, "a key is withdrawn that was never certified")
        demand(self.holders[key][1] != ("root",), "a root key is withdrawn")
        demand(key not in self.withdrawn, "a key is withdrawn twice")
        self.withdrawn.add(key)

    def expect_new(self, key, public_key):
        decode_key(public_key)
        demand(key == key_id(public_key), "the id of a key is not that of its public key")
        demand(key not in self.holders, "a key is certified twice")

    def trusts(self, public_key):
        return any(self.holders[root][0] == public_key for root in self.roots)


# ---------------------------------------------------------------- what was found


class Report:
    """Counts, and the first bad place: lines that cannot be read, streams in order of their names, writers, rows of appends, the rest."""

    LINE, ENTRY, SEAL, ROW, REST = range(5)

    def __init__(self):
        self.counts = dict.fromkeys(("streams", "entries", "seals", "recovered", "writers", "blobs", "erased", "unsealed"), 0)
        self.what, self.stream, self.torn = "database", None, False
        self.heads, self.textless, self.still_there = {}, [], 0
        self.first, self.problems, self.has_bad_seal = None, 0, False

    def bad(self, place, reason, line=None):
        """`place` is (rank, name, number)."""
        self.problems += 1
        if self.first is None or place < self.first[0]:
            self.first = (place, str(reason), line)

    def bad_line(self, line, reason):
        self.bad((self.LINE, "", line), reason, line)

    def bad_entry(self, stream, seq, reason, line=None):
        self.bad((self.ENTRY, stream, seq), reason, line)

    def bad_seal(self, writer, number, reason, line=None):
        self.bad((self.SEAL, writer, number), reason, line)

    def bad_row(self, id_, reason):
        self.bad((self.ROW, "", id_), reason)

    def bad_rest(self, name, reason):
        self.bad((self.REST, name, 0), reason)

    def is_verified(self):
        return self.first is None and not self.torn

    def first_bad(self):
        if self.first is None:
            return None
        (rank, name, number), reason, line = self.first
        names = (f"line {number}", f"entry {number} of `{name}`", f"seal {number} of `{name}`", f"row {number} of table appends", name)
        return {"name": names[rank], "reason": reason, "line": line}

    def head(self):
        return ",".join(f"{writer}@{number}:{hash_}" for writer, (number, hash_) in sorted(self.heads.items()))


SCRATCH = """
CREATE TABLE seals (writer, number, hash, PRIMARY KEY (writer, number)) WITHOUT ROWID;
CREATE TABLE wrote (stream, seq, hash, writer, number);
CREATE TABLE seen_entries (stream, seq, hash, writer, number);
CREATE TABLE seen_seals (name, at, hash, writer, number);
CREATE TABLE streams (stream PRIMARY KEY, last) WITHOUT ROWID;
CREATE TABLE gone (stream, first, last);
CREATE TABLE erasures (stream, first, last);
CREATE TABLE refs (address, chars, sha256, stream, seq, line, PRIMARY KEY (address, chars, sha256)) WITHOUT ROWID;
CREATE TABLE blobs (address, chars, sha256);
CREATE TABLE sets (digest PRIMARY KEY, stream, seq) WITHOUT ROWID;
CREATE TABLE loaded (digest PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE named (digest, stream, seq, line, isList);
CREATE TABLE stored (digest PRIMARY KEY, text, address) WITHOUT ROWID;
CREATE TABLE texts (address, text);
"""
INDEXES = """
CREATE INDEX wrote_by_stream ON wrote (stream, seq);
CREATE INDEX wrote_by_writer ON wrote (stream, writer, seq);
CREATE INDEX seen_by_stream ON seen_entries (stream, seq);
"""


def open_scratch():
    """What must be remembered goes into a temporary file of SQLite's own, so that memory stays small however long the journal is."""
    scratch = sqlite3.connect("", isolation_level=None)
    scratch.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;" + SCRATCH)
    return scratch


# ---------------------------------------------------------------- seals


class Seals:
    """The seals, by writer and number; what they name goes into the scratch tables."""

    FIELDS = ("writer", "number", "at", "previous", "key", "recovered", "wrote", "seen", "hash", "signature")

    def __init__(self, report, scratch, keys, follows):
        self.report, self.scratch, self.keys, self.follows = report, scratch, keys, follows
        self.writer, self.number, self.hash, self.used, self.is_bad = None, 0, ZEROS, [], False

    def take(self, seal, line=None):
        writer, number = seal["writer"], seal["number"]
        self.report.counts["seals"] += 1
        self.report.counts["recovered"] += seal["recovered"]
        if writer != self.writer:
            self.report.counts["writers"] += 1
            if self.writer is not None and not self.writer < writer:
                self.report.bad_seal(writer, number, "the seals of writers are not in order", line)
            self.writer, self.number, self.hash, self.used, self.is_bad = writer, 0, ZEROS, [], False
        mark, wrote, seen = (writer, number), [], []
        try:
            if not self.is_bad:
                wrote, seen = read_wrote(seal), read_seen(seal)
                self.check(seal, bool(wrote or seen))
        except Bad as bad:
            self.is_bad = self.report.has_bad_seal = True  # what it and the writer's later ones say is not followed
            self.report.bad_seal(writer, self.number + 1 if self.follows and number > self.number + 1 else number, bad, line)
        if not self.is_bad:
            self.number, self.hash = mark[1], seal["hash"]
            self.report.heads[writer] = (number, seal["hash"])
            self.put_seen("seen_entries", [item[1:] + mark for item in seen if item[0] == "#"])
            self.put_seen("seen_seals", [item[1:] + mark for item in seen if item[0] == "@"])
            self.scratch.execute("INSERT INTO seals VALUES (?, ?, ?)", (*mark, seal["hash"]))
            self.scratch.executemany("INSERT INTO wrote VALUES (?, ?, ?, ?, ?)", [item + mark for item in wrote])

    def put_seen(self, table, rows):
        self.scratch.executemany(f"INSERT INTO {table} VALUES (?, ?, ?, ?, ?)", rows)

    def check(self, seal, says_something):
        writer, number, key = seal["writer"], seal["number"], seal["key"]
        demand(number > self.number, "the number stands twice")
        demand(number == self.number + 1 or not self.follows, "the seal is missing")
        if number == self.number + 1:
            demand(seal["previous"] == self.hash, "`previous` is not the hash of the seal before")
        demand(matches(HEX64, seal["previous"]) and matches(HEX64, seal["hash"]), "a hash is not 64 hexadecimal digits")
        demand(says_something, "it says nothing")
        word = "recovered" if seal["recovered"] else "own"
        parts = (writer, number, seal["at"], seal["previous"], key, word, seal["wrote"], seal["seen"])
        demand(sha256(joined("orgate-seal-2", *parts)) == seal["hash"], "its hash is not that of its fields")
        public_key, of = self.keys.holders.get(key, (None, None))
        demand(of == ("writer", writer), "its key is not certified for this writer")
        demand(key not in self.used[:-1], "its writer has gone on to another key before")
        if self.used[-1:] != [key]:
            self.used.append(key)
        demand(is_signed(public_key, joined("orgate-signed-2", seal["hash"]), seal["signature"]), "its signature is wrong")


def split_items(text, what):
    items = text.split(",") if text else []
    demand(all(a < b for a, b in zip(items, items[1:])), f"`{what}` is not sorted, or names something twice")
    return items


def read_wrote(seal):
    found, sessions = [], set()
    for item in split_items(seal["wrote"], "wrote"):
        match = WROTE.fullmatch(item)
        demand(match, "`wrote` is not in its form")
        stream = match[1]
        demand(not is_session(stream) or stream not in sessions, "`wrote` names a session twice")
        sessions.add(stream)
        found.append((stream, int(match[2]), match[3]))
    return found


def read_seen(seal):
    found, names = [], set()
    for item in split_items(seal["seen"], "seen"):
        name = item.rpartition(":")[0]
        if SEEN_SUM.fullmatch(item):
            sign = "="
        else:
            sign = "@" if "@" in item else "#"
            match = (SEEN_SEAL if sign == "@" else WROTE).fullmatch(item)
            demand(match, "`seen` is not in its form")
            name = match[1]
            demand(name != seal["writer"] if sign == "@" else name in AUTHORITY, f"`seen` may not name `{name}`")
            found.append((sign, name, int(match[2]), match[3]))
        demand((sign, name) not in names, f"`seen` names `{name}` twice")
        names.add((sign, name))
    return found


def is_session(stream):
    return stream.startswith("s_") and ":" not in stream


def check_seal_fields(seal):
    """Types and forms that everything else relies on."""
    demand(matches(WRITER, seal["writer"]), "the name of a writer is not in its form")
    demand(is_count(seal["number"]), "the number of a seal is not a whole number from 1 on")
    demand(is_count(seal["at"], 0), "`at` is not a whole number of milliseconds")
    demand(type(seal["recovered"]) is bool, "`recovered` is neither true nor false")
    demand(all(isinstance(seal[name], str) for name in ("previous", "key", "wrote", "seen", "hash", "signature")), "a field is no text")


# ---------------------------------------------------------------- streams


class Stream:
    """One stream, entry by entry. After its first bad entry it is only counted."""

    def __init__(self, name, verifier):
        self.name, self.verifier, self.report, self.scratch = name, verifier, verifier.report, verifier.scratch
        self.seq, self.hash, self.at, self.is_bad = 0, ZEROS, 0, False
        self.gone, self.keys = None, Keys() if name == "keys" else None
        self.sealed = self.scratch.execute("SELECT coalesce(max(seq), 0) FROM wrote WHERE stream = ?", (name,)).fetchone()[0]
        query = "SELECT seq, hash, writer, number FROM wrote WHERE stream = :name"
        if verifier.follows_seen:
            query += " UNION ALL SELECT seq, hash, writer, number FROM seen_entries WHERE stream = :name"
        self.named = self.scratch.execute(query + " ORDER BY seq", {"name": name})
        self.next_named = self.named.fetchone()
        self.report.counts["streams"] += 1

    def take(self, entry, line=None):
        """`entry` has seq, at, kind, salt, payload; and payloadHash, entryHash, previous where they are stored."""
        self.report.counts["entries"] += 1
        if entry["payload"] is None:
            self.report.counts["erased"] += 1
        if self.is_bad:
            return
        try:
            self.check(entry)
            self.check_seals(entry)
        except Bad as bad:
            self.fail(entry["seq"] if self.seq >= entry["seq"] - 1 else self.seq + 1, bad, line)

    def fail(self, seq, reason, line=None):
        self.is_bad = True
        self.report.bad_entry(self.name, seq, reason, line)

    def check(self, entry):
        seq = entry["seq"]
        demand(seq == self.seq + 1, "the entry is missing" if seq > self.seq + 1 else "the number stands twice")
        demand(is_count(entry["at"], 0), "`at` is not a whole number of milliseconds")
        demand(entry["at"] >= self.at, "it is earlier than the entry before")
        demand(matches(KIND, entry["kind"]), "its kind is not in the form of a kind")
        if "previous" in entry:
            demand(entry["previous"] == self.hash, "`previous` is not the hash of the entry before")
        hashed = self.check_payload(entry)
        self.hash = entry_hash(self.hash, self.name, seq, (entry["at"], entry["kind"], hashed))
        if "entryHash" in entry:
            demand(entry["entryHash"] == self.hash, "its hash is not that of its fields")
        self.seq, self.at = seq, entry["at"]

    def check_payload(self, entry):
        salt, payload = entry["salt"], entry["payload"]
        if payload is None:
            demand(salt is None, "its payload is gone, and its salt is not")
            demand(matches(HEX64, entry["payloadHash"]), "`payloadHash` is not 64 hexadecimal digits")
            self.note_erased(entry["seq"])
            return entry["payloadHash"]
        hashed = read_payload(entry)[0]
        self.verifier.note_content(self.name, entry)
        if self.keys is not None:
            self.keys.fold(entry["kind"], entry["value"])
        return hashed

    def note_erased(self, seq):
        demand(self.name not in ("keys", "erasures", "policy") and not self.name.startswith("file:"), "this stream is never erased")
        if self.gone is not None and self.gone[1] == seq - 1:
            self.gone[1] = seq
            return
        self.put_gone()
        self.gone = [seq, seq]

    def put_gone(self):
        if self.gone is not None:
            self.scratch.execute("INSERT INTO gone VALUES (?, ?, ?)", (self.name, *self.gone))

    def check_seals(self, entry):
        while self.next_named is not None and self.next_named[0] == self.seq:
            _, hash_, writer, number = self.next_named
            demand(hash_ == self.hash, f"seal {writer}@{number} names another hash of it")
            self.next_named = self.named.fetchone()
        if self.seq > self.sealed and not self.report.has_bad_seal:
            demand(not self.must_be_sealed(entry), "no seal covers it, and its like is sealed at once")

    def must_be_sealed(self, entry):
        return not is_session(self.name) or entry["kind"].partition("@")[0] in SEALED_AT_ONCE

    def end(self):
        """`seq` of the last entry is known now: what is named after it is missing, unless the file ends early."""
        self.put_gone()
        self.scratch.execute("INSERT INTO streams VALUES (?, ?)", (self.name, self.seq))
        if self.is_bad:
            return
        if self.next_named is not None and not self.report.torn:
            seq, _, writer, number = self.next_named
            self.fail(self.seq + 1, f"the entry is missing: seal {writer}@{number} names entry {seq}")
        elif self.seq > self.sealed:
            self.report.counts["unsealed"] += self.seq - self.sealed


def read_payload(entry):
    """The hash of an entry's payload, and its value; both are checked. The value is left in the entry."""
    salt, payload = entry["salt"], entry["payload"]
    demand(matches(SALT, salt), "`salt` is not 32 hexadecimal digits")
    hashed = payload_hash(salt, payload)
    demand(hashed == entry["payloadHash"], "its payload was changed")
    try:
        value = read_json(payload)
    except Bad as bad:
        raise Bad(f"its payload: {bad}")
    demand(isinstance(value, dict) and "kind" not in value, "its payload is not an object without `kind`")
    entry["value"] = value
    return hashed, value


# ---------------------------------------------------------------- the verifier


class Verifier:
    """What databases and files have in common: feed seals, then streams, then blobs, then ask for the end."""

    def __init__(self, root):
        self.root, self.report, self.scratch, self.keys = root, Report(), open_scratch(), Keys()
        self.follows_seen = True

    def note_content(self, stream, entry):
        """Keeps what the entry says about other places, until these are known."""
        kind, value, line = entry["kind"].partition("@")[0], entry["value"], entry.get("line")
        place = (stream, entry["seq"])
        self.note_blobs(value, place, line)
        if stream == "erasures" and kind == "content.erased":
            demand(
                matches(STREAM, value.get("stream")) and is_count(value.get("first")) and is_count(value.get("last")),
                "it does not say what was erased",
            )
            self.scratch.execute("INSERT INTO erasures VALUES (?, ?, ?)", (value["stream"], value["first"], value["last"]))
        elif kind in ("session.opened", "agent.changed"):
            agent = value.get("agent")
            if isinstance(agent, dict) and isinstance(agent.get("policies"), str):
                self.scratch.execute("INSERT OR IGNORE INTO sets VALUES (?, ?, ?)", (agent["policies"], *place))
        elif stream == "policy" and kind == "policy.loaded":
            self.note_loaded(value, place, line)
        elif stream == "policy" and kind == "policy.applied" and value.get("texts") is True:
            self.note_named([d for d in (value.get("files"), value.get("before")) if d is not None], place, (line, 1))
        elif kind == "policy.stored":
            self.note_stored(stream, value)

    def note_loaded(self, value, place, line):
        if value.get("texts") is not True:
            return
        demand(isinstance(value.get("digest"), str), "it does not say which set was loaded")
        self.scratch.execute("INSERT OR IGNORE INTO loaded VALUES (?)", (value["digest"],))
        self.note_named(digests_in(value.get("files")), place, (line, 0))

    def note_named(self, digests, place, line_and_form):
        demand(all(matches(HEX64, digest) for digest in digests), "a digest is not 64 hexadecimal digits")
        self.scratch.executemany("INSERT INTO named VALUES (?, ?, ?, ?, ?)", [(digest, *place, *line_and_form) for digest in digests])

    def note_stored(self, stream, value):
        digest, text, address = value.get("digest"), value.get("text"), None
        demand(stream == f"file:{digest}", "the text stands in the stream of another digest")
        if isinstance(text, dict) and "$blob" in text:
            demand(text["$blob"]["sha256"] == digest, "the digest is not that of the text")
            text, address = None, text["$blob"]["address"]
        else:
            demand(isinstance(text, str) and sha256(text) == digest, "the digest is not that of the text")
        self.scratch.execute("INSERT OR REPLACE INTO stored VALUES (?, ?, ?)", (digest, text, address))

    def note_blobs(self, value, place, line):
        for ref in blob_refs(value):
            demand(has_fields(ref, "address chars sha256"), "a reference to a blob has other fields")
            demand(isinstance(ref["address"], str) and is_count(ref["chars"], 0) and matches(HEX64, ref["sha256"]), "a reference to a blob is bad")
            row = (ref["address"], ref["chars"], ref["sha256"], *place, line)
            self.scratch.execute("INSERT OR IGNORE INTO refs VALUES (?, ?, ?, ?, ?, ?)", row)

    def take_blob(self, address, text):
        self.report.counts["blobs"] += 1
        try:
            row = (address, length(text), sha256(text))
        except Bad:
            row = (address, None, "not UTF-8")
        self.scratch.execute("INSERT INTO blobs VALUES (?, ?, ?)", row)
        if self.scratch.execute("SELECT 1 FROM stored WHERE address = ?", (address,)).fetchone():
            self.scratch.execute("INSERT INTO texts VALUES (?, ?)", (address, text))

    def end_seals(self):
        """After the last seal and before the first entry: what seals have seen of each other."""
        self.scratch.executescript(INDEXES)
        query = """SELECT n.name, n.at, n.writer, n.number, s.hash IS NULL FROM seen_seals n
          LEFT JOIN seals s ON s.writer = n.name AND s.number = n.at WHERE s.hash IS NULL OR s.hash <> n.hash"""
        for name, number, writer, by, is_missing in self.scratch.execute(query):
            if not is_missing:
                self.report.bad_seal(name, number, f"seal {writer}@{by} has seen another hash of it")
            elif self.follows_seen:
                last = self.report.heads.get(name, (0, ZEROS))[0]
                self.report.bad_seal(name, min(number, last + 1), f"the seal is missing: seal {writer}@{by} has seen {name}@{number}")

    # ------------------------------------------------ after everything was read

    def check_across(self, only=None):
        """What one place says about another. `only`: the one stream that is whole (a session's export)."""
        if not self.report.torn:
            self.check_missing_streams(only)
            self.check_blobs()
            self.check_texts()
        self.check_erasures()
        rows = "SELECT * FROM sets WHERE digest NOT IN (SELECT digest FROM loaded) ORDER BY stream, seq"
        self.report.textless = [{"digest": d, "stream": s, "seq": n} for d, s, n in self.scratch.execute(rows)]

    def check_missing_streams(self, only):
        tables = ("wrote", "seen_entries") if self.follows_seen else ("wrote",)
        for table in tables:
            query = f"SELECT stream, writer, min(number) FROM {table} WHERE stream NOT IN (SELECT stream FROM streams) GROUP BY stream"
            for stream, writer, number in self.scratch.execute(query):
                if only is None or stream == only:
                    self.report.bad_entry(stream, 1, f"the entry is missing: seal {writer}@{number} names the stream")

    def check_blobs(self):
        self.scratch.execute("CREATE INDEX blobs_by_address ON blobs (address)")
        query = """SELECT r.stream, r.seq, r.line, b.address IS NULL FROM refs r LEFT JOIN blobs b USING (address)
          WHERE b.address IS NULL OR b.chars IS NOT r.chars OR b.sha256 <> r.sha256"""
        for stream, seq, line, is_missing in self.scratch.execute(query):
            self.report.bad_entry(stream, seq, "a blob of it is missing" if is_missing else "a blob of it was changed", line)

    def check_texts(self):
        for digest, stream, seq, line, is_list in self.scratch.execute("SELECT * FROM named"):
            try:
                text = self.find_text(digest)
                for inner in digests_in(read_json(text)) if is_list else ():
                    self.find_text(inner)
            except Bad as bad:
                self.report.bad_entry(stream, seq, bad, line)

    def find_text(self, digest):
        query = "SELECT coalesce(s.text, t.text) FROM stored s LEFT JOIN texts t USING (address) WHERE s.digest = ?"
        found = self.scratch.execute(query, (digest,)).fetchone()
        demand(found is not None, f"the text {digest[:12]} of its policies is not stored")
        return found[0]

    def check_erasures(self):
        for (stream,) in self.scratch.execute("SELECT DISTINCT stream FROM gone"):
            allowed = self.erased_ranges(stream)
            for first, last in self.scratch.execute("SELECT first, last FROM gone WHERE stream = ? ORDER BY first", (stream,)):
                left = first_outside(first, last, allowed)
                if left is not None and not self.report.torn:
                    self.report.bad_entry(stream, left, "its payload is gone, and no `content.erased` says so")
                    break
        for stream, last in self.scratch.execute("SELECT DISTINCT stream, s.last FROM erasures JOIN streams s USING (stream)"):
            named = sum(max(0, min(to, last) - first + 1) for first, to in self.erased_ranges(stream))
            query = "SELECT coalesce(sum(last - first + 1), 0) FROM gone WHERE stream = ?"
            self.report.still_there += max(0, named - self.scratch.execute(query, (stream,)).fetchone()[0])

    def erased_ranges(self, stream):
        merged = []
        for first, last in self.scratch.execute("SELECT first, last FROM erasures WHERE stream = ? ORDER BY first", (stream,)):
            if merged and first <= merged[-1][1] + 1:
                merged[-1][1] = max(last, merged[-1][1])
            else:
                merged.append([first, last])
        return merged


def first_outside(first, last, ranges):
    """The first number of first … last that no range has; the ranges are sorted and do not touch."""
    for low, high in ranges:
        if low <= first <= high:
            first = high + 1
    return first if first <= last else None


def digests_in(files):
    demand(isinstance(files, list) and all(isinstance(file, dict) for file in files), "a list of policies is not in its form")
    return [file.get("digest") for file in files]


def blob_refs(value):
    """Everything that stands under a key `$blob`, at any depth."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if "$blob" in value:
                demand(len(value) == 1, "a reference to a blob has neighbours")
                yield value["$blob"]
            else:
                waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)


# ---------------------------------------------------------------- the database


class Database(Verifier):
    def __init__(self, path, root):
        super().__init__(root)
        self.db, self.folder = open_database(path), os.path.join(os.path.dirname(path), "blobs")

    def run(self):
        try:
            self.db.execute("BEGIN")
            self.check_format()
            self.read_keys()
            self.read_seals()
            self.check_positions()
            self.read_streams()
            self.read_blobs()
            self.check_across()
            if self.report.first is None and not self.keys.trusts(self.root):
                self.report.bad_entry("keys", 1, UNTRUSTED)
        except sqlite3.DatabaseError as error:
            self.report.bad_rest("the database", f"SQLite cannot read it: {error}")
        finally:
            self.db.close()
        return self.report

    def check_format(self):
        try:
            versions = self.db.execute("SELECT version FROM format LIMIT 2").fetchall()
        except sqlite3.OperationalError:
            versions = []
        if versions != [(2,)]:
            raise Misuse("it is no journal of format 2")

    def read_keys(self):
        """The certificates are needed before the first seal; their chain and their seals are checked with the other streams."""
        try:
            for append in self.appends("AND s.stream = 'keys'"):
                for entry in body_entries(append):
                    demand(entry["payload"] is not None, "erased")
                    self.keys.fold(entry["kind"], read_payload(entry)[1])
        except Bad:
            return  # the walk through `keys` names it
        if not self.keys.trusts(self.root):
            self.report.bad_entry("keys", 1, UNTRUSTED)

    def read_seals(self):
        seals = Seals(self.report, self.scratch, self.keys, follows=True)
        for row in self.db.execute(f"SELECT {', '.join(Seals.FIELDS)} FROM seals ORDER BY writer, number"):
            seal = dict(zip(Seals.FIELDS, row))
            seal["recovered"] = {0: False, 1: True}.get(seal["recovered"])
            try:
                check_seal_fields(seal)
            except Bad as bad:
                self.report.bad_seal(str(seal["writer"]), seal["number"] if is_count(seal["number"]) else 0, bad)
                continue
            seals.take(seal)
        self.end_seals()

    def check_positions(self):
        expected = 1
        for id_, count in self.db.execute("SELECT id, count FROM appends ORDER BY id"):
            if id_ != expected or not is_count(count):
                self.report.bad_row(id_, f"an append before it is missing: position {expected} is expected")
                return
            expected = id_ + count

    def appends(self, condition=""):
        """The appends of each stream in their order, the streams by name. Rows are fetched one by one, so only their places are sorted."""
        names = ("id", "count", "name", "first", "writer", "seal", "hash", "body")
        query = f"SELECT a.id FROM appends a JOIN streams s ON s.no = a.stream WHERE 1 {condition} ORDER BY s.stream, a.first, a.id"
        columns = "a.id, a.count, s.stream, a.first, a.writer, a.seal, a.hash, a.body"
        fetch = f"SELECT {columns} FROM appends a JOIN streams s ON s.no = a.stream WHERE a.id = ?"
        for (id_,) in self.db.execute(query):
            yield dict(zip(names, self.db.execute(fetch, (id_,)).fetchone()))

    def read_streams(self):
        stream = None
        for append in self.appends():
            if stream is None or stream.name != append["name"]:
                if stream is not None:
                    stream.end()
                stream = Stream(append["name"], self)
                if not matches(STREAM, stream.name):
                    stream.fail(1, "the name of the stream is not in its form")
            self.take_append(stream, append)
        if stream is not None:
            stream.end()
        query = "SELECT id, stream FROM appends WHERE stream NOT IN (SELECT no FROM streams) ORDER BY id LIMIT 1"
        for id_, number in self.db.execute(query):
            self.report.bad_row(id_, f"its stream {number} has no name")

    def take_append(self, stream, append):
        was_bad = stream.is_bad
        try:
            entries = list(body_entries(append))
        except Bad as bad:
            if not was_bad:
                stream.fail(append["first"] if is_count(append["first"]) else stream.seq + 1, bad)
            return
        for entry in entries:
            stream.take(entry)
        if stream.is_bad:
            return
        if stream.hash != append["hash"]:
            stream.fail(stream.seq, "its hash is not that of its fields")
            return
        try:
            demand(len(entries) == append["count"], "it has another number of entries")
            self.check_cover(stream, append)
        except Bad as bad:
            self.report.bad_row(append["id"], bad)

    def check_cover(self, stream, append):
        """`writer` and `seal` of an append are in no hash: the seal itself must say the same."""
        if self.report.has_bad_seal:
            return
        writer, number = append["writer"], append["seal"]
        demand(matches(WRITER, writer) and is_count(number), "`writer` or `seal` is not in its form")
        query = "SELECT number, seq FROM wrote WHERE stream = ? AND writer = ? AND seq >= ? ORDER BY seq LIMIT 1"
        found, last = self.scratch.execute(query, (stream.name, writer, stream.seq)).fetchone() or (None, 0)
        demand(any(of == ("writer", writer) for _, of in self.keys.holders.values()), f"`{writer}`, who wrote it, has no key")
        if found is None and is_session(stream.name) and not self.has_seal(writer, number):
            found = self.report.heads.get(writer, (0,))[0] + 1
        is_named = found == number and (is_session(stream.name) or last in (0, stream.seq))
        demand(is_named, f"it says that seal {writer}@{number} covers it, and the seals do not")

    def has_seal(self, writer, number):
        return self.scratch.execute("SELECT 1 FROM seals WHERE writer = ? AND number = ?", (writer, number)).fetchone() is not None

    def read_blobs(self):
        for (address,) in self.scratch.execute("SELECT DISTINCT address FROM refs"):
            for (text,) in self.db.execute("SELECT text FROM blobs WHERE address = ?", (address,)):
                text = self.read_blob_file(address) if text is None else text
                if isinstance(text, str):
                    self.take_blob(address, text)

    def read_blob_file(self, address):
        """None if there is none. An address of a forged journal must not lead elsewhere."""
        path = os.path.join(self.folder, address)
        if not re.fullmatch("[A-Za-z0-9_-]+", address) or not os.path.isfile(path):
            return None
        with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
            return file.read()


def body_entries(append):
    """The entries of one row of `appends`."""
    demand(is_count(append["first"]) and is_count(append["count"]), "`first` or `count` of its append is not a whole number")
    demand(isinstance(append["body"], str) and isinstance(append["hash"], str), "`body` or `hash` of its append is no text")
    lines = append["body"].split("\n")
    demand(lines.pop() == "", "the last line of its append has no end")
    for seq, line in enumerate(lines, append["first"]):
        parts = line.split(" ", 4)
        is_erased = len(parts) == 3
        demand(is_erased or len(parts) == 5, "its line is not in its form")
        demand(re.fullmatch("0|[1-9][0-9]{0,15}", parts[1]), "`at` is not a whole number of milliseconds")
        salt, payload = (None, None) if is_erased else parts[3:]
        yield {"seq": seq, "at": int(parts[1]), "kind": parts[0], "payloadHash": parts[2], "salt": salt, "payload": payload}


def open_database(path):
    """Read-only. Without a write-ahead log beside it nobody writes, and a folder that cannot be written to is no hindrance."""
    name = "file:" + os.path.abspath(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    log = path + "-wal"
    is_alone = not os.path.exists(log) or os.path.getsize(log) == 0
    for mode in ("mode=ro", "mode=ro&immutable=1") if is_alone else ("mode=ro",):
        try:
            db = sqlite3.connect(f"{name}?{mode}", uri=True, isolation_level=None, timeout=10)
            db.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
            db.execute("SELECT count(*) FROM sqlite_master").fetchone()
            return db
        except sqlite3.DatabaseError as error:
            reason = error
    raise Misuse(f"{path} cannot be opened as a database: {reason}")


# ---------------------------------------------------------------- an exported file


class Export(Verifier):
    ORDER = ("header", "seal", "entry", "blob", "end")
    FIELDS = {
        "header": "format head keys kind root stream what",
        "seal": "at hash key kind number previous recovered seen signature writer wrote",
        "entry": "at entryHash event kind payload payloadHash previous proof salt seq stream",
        "blob": "address kind text",
        "end": "blobs entries kind seals",
    }

    def __init__(self, path, root):
        super().__init__(root)
        self.path, self.stage, self.header, self.stream = path, -1, None, None
        self.place, self.proved, self.address = (False, ""), None, ""  # the last stream, entry with a proof, blob: each rises
        self.told_keys, self.ended = [], None

    def run(self):
        with open(self.path, "rb") as file:
            number = 0
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    break  # the last line may be incomplete
                self.read_line(number, line[:-1])
        self.report.torn = self.ended is None
        self.leave_stream()
        if self.header is None and self.report.first is None:
            raise Misuse("the file has not one whole line: nothing was verified")
        if self.header is None:
            return self.report
        self.check_end()
        self.check_across(only=self.header["stream"])
        return self.report

    def read_line(self, number, data):
        try:
            line = read_json(data.decode("utf-8"))
            demand(isinstance(line, dict) and line.get("kind") in self.ORDER, "it is no line of an export")
            kind = line["kind"]
            demand(has_fields(line, self.FIELDS[kind]), f"a line `{kind}` has other fields")
            stage = self.ORDER.index(kind)
            once = kind in ("header", "end")
            demand(stage > self.stage or (stage == self.stage and not once), f"a line `{kind}` may not stand here")
            demand(stage == 0 or self.header is not None, "the file does not begin with its header")
            self.enter(stage)
            getattr(self, "read_" + kind)(line, number)
        except UnicodeDecodeError:
            self.report.bad_line(number, "it is not UTF-8")
        except Bad as bad:
            self.report.bad_line(number, bad)

    def enter(self, stage):
        if self.stage < 2 <= stage:
            self.end_seals()
        if self.stage == 2 < stage:
            self.leave_stream()
        self.stage = stage

    def read_header(self, line, number):
        demand(line["format"] == 2 and type(line["format"]) is int, "it is not of format 2")
        demand(line["what"] in ("journal", "session"), "it is neither a journal nor a session")
        is_session_ = line["what"] == "session"
        demand(matches(STREAM, line["stream"]) if is_session_ else line["stream"] is None, "`stream` is not in its form")
        demand((line["head"] is None) == is_session_, "a journal has a head, and a session has none")
        demand(isinstance(line["keys"], list), "`keys` is no list")
        self.header, self.report.what, self.report.stream = line, line["what"], line["stream"]
        self.follows_seen = not is_session_
        self.seals = Seals(self.report, self.scratch, self.keys, follows=not is_session_)
        for key in line["keys"]:
            demand(has_fields(key, "kind payload") and isinstance(key["payload"], str), "`keys` is not in its form")
            demand(key["kind"] in ("key.certified", "key.rotated"), "`keys` has something else than certificates and rotations")
            self.keys.fold(key["kind"], read_json(key["payload"]))
            self.told_keys.append((key["kind"], key["payload"]))
        demand(self.keys.roots and self.keys.holders[self.keys.roots[0]][0] == line["root"], "`root` is not the first root key")
        demand(self.keys.trusts(self.root), UNTRUSTED)

    def read_seal(self, line, number):
        check_seal_fields(line)
        self.seals.take(line, number)

    def read_entry(self, line, number):
        demand(matches(STREAM, line["stream"]) and is_count(line["seq"]), "`stream` or `seq` is not in its form")
        demand(is_count(line["at"], 0) and matches(KIND, line["event"]), "`at` or `event` is not in its form")
        hashes = (line["previous"], line["payloadHash"], line["entryHash"])
        demand(all(matches(HEX64, hash_) for hash_ in hashes), "a hash is not 64 hexadecimal digits")
        demand(line["payload"] is None or isinstance(line["payload"], str), "`payload` is no text")
        entry = {**line, "kind": line["event"], "line": number}
        place = (line["stream"] == self.header["stream"], line["stream"])  # of a session's export its own entries stand last
        demand(self.place <= place, "the streams are not in order")
        self.place = place
        if line["proof"] is not None:
            self.leave_stream()
            self.read_proved(entry, number)
            return
        demand(self.header["what"] == "journal" or line["stream"] == self.header["stream"], "an entry of another stream has no proof")
        if self.stream is None or self.stream.name != line["stream"]:
            self.leave_stream()
            self.stream = Stream(line["stream"], self)
        if line["stream"] == "keys" and (entry["kind"], line["payload"]) in self.told_keys:
            self.told_keys.remove((entry["kind"], line["payload"]))
        self.stream.take(entry, number)

    def read_proved(self, entry, number):
        """An entry without its neighbours: its hash, and links to one that a seal names."""
        stream, seq, counts = entry["stream"], entry["seq"], self.report.counts
        demand(self.header["what"] == "session" and stream != self.header["stream"], "an entry that needs no proof has one")
        if self.proved is None or self.proved[0] != stream:
            counts["streams"] += 1
        demand(self.proved is None or self.proved < (stream, seq), "entries are not in order, or one stands twice")
        self.proved, counts["entries"] = (stream, seq), counts["entries"] + 1
        try:
            self.check_proof(entry)
        except Bad as bad:
            self.report.bad_entry(stream, seq, bad, number)

    def check_proof(self, entry):
        stream, seq, proof = entry["stream"], entry["seq"], entry["proof"]
        demand(entry["payload"] is not None, "its payload is gone")
        hashed = read_payload(entry)[0]
        hash_ = entry_hash(entry["previous"], stream, seq, (entry["at"], entry["kind"], hashed))
        demand(hash_ == entry["entryHash"], "its hash is not that of its fields")
        demand(has_fields(proof, "links number writer") and isinstance(proof["links"], list), "its proof is not in its form")
        demand(is_count(proof["number"]) and isinstance(proof["writer"], str), "its proof is not in its form")
        at = entry["at"]
        for link in proof["links"]:
            demand(has_fields(link, "at event payloadHash") and is_count(link["at"], at), "a link of its proof is not in its form")
            demand(matches(KIND, link["event"]) and matches(HEX64, link["payloadHash"]), "a link of its proof is not in its form")
            seq, at = seq + 1, link["at"]
            hash_ = entry_hash(hash_, stream, seq, (at, link["event"], link["payloadHash"]))
        query = "SELECT hash FROM wrote WHERE writer = ? AND number = ? AND stream = ? AND seq = ?"
        named = self.scratch.execute(query, (proof["writer"], proof["number"], stream, seq)).fetchone()
        demand(named is not None, f"seal {proof['writer']}@{proof['number']}, which its proof names, does not name it")
        demand(named[0] == hash_, "its proof leads to another hash than the seal names")
        self.note_content(stream, entry)

    def leave_stream(self):
        if self.stream is not None:
            self.stream.end()
            self.stream = None

    def read_blob(self, line, number):
        demand(isinstance(line["address"], str) and isinstance(line["text"], str), "`address` or `text` is no text")
        demand(self.address < line["address"], "the blobs are not in order, or one stands twice")
        self.address = line["address"]
        self.take_blob(self.address, line["text"])
        query = "SELECT 1 FROM refs WHERE address = ?"
        demand(self.scratch.execute(query, (self.address,)).fetchone(), "no entry refers to the blob")

    def read_end(self, line, number):
        self.ended = number
        counts = self.report.counts
        for name in ("seals", "entries", "blobs"):
            demand(line[name] == counts[name], f"it counts {line[name]} {name}, and {counts[name]} stand above")

    def check_end(self):
        is_journal = self.header["what"] == "journal"
        if is_journal and not self.report.torn:
            if self.told_keys:
                self.report.bad_line(1, "`keys` has something that the stream `keys` has not")
            if self.header["head"] != self.report.head():
                self.report.bad_line(1, "`head` is not that of the seals below")


# ---------------------------------------------------------------- the command


def read_head(text):
    marks = {}
    for item in text.split(","):
        match = SEEN_SEAL.fullmatch(item)
        if match is None or match[1] in marks:
            raise Misuse("--head is no head: give what `orgate journal head` printed")
        marks[match[1]] = (int(match[2]), match[3])
    return marks


def check_head(verifier, marks):
    if verifier.report.what == "session":
        raise Misuse("one session has no head to compare: verify the whole journal or its export")
    for writer, (number, hash_) in sorted(marks.items()):
        query = "SELECT hash FROM seals WHERE writer = ? AND number = ?"
        found = verifier.scratch.execute(query, (writer, number)).fetchone()
        if found is None:
            last = verifier.report.heads.get(writer, (0, ZEROS))[0]
            verifier.report.bad_seal(writer, min(number, last + 1), f"the given head has seal {number}, and the journal ends before it")
        elif found[0] != hash_:
            verifier.report.bad_seal(writer, number, "the seal is not that of the given head")


def given_or_file(text, is_value):
    """The text itself, or what the file of that name says."""
    if is_value(text) or not os.path.isfile(text):
        return text
    with open(text, encoding="utf-8", errors="replace") as file:
        return file.read(100_000).strip()


def visible(text):
    """Names and reasons may come from a forged file: nothing in them may move the cursor."""
    return "".join(c if c.isprintable() else f"\\u{{{ord(c):x}}}" for c in text)


def as_json(report):
    return {
        "verified": report.is_verified(),
        "what": report.what,
        "stream": report.stream,
        "torn": report.torn,
        "counts": report.counts,
        "head": report.head() or None,
        "firstBad": report.first_bad(),
        "problems": report.problems,
        "textless": report.textless,
        "stillThere": report.still_there,
    }


def counted(number, one, many=None):
    return f"{number} {one if number == 1 else many or one + 's'}"


def as_screen(report):
    counts, entries = report.counts, ("entry", "entries")
    yield f"{report.what}{' ' + report.stream if report.stream else ''}, format 2"
    all_ = [counted(counts[name + "s"], name) for name in ("stream", "seal", "writer", "blob")]
    yield ", ".join([counted(counts["entries"], *entries), *all_, f"{counts['erased']} erased"])
    for mark in filter(None, report.head().split(",") if report.what != "session" else ()):
        yield f"head      {mark}"
    yield f"unsealed  {counted(counts['unsealed'], *entries)}{': chained, and signed by nobody yet' if counts['unsealed'] else ''}"
    if report.still_there:
        yield f"erasure   {counted(report.still_there, *entries)} should be erased and still hold content"
    for one in report.textless[:3]:
        yield f"no text   of the policies {one['digest'][:12]} (entry {one['seq']} of {one['stream']})"
    if len(report.textless) > 3:
        yield f"no text   of {counted(len(report.textless) - 3, 'more set')}"
    yield verdict(report)


def verdict(report):
    bad = report.first_bad()
    if bad is None and report.torn:
        return "NOT VERIFIED: the end of the file is missing; what is there is as it was written"
    if bad is None:
        return "verified: everything is as it was written"
    line = f" (line {bad['line']})" if bad["line"] is not None and not bad["name"].startswith("line ") else ""
    more = f" (and {report.problems - 1} more)" if report.problems > 1 else ""
    return f"NOT VERIFIED: {bad['name']}{line} is bad: {bad['reason']}{more}"


EXAMPLES = """examples:
  verify.py .orgate/journal.db --root ed25519:9e7XHc9AQqUvqzK7ebgaCELSC2hBu6zT69SqAo5HO9U=
  verify.py journal.jsonl --root root.txt --head head.txt
  verify.py session.jsonl --root root.txt --json

exit status: 0 verified, 1 not verified (bad, or a file whose end is missing), 2 wrong use: nothing was verified"""


def parse_arguments(args):
    parser = argparse.ArgumentParser(
        prog="verify.py",
        description="Verify an Orgate journal (format 2) offline: its database, or an export of a journal or a session.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", help="a database (journal.db) or an exported file")
    parser.add_argument("--root", required=True, metavar="KEY", help="public root key that you trust, or a file that has it")
    parser.add_argument("--head", metavar="HEAD", help="head that you kept elsewhere, or a file that has it")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser.parse_args(args)


def verify(given):
    root = given_or_file(given.root, lambda text: text.startswith("ed25519:"))
    try:
        decode_point(decode_key(root))
    except Bad as bad:
        raise Misuse(f"--root is not a public key: {bad}")
    marks = None if given.head is None else read_head(given_or_file(given.head, lambda text: SEEN_SEAL.match(text)))
    with open(given.file, "rb") as file:
        is_database = file.read(16) == b"SQLite format 3\0"
    verifier = (Database if is_database else Export)(given.file, root)
    report = verifier.run()
    if marks is not None:
        check_head(verifier, marks)
    return report


def main(args):
    given = parse_arguments(args)
    try:
        report = verify(given)
    except (Misuse, OSError) as error:
        print(f"verify.py: {visible(str(error))}", file=sys.stderr)
        return 2
    lines = [json.dumps(as_json(report))] if given.json else [visible(line) for line in as_screen(report)]
    print("\n".join(lines))
    return 0 if report.is_verified() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

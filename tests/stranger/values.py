"""JSON in one spelling (RFC 8785), digests, and what the verifier may say."""
import hashlib
import json
import re
from datetime import datetime, timedelta, timezone

EXACT = 2**53 - 1
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class Diverged(Exception):
    """The record is not what it says it is."""

    def __init__(self, entry, code, why):
        super().__init__(why)
        self.entry, self.code, self.why = entry, code, why


class Refused(Exception):
    """A rule says no."""

    def __init__(self, code, **facts):
        super().__init__(code)
        self.facts = {"code": code, **facts}


class Unsure(Exception):
    """A rule that this verifier does not know."""


def number(value):
    """Spells a fraction as ECMAScript does: the shortest digits, an exponent from 1e21 on and below 1e-6."""
    if value == 0:
        return "0"
    sign, value = ("-", -value) if value < 0 else ("", value)
    digits, _, exponent = f"{value!r}".partition("e")
    whole, _, rest = digits.partition(".")
    rest = "" if rest == "0" else rest
    point = len(whole) + int(exponent or 0)
    digits = (whole + rest).lstrip("0")
    point -= len(whole + rest) - len(digits)
    digits = digits.rstrip("0")
    if len(digits) <= point <= 21:
        return sign + digits + "0" * (point - len(digits))
    if 0 < point <= 21:
        return sign + digits[:point] + "." + digits[point:]
    if -6 < point <= 0:
        return sign + "0." + "0" * -point + digits
    shown = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
    return f"{sign}{shown}e{'+' if point > 0 else '-'}{abs(point - 1)}"


def spell(value):
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode("utf-16-be"))
        return "{" + ",".join(f"{spell(key)}:{spell(value[key])}" for key in keys) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(spell, value)) + "]"
    if isinstance(value, float):
        return number(value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > EXACT:
        return number(float(value))
    return json.dumps(value, ensure_ascii=False)


def canonical(value):
    return spell(value).encode("utf-8")


def digest(value):
    return hashlib.sha256(canonical(value)).hexdigest()


def sha(text):
    return hashlib.sha256(text.encode()).digest()


def unique(pairs):
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands there twice")
    return found


def refuse(text):
    raise ValueError(f"{text} is no number")


def parse(data):
    """Reads JSON strictly."""
    text = data.decode("utf-8")
    if text.startswith("\ufeff"):
        raise ValueError("a byte order mark")
    try:
        value = json.loads(text, object_pairs_hook=unique, parse_constant=refuse)
    except RecursionError:
        raise ValueError("too deep")
    spell(value).encode("utf-8")  # half a surrogate pair cannot be written
    return value


def is_digest(text):
    return isinstance(text, str) and re.fullmatch("[0-9a-f]{64}", text) is not None


def same(one, other):
    """Compares as the record would write it: 1.0 is 1, and true is not 1."""
    return canonical(one) == canonical(other)


def precise(at):
    return (EPOCH + timedelta(microseconds=at)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def moment(text):
    """Reads a time as it is written precisely; other spellings are beyond this verifier."""
    if not isinstance(text, str) or not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z", text):
        raise Unsure(f"the time {text!r}")
    whole, _, rest = text[:-1].partition(".")
    return (datetime.fromisoformat(whole + "+00:00") - EPOCH) // timedelta(microseconds=1) + int(rest.ljust(6, "0"))

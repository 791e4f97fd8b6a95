"""The part of CEL that protocols mostly use, with absent fields as unknown. What is beyond it cannot be checked."""
import math
import re

from values import Unsure, moment, precise

UNKNOWN = object()
TOKEN = re.compile(r"""\s*(?:(\d+\.\d+(?:[eE][+-]?\d+)?)|(\d+)|('[^'\\]*'|"[^"\\]*")|([A-Za-z_]\w*)|(&&|\|\||[<>=!]=|[-+*/%<>!?:().,\[\]]))""")
WORDS = {"true": True, "false": False, "null": None}


class Moment(str):
    """A time, written so that moments compare as their texts do."""

    def __new__(cls, text):
        return super().__new__(cls, precise(moment(text)))


class Failed(Exception):
    """The expression has no value."""


def parse(text):
    tokens, place = [], 0
    while text[place:].strip():
        found = TOKEN.match(text, place)
        if not found:
            raise Unsure(f"the expression {text!r}")
        tokens.append((found.lastindex, found.group(found.lastindex)))
        place = found.end()
    parser = Parser(tokens, text)
    tree = parser.ternary()
    if parser.tokens:
        raise Unsure(f"the expression {text!r}")
    return tree


class Parser:
    LEVELS = [["||"], ["&&"], ["<", "<=", ">", ">=", "==", "!="], ["+", "-"], ["*", "/", "%"]]

    def __init__(self, tokens, text):
        self.tokens, self.text = tokens[::-1], text

    def next(self):
        if not self.tokens:
            raise Unsure(f"the expression {self.text!r}")
        return self.tokens.pop()

    def peek(self, *signs):
        return bool(self.tokens) and self.tokens[-1][0] == 5 and self.tokens[-1][1] in signs

    def take(self, sign):
        if not self.peek(sign):
            raise Unsure(f"the expression {self.text!r}")
        self.next()

    def ternary(self):
        tree = self.binary(0)
        if not self.peek("?"):
            return tree
        self.next()
        then = self.binary(0)
        self.take(":")
        return ("?", tree, then, self.ternary())

    def binary(self, level):
        if level == len(self.LEVELS):
            return self.unary()
        tree = self.binary(level + 1)
        while self.peek(*self.LEVELS[level]):
            sign = self.next()[1]
            tree = (sign, tree, self.binary(level + 1))
        return tree

    def unary(self):
        if self.peek("!", "-"):
            sign = self.next()[1]
            return ("not" if sign == "!" else "neg", self.unary())
        return self.member()

    def member(self):
        kind, text = self.next()
        if kind == 1:
            tree = ("value", float(text))
        elif kind == 2:
            tree = ("value", int(text))
        elif kind == 3:
            tree = ("value", text[1:-1])
        elif kind == 4 and text in WORDS:
            tree = ("value", WORDS[text])
        elif kind == 4 and self.peek("("):
            tree = ("call", text, None, self.arguments())
        elif kind == 4:
            tree = ("name", text)
        elif text == "(":
            tree = self.ternary()
            self.take(")")
        else:
            raise Unsure(f"the expression {self.text!r}")
        while self.peek(".", "["):
            if self.next()[1] == "[":
                index = self.ternary()
                self.take("]")
                if index[0] != "value" or not isinstance(index[1], str):
                    raise Unsure(f"the expression {self.text!r}")
                tree = ("field", tree, index[1])
            else:
                kind, name = self.next()
                tree = ("call", name, tree, self.arguments()) if self.peek("(") else ("field", tree, name)
        return tree

    def arguments(self):
        self.take("(")
        found = []
        while not self.peek(")"):
            found.append(self.ternary())
            if self.peek(","):
                self.next()
        self.take(")")
        return found


def kind_of(value):
    kinds = {bool: "bool", int: "int", float: "double", str: "text", Moment: "text", type(None): "null"}
    return kinds.get(type(value), "other")


def evaluate(tree, names):
    """Returns a value or UNKNOWN; raises Failed where there is none, and Unsure where this verifier cannot tell."""
    sign = tree[0]
    if sign == "value":
        return tree[1]
    if sign == "name":
        return names.get(tree[1], UNKNOWN)
    if sign == "field":
        return field(evaluate(tree[1], names), tree[2])
    if sign in ("&&", "||"):
        return logic(sign == "||", [attempt(part, names) for part in tree[1:]])
    if sign == "?":
        chosen = evaluate(tree[1], names)
        if chosen is UNKNOWN:
            return UNKNOWN
        return evaluate(tree[2] if truth(chosen) else tree[3], names)
    if sign == "call":
        return call(tree, names)
    values = [evaluate(part, names) for part in tree[1:]]
    if any(value is UNKNOWN for value in values):
        return UNKNOWN
    if any(isinstance(value, Moment) for value in values):
        # A text that is written out beside a time is a time too, however it is spelled.
        values = [Moment(value) if part[0] == "value" and isinstance(value, str) else value for part, value in zip(tree[1:], values)]
        if not all(isinstance(value, Moment) for value in values):
            raise Unsure("a time beside what is none")
    if sign == "not":
        return not truth(values[0])
    if sign == "neg":
        if kind_of(values[0]) not in ("int", "double"):
            raise Failed("minus what is no number")
        return -values[0]
    if sign in ("<", "<=", ">", ">=", "==", "!="):
        return compare(sign, *values)
    return compute(sign, *values)


def truth(value):
    if not isinstance(value, bool):
        raise Failed("neither true nor false")
    return value


def field(value, name):
    if value is UNKNOWN:
        return UNKNOWN
    if not isinstance(value, dict):
        raise Failed(f"no fields: {name}")
    return value.get(name, UNKNOWN)


def attempt(part, names):
    try:
        value = evaluate(part, names)
        return value if value is UNKNOWN else truth(value)
    except Failed as error:
        return error


def logic(decides, values):
    if any(value is decides for value in values):
        return decides
    failed = [value for value in values if isinstance(value, Failed)]
    if failed and any(value is UNKNOWN for value in values):
        raise Unsure("what is unknown beside what fails")
    if failed:
        raise failed[0]
    return UNKNOWN if any(value is UNKNOWN for value in values) else not decides


def compare(sign, one, other):
    kinds = kind_of(one), kind_of(other)
    if kinds[0] != kinds[1] or kinds[0] == "other":
        if sign in ("==", "!=") or set(kinds) == {"int", "double"}:
            raise Unsure(f"{kinds[0]} beside {kinds[1]} in an expression")
        raise Failed("what is compared is of two kinds")
    if sign in ("==", "!="):
        return (one == other) == (sign == "==")
    if kinds[0] == "null":
        raise Failed("null has no order")
    if kinds[0] == "text":
        one, other = one.encode(), other.encode()
    return {"<": one < other, "<=": one <= other, ">": one > other, ">=": one >= other}[sign]


def compute(sign, one, other):
    kinds = {kind_of(one), kind_of(other)}
    if kinds == {"text"} and sign == "+":
        return one + other
    if kinds not in ({"int"}, {"double"}):
        raise Failed("what is computed with is of two kinds, or no number")
    if sign in "/%" and other == 0:
        raise Failed("divided by zero")
    if kinds == {"double"}:
        if sign == "%":
            raise Failed("no remainder of fractions")
        found = {"+": lambda: one + other, "-": lambda: one - other, "*": lambda: one * other, "/": lambda: one / other}[sign]()
        if not math.isfinite(found):
            raise Failed("not finite")
        return found
    whole = abs(one) // abs(other) * (1 if (one < 0) == (other < 0) else -1) if sign in "/%" else 0
    found = {"+": one + other, "-": one - other, "*": one * other, "/": whole, "%": one - whole * other}[sign]
    if not -(2**63) <= found < 2**63:
        raise Failed("too large")
    return found


def call(tree, names):
    _, name, on, arguments = tree
    if name == "has" and on is None and len(arguments) == 1 and arguments[0][0] == "field":
        parent = evaluate(arguments[0][1], names)
        return isinstance(parent, dict) and arguments[0][2] in parent
    values = [evaluate(part, names) for part in ([on] if on else []) + arguments]
    if any(value is UNKNOWN for value in values):
        return UNKNOWN
    texts = all(isinstance(value, str) for value in values)
    if on and texts and len(values) == 2 and name in ("contains", "startsWith", "endsWith"):
        one, other = values
        return {"contains": other in one, "startsWith": one.startswith(other), "endsWith": one.endswith(other)}[name]
    if not on and name == "double" and kind_of(values[0]) in ("int", "double"):
        return float(values[0])
    if not on and name == "int" and kind_of(values[0]) == "int":
        return values[0]
    raise Unsure(f"the function {name} in an expression")


def condition(text, names):
    """Returns whether a condition is met, or None where that is not known."""
    try:
        value = evaluate(parse(text), names)
    except Failed:
        return None
    return value if isinstance(value, bool) else None

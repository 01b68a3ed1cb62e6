"""From tokens to a tree: a reader of formulas by recursive descent. Nothing is evaluated.

Nodes are tuples whose first item is the tag:

    ("num", Fraction) ("sym", name) ("add", a, b) ("mul", a, b) ("div", a, b) ("neg", a) ("pow", a, b) ("pm", a, b)
    ("fn", name, arg...) ("fact", a) ("unit", a, words) ("based", digits, base) ("text", words)
    ("seq", open, close, items) ("list", items, "," or "and" or "or") ("rel", a, op, b, op, c ...) ("cup", a, b) ("minus", a, b) ("such", head, condition)
    ("matrix", rows) ("dots",)
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from udfs.grading.latex import UnreadableError, tokens
from udfs.grading.numbers import MAGNITUDE
from udfs.grading.primaries import END, Node, Primaries

_RELATIONS = frozenset({"=", "<", ">", "<=", ">=", "!=", "\\in", ":", "\\sim", "\\equiv", "\\approx", "\\notin"})
_JOINS = {"and": "and", "or": "or", "\\land": "and", "\\lor": "or"}


class _Reader(Primaries):
    """Reads lists, relations, sums and products."""

    __slots__ = ()

    def listing(self) -> list[Node]:
        """Items between commas, semicolons and the words ``and`` and ``or``; ``joined`` keeps the last word."""
        items = [self.relation()]
        self.joined = ","
        while True:
            token = self.peek()
            separates = (
                token.text in (",", ";", "\\land", "\\lor") if token.kind != "text" else token.text.casefold().strip(" ,") in ("and", "or")
            )
            if not separates:
                return items
            self.at += 1
            self.joined = _JOINS.get(token.text.casefold().strip(" ,"), self.joined)
            if self.peek().kind == "text" and self.peek().text.casefold() in ("and", "or"):
                self.joined = _JOINS[self.take().text.casefold()]
            if self.peek() is END:
                if token.text == ",":
                    return items
                raise UnreadableError("nothing after a separator")
            items.append(self.relation())

    def relation(self) -> Node:
        if self.peek().text == "=":  # "= 5"
            self.at += 1
        parts: list[Any] = [self.union()]
        while self.peek().text in _RELATIONS and self.peek().kind != "text" and not (self.peek().text == ":" and self.bars < 0):
            parts.append(self.take().text)
            parts.append(self.union())
        return ("rel", *parts) if len(parts) > 1 else parts[0]

    def union(self) -> Node:
        left = self.sum()
        while self.peek().text in ("\\cup", "\\setminus"):
            tag = "cup" if self.take().text == "\\cup" else "minus"
            left = (tag, left, self.sum())
        return left

    def sum(self) -> Node:
        self.deeper()
        left = self.signed()
        while (sign := self.peek().text) in ("+", "-", "\\pm", "\\mp") and self.peek().kind != "text":
            self.at += 1
            if sign == "+" and self.peek().text == "-" and not self.peek().spaced:  # "1+-2", typed for both signs
                self.at += 1
                sign = "\\pm"
            right = self.product()
            left = {
                "+": ("add", left, right),
                "-": ("add", left, ("neg", right)),
                "\\pm": ("pm", left, right),
                "\\mp": ("pm", left, ("neg", right)),
            }[sign]
        self.depth -= 1
        return self._unit(left)

    def signed(self) -> Node:
        sign = self.peek().text if self.peek().kind != "text" else ""
        if sign == "-":
            self.at += 1
            value = self.product()
            return ("num", -value[1]) if value[0] == "num" else ("neg", value)
        if sign == "+":
            self.at += 1
            if self.skip("-"):  # "+-5", typed for the sign of both
                return ("pm", ("num", Fraction(0)), self.product())
            return self.product()
        if sign in ("\\pm", "\\mp"):
            self.at += 1
            return ("pm", ("num", Fraction(0)), self.product())
        return self.product()

    def product(self) -> Node:
        negative = False
        while self.peek().text in ("-", "+") and self.peek().kind == "sign":
            negative ^= self.take().text == "-"
        node = self._factors()
        return ("neg", node) if negative else node

    def _factors(self) -> Node:
        left = self.power()
        while True:
            token = self.peek()
            if token.kind == "sign" and token.text in ("*", "/"):
                self.at += 1
                negative = self.skip("-")
                right = self.power()
                left = ("mul" if token.text == "*" else "div", left, ("neg", right) if negative else right)
            elif self.starts(token):
                if token.kind == "number" and left[0] == "num":
                    raise UnreadableError("two numbers side by side")
                mixed = left[0] == "num" and token.text == "\\frac"
                right = self.power()
                left = _mixed(left, right) if mixed else ("mul", left, right)
            else:
                return left

    def power(self) -> Node:
        base = self.primary()
        while True:
            token = self.peek()
            if token.kind in ("text", "name"):
                return base
            if token.text == "!":
                self.at += 1
                base = ("fact", base)
            elif token.text == "%":
                self.at += 1
                base = ("unit", base, "%")
            elif token.text == "\\circ":
                self.at += 1
                base = self._degrees(base)
            elif token.text == "^":
                self.at += 1
                base = self._exponent(base)
            elif token.text == "_":
                self.at += 1
                base = self._subscript(base)
            elif token.text == "'" and base[0] == "sym":
                self.at += 1
                base = ("sym", base[1] + "'")
            else:
                return base

    def _degrees(self, base: Node) -> Node:
        letter = self.peek().text
        if letter in ("C", "F") and self.peek().kind == "name":
            self.at += 1
            return ("unit", base, "deg" + letter)
        return ("unit", base, "deg")

    def _exponent(self, base: Node) -> Node:
        if self.skip("\\circ"):
            return self._degrees(base)
        if self.peek().text == "{" and self.peek(1).text == "\\circ" and self.peek(2).text == "}":
            self.at += 3
            return self._degrees(base)
        negative = self.skip("-")
        exponent = self.argument()
        if self.peek().text == "^":  # right associative
            exponent = self._exponent_of(exponent)
        return ("pow", base, ("neg", exponent) if negative else exponent)

    def _exponent_of(self, base: Node) -> Node:
        self.deeper()
        self.at += 1
        node = self._exponent(base)
        self.depth -= 1
        return node

    def _subscript(self, base: Node) -> Node:
        braced = self.skip("{")
        token = self.take()
        if token.kind not in ("number", "name", "text"):
            raise UnreadableError("subscript")
        if braced:
            self.need("}")
        if base[0] == "num":
            digits = self.row[self.at - (5 if braced else 3)].text
            if token.kind != "number" or not token.text.isdecimal() or not digits.isdecimal() or not 2 <= int(token.text) <= 36:
                raise UnreadableError("base of a number")
            base_ = int(token.text)
            if any(int(d) >= base_ for d in digits):
                raise UnreadableError("digit beyond its base")
            return ("based", digits.lstrip("0") or "0", base_)
        if base[0] != "sym":
            raise UnreadableError("subscript")
        return ("sym", f"{base[1]}_{token.text}")

    def _unit(self, node: Node) -> Node:
        r"""Words after a value are its unit: ``5\text{ cm}^2``."""
        words: list[str] = []
        while self.peek().kind == "text" and self.peek().text.casefold().strip(" ,") not in ("and", "or"):
            words.append(self.take().text)
            if self.peek().text == "^":
                self.at += 1
                power = self.argument()
                if power[0] != "num":
                    raise UnreadableError("power of a unit")
                words[-1] += f"^{power[1]}"
            if self.peek().text == "/" and self.peek(1).kind in ("text", "name"):
                self.at += 1
                words.append("/ " + self.take().text)
        if words and node[0] == "num" and words[0].casefold() in MAGNITUDE:
            node = ("num", node[1] * 10 ** MAGNITUDE[words.pop(0).casefold()])
        return ("unit", node, " ".join(words)) if words else node


def _mixed(whole: Node, part: Node) -> Node:
    r"""``1\frac{4}{5}`` is one and four fifths where both are plain numbers; with a variable it is a product."""
    if part[0] == "div" and part[1][0] == part[2][0] == "num":
        w, a, b = whole[1], part[1][1], part[2][1]
        if w.denominator == a.denominator == b.denominator == 1 and 0 < a < b:
            return ("num", w + a / b)
    return ("mul", whole, part)


def parse(text: str, *, thousands: bool = True) -> Node:
    """The tree of a formula, of a list of formulas, or of words (``("text", ...)``).

    Args:
        text: LaTeX or plain, without box.
        thousands: whether ``1,000`` outside of brackets is one number.

    Raises:
        UnreadableError: no mathematics that this reader knows, or out of its bounds.
    """
    row = tokens(text, thousands=thousands)
    while row and row[-1].kind == "sign" and row[-1].text in (".", ";", "!?", ":") and len(row) > 1 and row[-2].text != ".":
        row.pop()
    if not row:
        raise UnreadableError("empty")
    if all(
        token.kind == "text" or token.text in ("(", ")", ",", ".", "-", "'") or (token.kind == "name" and len(row) > 1) for token in row
    ) and any(token.kind == "text" for token in row):
        return ("text", text)
    reader = _Reader(row)
    items = reader.listing()
    if reader.at < len(row):
        raise UnreadableError(f"{reader.peek().text!r} after the value")
    return items[0] if len(items) == 1 else ("list", tuple(items), reader.joined)

"""The things that stand in a formula by themselves: numbers, names, brackets, functions, roots, matrices."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from udfs.grading.latex import FUNCTIONS, Token, UnreadableError

Node = tuple[Any, ...]
#: Deepest nesting that is read.
MAX_DEPTH = 24

END = Token("sign", "")
_CLOSERS = {"(": (")", "]"), "[": ("]", ")"), "\\{": ("\\}",), "{": ("}",), "\\langle": ("\\rangle",), "<": (">",)}
_CONSTANTS = frozenset({"\\infty", "\\R", "\\N", "\\Z", "\\Q", "\\C", "\\emptyset"})
_GREEK = frozenset("\\alpha \\beta \\gamma \\delta \\epsilon \\zeta \\eta \\theta \\iota \\kappa \\lambda \\mu \\nu \\xi \\omicron \\pi \\rho \\sigma \\tau \\upsilon \\phi \\chi \\psi \\omega \\Gamma \\Delta \\Theta \\Lambda \\Xi \\Pi \\Sigma \\Phi \\Psi \\Omega \\ell".split())  # noqa: SIM905 - a list of words reads better as words  # fmt: skip
CALLED = {"\\" + name for name in FUNCTIONS} - {"\\sqrt", "\\cbrt"}
STARTS = _CONSTANTS | _GREEK | CALLED | {"\\frac", "\\sqrt", "\\cbrt", "\\binom", "\\lfloor", "\\lceil", "\\imath"}
_INVERSE = {"sin": "arcsin", "cos": "arccos", "tan": "arctan"}


class Cursor:
    """The row of tokens, where the reader stands, and the bounds that it keeps.

    Attributes:
        row: the tokens.
        at: index of the next one.
        depth: brackets and the like that are open.
        bars: bars of absolute values that are open; below zero where a bar separates (in a set).
        joined: last word between items of a list.
    """

    __slots__ = ("at", "bars", "depth", "joined", "row")

    def __init__(self, row: list[Token]) -> None:
        self.row, self.at, self.depth, self.bars, self.joined = row, 0, 0, 0, ","

    def peek(self, ahead: int = 0) -> Token:
        """The token that comes next, or so many later; an empty sign at the end."""
        at = self.at + ahead
        return self.row[at] if at < len(self.row) else END

    def take(self) -> Token:
        """The next token, which is then behind the cursor."""
        token = self.peek()
        self.at += 1
        return token

    def skip(self, text: str) -> bool:
        """Whether the next token is this sign or command; it is then behind the cursor."""
        if self.peek().text == text and self.peek().kind != "text":
            self.at += 1
            return True
        return False

    def need(self, text: str) -> None:
        """As ``skip``, but UnreadableError where another token stands."""
        if not self.skip(text):
            raise UnreadableError(f"expected {text!r} before {self.peek().text!r}")

    def deeper(self) -> None:
        """One level deeper; UnreadableError beyond ``MAX_DEPTH``."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise UnreadableError("nested too deeply")

    # What brackets, functions and matrices hold is read by the class that knows lists and sums.

    def listing(self) -> list[Node]:
        """Items between commas."""
        raise NotImplementedError

    def sum(self) -> Node:
        """A value with its signs."""
        raise NotImplementedError

    def power(self) -> Node:
        """A primary with what follows it: exponents, factorials, signs of degrees."""
        raise NotImplementedError

    def starts(self, token: Token) -> bool:
        """Whether a token begins a further factor without a sign between."""
        if token.kind in ("number", "name"):
            return True
        if token.kind == "command":
            return token.text in STARTS
        return token.kind == "sign" and (token.text in ("(", "{", "\\{") or (token.text == "|" and self.bars == 0))


class Primaries(Cursor):
    """Reads one primary at the cursor."""

    __slots__ = ()

    def argument(self) -> Node:
        """One argument: a group, or the next single thing."""
        if self.peek().text == "{" and self.peek().kind == "sign":
            self.at += 1
            node = self.sum()
            self.need("}")
            return node
        return self.primary()

    def _digit_argument(self) -> Node:
        r"""As LaTeX reads ``\frac43``: of a run of digits the first one alone."""
        token = self.peek()
        if token.kind == "number" and len(token.text) > 1 and token.text.isdecimal():
            self.row[self.at] = Token("number", token.text[1:], Fraction(int(token.text[1:])))
            return ("num", Fraction(int(token.text[0])))
        return self.argument()

    def primary(self) -> Node:
        """One number, name, group, function, root or matrix."""
        token = self.take()
        if token.kind == "number":
            return ("num", token.value)
        if token.kind == "name":
            return self._named(token)
        if token.kind == "command":
            return self._command(token.text)
        if token.kind == "begin":
            return self._matrix(token.text)
        if token.kind == "sign":
            if token.text == "|":
                return self._bars()
            if token.text in _CLOSERS and token.text != "<":
                return self._brackets(token.text)
            if token.text == "." and [self.take().text, self.take().text] == [".", "."]:
                return ("dots",)
        raise UnreadableError(f"{token.text!r} where a value should stand")

    def _named(self, token: Token) -> Node:
        defined = [self.peek(k).text for k in (0, 2, 3)] == ["(", ")", "="] and self.peek(1).kind == "name"  # P(x) = ...
        if defined or (token.text in "fgh" and self.peek().text == "("):
            return ("fn", token.text, *self._call())
        return ("sym", token.text)

    def _call(self) -> list[Node]:
        self.need("(")
        self.deeper()
        items = self.listing()
        self.depth -= 1
        self.need(")")
        return items

    def _bars(self) -> Node:
        self.bars += 1
        inner = self.sum()
        self.bars -= 1
        self.need("|")
        return ("fn", "abs", inner)

    def _brackets(self, opening: str) -> Node:
        self.deeper()
        bars, self.bars = self.bars, -1 if opening == "\\{" else 0
        closers = _CLOSERS[opening]
        if opening == "\\{" and self.skip("\\}"):
            items: list[Node] = []
            closing = "\\}"
        else:
            items = self.listing()
            if opening == "\\{" and self.peek().text in (":", "\\mid", "|"):
                self.at += 1
                self.bars = 0
                condition = self.listing()
                items = [
                    (
                        "such",
                        items[0] if len(items) == 1 else ("list", tuple(items), ","),
                        condition[0] if len(condition) == 1 else ("list", tuple(condition), self.joined),
                    )
                ]
            closing = self.take().text
        self.bars = bars
        self.depth -= 1
        if closing not in closers:
            raise UnreadableError(f"{opening} closed by {closing!r}")
        if len(items) == 1 and opening in ("(", "{", "[") and closing == closers[0] and items[0][0] != "text":
            return items[0]
        return ("seq", opening, closing, tuple(items))

    def _command(self, name: str) -> Node:
        if name in _CONSTANTS or name in _GREEK:
            return ("sym", name[1:])
        if name == "\\frac":
            top = self._digit_argument()
            return ("div", top, self._digit_argument())
        if name == "\\binom":
            top = self._digit_argument()
            return ("fn", "binom", top, self._digit_argument())
        if name in ("\\sqrt", "\\cbrt"):
            return self._root(Fraction(3) if name == "\\cbrt" else Fraction(2))
        if name in ("\\lfloor", "\\lceil"):
            inner = self.sum()
            self.need("\\rfloor" if name == "\\lfloor" else "\\rceil")
            return ("fn", "floor" if name == "\\lfloor" else "ceil", inner)
        if name == "\\imath":
            return ("sym", "i")
        if name == "\\ldots":
            return ("dots",)
        if name == "\\langle":
            return self._brackets(name)
        if name in CALLED:
            return self._function(name[1:])
        raise UnreadableError(f"unknown command {name}")

    def _root(self, index: Fraction) -> Node:
        degree: Node = ("num", index)
        if self.peek().text == "[":
            self.at += 1
            degree = self.sum()
            self.need("]")
        return ("fn", "root", self.argument(), degree)

    def _function(self, name: str) -> Node:
        base: Node | None = None
        power: Node | None = None
        if name == "log" and self.skip("_"):
            base = self.argument()
        if self.skip("^"):
            negative = self.skip("-")
            power = self.argument()
            if negative or (power[0] == "num" and power[1] < 0):
                if power[0] != "num" or abs(power[1]) != 1 or name not in _INVERSE:
                    raise UnreadableError("negative power of a function")
                name, power = _INVERSE[name], None
        arguments = self._call() if self.peek().text == "(" else [self._loose()]
        node: Node = ("fn", name, *arguments)
        if base is not None:
            node = ("div", ("fn", "ln", *arguments), ("fn", "ln", base))
        return node if power is None else ("pow", node, power)

    def _loose(self) -> Node:
        """The argument of a function without brackets: factors up to a sign or the next function."""
        negative = self.skip("-")
        node = self.power()
        while self.starts(self.peek()) and self.peek().text not in CALLED and self.peek().text != "(":
            node = ("mul", node, self.power())
        return ("neg", node) if negative else node

    def _matrix(self, name: str) -> Node:
        if name not in ("pmatrix", "bmatrix", "matrix", "vmatrix", "array", "smallmatrix"):
            raise UnreadableError(f"environment {name}")
        if name == "array" and self.skip("{"):
            while self.take().text != "}":
                if self.peek() is END:
                    raise UnreadableError("unfinished environment")
        rows: list[tuple[Node, ...]] = []
        while self.peek().kind != "end":
            row = [self.sum()]
            while self.skip("&"):
                row.append(self.sum())
            rows.append(tuple(row))
            if not self.skip("\\\\"):
                break
        if self.take().kind != "end" or len({len(row) for row in rows}) != 1:
            raise UnreadableError("matrix")
        return ("fn", "det", ("matrix", tuple(rows))) if name == "vmatrix" else ("matrix", tuple(rows))

"""LaTeX and plain mathematics as one row of tokens."""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction
from typing import Literal, NamedTuple

from udfs.grading.characters import MATHS, SUBSCRIPT, SUBSCRIPTS, SUPERSCRIPT, SUPERSCRIPTS, VULGAR
from udfs.grading.units import is_known_unit

#: Longest text, longest run of digits, most tokens that are read: more is no answer.
MAX_TEXT = 4096
MAX_DIGITS = 120
MAX_TOKENS = 600
MAX_EXPONENT = 400

FUNCTIONS = frozenset("sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh ln log exp sqrt cbrt abs floor ceil max min gcd lcm det".split())  # noqa: SIM905 - a list of words reads better as words  # fmt: skip
#: Spellings of one operator or name.
_SAME = {
    "\\dfrac": "\\frac", "\\tfrac": "\\frac", "\\cfrac": "\\frac", "\\dbinom": "\\binom", "\\tbinom": "\\binom", "\\cdot": "*", "\\times": "*", "\\ast": "*", "\\div": "/",
    "\\leq": "<=", "\\le": "<=", "\\leqslant": "<=", "\\geq": ">=", "\\ge": ">=", "\\geqslant": ">=", "\\lt": "<", "\\gt": ">", "\\neq": "!=", "\\ne": "!=",
    "\\lbrace": "\\{", "\\rbrace": "\\}", "\\lbrack": "[", "\\rbrack": "]", "\\lvert": "|", "\\rvert": "|", "\\vert": "|", "\\varnothing": "\\emptyset", "\\colon": ":",
    "\\degree": "\\circ", "\\cdots": "\\ldots", "\\dots": "\\ldots", "\\dotsc": "\\ldots", "\\Reals": "\\R", "\\reals": "\\R", "\\wedge": "\\land", "\\vee": "\\lor", "\\%": "%",
    "\\arccot": "\\acot", "\\lg": "\\log", "\\tg": "\\tan", "\\ctg": "\\cot", "\\qquad": " ", "\\quad": " ", "\\varphi": "\\phi", "\\varepsilon": "\\epsilon",
    "==": "=", "**": "^", "\\backslash": "\\setminus", "\\bigcup": "\\cup", "\\mathrm": "", "\\#": "", "\\&": "", "\\_": "",
}  # fmt: skip
#: What only concerns the look.
_LOOK = frozenset("\\left \\right \\big \\Big \\bigg \\Bigg \\bigl \\bigr \\Bigl \\Bigr \\biggl \\biggr \\displaystyle \\textstyle \\limits \\nolimits \\mathstrut \\hfill \\boldsymbol \\mathbf \\mathit \\mathsf \\mathcal \\vec \\hat \\ensuremath \\rm \\bf \\it \\scriptstyle \\phantom \\hspace \\hline \\bm \\text \\$".split())  # noqa: SIM905 - as above  # fmt: skip
_SMALL_WORDS = frozenset("and or no yes odd even not the is are for all any if dne units unit none true false where when since".split())  # noqa: SIM905 - as above  # fmt: skip
_TOKEN = re.compile(
    r"""(?P<space>\s+|~|\\[,;:!>\ ])
    |(?P<repeating>\d{0,40}\.\d{0,40}\s*\\(?:overline|bar|dot|widebar)\s*(?:\{\d{1,40}\}|\d))
    |(?P<mixed>\d{1,40}[ ]+\d{1,40}[ ]*/[ ]*\d{1,40}(?![\d.!^]))
    |(?P<grouped>\d{1,3}(?:(?:\{,\}|,?\s?\\[,!:;\ ]\s?|[ ])\d{3})+(?!\d)(?:\.\d+)?)
    |(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,9}(?![\w^]))?)
    |(?P<text>\\(?:text(?:rm|bf|it|sf|tt|normal)?|mbox|hbox|mathrm|mathbf|mathit|mathbb|operatorname\*?|emph)\s*\{(?P<said>[^{}]*)\})
    |(?P<environment>\\(?:begin|end)\s*\{\s*(?P<named>[a-z]{1,12})\*?\s*\})
    |(?P<command>\\[A-Za-z]+|\\.|\*\*|[<>=!]=)
    |(?P<word>[A-Za-z]+)
    |(?P<sign>.)""",
    re.VERBOSE | re.DOTALL,
)
_WORDS = re.compile(r"\\(?:text(?:rm|bf|it|sf|tt|normal)?|mbox|hbox|mathrm|mathbf|mathit|emph)\s*\{([^{}]*)\}")
_SPACES = re.compile(r"\\[,;:!>\ ]|[~$\s]+")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?![\d,])(?:\.\d+)?(?![\d,])")
_NOT_DIGIT = re.compile(r"[^\d.]")
_OPEN, _CLOSE = frozenset({"(", "[", "{", r"\{"}), frozenset({")", "]", "}", r"\}"})

Kind = Literal["number", "name", "command", "sign", "text", "begin", "end"]


class Token(NamedTuple):
    """One token: ``kind``, its text, and the exact value of a number."""

    kind: Kind
    text: str
    value: Fraction | None = None
    spaced: bool = False


class UnreadableError(ValueError):
    """The text is no mathematics that this reader knows; the message says which part."""


def words_of(text: str) -> str:
    r"""A text without the LaTeX that only makes it text: ``\text{Evelyn}`` is ``Evelyn``."""
    return _SPACES.sub(" ", _WORDS.sub(r"\1", text)).strip() if "\\" in text or "$" in text else text.strip()


def from_unicode(text: str) -> str:
    """Typographic signs, vulgar fractions, super- and subscripts as LaTeX."""
    if text.isascii():
        return text
    text = VULGAR.sub(lambda m: " " + unicodedata.normalize("NFKC", m.group()) + " ", text)
    text = SUPERSCRIPTS.sub(lambda m: "^{" + m.group().translate(SUPERSCRIPT) + "}", text)
    text = SUBSCRIPTS.sub(lambda m: "_{" + m.group().translate(SUBSCRIPT) + "}", text)
    text = unicodedata.normalize("NFKC", text.translate(MATHS)).translate(MATHS)
    return "".join(str(unicodedata.decimal(c)) if not c.isascii() and c.isdecimal() else c for c in text)


def decimal_value(digits: str) -> Fraction:
    """The exact value of a plain or scientific decimal; UnreadableError beyond ``MAX_DIGITS`` or ``MAX_EXPONENT``."""
    mantissa, _, exponent = digits.lower().partition("e")
    if len(mantissa) > MAX_DIGITS or (exponent and abs(int(exponent)) > MAX_EXPONENT):
        raise UnreadableError("number out of bounds")
    whole, _, part = mantissa.partition(".")
    value = Fraction(int((whole + part) or "0"), 10 ** len(part))
    return value * Fraction(10) ** int(exponent) if exponent else value


def _repeating(text: str) -> Fraction:
    r"""0.1\overline{6} = (16 - 1) / 90: a period of k digits after n others is a fraction over 10^n (10^k - 1)."""
    head, _, tail = text.partition("\\")
    whole, _, fixed = head.strip().partition(".")
    period = _NOT_DIGIT.sub("", tail)
    before = int((whole + fixed) or "0")
    return Fraction(int((whole + fixed) + period) - before, 10 ** len(fixed) * (10 ** len(period) - 1))


def _mixed(text: str) -> Fraction:
    whole, rest = text.split(None, 1)
    top, bottom = (int(part) for part in rest.split("/"))
    if not 0 < top < bottom:
        raise UnreadableError("two numbers side by side")
    return int(whole) + Fraction(top, bottom)


def _word(word: str, *, spaced: bool, after: Token | None) -> list[Token]:
    """Letters: a function, a word (also a unit beside a number), or a product of variables."""
    if word in FUNCTIONS:
        return [Token("command", "\\" + word)]
    folded = word.casefold()
    if folded in ("pi", "infinity", "inf", "oo", "infty"):
        return [Token("command", "\\pi" if folded == "pi" else "\\infty")]
    number = after is not None and (after.kind == "number" or after.text in (")", "}"))
    if folded in _SMALL_WORDS or len(word) > 3 or (number and (len(word) > 1 or spaced) and is_known_unit(word)):
        return [Token("text", word, None, spaced)]
    return [Token("name", letter) for letter in word]


def _said(said: str, command: str) -> list[Token]:
    r"""A ``\text{...}``: a number or a formula in text is what it says, everything else is words."""
    said = said.replace("~", " ").strip()
    if command.startswith(("\\mathbb", "\\mathbf", "\\mathit", "\\mathrm", "\\operatorname")):
        if said in FUNCTIONS:
            return [Token("command", "\\" + said)]
        if len(said) == 1 and said.isalpha() and not command.startswith("\\mathbb"):
            return [Token("name", said)]
        if command.startswith("\\mathbb"):
            return [Token("command", "\\" + said)]
    if re.fullmatch(r"[-+]?\d{1,40}(?:\.\d{1,40})?", said):
        sign = [Token("sign", said[0])] if said[0] in "+-" else []
        digits = said.lstrip("+-")
        return [*sign, Token("number", digits, decimal_value(digits))]
    return [Token("text", said)] if said else []


def tokens(text: str, *, thousands: bool) -> list[Token]:
    """The tokens of a formula.

    Args:
        text: LaTeX or plain, without box.
        thousands: whether ``1,000`` outside of brackets is one number; else its comma separates two.

    Raises:
        UnreadableError: longer than ``MAX_TEXT``, more than ``MAX_TOKENS``, or a number out of bounds.
    """
    if len(text) > MAX_TEXT:
        raise UnreadableError("too long")
    text = from_unicode(text)
    out: list[Token] = []
    depth, spaced, at, end = 0, False, 0, len(text)
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:  # a lone backslash at the end
            raise UnreadableError("unfinished command")
        kind, said, at = match.lastgroup, match.group(), match.end()
        if kind == "space":
            spaced = True
            continue
        if kind == "number":
            group = _THOUSANDS.match(text, match.start()) if thousands and depth == 0 and text[at : at + 1] == "," else None
            if group is not None:
                said, at = group.group().replace(",", ""), group.end()
            out.append(Token("number", said, decimal_value(said), spaced))
        elif kind == "sign":
            depth += (said in _OPEN) - (said in _CLOSE)
            if said != "$":
                out.append(Token("sign", said, None, spaced))
        elif kind == "word":
            out.extend(_word(said, spaced=spaced, after=out[-1] if out else None))
        elif kind == "command":
            said = _SAME.get(said, said)
            depth += (said in _OPEN) - (said in _CLOSE)
            if said.strip() and said not in _LOOK and said not in ("\\(", "\\)", "\\[", "\\]"):
                out.append(Token("command" if said[0] == "\\" and said[1:2].isalpha() else "sign", said, None, spaced))
        elif kind == "text":
            out.extend(_said(match["said"], said))
        elif kind == "environment":
            out.append(Token("begin" if said.startswith("\\begin") else "end", match["named"]))
        elif kind == "grouped":
            out.append(Token("number", _NOT_DIGIT.sub("", said), decimal_value(_NOT_DIGIT.sub("", said)), spaced))
        else:
            out.append(Token("number", said, _repeating(said) if kind == "repeating" else _mixed(said), spaced))
        spaced = False
        if len(out) > MAX_TOKENS:
            raise UnreadableError("too many tokens")
    return out

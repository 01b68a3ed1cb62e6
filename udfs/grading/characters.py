"""Typographic signs and what they stand for: the one table that every reader of answers uses."""

from __future__ import annotations

import re

#: Hyphens, dashes and the minus sign: all are read as an ASCII hyphen.
DASHES = dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-")
SUPERSCRIPT_DIGITS = "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079\u207b"
SUPERSCRIPT = str.maketrans(SUPERSCRIPT_DIGITS, "0123456789-")
SUPERSCRIPTS = re.compile(f"[{SUPERSCRIPT_DIGITS}]+")
SUBSCRIPT = str.maketrans("\u2080\u2081\u2082\u2083\u2084\u2085\u2086\u2087\u2088\u2089", "0123456789")
SUBSCRIPTS = re.compile("[\u2080-\u2089]+")
VULGAR = re.compile("[\u00bc-\u00be\u2150-\u215e\u2189]")

_GREEK = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon phi chi psi omega".split()  # noqa: SIM905 - a list of words reads better as words  # fmt: skip
_GREEK_CODES = [code for code in range(0x3B1, 0x3CA) if code != 0x3C2]
#: Mathematical signs as LaTeX commands, each followed by a space so that no letter joins it.
MATHS = str.maketrans(
    {chr(code): f"\\{name} " for code, name in zip(_GREEK_CODES, _GREEK, strict=True)}
    | DASHES
    | {
        "\u00b1": "\\pm ", "\u00d7": "*", "\u22c5": "*", "\u00b7": "*", "\u2217": "*", "\u00f7": "/", "\u2044": "/", "\u2215": "/", "\u221a": "\\sqrt ", "\u221e": "\\infty ",
        "\u2264": "\\le ", "\u2265": "\\ge ", "\u2260": "\\ne ", "\u2208": "\\in ", "\u222a": "\\cup ", "\u2205": "\\emptyset ", "\u00b0": "\\degree ", "\u211d": "\\R ",
        "\u27e8": "\\langle ", "\u27e9": "\\rangle ", "\u2026": "\\ldots ", "\u22ef": "\\ldots ", "\u2032": "'", "\u2019": "'", "\uff05": "%", "\u221b": "\\cbrt ",
    }
)  # fmt: skip

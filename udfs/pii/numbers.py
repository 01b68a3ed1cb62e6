"""Numbers that mean a person or a machine: payment cards, network addresses, telephones. A number that merely looks like one stays."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator

from udfs.pii.kinds import Span

# What any card number and telephone lies in: most texts have none, and the others are looked at there alone.
_RUN = re.compile(r"[0-9][0-9 ().\-/]{5,200}[0-9]")
#: Code points after a run that tell whether its last number ends there.
_BEYOND = 3

# --- payment cards -----------------------------------------------------------------------------------------------------------------
# Either without separators or in the groups that are printed on cards, one kind of separator throughout.
_CARD = re.compile(
    r"(?<![\w.,:/#=$-])(?:[2-6]\d{3}([ -])\d{4}\1\d{4}\1\d{4}|3[47]\d\d([ -])\d{6}\2\d{5}|[2-6]\d{12,18})(?![\w/=-]|[.,]\d)", re.ASCII
)


def luhn(digits: str) -> bool:
    """Whether the check digit holds (ISO/IEC 7812-1, annex B)."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 * (value > 9)
    return total % 10 == 0


def issued(digits: str) -> bool:
    """Whether a large issuer gives numbers of this length with this start (ISO/IEC 7812 issuer identification)."""
    size, two, three, four = len(digits), int(digits[:2]), int(digits[:3]), int(digits[:4])
    return (
        (size in (13, 16, 19) and digits[0] == "4")  # Visa
        or (size == 16 and (51 <= two <= 55 or 2221 <= four <= 2720))  # Mastercard
        or (size == 15 and two in (34, 37))  # American Express
        or (size == 16 and (four == 6011 or two == 65 or 644 <= three <= 649))  # Discover
        or (size == 16 and 3528 <= four <= 3589)  # JCB
        or (size == 14 and (two in (36, 38) or 300 <= three <= 305))  # Diners Club
        or (16 <= size <= 19 and two == 62)  # UnionPay
    )


def find_cards(text: str) -> Iterator[Span]:
    """Card numbers of an issuer's length and start whose check digit holds."""
    for run in _RUN.finditer(text):
        for found in _CARD.finditer(text, run.start(), run.end() + _BEYOND):
            digits = _digits(found.group())
            if issued(digits) and len(set(digits)) > 1 and luhn(digits):
                yield Span(found.start(), found.end(), "card")


def _digits(text: str) -> str:
    return "".join(filter(str.isdigit, text))


# --- network addresses -------------------------------------------------------------------------------------------------------------
_IPV4 = re.compile(r"(?<![\w.+-])\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}(?![\w+-]|\.\d)", re.ASCII)
# Addresses in use begin with 2 or 3 (2000::/3) in four digits: slices, times and hardware addresses do not.
_IPV6 = re.compile(r"(?<![\w:.])[23][0-9A-Fa-f]{3}:[0-9A-Fa-f:]{2,34}(?![\w])", re.ASCII)
_COLONS = re.compile(r":[0-9A-Fa-f]{0,4}:")
_DOTTED = re.compile(r"[0-9]\.[0-9]{1,3}\.[0-9]")
#: Said, or written, before what is no address.
_VERSION = re.compile(
    r"(?:versions?|release|v|ver\.?|sections?|chapter|clause|table|figure|appendix|rev\.?|revision|build|oid|python|linux|windows|[a-z]/|[<>=~^!]=|[~^\u00a7])[ \t]?$",
    re.IGNORECASE,
)
_DOCUMENTATION = tuple(ipaddress.ip_network(n) for n in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32", "3fff::/20"))


def _somebodys(address: str) -> bool:
    """Whether an address belongs to a machine on the public network."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    return parsed.is_global and not parsed.is_multicast and not any(parsed in n for n in _DOCUMENTATION if n.version == parsed.version)


def find_ips(text: str) -> Iterator[Span]:
    """Public addresses of machines. Numbers with fewer than two longer parts are versions or sections, whatever network they might name."""
    spans = []
    for found in _IPV4.finditer(text) if _DOTTED.search(text) else ():
        longer = sum(len(octet) > 1 for octet in found.group().split("."))
        if longer > 1 and _somebodys(found.group()) and not _VERSION.search(text, max(0, found.start() - 12), found.start()):
            spans.append(Span(found.start(), found.end(), "ip"))
    for found in _IPV6.finditer(text) if _COLONS.search(text) else ():
        address = found.group().rstrip(":")
        if _somebodys(address):
            spans.append(Span(found.start(), found.start() + len(address), "ip"))
    yield from sorted(spans)


# --- telephones --------------------------------------------------------------------------------------------------------------------
# Separators that are written between groups: one blank, dot, hyphen or slash, and brackets around an area code.
_GROUP = r"(?:[ .\-/]|\) ?|[ .\-]?\()"
_INTERNATIONAL = re.compile(rf"(?<![\w+.,(])\(?\+[1-9]\d{{0,2}}(?:{_GROUP}\d{{1,10}}){{0,6}}(?![\w])", re.ASCII)
# The plan of North America: area and exchange begin with 2 to 9; no area ends in 00 (800 and 900 are no person's).
_AMERICAN = re.compile(
    r"(?<![\w.\-/+$,#=])(?:1[-. ])?(?:\((?!\d00)[2-9]\d\d\) ?|((?!\d00)[2-9]\d\d)([-.]))[2-9]\d\d(?(2)\2|[-. ])\d{4}(?![\w\-/=]|[.,]\d)",
    re.ASCII,
)
# Any form, where a word right before it says that a telephone follows.
_SAID = re.compile(
    r"\b(?:tel|telephone|phone|fax|telefax|mobile|mob)\b(?:[ \t]{0,3}(?:no|number|nr)\b)?[.:\t ]{1,4}\(?$", re.ASCII | re.IGNORECASE
)
_ANY = re.compile(rf"\d{{1,5}}(?:{_GROUP}\d{{1,10}}){{0,6}}(?![\w])", re.ASCII)
_LONGEST_SAID = 24
_DATE = re.compile(r"(?:19|20)\d\d[-./]\d{1,2}[-./]\d{1,2}|\d{1,2}[-./]\d{1,2}[-./](?:19|20)\d\d")
#: Country codes with two digits or one (ITU-T E.164); all others that exist have three and begin with one of the pairs below.
_CODES_1, _CODES_2 = (
    frozenset("17"),
    frozenset(
        [
            "20",
            "27",
            "30",
            "31",
            "32",
            "33",
            "34",
            "36",
            "39",
            "40",
            "41",
            "43",
            "44",
            "45",
            "46",
            "47",
            "48",
            "49",
            "51",
            "52",
            "53",
            "54",
            "55",
            "56",
            "57",
            "58",
            "60",
            "61",
            "62",
            "63",
            "64",
            "65",
            "66",
            "81",
            "82",
            "84",
            "86",
            "90",
            "91",
            "92",
            "93",
            "94",
            "95",
            "98",
        ]
    ),
)
_PAIRS_3 = frozenset(
    [
        "21",
        "22",
        "23",
        "24",
        "25",
        "26",
        "29",
        "35",
        "37",
        "38",
        "42",
        "50",
        "59",
        "67",
        "68",
        "69",
        "80",
        "85",
        "87",
        "88",
        "96",
        "97",
        "99",
    ]
)
_MIN_DIGITS, _MAX_DIGITS = 9, 15
_SHORTEST_SAID = 7


def _international(number: str) -> bool:
    digits = _digits(number)
    known = digits[0] in _CODES_1 or digits[:2] in _CODES_2 or digits[:2] in _PAIRS_3
    if not known or not _MIN_DIGITS <= len(digits) <= _MAX_DIGITS or len(set(digits)) < 4:
        return False
    return digits[0] != "1" or len(digits) == 11


def find_phones(text: str) -> Iterator[Span]:
    """Telephone numbers: international ones with a plus, those of North America, and any other where a word announces it.

    Left alone: 555 as the exchange (numbers of fiction), what has too few or too many digits, figures in threes that say no country.
    """
    until = 0
    for run in _RUN.finditer(text):
        for span in sorted(_phones_of(text, run.start(), run.end())):
            if span.start >= until:
                yield span
                until = span.end


def _phones_of(text: str, start: int, end: int) -> Iterator[Span]:
    """Telephones in and before the digits of one run; they may overlap."""
    before = text[max(0, start - 2) : start]
    if before.endswith(("+", "+(")):
        first = start - 1 - before.endswith("(") - (before == "(+")
        found = _INTERNATIONAL.match(text, first)
        if found is not None and _international(found.group()):
            yield Span(found.start(), found.end(), "phone")
    first = start - before.endswith("(")
    for found in _AMERICAN.finditer(text, first, end + _BEYOND):
        if _digits(found.group())[-7:-4] != "555":
            yield Span(found.start(), found.end(), "phone")
    if _SAID.search(text, max(0, start - _LONGEST_SAID), start):
        found = _ANY.match(text, start)
        digits = _digits(found.group()) if found is not None else ""
        fits = _SHORTEST_SAID <= len(digits) <= _MAX_DIGITS and len(set(digits)) > 2 and digits[-7:-4] != "555"
        if found is not None and fits and not _DATE.match(found.group()):
            yield Span(first, found.end(), "phone")

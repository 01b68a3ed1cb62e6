"""Spans of a sentence that could be an answer: quantities, dates, years, names; with what they are worth."""

from __future__ import annotations

import re
from dataclasses import dataclass

from udfs.extract.wording import MONTHS, STOPWORDS, word_set

_COMMA, _POINT = r"(?: @,@ |,)", r"(?: @\.@ |\.)"
NUMBER = rf"\d{{1,3}}(?:{_COMMA}\d{{3}})+(?:{_POINT}\d+)?|\d+(?:{_POINT}\d+)?"
#: Units of measure as texts write them; the unit stays visible in the question.
UNITS = (
    "kilometres? kilometers? km metres? meters? m centimetres? centimeters? cm millimetres? millimeters? mm nm miles? mi feet foot ft inches inch yards? "
    "kilograms? kg grams? g milligrams? mg tonnes? tons? pounds? lb ounces? oz litres? liters? hectares? acres? ha "
    "seconds? minutes? hours? days? weeks? months? years? milliseconds? microseconds? nanoseconds? ms "
    "bytes? bits? kB KB MB GB TB KiB MiB GiB Hz kHz MHz GHz kW MW watts? volts? knots mph km/h percent % degrees °C °F K "
    "characters? digits? octets? words? lines? pages? pixels? points? people inhabitants passengers seats votes goals games matches copies episodes "
    "students members men soldiers troops guns houses households families islands species stations lanes runs wickets laps tracks songs albums chapters "
    "arguments? parameters? elements? items? entries rows columns values levels times"
)
_MEASURE = "(?:" + "|".join(UNITS.split()) + ")"
_QUANTITY = re.compile(
    rf"(?<![\w.,@$£€#/+-])(?P<number>{NUMBER})[ \n]+(?P<unit>(?:square |cubic )?{_MEASURE})(?![\w-]| @-@)(?P<twin> ?\( [^()]{{1,40}} \)| ?\([^()]{{1,40}}\))?"
)
#: Numbers that name a standard; the label stays visible.
_STANDARD = re.compile(r"(?<![\w-])(?:RFC|PEP|ISO|IEEE|FIPS)[ -](?P<number>\d{2,5})(?![\w.,]*\d)")
_HYPHENATED = re.compile(r"(?<![\w.,$#/+-])(?P<number>\d+)(?P<unit>[ -](?:bit|byte|character|digit|tuple))(?![\w-])")
#: Names of code: quoted or in backticks, or called.
_CODE = re.compile(
    r"(?:(?P<open>``?|[\"“])(?P<quoted>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(?P<call>\(\))?(?P<close>``?|[\"”]))|(?<![\w.\"`'*])(?P<bare>[A-Za-z_]\w{2,}(?:\.\w+)*)\(\)"
)
_MONTH = "(?:" + "|".join(MONTHS) + ")"
_YEAR = r"(?:1[0-9]|20)\d\d"
_DATE = re.compile(
    rf"(?<![\w-])(?:(?P<dmy>\d{{1,2}} {_MONTH} {_YEAR})|(?P<mdy>{_MONTH} \d{{1,2}} ?, {_YEAR})|(?P<iso>{_YEAR}-[01]\d-[0-3]\d))(?![\w-])"
)
_LONE_YEAR = re.compile(rf"(?<![\w.,@-])(?P<year>{_YEAR})(?![\w@-]|[.,]\d| @)")
_NAME = re.compile(r"(?<![\w'’-])[A-Z][\w'’-]*(?: (?:(?:of|the|de|van|von|der|la|du|and) ){0,2}[A-Z][\w'’-]*)*")
_TITLES = word_set(
    "Mr Mrs Ms Dr Sir Lord Lady King Queen Prince Princess President Captain Major General Colonel Lieutenant Sergeant Professor"
)


@dataclass(frozen=True, slots=True)
class Span:
    """A possible answer: its offsets, those of the stretch that the blank covers, and what the contract needs."""

    kind: str  # number, date, year, name, code
    start: int
    end: int
    blank: tuple[int, int]
    gold: str
    unit: str | None = None


def plain_number(written: str) -> str:
    """A number without grouping: "1 @,@ 500" and "1,500" are 1500."""
    return re.sub(r" @,@ |,", "", written).replace(" @.@ ", ".")


def quantities(text: str, start: int, end: int) -> list[Span]:
    """Numbers with a unit; the blank covers the number, and a conversion in parentheses is cut out of the question with ``blank``'s tail."""
    found = [
        Span("number", *match.span("number"), match.span(), plain_number(match["number"]), " " + match["unit"])
        for match in _QUANTITY.finditer(text, start, end)
    ]
    taken = {span.start for span in found}
    found += [
        Span("number", *match.span("number"), match.span(), match["number"], match["unit"])
        for match in _HYPHENATED.finditer(text, start, end)
        if match.start("number") not in taken
    ]
    found += [
        Span("number", *match.span("number"), match.span("number"), match["number"]) for match in _STANDARD.finditer(text, start, end)
    ]
    return found


def dates(text: str, start: int, end: int) -> list[Span]:
    """Whole dates."""
    return [
        Span("date", *match.span(), match.span(), re.sub(r"\s*,\s*", ", ", re.sub(r"\s+", " ", match[0])))
        for match in _DATE.finditer(text, start, end)
    ]


def years(text: str, start: int, end: int) -> list[Span]:
    """Years that stand alone."""
    return [Span("year", *match.span("year"), match.span("year"), match["year"]) for match in _LONE_YEAR.finditer(text, start, end)]


def names(text: str, start: int, end: int) -> list[Span]:
    """Runs of capitalised words that do not begin the sentence."""
    found: list[Span] = []
    for match in _NAME.finditer(text, start + 1, end):
        words = match[0].split()
        if words[0] in MONTHS or words[0] in _TITLES or match[0].lower() in STOPWORDS or len(match[0]) < 3:
            continue
        if text[start : match.start()].strip("\"'“‘( ") == "":
            continue
        found.append(Span("name", *match.span(), match.span(), re.sub(r"\s+", " ", match[0])))
    return found


def code_names(text: str, start: int, end: int) -> list[Span]:
    """Names of code, without their quotes and parentheses."""
    found: list[Span] = []
    for match in _CODE.finditer(text, start, end):
        group = "quoted" if match["quoted"] else "bare"
        place = match.span(group)
        call = match["call"] or group == "bare"
        found.append(Span("code", *place, (place[0], place[1] + (2 if call else 0)), match[group]))
    return found

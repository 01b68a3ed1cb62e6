r"""Backslashes that a model forgot to double: within JSON ``\frac`` reads as a form feed and ``rac``, ``\nu`` as a line break and ``u``.

Such a reply is sound JSON and says something else than was meant. What was meant is known where the passage holds the command; elsewhere the
reply is refused, so that nothing is corrupted silently.
"""

from __future__ import annotations

import re

from udfs.text.normalise import squeeze

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
#: Signs that no question, answer or quote is written with. Tab and line breaks are white space as well.
_NEVER = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_ESCAPED = {"\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}
#: What an escape has eaten: the sign, and the letters that followed it.
_EATEN = re.compile(r"[\x08\x0c\n\r\t][A-Za-z]+")
#: Commands whose first letters read as white space; a word of prose after a line break looks like none of them, or the passage decides.
_COMMANDS = frozenset(
    [
        r"\nu",
        r"\ne",
        r"\neq",
        r"\neg",
        r"\nabla",
        r"\not",
        r"\notin",
        r"\ni",
        r"\nleq",
        r"\ngeq",
        r"\nmid",
        r"\nparallel",
        r"\nsubseteq",
        r"\nexists",
        r"\ncong",
        r"\newline",
        r"\noindent",
        r"\nonumber",
        r"\nearrow",
        r"\nwarrow",
        r"\rho",
        r"\right",
        r"\rangle",
        r"\rightarrow",
        r"\rceil",
        r"\rfloor",
        r"\rvert",
        r"\rVert",
        r"\rbrace",
        r"\rbrack",
        r"\rightleftharpoons",
        r"\rm",
        r"\rtimes",
        r"\restriction",
        r"\ref",
        r"\tau",
        r"\theta",
        r"\times",
        r"\text",
        r"\textbf",
        r"\textit",
        r"\textrm",
        r"\texttt",
        r"\textsf",
        r"\tan",
        r"\tanh",
        r"\tfrac",
        r"\to",
        r"\top",
        r"\tilde",
        r"\triangle",
        r"\therefore",
        r"\tbinom",
        r"\tag",
        r"\thinspace",
        r"\tiny",
    ]
)
#: So long a text does not stand in a passage by chance, whatever its white space.
_LONG = 20
_DOUBLED = re.compile(r"\\\\(?=[A-Za-z])")


def has_controls(text: str) -> bool:
    """Whether a text holds a control character, white space other than the space included."""
    return _CONTROL.search(text) is not None


def restored(text: str, passage: str) -> str | None:
    r"""A string of a reply as it was meant.

    Args:
        text: as JSON gave it.
        passage: what the reply is about.

    Returns:
        The text itself where nothing is amiss or the passage holds it as it is; with backslashes restored where the passage holds every
        command that comes out of it; None where it is corrupted and what was meant is not known.
    """
    if "\\\\" in text:
        text = _halved(text, passage)
    if text.isprintable() or _CONTROL.search(text) is None:
        return text
    meant = _EATEN.sub(lambda eaten: _meant(eaten.group(), passage), text)
    if meant in passage:
        return meant
    if text in passage or (len(text) >= _LONG and squeeze(text) in squeeze(passage)):
        return text
    if _NEVER.search(meant) or any(_command(eaten.group()) in _COMMANDS for eaten in _EATEN.finditer(meant)):
        return None
    return meant


def _command(eaten: str) -> str:
    return f"\\{_ESCAPED[eaten[0]]}{eaten[1:]}"


def _meant(eaten: str, passage: str) -> str:
    """The command, where the passage holds it; else what was eaten as it is."""
    command = _command(eaten)
    return command if re.search(re.escape(command) + r"(?![A-Za-z])", passage) else eaten


def _halved(text: str, passage: str) -> str:
    """Without a second backslash before commands that the passage holds with one."""
    if text in passage:
        return text
    halved = _DOUBLED.sub(lambda _: "\\", text)
    commands = re.findall(r"\\[A-Za-z]+", halved)
    single = all(command in passage and f"\\{command}" not in passage for command in commands)
    return halved if commands and single else text

"""Keys and tokens, told by prefixes that their issuers document."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

from udfs.pii.kinds import Span

#: Prefix -> (characters before it are none of a token; pattern from the prefix on). Every repetition is bounded.
_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (prefix, re.compile(pattern))
    for prefix, pattern in (
        ("AKIA", r"AKIA[A-Z2-7]{16}(?![A-Za-z0-9])"),  # AWS access key
        ("ASIA", r"ASIA[A-Z2-7]{16}(?![A-Za-z0-9])"),  # AWS temporary key
        ("ghp_", r"ghp_[A-Za-z0-9]{36,251}"),  # GitHub: personal, OAuth, user, server, refresh; fine-grained
        ("gho_", r"gho_[A-Za-z0-9]{36,251}"),
        ("ghu_", r"ghu_[A-Za-z0-9]{36,251}"),
        ("ghs_", r"ghs_[A-Za-z0-9]{36,251}"),
        ("ghr_", r"ghr_[A-Za-z0-9]{36,251}"),
        ("github_pat_", r"github_pat_[A-Za-z0-9_]{50,244}"),
        ("glpat-", r"glpat-[A-Za-z0-9_-]{20,64}"),  # GitLab
        ("xox", r"xox[abeoprs]-[A-Za-z0-9-]{20,250}"),  # Slack
        ("AIza", r"AIza[0-9A-Za-z_-]{35}(?![0-9A-Za-z_-])"),  # Google
        ("_live_", r"_live_[0-9A-Za-z]{16,247}"),  # Stripe: sk, rk, pk
        ("sk-", r"sk-(?=[A-Za-z_-]{0,64}[0-9])(?:proj-|ant-|svcacct-)?[A-Za-z0-9_-]{32,250}"),  # OpenAI, Anthropic
        ("hf_", r"hf_[A-Za-z0-9]{34,40}(?![A-Za-z0-9])"),  # Hugging Face
        ("npm_", r"npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])"),
        ("pypi-AgE", r"pypi-AgE[A-Za-z0-9_-]{50,250}"),
        ("eyJ", r"eyJ[A-Za-z0-9_-]{10,4000}\.eyJ[A-Za-z0-9_-]{10,8000}\.[A-Za-z0-9_-]{16,2000}"),  # JSON Web Token: base64 of '{"'
    )
)
_BLOCK, _BLOCK_END = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"), "-----END "
#: Longest private key block, in characters; a longer one, or one without an end, is masked so far.
_MAX_BLOCK = 16384
_BASE64 = re.compile(r"[A-Za-z0-9+/=\s:,.()-]*")
#: The words of examples: AWS ends its documentation's keys so.
_EXAMPLES = ("EXAMPLE", "xxxxxxxx", "XXXXXXXX", "00000000", "abcdefgh")


def find_keys(text: str) -> Iterator[Span]:
    """Private key blocks and tokens, in order of place; a token within a block is part of it."""
    blocks = list(_blocks(text))
    starts = [block.start for block in blocks]

    def apart(token: Span) -> bool:
        before = bisect_left(starts, token.end) - 1
        return before < 0 or blocks[before].end <= token.start

    yield from sorted([*blocks, *filter(apart, _tokens(text))])


def _blocks(text: str) -> Iterator[Span]:
    at = text.find("-----BEGIN ")
    while at >= 0:
        begins = _BLOCK.match(text, at)
        if begins is None:
            at = text.find("-----BEGIN ", at + 1)
            continue
        last = min(len(text), begins.end() + _MAX_BLOCK)
        close = text.find(_BLOCK_END, begins.end(), last)
        stop = text.find("-----", close + len(_BLOCK_END), min(last, close + 80)) if close >= 0 else -1
        if stop >= 0:
            end = stop + 5
        else:
            body = _BASE64.match(text, begins.end(), last)
            end = body.end() if body else begins.end()
        if end - begins.end() >= 64:  # a header alone is talk about keys
            yield Span(at, end, "key")
        at = text.find("-----BEGIN ", max(end, at + 1))


def _tokens(text: str) -> Iterator[Span]:
    found = []
    for prefix, pattern in _PATTERNS:
        at = text.find(prefix)
        while at >= 0:
            start = at - 2 if prefix == "_live_" else at
            # Asked first: a run of prefixes is looked through once, not from each of them.
            match = pattern.match(text, at) if _stands_alone(text, start, prefix) else None
            if match is not None and not any(word in match.group() for word in _EXAMPLES):
                found.append(Span(start, match.end(), "key"))
            at = text.find(prefix, match.end() if match is not None else at + len(prefix))
    until = 0
    for span in sorted(found):
        if span.start >= until:
            yield span
            until = span.end


def _stands_alone(text: str, start: int, prefix: str) -> bool:
    if prefix == "_live_" and (start < 0 or text[start : start + 2] not in {"sk", "rk", "pk"}):
        return False
    return start == 0 or not (text[start - 1].isalnum() or text[start - 1] in "_-")

"""Chat messages to tokens, once and in one place: what the engine sees is what is stored.

Three traps are avoided (G§1.8): a tokenizer that adds BOS to a template which writes it already; one that lost the setting, and adds
none although the model wants it; and text in which a special token is spelt out, which would become that token, and end the message
that quotes it.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Messages = Sequence[Mapping[str, Any]]
AddBos = Literal["auto", "always", "never"]


class RenderError(ValueError):
    """Messages that the template cannot take."""


@dataclass(frozen=True)
class Rendered:
    """A prompt as text and as tokens."""

    text: str
    token_ids: tuple[int, ...]


def _mark() -> str:
    """A text that stands nowhere else."""
    return f"\u27e6{uuid.uuid4().hex}\u27e7"


class ChatRenderer:
    """A tokenizer with its chat template."""

    def __init__(self, tokenizer: Any, template: str | None = None, add_bos: AddBos = "auto") -> None:
        """Take a tokenizer of ``transformers``.

        Args:
            tokenizer: the model's own.
            template: instead of the tokenizer's.
            add_bos: ``auto``: where the tokenizer puts it before plain text; ``always`` where it lost that setting (G§5).

        Raises:
            RenderError: there is no template.
        """
        self._tokenizer = tokenizer
        self._template = template or tokenizer.chat_template
        if not isinstance(self._template, str):
            raise RenderError("the tokenizer has no chat template, or several. Name one by --engine-option chat_template=FILE.")
        self._bos: int | None = None
        bos = tokenizer.bos_token_id
        if bos is not None and add_bos != "never":
            plain = tokenizer("x").input_ids
            self._bos = bos if add_bos == "always" or plain[:1] == [bos] else None
        names = {*tokenizer.all_special_tokens, *tokenizer.get_added_vocab()}
        self._special = tuple(sorted(name for name in names if name.strip()))

    @property
    def template_sha256(self) -> str:
        """Digest of the template's text."""
        return hashlib.sha256(self._template.encode("utf-8")).hexdigest()

    def render(self, messages: Messages, tools: Messages = ()) -> Rendered:
        """The prompt up to where the assistant begins to speak.

        Args:
            messages: of the chat.
            tools: OpenAI function schemas, for templates that show them.

        Raises:
            RenderError: the template refuses the messages, or shows no tools.
        """
        if tools and "tools" not in self._template:
            raise RenderError("the chat template shows no tools: describe them in a message (setting tool_format = text)")
        text = self._apply(messages, tools)
        ids = self._quoted(messages, tools) if self._spells_special(messages) else self._ids(text)
        if self._bos is not None and ids[:1] != [self._bos]:
            ids = [self._bos, *ids]
        return Rendered(text, tuple(ids))

    def extend(self, token_ids: Sequence[int], messages: Messages) -> tuple[int, ...]:
        """Tokens so far, which end with an assistant's turn as it was drawn, and then further messages, up to where it begins to speak again.

        What the template writes after an assistant's turn is found by rendering a turn that can be told from everything else. The token that
        ends a turn was drawn already, as a rule, and then stands first in it: it is not written again.

        Raises:
            RenderError: the template refuses the messages, or does not show the assistant's turn whole and once.
        """
        opening = {"role": "user", "content": "?"}
        said = {"role": "assistant", "content": _mark()}
        if self._spells_special(messages):
            further = self._quoted([opening, said, *messages], after=2)
        else:
            _, found, rest = self._apply([opening, said, *messages]).partition(said["content"])
            if not found or said["content"] in rest:
                raise RenderError("the template does not show an assistant's turn whole and once")
            further = self._ids(rest)
        drawn = tuple(token_ids)
        return drawn + tuple(further[1:] if drawn[-1:] == tuple(further[:1]) else further)

    def _spells_special(self, messages: Messages) -> bool:
        return any(name in str(message.get("content") or "") for message in messages for name in self._special)

    def _apply(self, messages: Messages, tools: Messages = ()) -> str:
        try:
            rendered = self._tokenizer.apply_chat_template(
                [dict(message) for message in messages],
                tools=[dict(tool) for tool in tools] or None,
                chat_template=self._template,
                add_generation_prompt=True,
                tokenize=False,
            )
        except Exception as error:  # a template is code of its model's author: it may raise anything
            raise RenderError(f"{type(error).__name__}: {error}") from error
        return str(rendered)

    def _ids(self, text: str) -> list[int]:
        return list(self._tokenizer(text, add_special_tokens=False).input_ids)

    def _quoted(self, messages: Messages, tools: Messages = (), *, after: int = 0) -> list[int]:
        """Tokens of a prompt whose contents spell special tokens: contents and what is around them are cut apart and read each for itself.

        Only here, because tokens that span the seam come out otherwise than a trainer's tokenizer would have them. The first ``after``
        messages are left out, up to the end of the last one's content.
        """
        marks = [_mark() for _ in messages]
        text = self._apply([{**message, "content": mark} for message, mark in zip(messages, marks, strict=True)], tools)
        ids: list[int] = []
        for k, (message, mark) in enumerate(zip(messages, marks, strict=True)):
            before, found, text = text.partition(mark)
            if not found or mark in text:
                raise RenderError("the text spells a special token, and the template does not show it whole and once")
            if k >= after:
                ids += self._ids(before) + self._plain(str(message["content"]))
        return ids + self._ids(text)

    def _plain(self, text: str) -> list[int]:
        """Tokens of a text in which no special token is recognised."""
        inner = getattr(self._tokenizer, "backend_tokenizer", None)
        if inner is None:
            return list(self._tokenizer(text, add_special_tokens=False, split_special_tokens=True).input_ids)
        before = inner.encode_special_tokens
        inner.encode_special_tokens = True
        try:
            return list(inner.encode(text, add_special_tokens=False).ids)
        finally:
            inner.encode_special_tokens = before

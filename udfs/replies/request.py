"""What names a call to a conversion engine: hashes of everything that bears on the reply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from schemas.ids import content_id
from udfs.conversion.ask import Ask

#: Version of the shape in which the rules' reply is expected (the columns of silver.qa that an engine knows).
OUTPUT_SCHEMA = "qa_items@1"
#: What an engine by rules is shown of a document, in the order in which it is hashed.
SHOWN = ("doc_id", "source", "uri", "title", "text", "metadata")


def template_of(engine: str, version: str, max_items: int) -> str:
    """Name of the rule set of a request, with what it was asked for."""
    return f"{engine}@{version}+max_items={max_items}"


def extract_request(engine: str, version: str, template: str, item: Mapping[str, Any], draw: int) -> str:
    """Hash of what the rules are asked about a document: engine and revision, all it is shown, template, output schema, draw."""
    return content_id(engine, version, [item[name] for name in SHOWN], template, OUTPUT_SCHEMA, {}, draw)


def call_of(ask: Ask, messages: Sequence[Mapping[str, str]], model: str, audit: str = "") -> str:
    """Hash of a logical call: model with its revision, rendered prompt, template, output schema, sampling, max_tokens, and which call it is.

    Args:
        ask: the call.
        messages: its prompt, rendered.
        model: which model is asked, with what names its weights.
        audit: name of an audit of one conversion; other conversions ask the same anew, to see whether the model has changed.
    """
    sampling = {"temperature": ask.temperature, "max_tokens": ask.max_tokens}
    return content_id(
        model, messages, ask.template.label, ask.schema, sampling, ask.stage, ask.ordinal, ask.reask, *([audit] if audit else [])
    )


def request_of(call: str, draw: int) -> str:
    """Hash of one draw of a logical call: what failed is asked again as a further draw."""
    return content_id("draw", call, draw)

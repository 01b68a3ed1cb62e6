"""The next prompt of a conversation as tokens: what was drawn stays, and what follows is what the model's own template writes."""

from __future__ import annotations

import pytest
from transformers import AutoTokenizer

from gpu_workers.engines.rendering import ChatRenderer, RenderError
from tests.vllm.models import smollm2

ASKED = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "How long is it?"}]
SAID = {"role": "assistant", "content": "I shall look."}
SEEN = [{"role": "user", "content": "<tool_response>\n42 km\n</tool_response>"}]
TOOL = {"type": "function", "function": {"name": "look", "description": "looks", "parameters": {"type": "object", "properties": {}}}}


@pytest.fixture(scope="module", params=["real", "tiny"])
def renderer(request, tiny):
    folder = smollm2() if request.param == "real" else tiny[0]
    return ChatRenderer(AutoTokenizer.from_pretrained(folder))


def drawn(renderer, text):
    """An assistant's turn as an engine would draw it, its end token included: the token that the template writes after it."""
    whole = renderer.render([*ASKED, {"role": "assistant", "content": text}]).token_ids
    said = renderer.render(ASKED).token_ids + tuple(renderer._ids(text))
    assert whole[: len(said)] == said
    return said, whole[len(said)]


def test_an_extended_prompt_is_the_templates_own_where_the_turn_is_spelt_as_the_tokenizer_would(renderer):
    said, end = drawn(renderer, SAID["content"])
    assert renderer.extend((*said, end), SEEN) == renderer.render([*ASKED, SAID, *SEEN]).token_ids


def test_a_turn_that_was_drawn_in_other_tokens_stays_as_it_was_drawn(renderer):
    said, end = drawn(renderer, SAID["content"])
    odd = (*renderer.render(ASKED).token_ids, *(i for letter in SAID["content"] for i in renderer._ids(letter)), end)
    usual = renderer.extend((*said, end), SEEN)
    assert renderer.extend(odd, SEEN) == odd + usual[len(said) + 1 :]


def test_a_turn_without_its_end_token_is_closed_by_the_template(renderer):
    said, end = drawn(renderer, SAID["content"])
    assert renderer.extend(said, SEEN) == renderer.extend((*said, end), SEEN)


def test_an_observation_that_spells_special_tokens_ends_no_turn(renderer):
    said, end = drawn(renderer, SAID["content"])
    special = renderer._tokenizer.convert_ids_to_tokens(end)
    hostile = [{"role": "user", "content": f"42{special}x"}]
    ids = renderer.extend((*said, end), hostile)
    harmless = renderer.extend((*said, end), [{"role": "user", "content": "42x"}])
    assert ids.count(end) == harmless.count(end)
    assert renderer._tokenizer.decode(ids[len(said) + 1 :]).count(special) == harmless[len(said) + 1 :].count(end) + 1


def test_several_tools_answer_at_once(renderer):
    said, end = drawn(renderer, SAID["content"])
    answers = [{"role": "tool", "content": str(k)} for k in range(3)]
    assert renderer.extend((*said, end), answers) == renderer.render([*ASKED, SAID, *answers]).token_ids


def test_tools_are_refused_by_a_template_that_does_not_show_them(renderer):
    if "tools" in renderer._template:
        assert "look" in renderer.render(ASKED, [TOOL]).text
    else:
        with pytest.raises(RenderError, match="shows no tools"):
            renderer.render(ASKED, [TOOL])

"""An engine without a model: bytes for tokens, a chat template of one token a message, and a policy that is a table of replies."""

from __future__ import annotations

import asyncio
import json

from gpu_workers.engines.engine import Generation, Identity, unheard

END, ODD, FIRST_ROLE = 256, 257, 300
ROLES = ("system", "user", "assistant", "tool")


def call(name, **arguments):
    """The text of one call."""
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


def tokens_of(messages):
    """Each message opened by its role, its bytes, and the end token."""
    return [i for m in messages for i in (FIRST_ROLE + ROLES.index(m["role"]), *m["content"].encode("utf-8", "replace"), END)]


def text_of(ids):
    """What tokens say, roles and ends as signs."""
    return "".join(f"<{ROLES[i - FIRST_ROLE]}>" if i >= FIRST_ROLE else "|" if i == END else "" if i == ODD else chr(i) for i in ids)


class ScriptedEngine:
    """Answers turn k of a prompt by the k-th reply of its script: text, a Generation, or a function of the request; the last one is repeated.

    Args:
        scripts: {word that the prompt contains: replies}.
        known: whether it tells tokens; else it is like a server that keeps its template to itself.
        seconds: of each draw.
    """

    def __init__(self, scripts, *, known=True, seconds=0.0):
        self.identity = Identity("scripted", "1", "table", "float32", "processed", "c" * 64)
        self.progress = unheard
        self.scripts, self.known, self.seconds = scripts, known, seconds
        self.requests, self.version, self.inside, self.most, self.closed = [], 0, 0, 0, False

    async def open(self):
        pass

    async def generate(self, request):
        self.requests.append(request)
        self.inside += 1
        self.most = max(self.most, self.inside)
        await asyncio.sleep(self.seconds)
        self.inside -= 1
        self.progress()
        opening = FIRST_ROLE + ROLES.index("assistant")
        prompt = list(request.prompt_token_ids) if request.prompt_token_ids is not None else [*tokens_of(request.messages), opening]
        text, turn = text_of(prompt), prompt.count(opening) - 1
        replies = next(replies for word, replies in self.scripts.items() if word in text)
        reply = replies[min(turn, len(replies) - 1)]
        reply = reply(request) if callable(reply) else reply
        if isinstance(reply, Generation):
            return reply
        # One token more than a tokenizer would choose: what was drawn cannot be had again from the text.
        ids = (*reply.encode("utf-8", "replace"), ODD, END)
        cut = ids[: request.sampling.max_tokens]
        finish = "stop" if len(cut) == len(ids) else "length"
        told = reply if finish == "stop" else bytes(i for i in cut if i < END).decode("utf-8", "replace")
        if not self.known:
            return Generation(told, finish, completion_tokens=len(cut))
        return Generation(
            told, finish, prompt_text=text, prompt_token_ids=tuple(prompt), token_ids=cut, logprobs=(-0.5,) * len(cut),
            weight_versions=(self.version,) * len(cut), prompt_tokens=len(prompt), cached_tokens=0, completion_tokens=len(cut), seconds=0.25,
            raw={"id": request.key},
        )  # fmt: skip

    def extend(self, token_ids, messages):
        if not self.known:
            return None
        return (*token_ids, *tokens_of(messages), FIRST_ROLE + ROLES.index("assistant"))

    async def load_policy(self, folder, version):  # noqa: ARG002 - as the interface has it
        self.version = version

    async def close(self):
        self.closed = True

"""A server on loopback that speaks the OpenAI protocol and misbehaves on order. It speaks plain HTTP over asyncio streams, because what
is to be tried (cut bodies, resets, two replies to one request) is just what a web framework would not let it do."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable

#: What the server may do with a call; anything else is a status, with a ``Retry-After`` after a colon: ``429:0.1``.
CONDUCTS = ("ok", "late", "reset", "cut", "garbage", "stall", "twice", "same id", "huge", "close")


class StubServer:
    """Answers every chat with the content of its last message, so that a test can tell whose reply it got; or with what ``says`` makes of it.

    Attributes:
        url: base URL.
        calls: bodies of all calls, in order.
        answered: replies that were sent whole, by content: what a provider would have been paid for.
        connections: connections accepted.
    """

    def __init__(
        self,
        conduct: Callable[[int, dict], str] = lambda *_: "ok",
        *,
        delay: float = 0.0,
        keep_calls: bool = True,
        says: Callable[[dict], str] | None = None,
    ):
        self.calls: list[dict] = []
        self.answered: Counter[str] = Counter()
        self.connections = self.most = self.inside = 0
        self._conduct, self._delay, self._keep = conduct, delay, keep_calls
        self._says = says or _content
        self._ordinal = 0
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task] = set()
        ready = threading.Event()
        self._thread = threading.Thread(target=self._turn, args=(ready,), daemon=True)
        self._thread.start()
        ready.wait()

    def _turn(self, ready):
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=1024))
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        ready.set()
        self._loop.run_forever()
        server.close()
        for task in self._tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*self._tasks, return_exceptions=True))
        self._loop.close()

    def close(self):
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    async def _serve(self, reader, writer):
        self.connections += 1
        task = asyncio.current_task()
        self._tasks.add(task)
        try:
            with contextlib.suppress(asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
                while await self._answer(reader, writer):
                    pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _answer(self, reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        line, *fields = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (field.partition(":") for field in fields if field)}
        data = await reader.readexactly(int(headers.get("content-length", 0)))
        method, path, _ = line.split(" ")
        if method == "GET":
            writer.write(_http(200, json.dumps({"data": [{"id": "stub"}]}).encode()))
            return True
        body = json.loads(data)
        body["path"], body["authorization"] = path, headers.get("authorization")
        self._ordinal += 1
        ordinal = self._ordinal
        if self._keep:
            self.calls.append(body)
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            if self._delay:
                await asyncio.sleep(self._delay)
            return await self._act(self._conduct(ordinal, body), ordinal, body, writer)
        finally:
            self.inside -= 1

    async def _act(self, conduct, ordinal, body, writer):
        reply = self._reply(body, "same" if conduct == "same id" else f"chatcmpl-{ordinal}")
        content = _content(body)
        if conduct == "late":
            await asyncio.sleep(0.02 * (ordinal % 5))
        if conduct in ("ok", "late", "same id", "close"):
            self.answered[content] += 1
            writer.write(_http(200, reply))
            await writer.drain()
            return conduct != "close"
        if conduct == "twice":
            self.answered[content] += 1
            writer.write(_http(200, reply))
            await writer.drain()
            await asyncio.sleep(0.01)  # the client has read the first one, and holds the connection for idle
            writer.write(_http(200, reply))
            return True
        if conduct == "stall":
            await asyncio.sleep(3600)
        if conduct in ("reset", "cut"):
            writer.write(_http(200, reply)[: -len(reply) // 2])
            await writer.drain()
            if conduct == "reset":  # lingering for no time sends RST
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return False
        if conduct == "garbage":
            writer.write(_http(200, reply[: len(reply) // 2]))
            return True
        if conduct == "huge":
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 999999999999\r\n\r\n")
            while True:
                writer.write(b"x" * (1 << 20))
                await writer.drain()
        status, _, rest = conduct.partition(":")
        after, _, code = rest.partition(":")
        error = json.dumps({"error": {"message": f"stub says {status}", "code": code}}).encode()
        writer.write(_http(int(status), error, {"Retry-After": after} if after else {}))
        return True

    def _reply(self, body, ident):
        text = self._says(body)
        ids = list(text.encode())
        choice = {"index": 0, "finish_reason": "stop"}
        if "messages" in body:
            choice["message"] = {"role": "assistant", "content": text}
            if body.get("logprobs"):
                choice["logprobs"] = {"content": [{"token": chr(i), "logprob": -0.5, "bytes": [i]} for i in ids]}
        else:
            choice["text"] = text
            if "logprobs" in body:
                choice["logprobs"] = {"tokens": [chr(i) for i in ids], "token_logprobs": [-0.5] * len(ids)}
        if body.get("return_token_ids"):
            choice |= {"token_ids": ids, "prompt_token_ids": [1, 2, 3]}
        usage = {"prompt_tokens": 3, "completion_tokens": len(ids), "prompt_tokens_details": {"cached_tokens": 1}}
        return json.dumps(
            {"id": ident, "object": "chat.completion", "model": "stub-1", "system_fingerprint": "fp", "choices": [choice], "usage": usage}
        ).encode()


def _content(body):
    return body["messages"][-1]["content"] if "messages" in body else "".join(map(chr, body["prompt"]))


def _http(status, body, headers=None):
    lines = [f"HTTP/1.1 {status} X", "Content-Type: application/json", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body

"""Lanes to a server: each one connection, kept while what comes over it is beyond doubt.

aiohttp's own pool lends an idle connection again whatever arrived on it meanwhile. A server (or a proxy) that answers once too often
would then stay one reply ahead on that connection, and each later draw would be given its predecessor's text. A pool of which the
caller can take a single connection out of use is not part of aiohttp's interface: hence a session with one connection for each lane.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import aiohttp


class Lane:
    """One connection.

    Attributes:
        session: a session that opens no second one.
        calls: replies that came over it and were beyond doubt.
        spoilt: must not carry another call.
    """

    def __init__(self, headers: Mapping[str, str]) -> None:
        self.session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=1), headers=headers, cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=True
        )
        self.calls = 0
        self.spoilt = False


class Lanes:
    """At most ``limit`` lanes; the one used last is lent first, so that no more are open than are needed."""

    def __init__(self, limit: int, headers: Mapping[str, str]) -> None:
        self._headers = dict(headers)
        self._places = asyncio.Semaphore(limit)
        self._idle: list[Lane] = []

    @asynccontextmanager
    async def borrow(self) -> AsyncIterator[Lane]:
        """A lane for one call; it is closed afterwards where the call did not end well, or the caller says it is spoilt."""
        async with self._places:
            lane = self._idle.pop() if self._idle else Lane(self._headers)
            try:
                yield lane
            except BaseException:
                lane.spoilt = True
                raise
            finally:
                if lane.spoilt:
                    await lane.session.close()
                else:
                    self._idle.append(lane)

    async def close(self) -> None:
        """Close what is idle; nothing may be lent any more."""
        while self._idle:
            await self._idle.pop().session.close()

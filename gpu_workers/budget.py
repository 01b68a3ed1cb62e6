"""A hard budget for calls: no call begins unless the most that it can cost is covered by slices that this worker holds."""

from __future__ import annotations

import asyncio

from schemas.budget import BUDGET, SLICES, Allowance, slice_name
from udfs.store.store import Store


class Budget:
    """What this worker may pay. Slices are taken by create-if-absent, so that no two workers spend the same money.

    Attributes:
        spent: no call could be covered, and nothing is in flight that might give money back: the end.
    """

    def __init__(self, store: Store) -> None:
        data = store.read(BUDGET)
        self._allowance = None if data is None else Allowance.model_validate_json(data)
        self._store = store
        self._free = 0
        self._next = 0
        self._reserved = 0
        self._changed = asyncio.Condition()
        self.spent = False

    async def reserve(self, nanos: int) -> bool:
        """Cover a call that costs at most ``nanos``; False once the budget is spent. Waits while calls in flight may give some back."""
        if self._allowance is None:
            return True
        async with self._changed:
            while not self.spent:
                if self._cover(nanos):
                    self._free -= nanos
                    self._reserved += nanos
                    return True
                if self._reserved == 0:
                    self.spent = True
                    self._changed.notify_all()
                    break
                await self._changed.wait()
        return False

    async def settle(self, reserved: int, paid: int) -> None:
        """A call has ended: what it did not use is free again."""
        if self._allowance is None:
            return
        async with self._changed:
            self._reserved -= reserved
            self._free += reserved - paid
            self._changed.notify_all()

    def _cover(self, nanos: int) -> bool:
        """Hold enough, by further slices where need be."""
        allowance = self._allowance
        while allowance is not None and self._free < nanos and self._next < SLICES:
            if self._store.create_if_absent(slice_name(allowance.epoch, self._next), b""):
                self._free += allowance.slice_nanos(self._next)
            self._next += 1
        return self._free >= nanos

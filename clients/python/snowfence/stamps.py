"""What a holder stamps: the function next of docs/reference/specification.md, for many IDs at once."""

from __future__ import annotations

from typing import Dict, List, Optional, Tuple

from .layout import Layout


class Stamps:
    """Makes the IDs of one grant at a time. One thread at a time may use it.

    The invariant: each ID has a tick in [start, until) of the grant, and of a node no pair of tick and slot comes twice,
    because the last pair only goes up. The last pairs of all nodes are kept, also over a loss. A slot is a scatter value
    and a sequence number: Layout.ids says which.
    """

    def __init__(self, lead: int) -> None:
        self.lead = lead
        self.layout: Optional[Layout] = None
        self.node = 0
        self.start = self.until = 0  # until is 0 without a grant
        self.tick, self._slot = -1, 0
        self._last: Dict[Tuple[str, int], Tuple[int, int]] = {}

    def grant(self, layout: Layout, node: int, start: int, until: int) -> None:
        """Begins a grant, or goes on with a renewed one."""
        if self.layout is not None:
            self._last[str(self.layout), self.node] = self.tick, self._slot
        self.tick, self._slot = self._last.get((str(layout), node), (-1, layout.slots - 1))
        self.layout, self.node, self.start, self.until = layout, node, start, until

    def lost(self) -> None:
        """Ends the grant: no ID is made before the next one."""
        self.until = 0

    @property
    def used(self) -> int:
        """The tick after the last one that was stamped, or the first one of the grant."""
        return max(self.tick + 1, self.start)

    def take(self, n: int, now: int) -> List[int]:
        """Makes up to n IDs at the tick now of the clock: as many as grant and clock allow."""
        ids: List[int] = []
        while len(ids) < n and self.layout is not None:
            tick, slot = self.tick, self._slot + 1
            if slot == self.layout.slots:
                tick, slot = tick + 1, 0
            if max(now, self.start) > tick:
                tick, slot = max(now, self.start), 0
            if tick >= self.until or tick > now + self.lead:
                break
            end = min(slot + n - len(ids), slot - slot % self.layout.turn + self.layout.turn)
            self.tick, self._slot = tick, end - 1  # before the IDs exist: an error between loses some
            ids += self.layout.ids(tick, self.node, slot, end)
        return ids

    def next_tick(self, now: int) -> int:
        """Returns the tick of the next ID at the tick now of the clock, wherever the grant ends."""
        full = self.layout is not None and self._slot == self.layout.slots - 1
        return max(self.tick + full, self.start, now)

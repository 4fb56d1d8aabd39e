"""A generator by docs/reference/specification.md alone: one grant at a time, from a server or a file."""


class Generator:
    """Makes the IDs of one grant at a time; grant and lost are called with the answers of the server."""

    def __init__(self, layout, lead):
        self.layout, self.lead, self.node, self.until = layout, lead, None, 0

    def grant(self, node, start, until):
        if node != self.node or self.until == 0:
            self.tick, self.slot = -1, self.layout.slots - 1
        self.node, self.start, self.until = node, start, until

    def lost(self):
        self.until = 0

    def next(self, now):
        """Returns (tick, node, value, sequence), or None while there is no ID."""
        if self.until == 0:
            return None
        tick, slot = self.tick, self.slot + 1
        if slot == self.layout.slots:
            tick, slot = tick + 1, 0
        if max(now, self.start) > tick:
            tick, slot = max(now, self.start), 0
        if tick >= self.until or tick > now + self.lead:
            return None
        self.tick, self.slot = tick, slot
        return tick, self.node, *self.layout.place(tick, self.node, slot)

"""A generator by docs/reference/specification.md alone: one grant at a time, from a server or a file."""


class Generator:
    """Makes the IDs of one grant at a time; grant and lost are called with the answers of the server."""

    def __init__(self, layout, lead):
        self.layout, self.lead, self.node, self.until = layout, lead, None, 0

    def grant(self, node, start, until):
        if node != self.node or self.until == 0:
            self.tick, self.sequence = -1, self.layout.last
        self.node, self.start, self.until = node, start, until

    def lost(self):
        self.until = 0

    def next(self, now):
        """Returns (tick, node, sequence), or None while there is no ID."""
        if self.until == 0:
            return None
        tick, sequence = self.tick, self.sequence + 1
        if sequence > self.layout.last:
            tick, sequence = tick + 1, self.layout.first
        if max(now, self.start) > tick:
            tick, sequence = max(now, self.start), self.layout.first
        if tick >= self.until or tick > now + self.lead:
            return None
        self.tick, self.sequence = tick, sequence
        return tick, self.node, sequence

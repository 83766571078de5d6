"""What a child hands over as it goes: its memory can still be changed, what it sent cannot."""

import json
import socket
from contextlib import suppress

from assay.shared.specs import Json

AT_ONCE = 1 << 16
"""Bytes read at a time."""
MOST = 1 << 26
"""Bytes taken of a child, far more than turns come to: one that goes on waits for its deadline."""


class Send:
    """What a child calls with a document that its parent is to have."""

    def __init__(self, to: socket.socket) -> None:
        self._to = to

    def __call__(self, document: Json) -> None:
        """Send it; waits while the parent has much to read."""
        self._to.sendall(json.dumps(document, allow_nan=False).encode() + b"\n")

    def fileno(self) -> int:
        """Return what a line may be written to."""
        return self._to.fileno()


class Handover:
    """One way from a forked child to its parent. It is a socket, for unlike a file or a pipe nobody
    can open that a second time, to read or write over what is in it.
    """

    def __init__(self) -> None:
        self._here, self._there = socket.socketpair()
        self._here.setblocking(False)
        self._arrived = bytearray()

    def close(self) -> None:
        """Close both ends."""
        self._here.close()
        self._there.close()

    def as_child(self) -> Send:
        """Let go of the parent's end, and return what sends a document; for the child."""
        self._here.close()
        return Send(self._there)

    def poll(self) -> None:
        """Take what has arrived: a child that sends much waits for this."""
        with suppress(BlockingIOError):
            while len(self._arrived) < MOST and (data := self._here.recv(AT_ONCE)):
                self._arrived += data

    def documents(self) -> list[Json]:
        """Return what was sent, in order; nothing where not all of it is a document."""
        self.poll()
        with suppress(ValueError):
            found = [json.loads(line) for line in self._arrived.splitlines()]
            if all(isinstance(each, dict) for each in found):
                return found
        return []

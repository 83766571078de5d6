"""What a stranger's program prints: read as it comes, the first part of it kept, no disk filled."""

import contextlib
import os
import select
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

MOST_OUTPUT = 2**20
POLL_S = 0.05
PIECE = 2**16


@dataclass
class KeptOutput:
    """The first part of what was printed, and whether there was more."""

    data: bytearray = field(default_factory=bytearray)
    cut: bool = False

    def take(self, piece: bytes) -> None:
        """Add what was read, as far as there is room."""
        room = MOST_OUTPUT - len(self.data)
        self.cut = self.cut or len(piece) > room
        self.data += piece[:room]

    def text(self) -> str:
        """Return it as text; bytes that are none are marked."""
        return self.data.decode(errors="replace")


@contextlib.contextmanager
def kept_output(path: Path) -> Iterator[KeptOutput]:
    """Make a named pipe at ``path``, and keep what is written to it until the context ends.

    A container writes to it as the host's own processes do. Raises OSError.
    """
    os.mkfifo(path, 0o600)
    # Open for both ways: that writers come and go is no end.
    handle = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    kept, over = KeptOutput(), threading.Event()

    def read() -> None:
        while True:
            ready, _, _ = select.select([handle], [], [], POLL_S)
            if ready:
                kept.take(os.read(handle, PIECE))
            elif over.is_set():
                return

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    try:
        yield kept
    finally:
        over.set()
        thread.join()
        os.close(handle)

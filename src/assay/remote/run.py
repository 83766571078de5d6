"""A run on a machine that is reached by SSH: copied, started, shown, fetched, removed."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from assay.base.errors import AssayError, CheckFailed, MissingEnvironment
from assay.base.progress import say
from assay.remote.fetched import unpack
from assay.remote.host import RemotePlace
from assay.remote.machine import RemoteMachine, RunThere, answers, parse_machine, parse_run
from assay.remote.payload import Payload
from assay.remote.ssh import ConnectionLost, Ssh, receive_command, script

NODE_SCRIPT = "tools/remote_node.sh"
PATIENCE_S = 600.0
"""How long a lost connection is tried again; the run goes on meanwhile."""
FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 30.0
END_S = 120
"""Patience with a run that was asked to end: it removes its containers."""
CHUNK = 1 << 16


@dataclass(frozen=True)
class RemoteRun:
    """One run of one machine."""

    root: Path
    """This repository."""
    place: RemotePlace
    run: str
    home: str
    """Folder in which the run lies, below the one of the machine: the repository, or a project."""

    def probe(self) -> tuple[RemoteMachine, RunThere]:
        """Ask the machine what it is and how far the run is; writes nothing there."""
        told = answers(self._ask("probe"))
        return parse_machine(self.place.host, told), parse_run(self.place.host, told)

    def copy(self, payload: Payload) -> None:
        """Copy everything; what did not arrive whole is copied again by the next call."""
        with self._ssh.writing(receive_command(self.place.folder)) as stream:
            payload.pack(stream)

    def start(self, stamp: str | None) -> None:
        """Start the run there, in no need of this connection; ``stamp``: of what was just copied.

        Raises MissingEnvironment where one goes on already.
        """
        given = {"copied": "0" if stamp is None else "1", "stamp": stamp or ""}
        parse_run(self.place.host, answers(self._ask("start", **given)))

    def follow(self, show: Callable[[str], None]) -> None:
        """Show the run's lines until it ends, over as many connections as that takes.

        Raises MissingEnvironment where the machine cannot be reached for long.
        """
        lines = LogLines(show)
        wait, lost_at = FIRST_WAIT_S, None
        while True:
            seen = lines.seen
            try:
                with self._ssh.reading(self._script("follow", offset=str(seen + 1))) as stream:
                    while chunk := stream.read1(CHUNK):  # type: ignore[attr-defined]
                        lines.take(chunk)
                break
            except AssayError as error:
                if not isinstance(error.__cause__, ConnectionLost):
                    raise
                if lost_at is None or lines.seen > seen:
                    lost_at, wait = time.monotonic(), FIRST_WAIT_S
                    say(f"{error}; the run goes on there, and is looked for again")
                if time.monotonic() - lost_at > PATIENCE_S:
                    raise MissingEnvironment(
                        f"{error}; the run goes on there: --resume picks it up"
                    ) from error
                time.sleep(wait)
                wait = min(2 * wait, LONGEST_WAIT_S)
        lines.end()

    def state(self) -> RunThere:
        """Ask how far the run is."""
        return parse_run(self.place.host, answers(self._ask("tell_state")))

    def fetch(self, folder: Path) -> None:
        """Bring what the run made into ``folder``: ``log``, ``results``, ``report``.

        Raises CheckFailed for an archive that holds anything else.
        """
        places = {
            "job/log": "log",
            f"{self.home}/results/{self.run}": "results",
            f"{self.home}/reports/{self.run}": "report",
        }
        fetch = self._script("fetch", home=self.home, run=self.run)
        with self._ssh.reading(fetch) as stream:
            problem = unpack(stream, places, folder)
            while stream.read(CHUNK):
                pass
        if problem is not None:  # what ssh says of a broken connection goes before it
            raise CheckFailed(f"{self.place.host}: {problem}")

    def remove(self) -> RunThere:
        """End what goes on there, and remove the folder, if it is ours; return what was there."""
        before = self.state()
        if before.state not in ("none", "foreign"):
            parse_run(self.place.host, answers(self._ask("remove", patience=str(END_S))))
        return before

    @property
    def _ssh(self) -> Ssh:
        return Ssh(self.place)

    def _script(self, action: str, **values: str) -> str:
        return script(self.root / NODE_SCRIPT, self.place, action, **values)

    def _ask(self, action: str, **values: str) -> str:
        return self._ssh.ask(self._script(action, **values))


class LogLines:
    """Cuts a log that comes in pieces into lines, and counts its bytes."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self.seen = 0
        self._show = show
        self._rest = b""

    def take(self, chunk: bytes) -> None:
        """Show the lines that are whole now."""
        self.seen += len(chunk)
        *whole, self._rest = (self._rest + chunk).split(b"\n")
        for line in whole:
            self._show(line.decode(errors="replace"))

    def end(self) -> None:
        """Show what stands behind the last line's end."""
        if self._rest:
            self._show(self._rest.decode(errors="replace"))
            self._rest = b""

"""The system's ssh: one connection a call, by the caller's own configuration, keys and jump hosts.

What runs there is read by its ``sh`` from standard input, so that no login shell has to be quoted
for; the one command with a payload on standard input is a single line.
"""

import os
import shlex
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, NoReturn

from assay.base.errors import MissingEnvironment
from assay.remote.host import RemotePlace
from assay.remote.ssh_words import NO_CONNECTION, connection_error
from assay.shared.parent_death import tied_to_parent

ALIVE_S = 15
"""Seconds after which ssh asks a silent machine whether it is there; the third time it gives up."""
OURS = (
    "-T",
    "-o", f"ServerAliveInterval={ALIVE_S}", "-o", "ServerAliveCountMax=3",
    "-o", "ConnectTimeout=30", "-o", "EscapeChar=none", "-o", "RemoteCommand=none",
    "-o", "ClearAllForwardings=yes",
)  # fmt: skip
SHELL = "sh -s"


def ssh_command(place: RemotePlace, command: str) -> list[str]:
    """Return how a command is run on a machine. The caller's options come first, and so hold."""
    given = [word for option in place.options for word in ("-o", option)]
    return ["ssh", *given, *OURS, "--", place.host, command]


class ConnectionLost(Exception):
    """The connection came to an end before the command did, or never came to be."""


class Ssh:
    """Runs scripts on one machine."""

    def __init__(self, place: RemotePlace) -> None:
        self.place = place

    def ask(self, script: str) -> str:
        """Return what a script prints there. Raises AssayError without a connection, or where it
        fails.
        """
        with self.reading(script) as stream:
            return stream.read().decode(errors="replace")

    @contextmanager
    def reading(self, script: str) -> Iterator[IO[bytes]]:
        """Yield what a script prints there while it runs. Raises as ``ask`` does, at its end."""
        with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as source:
            source.write(script.encode())
            source.seek(0)
            with _process(self.place, SHELL, said, stdin=source) as process:
                assert process.stdout is not None
                yield process.stdout
                code = process.wait()
            if code != 0:
                self._fail(code, said)

    @contextmanager
    def writing(self, command: str) -> Iterator[IO[bytes]]:
        """Yield a stream that a command there reads; raises as ``ask`` does, at its end."""
        with tempfile.TemporaryFile() as said:
            with _process(self.place, command, said, stdin=subprocess.PIPE) as process:
                assert process.stdin is not None
                with suppress(BrokenPipeError):  # what ended there says why
                    yield process.stdin
                    process.stdin.close()
                code = process.wait()
            if code != 0:
                self._fail(code, said)

    def _fail(self, code: int, said: IO[bytes]) -> NoReturn:
        said.seek(0)
        words = said.read().decode(errors="replace")
        if code == NO_CONNECTION:
            raise connection_error(self.place.host, words) from ConnectionLost()
        last = words.strip().splitlines()[-1:] or [f"code {code}"]
        if "No space left" in words or "Disk quota exceeded" in words:
            raise MissingEnvironment(
                f"{self.place.host}: its disk is full ({last[0]}): make room there, or name "
                "another folder with --folder"
            )
        raise MissingEnvironment(f"{self.place.host}: a command fails there ({last[0]})")


@contextmanager
def _process(
    place: RemotePlace, command: str, said: IO[bytes], *, stdin: IO[bytes] | int
) -> Iterator["subprocess.Popen[bytes]"]:
    """Start ssh, and see to its end.

    Its words go to a file: a connection that others share, which it may leave behind, would hold a
    pipe open.
    """
    try:
        process = subprocess.Popen(
            ssh_command(place, command),
            stdin=stdin, stdout=subprocess.PIPE, stderr=said,
            env={**os.environ, "LC_ALL": "C"}, preexec_fn=tied_to_parent(),
        )  # fmt: skip
    except FileNotFoundError as error:
        raise MissingEnvironment(
            "there is no ssh here: install it (apt-get install openssh-client)"
        ) from error
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()


def receive_command(folder: str) -> str:
    """Return the line by which a machine takes an archive into a folder, which is then Assay's."""
    place = shlex.quote(folder)
    return "sh -c " + shlex.quote(
        f"umask 077 && mkdir -p {place} && touch {place}/.assay-remote && rm -f {place}/stamp "
        f"&& exec tar -xzf - -C {place}"
    )


def script(text: Path, place: RemotePlace, action: str, **values: str) -> str:
    """Return the machine's script with what it is to do."""
    given = {"folder": place.folder, "action": action, **values}
    lines = [f"{name}={shlex.quote(value)}\n" for name, value in given.items()]
    return "".join(lines) + text.read_text(encoding="utf-8")

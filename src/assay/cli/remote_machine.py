"""A machine that is reached by SSH, and a run that was fetched from it.

It is asked by scripts, copied to and from by rsync. ssh and rsync are the system's own, by the
caller's configuration; what they say of a connection that fails goes to the terminal as it is. A
fetched report is signed here, verified, and put in its place with the run; until then it lies in a
folder that goes away.
"""

import re
import shlex
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.base.commits import git_state
from assay.base.errors import BadInput, CheckFailed, MissingEnvironment
from assay.base.io import read_record
from assay.base.printable import shown_line
from assay.base.progress import say
from assay.pipeline.run_files import REPORTS, REQUEST, RESULTS, VERIFIED, require_own_places
from assay.pipeline.steps import verify_own
from assay.records.attestation import ATTESTATION, SIGNER, VERDICTS
from assay.records.plan import Request
from assay.report.replaceable import require_replaceable
from assay.shared.files import write_bytes
from assay.verification.sign import sign

NODE_SCRIPT = "tools/remote_node.sh"
HOST = re.compile(r"([\w.+-]+@)?\w[\w.-]*")
FOLDER = re.compile(r"[\w/][\w./+@,=-]*")
"""Letters of a folder that the workflow, whose files' names are patterns, takes as they are."""
SSH = ("ssh", "-T", "-o", "ServerAliveInterval=15", "-o", "ConnectTimeout=30",
       "-o", "RemoteCommand=none", "-o", "ClearAllForwardings=yes")  # fmt: skip
NO_CONNECTION = 255  # ssh's own exit code; rsync has it from there
END_S = 120  # patience with a run that was asked to end: it removes its containers
Answers = Mapping[str, list[str]]


@dataclass(frozen=True)
class RemoteMachine:
    """A machine, and the folder of a run on it."""

    root: Path
    host: str
    folder: str
    """Absolute, or below the home of the account there."""

    def __post_init__(self) -> None:
        """Refuse what ssh would take for an option, and a folder that would be none of its own."""
        user, _, bare = self.host.rpartition("@")
        if not HOST.fullmatch(self.host) or user.startswith("-") or bare.startswith("-"):
            raise BadInput(f"'{self.host}' names no machine: give a host, USER@HOST or an alias")
        parts = self.folder.split("/")
        if not FOLDER.fullmatch(self.folder) or {"..", "."} & set(parts) or parts[-1] == "":
            raise BadInput(
                f"--folder {self.folder}: name a folder of its own there, absolute or below your "
                "home, of letters, digits and . _ - + @ , = only"
            )

    def ask(self, action: str, **values: str) -> Answers:
        """Return its lines "NAME VALUE" by name. Raises MissingEnvironment where none come."""
        command, script = [*SSH, "--", self.host, "sh -s"], self._script(action, **values)
        done = _checked(self.host, command, input=script, stdout=subprocess.PIPE)
        found: dict[str, list[str]] = {}
        for line in done.stdout.decode(errors="replace").splitlines():
            name, _, value = line.partition(" ")
            found.setdefault(name, []).append(value.strip())
        if "refused" in found:
            raise MissingEnvironment(f"{self.host}: {found['refused'][0]}")
        return found

    def push(self, source: str, name: str, *options: str) -> None:
        """Copy a file, or what is in a folder (``folder/``), to ``name`` below the folder there."""
        links = ("-l", "--copy-unsafe-links")  # a link that leads out of a folder goes as its file
        self._copy(source, f"{self.host}:{self.folder}/{name}", "-E", *links, *options)

    def fetch(self, name: str, place: Path, most: int) -> None:
        """Bring plain files of at most ``most`` bytes, none with a stranger's permissions."""
        self._copy(f"{self.host}:{self.folder}/{name}", str(place), f"--max-size={most}")

    def follow(self, show: Callable[[str], None]) -> None:
        """Show all lines of the run. Raises MissingEnvironment where the connection is lost."""
        with subprocess.Popen(
            [*SSH, "--", self.host, "sh -s"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # another machine's bytes; this end says what is lost
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                process.stdin.write(self._script("follow"))
                process.stdin.close()
                for line in process.stdout:
                    show(line.decode(errors="replace").rstrip("\n"))
                process.wait()
            finally:
                process.kill()
        if process.returncode == NO_CONNECTION:
            raise MissingEnvironment(
                f"{self.host}: the connection is lost; the run goes on there: --resume picks it up"
            )

    def _script(self, action: str, **values: str) -> bytes:
        given = {"folder": self.folder, "action": action, **values}
        lines = [f"{name}={shlex.quote(value)}\n" for name, value in given.items()]
        return "".join(lines).encode() + (self.root / NODE_SCRIPT).read_bytes()

    def _copy(self, source: str, target: str, *options: str) -> None:
        rsync = ["rsync", "-rtzs", "-e", shlex.join(SSH), *options, "--", source, target]
        _checked(self.host, rsync)


def _checked(host: str, command: list[str], **how: object) -> "subprocess.CompletedProcess[bytes]":
    """Run ssh or rsync to its end. Raises MissingEnvironment where it fails."""
    try:
        done: subprocess.CompletedProcess[bytes] = subprocess.run(  # type: ignore[call-overload]
            command, check=False, stderr=subprocess.PIPE, **how
        )
    except FileNotFoundError as error:
        raise MissingEnvironment(
            f"there is no {command[0]} here: install it (apt-get install openssh-client rsync)"
        ) from error
    for line in done.stderr.decode(errors="replace").splitlines():
        say(shown_line(line))  # another machine's words
    if done.returncode == NO_CONNECTION:
        raise MissingEnvironment(
            f"{host}: no connection by ssh, which says why above: see that `ssh {host} true` works"
        )
    if done.returncode != 0:
        raise MissingEnvironment(
            f"{host}: {command[0]} fails with code {done.returncode}, and says why above"
        )
    return done


LOG = Path("logs", "remote.log")
"""Of a run: what it said on the machine that it ran on; tells a fetched run from others."""


def require_place(home: Path, run: str) -> None:
    """Raise BadInput where a run of that name is here that was not fetched, or lies elsewhere."""
    require_own_places(home, run)
    results, report = home / RESULTS / run, home / REPORTS / run
    if (results.exists() or report.exists()) and not (results / LOG).is_file():
        raise BadInput(
            f"a run '{run}' is in {home} already, and was not fetched from elsewhere: name "
            "another one with --run"
        )
    require_replaceable(report)


def settle(
    root: Path, home: Path, run: str, fetched: Path, key: Path, trusted: Sequence[Path]
) -> Request:
    """Sign what was fetched, verify it, and put it where runs lie; return its request, as of here.
    Raises CheckFailed for what is no finished run or does not verify.
    """
    results, report = fetched / "results", fetched / "report"
    needed = (report / VERDICTS, results / REQUEST, fetched / "log")
    if not all(path.is_file() for path in needed):
        raise CheckFailed("what was fetched holds no finished report")
    commit, clean = git_state(root)
    request = read_record(Request, results / REQUEST).model_copy(
        update={
            "home": None if home == root else str(home),
            "signing_key": str(key.resolve()),
            "unsigned_for": None,
            "extra_keys": tuple(str(path.resolve()) for path in trusted),
            "commit": commit,
            "clean_tree": clean,
        }
    )
    if request.run != run:
        raise CheckFailed(f"what was fetched is run '{request.run}', not '{run}'")
    for name in (ATTESTATION, SIGNER):
        (report / name).unlink(missing_ok=True)
    sign(report, key)
    found = verify_own(root, report, request)
    write_bytes(results / VERIFIED, found.encode())
    write_bytes(results / LOG, (fetched / "log").read_bytes())
    for new, place in ((results, home / RESULTS / run), (report, home / REPORTS / run)):
        place.parent.mkdir(exist_ok=True)
        if place.exists():
            place.rename(fetched / f"old_{place.parent.name}")
        new.rename(place)
    return request

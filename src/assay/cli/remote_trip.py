"""A run on a machine that is reached by SSH, from its copy there to its report here."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from assay.base.commits import git_state
from assay.base.errors import BadInput, CheckFailed, Interrupted, MissingEnvironment
from assay.base.progress import say
from assay.base.signals import SignalledExit
from assay.base.source_files import source_files
from assay.cli import checkout, console
from assay.cli.commands.reproduce import tell_outcome
from assay.cli.project_folder import home
from assay.cli.remote_report import Signing, fetching, settle
from assay.remote.machine import RemoteMachine, RunThere, objections
from assay.remote.payload import (
    BUNDLE,
    CarriedFiles,
    Copied,
    Payload,
    There,
    run_command,
    run_script,
    tree_files,
)
from assay.remote.run import RemoteRun
from assay.shared.counting import counted
from assay.shared.exit_codes import ExitCode

KEY_THERE = "job/key.pub"


@dataclass(frozen=True)
class Copies:
    """What a run there needs, as it was asked for."""

    inputs: CarriedFiles
    arguments: list[str | There]
    bundle: Path | None
    public_key: bytes

    def command(self, python: str | None) -> str:
        """Return what runs there; ``python``: by what, where no bundle brings its own."""
        return run_command(self.arguments, None if self.bundle else python)

    def payload(self, python: str | None) -> Payload:
        """Return all files; ``python`` as for ``command``."""
        root = checkout.ROOT
        commit, clean = git_state(root)
        ours = (
            tree_files(root, source_files(root))
            if self.bundle is None
            else [Copied(BUNDLE, self.bundle)]
        )
        script = run_script(
            self.arguments, commit if clean else None, None if self.bundle else python
        )
        key = Copied(KEY_THERE, self.public_key)
        return Payload((*ours, *self.inputs.files, key, script))


@dataclass(frozen=True)
class Trip:
    """A run from its start there to its report here."""

    there: RemoteRun
    signing: Signing
    project: Path | None
    strict: bool

    def preview(self, copies: Copies) -> None:
        """Say what would be copied and run; write nothing, here or there."""
        machine, now, payload = self._look(copies)
        host, folder = self.there.place.host, self.there.place.folder
        files = f"{counted(len(payload.files), 'file')}, {payload.size} bytes"
        is_there = now.stamp == payload.stamp()
        console.say(f"{host}: {', '.join(machine.gpus)}; {machine.free_bytes / 1e9:.0f} GB free")
        console.say(
            f"would copy nothing: {files} are in {folder} already"
            if is_there
            else f"would copy to {folder}: {files}, compressed on the way"
        )
        console.say(f"would run there: {copies.command(machine.python)}")
        console.say(
            f"would fetch results/{self.there.run} and reports/{self.there.run}, sign with "
            f"{self.signing.key} here, and verify"
        )

    def go(self, copies: Copies) -> None:
        """Copy what is not there, start, show, fetch."""
        with self._interruptible("nothing was started there"):
            _, now, payload = self._look(copies)
            stamp = payload.stamp()
            same = now.stamp == stamp
            if now.state == "running" and not same:
                raise BadInput(
                    f"{self.there.place.host}: another run goes on in {self.there.place.folder}: "
                    "--resume shows it, --remove ends it"
                )
            if not same:
                say(f"copying {payload.size / 1e6:.0f} MB to {self.there.place.host}")
                self.there.copy(payload)
                self.there.start(stamp)
        if same:
            self._go_on(now)
        else:
            say(f"started on {self.there.place.host}, where it needs nothing from here any more")
            self._bring(self._watched())

    def resume(self) -> None:
        """Take up a run that was started before."""
        now = self.there.state()
        if now.state in ("none", "foreign", "copied"):
            raise BadInput(
                f"{self.there.place.host}: no run was started in {self.there.place.folder}: see "
                "--run and --folder, or start one without --resume"
            )
        self._go_on(now)

    def _look(self, copies: Copies) -> tuple[RemoteMachine, RunThere, Payload]:
        """Ask the machine what it is. Raises MissingEnvironment for one that a run cannot be on."""
        machine, now = self.there.probe()
        host = self.there.place.host
        if now.state == "foreign":
            raise BadInput(
                f"{host}: {self.there.place.folder} holds files that ./assay remote did not put "
                "there: name another folder with --folder"
            )
        payload = copies.payload(machine.python)
        if now.stamp != payload.stamp():
            wrong = list(objections(machine, payload.size, own_python=copies.bundle is None))
            if wrong:
                raise MissingEnvironment(f"{host} {'; it '.join(wrong)}")
        return machine, now, payload

    def _go_on(self, now: RunThere) -> None:
        """Show what goes on, or start what was cut short; then fetch."""
        host = self.there.place.host
        if now.state == "ended" and now.code == 0:
            say(f"the run on {host} has come to its end")
            self._bring(now)
            return
        if now.state == "running":
            say(f"the run goes on on {host}; what it said so far:")
        else:
            say(f"starting again on {host} where the run was cut short")
            with self._interruptible("nothing was started there"):
                self.there.start(None)
        self._bring(self._watched())

    def _watched(self) -> RunThere:
        """Show the run until it ends; return how."""
        with self._interruptible(f"the run goes on on {self.there.place.host}"):
            self.there.follow(_show)
            return self.there.state()

    def _bring(self, now: RunThere) -> None:
        """Fetch what a run made that ended well, sign and verify it, and tell what it says."""
        host, place = self.there.place.host, home(self.project)
        _require_end(host, now)
        waiting = f"the run on {host} has ended, and is not fetched yet"
        with self._interruptible(waiting), fetching(place) as fetched:
            say(f"fetching results/{self.there.run} and reports/{self.there.run}")
            self.there.fetch(fetched)
            say("signing with the key here, and verifying")
            request = settle(checkout.ROOT, place, self.there.run, fetched, self.signing)
        tell_outcome(request, self.strict)

    @contextmanager
    def _interruptible(self, state: str) -> Iterator[None]:
        try:
            yield
        except (KeyboardInterrupt, SignalledExit) as stop:
            code = stop.code if isinstance(stop, SignalledExit) else ExitCode.INTERRUPTED
            raise Interrupted(f"interrupted: {state}", code) from stop


def _show(line: str) -> None:
    """Show a line of the run; it marks its own."""
    console.note(line)


def _require_end(host: str, now: RunThere) -> None:
    """Raise the error that the end of a run is, but for a good one."""
    kept = "what it has is kept there, and --resume goes on with it"
    if now.state != "ended" or now.code is None:
        raise MissingEnvironment(
            f"{host}: the run was killed there (memory that is too small, or a restart): {kept}"
        )
    if now.code == 0:
        return
    sentence = f"{host}: the run ended there with code {now.code}, as its last lines say: {kept}"
    if now.code == ExitCode.BAD_INPUT:
        raise BadInput(sentence)
    if now.code == ExitCode.MACHINE_LACKS:
        raise MissingEnvironment(sentence)
    raise CheckFailed(sentence)

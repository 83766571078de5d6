"""``./assay remote``: reproduce on a machine that is reached by SSH, and fetch the report."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.base.errors import BadInput, CheckFailed, Interrupted, MissingEnvironment
from assay.base.printable import shown_line
from assay.base.progress import SignalledExit, say
from assay.base.source_files import source_files
from assay.catalog.load import load_catalog
from assay.cli import checkout, console
from assay.cli.commands.reproduce import reproduce, tell_outcome
from assay.cli.project_folder import home, project_folder, use_own_cache
from assay.cli.remote_options import HERE, arguments_there, typed_options, with_options_of
from assay.cli.remote_report import Signing, fetching, require_place, settle
from assay.pipeline.git_state import git_state
from assay.pipeline.request import default_signing_key
from assay.pipeline.snakemake_run import only_run
from assay.remote.host import remote_place
from assay.remote.machine import RemoteMachine, RunThere, objections
from assay.remote.payload import (
    BUNDLE,
    LEFT_OUT,
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
from assay.verification.attestation import load_signer, public_pem
from assay.verification.sign import load_or_create_signer
from assay.verification.time_service import time_service

OWN = frozenset(
    {"host", "run", "ssh_option", "folder", "bundle", "resume", "remove", "dry_run"}
)  # fmt: skip
KEY_THERE = "job/key.pub"


@with_options_of(reproduce)
def remote(
    context: typer.Context,
    host: Annotated[
        str, typer.Argument(help="What ssh takes: a name, USER@NAME, an alias.", metavar="HOST")
    ],
    run: Annotated[
        str, typer.Option(help="Name of the run, here and there: results/NAME, reports/NAME.")
    ] = "remote",
    ssh_option: Annotated[
        list[str] | None,
        typer.Option(help="Option of ssh, as Port=2222; repeatable.", metavar="NAME=VALUE"),
    ] = None,
    folder: Annotated[
        str | None,
        typer.Option(
            help="Folder there, below its home or absolute.", show_default="assay-remote/RUN"
        ),
    ] = None,
    bundle: Annotated[
        Path | None,
        typer.Option(help="Archive of ./assay bundle, for a machine without a network."),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Show and fetch a run that goes on there, or was cut short."),
    ] = False,
    remove: Annotated[
        bool,
        typer.Option("--remove", help="End the run there, remove its folder there, and stop."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be copied and run, and stop.")
    ] = False,
    **given: Any,
) -> None:
    """Reproduce on a machine reached by SSH; sign and verify here."""
    typed = typed_options(context, OWN)
    _check_together(typed, resume=resume, remove=remove, dry_run=dry_run, bundle=bundle)
    project = project_folder(given["project"])
    use_own_cache(project)
    inputs = CarriedFiles()
    home_there = inputs.add(project, leave_out=LEFT_OUT) if project else "source"
    place = remote_place(host, folder, tuple(ssh_option or ()), run)
    there = RemoteRun(checkout.ROOT, place, run, home_there)
    if remove:
        _remove(there)
        return
    require_place(home(project), run)
    signing = Signing(
        given["signing_key"] or default_signing_key(),
        tuple(given["key"] or ()),
        time_service(given["timestamp_service"], given["timestamp_ca"]),
    )
    if resume:
        trip = Trip(there, signing, project, strict=given["strict"])
        with only_run(home(project), run):
            trip.resume()
        return
    catalog = load_catalog(checkout.ROOT, project)
    catalog.check_selection(given["source"] or (), given["target"] or ())
    catalog.sources_of(given["claim"] or ())
    arguments = [
        *([There(home_there, "--project=")] if project else []),
        *arguments_there(typed, inputs),
        f"--run={run}",
        There(KEY_THERE, "--unsigned-for="),
    ]
    copies = Copies(inputs, arguments, bundle, _public_key(signing.key, makes=not dry_run))
    trip = Trip(there, signing, project, strict=given["strict"])
    if dry_run:
        trip.preview(copies)
        return
    with only_run(home(project), run):
        trip.go(copies)


def _check_together(
    typed: dict[str, Any], *, resume: bool, remove: bool, dry_run: bool, bundle: Path | None
) -> None:
    """Raise BadInput for options that do not go together."""
    alone = "--resume" if resume else "--remove"
    if resume + remove + dry_run > 1:
        raise BadInput("--resume, --remove and --dry-run do not go together")
    if resume or remove:
        of_run = [spelled for name, (spelled, _) in typed.items() if name not in HERE | {"key"}]
        if bundle:
            of_run.append("--bundle")
        if of_run:
            raise BadInput(f"{alone} is about a run as it was started: leave {of_run[0]} out")
    if bundle is not None:
        if not bundle.is_file():
            raise BadInput(f"{bundle}: no such file; ./assay bundle --target NAME makes one")
        if taken := [
            spelled for name, (spelled, _) in typed.items() if name in ("target", "prebuilt")
        ]:
            raise BadInput(f"--bundle names the target and brings the builds: leave {taken[0]} out")


def _public_key(path: Path, *, makes: bool) -> bytes:
    """Return the public half of the key that signs here; nothing where there is none yet."""
    if not makes and not path.exists():
        return b""
    signer = load_or_create_signer(path) if makes else load_signer(path)
    return public_pem(signer.public_key)


def _remove(there: RemoteRun) -> None:
    before = there.remove()
    name, where = there.place.host, there.place.folder
    if before.state == "foreign":
        raise BadInput(f"{name}: {where} was not made by ./assay remote, and stays")
    if before.state == "none":
        say(f"{name}: there is no {where}")
        return
    ended = "the run was ended, and " if before.state == "running" else ""
    say(f"{name}: {ended}{where} is removed")


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
        self._go_on(self.there.state() if not same else now)

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
        new = 0 if now.stamp == payload.stamp() else payload.size
        wrong = list(objections(machine, new, own_python=copies.bundle is None))
        if wrong:
            raise MissingEnvironment(f"{host} {'; it '.join(wrong)}")
        return machine, now, payload

    def _go_on(self, now: RunThere) -> None:
        """Show what goes on, or start what was cut short; then fetch."""
        host = self.there.place.host
        with self._interruptible(f"the run goes on on {host}"):
            if now.state == "ended" and now.code == 0:
                say(f"the run on {host} has come to its end")
            else:
                if now.state == "running":
                    say(f"the run goes on on {host}; what it said so far:")
                else:
                    say(f"starting again on {host} where the run was cut short")
                    self.there.start(None)
                self.there.follow(_show)
                now = self.there.state()
        _require_end(host, now)
        with self._interruptible(f"the run on {host} has ended, and is not fetched yet"):
            place = home(self.project)
            with fetching(place) as fetched:
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
    console.err.print(shown_line(line), markup=False, soft_wrap=True)


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

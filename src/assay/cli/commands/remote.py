"""``./assay remote``: reproduce on a machine reached by SSH; sign and verify here."""

import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.base.commits import git_state
from assay.base.errors import AssayError, BadInput, CheckFailed, Interrupted, MissingEnvironment
from assay.base.progress import say
from assay.base.signals import SignalledExit
from assay.base.source_files import source_files
from assay.catalog.load import load_catalog
from assay.cli import checkout, console
from assay.cli.commands.reproduce import reproduce, tell_outcome
from assay.cli.project_folder import home, project_folder, use_own_cache
from assay.cli.remote_machine import (
    END_S,
    NODE_SCRIPT,
    Answers,
    RemoteMachine,
    Signing,
    require_place,
    settle,
)
from assay.pipeline.run_files import REPORTS, RESULTS
from assay.pipeline.workflow_process import only_run
from assay.shared.errors import ExitCode
from assay.verification.attestation import public_pem
from assay.verification.sign import default_signing_key, load_or_create_signer

NOT_THERE = frozenset({"executor", "unsigned_for"})
"""Options of ``reproduce`` that are not offered: one machine has no queue."""
HERE = frozenset({"signing_key", "strict", "project"})
"""Those that hold on this machine."""
PATHS = frozenset({"prebuilt", "recorded", "key"})
"""Those that name what is copied."""
KEPT = ("/results", "/.venv*", "/.toolchain", "__pycache__")
"""What a run there made below the checkout, which no copy removes."""
OF_PROJECT = ("results", "reports", ".git")
"""What of a project stays: a run there makes its own."""
MOST_FETCHED = 2_000_000_000
"""Bytes of a file of a run that is fetched."""
RUN_SCRIPT = """\
#!/bin/sh
here=$(cd "$(dirname "$0")/.." && pwd)
cd "$here" || exit 3
trap : TERM INT HUP # a signal that asks for an end is for what runs here
export XDG_CACHE_HOME="$here/cache"
{commit}
{command} --run={run} --unsigned-for="$here/job/key.pub"
code=$?
echo "$code" > job/exit.part && mv job/exit.part job/exit
"""
Typed = Mapping[str, tuple[str, Any]]
"""The options of ``reproduce`` that were typed: by name, how it is spelled, its value."""


def remote(
    context: typer.Context,
    host: Annotated[
        str, typer.Argument(help="What ssh takes: a name, USER@NAME, an alias.", metavar="HOST")
    ],
    run: Annotated[
        str, typer.Option(help="Name of the run, here and there: results/NAME, reports/NAME.")
    ] = "remote",
    folder: Annotated[
        str | None,
        typer.Option(
            help="Folder there, below its home or absolute.", show_default="assay-remote/RUN"
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Show and fetch a run that goes on there, or was cut short; it goes on with the "
            "options it was started with.",
        ),
    ] = False,
    remove: Annotated[
        bool,
        typer.Option("--remove", help="End the run there, remove its folder there, and stop."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be copied and run, and stop.")
    ] = False,
) -> None:
    """Reproduce on a machine reached by SSH; sign and verify here.

    Takes the options of reproduce, too, behind HOST.
    """
    if not (checkout.ROOT / NODE_SCRIPT).is_file():
        raise MissingEnvironment(
            "a run elsewhere takes a git checkout along, and the installed package is none: clone "
            "the repository, and start its ./assay remote"
        )
    if not re.fullmatch(r"[a-z0-9][a-z0-9_]{0,79}", run):
        raise BadInput(f"--run {run}: use lower-case letters, digits and _")
    place = (folder or f"assay-remote/{run}").removeprefix("~/").rstrip("/")
    machine = RemoteMachine(checkout.ROOT, host, place)
    given, typed = _options_of_reproduce(context)
    if resume + remove + dry_run > 1:
        raise BadInput("--resume, --remove and --dry-run do not go together")
    project = project_folder(given["project"])
    if remove:
        if machine.ask("remove", patience=str(END_S)).get("state") == ["foreign"]:
            raise BadInput(f"{host}: {place} was not made by ./assay remote, and stays")
        say(f"{host}: {place} is removed")
        return
    require_place(home(project), run)
    use_own_cache(project)
    signing = Signing(given["signing_key"] or default_signing_key(), tuple(given["key"] or ()))
    trip = Trip(machine, run, signing, project, given["strict"])
    copies = None if resume else _copies(given, typed, project)
    if dry_run and copies is not None:
        trip.preview(copies)
        return
    with only_run(home(project), run):
        if copies is None:
            trip.resume()
        else:
            trip.go(copies)


def _options_of_reproduce(context: typer.Context) -> tuple[Mapping[str, Any], Typed]:
    """Return all options of ``reproduce``, and those that were typed."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command()(reproduce)
    command = typer.main.get_command(app)
    parsed = command.make_context(context.info_name, list(context.args), parent=context.parent)
    typed: dict[str, tuple[str, Any]] = {}
    for param in command.params:
        name = param.name or ""
        source = parsed.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            typed[name] = (param.opts[0], parsed.params[name])
    if unknown := [spelled for name, (spelled, _) in typed.items() if name in NOT_THERE]:
        raise BadInput(f"one machine has no queue, and its report is signed here: "
                       f"leave {unknown[0]} out")  # fmt: skip
    return parsed.params, typed


@dataclass
class Copies:
    """What a run there needs."""

    project: Path | None
    words: list[str] = field(default_factory=list)
    """What ``reproduce`` is called with there, quoted for its shell; $here is the folder."""
    given: list[tuple[Path, str]] = field(default_factory=list)
    """What options name here, and where it is found there."""

    def add(self, path: Path, option: str) -> None:
        """Take up a file or a folder that an option names. Raises BadInput without it."""
        if not path.exists():
            raise BadInput(f"{path}: no such file or folder, to be copied there")
        self.given.append((path.resolve(), f"given/{len(self.given) + 1}/"))
        place = f"{self.given[-1][1]}{path.resolve().name}"
        self.words.append(f'{option}="$here"/{shlex.quote(place)}')

    def command(self, found: Answers) -> str:
        """Return what runs there: ``reproduce`` by a Python there."""
        python = shlex.quote(found["python"][0])
        return " ".join([f'{python} -I "$here/source/assay" reproduce', *self.words])


def _copies(given: Mapping[str, Any], typed: Typed, project: Path | None) -> Copies:
    """Return what is to be copied for the options that were typed."""
    catalog = load_catalog(checkout.ROOT, project)
    catalog.check_selection(given["source"] or (), given["target"] or ())
    catalog.sources_of(given["claim"] or ())
    copies = Copies(project)
    if project is not None:
        copies.add(project, "--project")
    for name, (option, value) in typed.items():
        for each in value if isinstance(value, list | tuple) else [value]:
            if name in PATHS:
                copies.add(Path(each), option)
            elif name == "original":
                source, found, folder = str(each).partition("=")
                if not found:
                    raise BadInput(f"{option} {each}: give the source and its checkout, SOURCE=DIR")
                copies.add(Path(folder), f"{option}={shlex.quote(source)}")
            elif name not in HERE:
                copies.words.append(option if each is True else shlex.quote(f"{option}={each}"))
    return copies


@dataclass(frozen=True)
class Trip:
    """A run from its start there to its report here."""

    machine: RemoteMachine
    run: str
    signing: Signing
    project: Path | None
    strict: bool

    def preview(self, copies: Copies) -> None:
        """Say what would be copied and run; write nothing, here or there."""
        found = self._look()
        files = f"{len(source_files(checkout.ROOT))} files of this checkout"
        paths = ", ".join(str(path) for path, _ in copies.given)
        console.say(f"{self.machine.host}: {', '.join(found['gpu'])}")
        console.say(f"would copy to {self.machine.folder}: {files}{f', {paths}' if paths else ''}")
        console.say(f"would run there: {copies.command(found)}")
        console.say(f"would fetch the report, sign it with {self.signing.key} here, and verify")

    def go(self, copies: Copies) -> None:
        """Copy, start, show, fetch."""
        with _interruptible("nothing was started there"):
            found = self._look()
            if found["state"] == ["running"]:
                raise BadInput(
                    f"{self.machine.host}: a run goes on in {self.machine.folder}: --resume shows "
                    "it, --remove ends it"
                )
            say(f"copying to {self.machine.host}")
            self._copy(copies, copies.command(found))
            self.machine.ask("start")
        say(f"started on {self.machine.host}, where it needs nothing from here any more")
        self._watch()

    def resume(self) -> None:
        """Take up a run that was started before: show what goes on, start what was cut short."""
        now = self.machine.ask("state")
        state = now.get("state", ["none"])
        if state[0] not in ("running", "ended", "lost"):
            raise BadInput(
                f"{self.machine.host}: no run was started in {self.machine.folder}: see --run and "
                "--folder, or start one without --resume"
            )
        if state == ["running"] or now.get("exit") == ["0"]:
            say(f"the run on {self.machine.host} said so far:")
        else:
            say(f"starting again on {self.machine.host} where the run was cut short")
            with _interruptible("nothing was started there"):
                self.machine.ask("start")
        self._watch()

    def _look(self) -> Answers:
        """Ask the machine what it is. Raises MissingEnvironment for one that a run cannot be on."""
        host = self.machine.host
        found = self.machine.ask("probe")
        if "state" not in found:
            raise MissingEnvironment(f"{host}: does not answer as a Linux with a shell does")
        if found["state"] == ["foreign"]:
            raise BadInput(
                f"{host}: {self.machine.folder} holds files that ./assay remote did not put "
                "there: name another folder with --folder"
            )
        if "lacks" in found:
            raise MissingEnvironment(f"{host} lacks {', '.join(found['lacks'])}")
        return found

    def _copy(self, copies: Copies, command: str) -> None:
        """Copy everything; what is there already, unchanged, is not sent again."""
        root = checkout.ROOT
        commit, clean = git_state(root)
        key = public_pem(load_or_create_signer(self.signing.key).public_key)
        named = f"export ASSAY_COMMIT={commit}" if clean else ":"
        script = RUN_SCRIPT.format(commit=named, command=command, run=self.run)
        self.machine.ask("prepare")
        with tempfile.TemporaryDirectory(prefix="assay-copy-") as scratch:
            tree, job = Path(scratch, "source"), Path(scratch, "job")
            job.mkdir()
            (job / "run.sh").write_text(script)
            (job / "key.pub").write_bytes(key)
            self.machine.push(f"{job}/", "job/")
            for name in source_files(root):
                (tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(root / name, tree / name)
            kept = [f"--exclude={each}" for each in (*KEPT, f"/{REPORTS}/{self.run}")]
            others = f"--filter=P /{REPORTS}/*"  # the reports of other runs in this folder
            self.machine.push(f"{tree}/", "source/", "--delete", others, *kept)
        for path, place in copies.given:
            own = OF_PROJECT if path == copies.project else ()
            left_out = [f"--exclude=/{path.name}/{name}" for name in own]
            self.machine.push(str(path), place, "--delete", *left_out)

    def _watch(self) -> None:
        """Show the run until it ends; fetch, sign and verify what it made, and say what it is."""
        machine, place = self.machine, home(self.project)
        with _interruptible(f"the run goes on on {machine.host}", started=True):
            machine.follow(console.note)
            _require_end(machine.host, machine.ask("state"))
        below = "source" if self.project is None else f"given/1/{self.project.name}"
        (place / RESULTS).mkdir(exist_ok=True)
        with (
            _interruptible(f"{machine.host}: the run there is not fetched yet", started=True),
            tempfile.TemporaryDirectory(dir=place / RESULTS, prefix=".fetched-") as scratch,
        ):
            fetched = Path(scratch)
            say("fetching the report")
            for name, to in (
                ("job/log", "log"),
                (f"{below}/{RESULTS}/{self.run}/", "results"),
                (f"{below}/{REPORTS}/{self.run}/", "report"),
            ):
                machine.fetch(name, fetched / to, MOST_FETCHED)
            say("signing with the key here, and verifying")
            request = settle(checkout.ROOT, place, self.run, fetched, self.signing)
        tell_outcome(request, self.strict)


@contextmanager
def _interruptible(state: str, *, started: bool = False) -> Iterator[None]:
    """Say what is there where somebody interrupts, and what picks up a run that was started."""
    try:
        yield
    except (KeyboardInterrupt, SignalledExit) as stop:
        code = stop.code if isinstance(stop, SignalledExit) else ExitCode.INTERRUPTED
        words = sys.argv[1:]
        again = [words[0], "--resume", *words[1:]] if started and "--resume" not in words else words
        raise Interrupted(f"interrupted: {state}", code, again) from stop


def _require_end(host: str, now: Answers) -> None:
    """Raise the error that the end of a run is, but for a good one."""
    kept = "what it has is kept there, and --resume goes on with it"
    code = now.get("exit", [""])[0]
    if not code.isdecimal():
        raise MissingEnvironment(
            f"{host}: the run was killed there (memory that is too small, or a restart): {kept}"
        )
    sentence = f"{host}: the run ended there with code {code}, as its last lines say: {kept}"
    errors: dict[int, type[AssayError]] = {
        ExitCode.BAD_INPUT: BadInput,
        ExitCode.MACHINE_LACKS: MissingEnvironment,
    }
    if int(code) != 0:
        raise errors.get(int(code), CheckFailed)(sentence)

"""``./assay remote``: reproduce on a machine reached by SSH; sign and verify here."""

import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.base.commits import git_state, require_tracked, source_files
from assay.base.errors import BadInput, CheckFailed, Interrupted, MissingEnvironment
from assay.base.progress import say
from assay.base.signals import SignalledExit
from assay.catalog.load import load_catalog
from assay.cli import checkout, console, remote_machine
from assay.cli.commands.reproduce import reproduce, tell_outcome
from assay.cli.options import home, project_folder, use_own_cache
from assay.cli.remote_machine import NODE_SCRIPT, Answers, RemoteMachine
from assay.pipeline.failures import ERRORS
from assay.pipeline.run_files import REPORTS, RESULTS
from assay.pipeline.snakemake_run import only_run
from assay.records.plan import Request
from assay.shared.errors import ExitCode
from assay.shared.files import write_bytes
from assay.verification.attestation import public_pem
from assay.verification.sign import default_signing_key, load_or_create_signer

NOT_THERE = frozenset({"executor", "unsigned_for"})
"""Options of ``reproduce`` that are not offered: one machine has no queue."""
HERE = frozenset({"signing_key", "strict", "project"})  # those that hold on this machine
PATHS = frozenset({"prebuilt", "recorded", "key"})  # those that name what is copied
KEPT = ("/results", "/.venv*", "/.toolchain", "__pycache__")
"""What a run there made below the checkout, which no copy removes."""
OF_PROJECT = ("results", "reports", ".git")  # what of a project stays: a run there makes its own
MOST_FETCHED = 2_000_000_000  # bytes of a file of a run that is fetched
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
            help="Follow a run that goes on there, or continue it with the options it was started "
            "with, and fetch.",
        ),
    ] = False,
    remove: Annotated[
        bool, typer.Option("--remove", help="End the run there, remove its folder there, and stop.")
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
        if machine.ask("remove", patience=str(remote_machine.END_S)).get("state") == ["foreign"]:
            raise BadInput(f"{host}: {place} was not made by ./assay remote, and stays")
        say(f"{host}: {place} is removed")
        return
    remote_machine.require_place(home(project), run)
    use_own_cache(project)
    key = given["signing_key"] or default_signing_key()
    if dry_run:
        _preview(machine, _copies(given, typed, project), key)
        return
    copies = None if resume else _copies(given, typed, project)
    with only_run(home(project), run):
        if copies is None:
            _start_again(machine)
        else:
            _start(machine, copies, run, key)
        try:
            machine.follow(console.note)
            _require_end(host, machine.ask("state"))
            request = _fetched(machine, project, run, key, given["key"] or ())
        except (KeyboardInterrupt, SignalledExit) as stop:
            code = stop.code if isinstance(stop, SignalledExit) else ExitCode.INTERRUPTED
            words = sys.argv[1:]
            again = words if resume else [words[0], "--resume", *words[1:]]
            raise Interrupted(f"interrupted: the run goes on on {host}", code, again) from stop
    tell_outcome(request, given["strict"])


def _options_of_reproduce(context: typer.Context) -> tuple[Mapping[str, Any], Typed]:
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
    catalog = load_catalog(checkout.ROOT, project)
    catalog.check_selection(given["source"] or (), given["target"] or ())
    require_tracked(checkout.ROOT, given["target"] or catalog.targets)
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


def _preview(machine: RemoteMachine, copies: Copies, key: Path) -> None:
    """Say what would be copied and run; write nothing, here or there."""
    found = _look(machine)
    files = f"{len(source_files(checkout.ROOT))} files of this checkout"
    paths = "".join(f", {path}" for path, _ in copies.given)
    console.say(f"{machine.host}: {', '.join(found['gpu'])}")
    console.say(f"would copy to {machine.folder}: {files}{paths}")
    console.say(f"would run there: {copies.command(found)}")
    console.say(f"would fetch the report, sign it with {key} here, and verify")


def _look(machine: RemoteMachine) -> Answers:
    """Ask a machine what it is. Raises MissingEnvironment for one that a run cannot be on."""
    found = machine.ask("probe")
    state = found.get("state", ["none"])
    if state == ["foreign"]:
        raise BadInput(
            f"{machine.host}: {machine.folder} holds files that ./assay remote did not put there: "
            "name another folder with --folder"
        )
    if state == ["running"]:
        raise BadInput(
            f"{machine.host}: a run goes on in {machine.folder}: --resume shows it, --remove ends "
            "it"
        )
    if "state" not in found or "lacks" in found:
        lacks = ", ".join(found.get("lacks", ["a shell as Linux has it"]))
        raise MissingEnvironment(f"{machine.host} lacks {lacks}")
    return found


def _start(machine: RemoteMachine, copies: Copies, run: str, key: Path) -> None:
    """Copy everything and start; what is there already, unchanged, is not sent again."""
    root, found = checkout.ROOT, _look(machine)
    say(f"copying to {machine.host}")
    commit, clean = git_state(root)
    named = f"export ASSAY_COMMIT={commit}" if clean else ":"
    machine.ask("prepare")
    with tempfile.TemporaryDirectory(prefix="assay-copy-") as scratch:
        tree, job = Path(scratch, "source"), Path(scratch, "job")
        script = RUN_SCRIPT.format(commit=named, command=copies.command(found), run=run)
        write_bytes(job / "run.sh", script.encode())
        write_bytes(job / "key.pub", public_pem(load_or_create_signer(key).public_key))
        machine.push(f"{job}/", "job/")
        for name in source_files(root):
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, tree / name)
        kept = [f"--exclude={each}" for each in (*KEPT, f"/{REPORTS}/{run}")]
        others = f"--filter=P /{REPORTS}/*"  # the reports of other runs in this folder
        machine.push(f"{tree}/", "source/", "--delete", others, *kept)
    for path, place in copies.given:
        own = OF_PROJECT if path == copies.project else ()
        left_out = [f"--exclude=/{path.name}/{name}" for name in own]
        machine.push(str(path), place, "--delete", *left_out)
    machine.ask("start")
    say(f"started on {machine.host}, where it needs nothing from here any more")


def _start_again(machine: RemoteMachine) -> None:
    """Take up a run that was started before, and start it where it was cut short."""
    now = machine.ask("state")
    state = now.get("state", ["none"])
    if state[0] not in ("running", "ended", "lost"):
        raise BadInput(
            f"{machine.host}: no run was started in {machine.folder}: see --run and --folder, or "
            "start one without --resume"
        )
    if state == ["running"] or now.get("exit") == ["0"]:
        say(f"the run on {machine.host} said so far:")
    else:
        say(f"starting again on {machine.host} where the run was cut short")
        machine.ask("start")


def _fetched(
    machine: RemoteMachine, project: Path | None, run: str, key: Path, trusted: Sequence[Path]
) -> Request:
    place = home(project)
    below = "source" if project is None else f"given/1/{project.name}"
    (place / RESULTS).mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place / RESULTS, prefix=".fetched-") as scratch:
        say("fetching the report")
        for name, to in (
            ("job/log", "log"),
            (f"{below}/{RESULTS}/{run}/", "results"),
            (f"{below}/{REPORTS}/{run}/", "report"),
        ):
            machine.fetch(name, Path(scratch) / to, MOST_FETCHED)
        say("signing with the key here, and verifying")
        return remote_machine.settle(checkout.ROOT, place, run, Path(scratch), key, trusted)


def _require_end(host: str, now: Answers) -> None:
    """Raise the error that the end of a run is, but for a good one."""
    kept = "what it has is kept there, and --resume goes on with it"
    code = now.get("exit", [""])[0]
    if not code.isdecimal():
        raise MissingEnvironment(
            f"{host}: the run was killed there (memory that is too small, or a restart): {kept}"
        )
    if int(code) != 0:
        sentence = f"{host}: the run ended there with code {code}, as its last lines say: {kept}"
        raise ERRORS.get(int(code), CheckFailed)(sentence)

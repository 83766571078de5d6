"""``./assay remote``: reproduce on a machine that is reached by SSH, and fetch the report."""

from pathlib import Path
from typing import Annotated, Any

import typer

from assay.base.errors import BadInput, MissingEnvironment
from assay.base.progress import say
from assay.catalog.load import load_catalog
from assay.cli import checkout
from assay.cli.commands.reproduce import reproduce
from assay.cli.project_folder import home, project_folder, use_own_cache
from assay.cli.remote_options import HERE, arguments_there, typed_options, with_options_of
from assay.cli.remote_report import Signing, require_place
from assay.cli.remote_trip import KEY_THERE, Copies, Trip
from assay.pipeline.workflow_process import only_run
from assay.remote.host import remote_place
from assay.remote.payload import LEFT_OUT, CarriedFiles, There
from assay.remote.run import NODE_SCRIPT, RemoteRun
from assay.verification.attestation import load_signer, public_pem
from assay.verification.sign import default_signing_key, load_or_create_signer

OWN = frozenset({"host", "run", "ssh_option", "folder", "bundle", "resume", "remove", "dry_run"})


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
    if not (checkout.ROOT / NODE_SCRIPT).is_file():
        raise MissingEnvironment(
            "a run elsewhere takes a git checkout along, and the installed package is none: clone "
            "the repository, and start its ./assay remote"
        )
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

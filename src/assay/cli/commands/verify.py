"""``./assay verify``: check a report, and with --rebuild the binaries that it measured."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from assay.base.errors import BadInput
from assay.building.toolchain import ensure_toolchain
from assay.building.toolchain_check import require_sound_toolchain
from assay.cli import checkout, console
from assay.cli.console import say
from assay.pipeline.compiler_place import compiler_place
from assay.pipeline.request import git_state
from assay.records.images import RuntimeWish
from assay.runtimes.base import Place
from assay.verification.policy import Policy
from assay.verification.rebuild import check as check_rebuild
from assay.verification.rebuild import check_selection
from assay.verification.report_archive import opened_report
from assay.verification.trusted_keys import threshold, trusted_keys
from assay.verification.verify import Renderer
from assay.verification.verify import verify as verify_report


def verify(
    report_dir: Annotated[
        Path, typer.Argument(help="Report directory, or its archive.", metavar="REPORT_DIR")
    ],
    key: Annotated[
        list[Path] | None,
        typer.Option(
            help="Public key that must have signed; else config/trusted_keys, which recorded "
            "figures may be signed by in any case."
        ),
    ] = None,
    rebuild: Annotated[
        bool,
        typer.Option("--rebuild", help="Compile the sources; compare with what was measured."),
    ] = False,
    runtime: Annotated[
        RuntimeWish | None,
        typer.Option(help="Where --rebuild compiles: a container runtime, or host."),
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="Build that --rebuild compares, by id; repeatable.")
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option(
            help="Directory with config/ and kernels/ whose rules must be those of the report, "
            "instead of what this checkout's history holds.",
            metavar="DIR",
        ),
    ] = None,
    accept_policy: Annotated[
        bool,
        typer.Option("--accept-policy", help="List other rules, and accept them."),
    ] = False,
) -> None:
    """Check signature and every byte; judge the raw samples again."""
    with opened_report(report_dir) as folder:
        for path in key or ():
            if not path.is_file():
                raise BadInput(f"{path}: no such key file")
        if (runtime or only) and not rebuild:
            raise BadInput("--runtime and --only belong to --rebuild")
        if policy is not None and not (policy / "config").is_dir():
            raise BadInput(f"{policy}: holds no config/")
        if only:
            check_selection(folder, only)
        from assay.report.render import texts_of  # noqa: PLC0415 - loads what draws and tabulates

        place = _compiler_place(runtime) if rebuild else None
        renderer = Renderer(partial(texts_of, checkout.ROOT), *git_state(checkout.ROOT))
        ours = trusted_keys(checkout.ROOT)
        result = verify_report(
            folder,
            key or ours,
            repository=checkout.ROOT,
            renderer=renderer,
            origin_keys=ours,
            threshold=1 if key else threshold(checkout.ROOT),
            policy=Policy(checkout.ROOT, policy, accept_policy),
        )
        console.show_checks(result.checks, result.notes, result.unproven)
        if place is not None:
            if place.image is None:
                require_sound_toolchain(checkout.ROOT)
            toolchain = ensure_toolchain(checkout.ROOT, place)
            check, notes = check_rebuild(folder, checkout.ROOT, toolchain, only=tuple(only or ()))
            console.show_checks((check,), notes)
    say(f"verified: {report_dir}")


def _compiler_place(runtime: RuntimeWish | None) -> Place:
    """Where compilers run, asked for before anything takes time: one may be missing."""
    return compiler_place(checkout.ROOT, runtime or checkout.default_run().runtime)

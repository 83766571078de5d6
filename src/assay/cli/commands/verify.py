"""``./assay verify``: check signature and every byte; judge the raw samples again."""

import errno
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Annotated

import typer

from assay.base.check_log import CheckLog
from assay.base.commits import git_state
from assay.base.errors import AssayError, BadInput, MissingEnvironment
from assay.base.progress import show_line, show_sentence
from assay.base.writable import unwritable_sentence
from assay.catalog.project_folder import project_of
from assay.cli import checkout
from assay.cli import options as opt
from assay.cli.console import say, show_json
from assay.evidence.load import ReportContents
from assay.findings.replication import FigureRun, again_line, measured_again, measured_by
from assay.records.images import RuntimeWish
from assay.records.verification import CheckEntry, MeasuredAgain, ProofState, VerificationRecord
from assay.shared.errors import ExitCode
from assay.verification.attestation import load_public_key
from assay.verification.guarantees import TIMES, verification_record
from assay.verification.made_again import OtherVersion, Renderer
from assay.verification.policy import Policy
from assay.verification.report_archive import opened_report
from assay.verification.sign import default_signing_key, public_key_path
from assay.verification.signed_files import signed_verdicts
from assay.verification.trust import reports_in
from assay.verification.trusted_keys import load_trusted_keys
from assay.verification.verify import VerificationLog
from assay.verification.verify import verify as verify_report

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS})
"""What the kernel says of temporary files that find no room."""


def verify(
    report_dir: opt.ReportArgument,
    key: opt.KeyOption = None,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Compile the sources; compare with what was measured.")
    ] = False,
    runtime: Annotated[
        RuntimeWish | None,
        typer.Option(help="Where --rebuild compiles: a container runtime, or host."),
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="Build that --rebuild compares, by id; repeatable.")
    ] = None,
    accept_policy: Annotated[
        bool,
        typer.Option(
            "--accept-policy", help="Accept another checkout's margins, protocols and claims."
        ),
    ] = False,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print what was proven as JSON; checks go to standard error."),
    ] = False,
    project: opt.ProjectOption = None,
) -> None:
    """Check signature and every byte; judge the raw samples again."""
    log = VerificationLog()
    log.tell = partial(show_check, sys.stderr if as_json else sys.stdout)
    error: AssayError | None = None
    again: MeasuredAgain | None = None
    try:
        opt.require_report(report_dir)
        with opened_report(report_dir) as folder:
            log.called = folder, report_dir
            if (runtime or only) and not rebuild:
                raise BadInput("--runtime and --only belong to --rebuild")
            compare = _rebuilding(folder, runtime, tuple(only or ())) if rebuild else None
            own = opt.project_folder(project)
            check_report(folder, key, own, Policy(checkout.ROOT, accept_policy), log)
            if compare is not None:
                compare(log)
            again = _again(folder, key, own)
    except (AssayError, OSError) as failure:
        error = failure if isinstance(failure, AssayError) else _refused(failure)
    result = verification_record(str(report_dir), log, error)
    result = result.model_copy(update={"measured_again": again})
    if as_json:
        show_json(result.model_dump(mode="json", by_alias=True))
    elif log.checks:
        show_guarantees(result)
    if error is not None:
        if as_json or not log.checks:
            raise error
        last = failed_line(result, log.checks)
        if (rebuild or not log.failed) and str(error) not in last:  # a failed check has said it
            show_sentence(str(error))
        say(last)
        keyid, path = own_key()
        if error.code == "signature-untrusted" and keyid and keyid in str(error):
            say(f"That key is your own: --key {path} trusts it.")
        raise typer.Exit(error.exit_code)
    if not as_json:
        who = f" {again_line(again)}" if again else ""
        say(verified_line(result))
        say(f"{TIMES}{who} {RULE}")


def _again(folder: Path, key: Sequence[Path] | None, project: Path | None) -> MeasuredAgain:
    """Return who measured a report's figures again, by the reports that are published here."""
    keys = load_trusted_keys([*(key or ()), *opt.keys_of(project)])

    def runs(report: Path) -> list[FigureRun]:
        try:
            measurer, verdicts = signed_verdicts(report, keys)
        except AssayError:
            return []  # no trusted key vouches for its figures
        return measured_by(measurer, verdicts)

    homes = [checkout.ROOT, *([project] if project else [])]
    others = [path for home in homes for path in reports_in(home / "reports" / "published")]
    return measured_again(runs(folder), (run for path in others for run in runs(path)))


def _refused(error: OSError) -> AssayError:
    """Return what the system refuses to have read as an error; raise what is about output."""
    if error.filename is None:
        raise error
    if error.errno in FULL:
        return MissingEnvironment(unwritable_sentence(error, checkout.ROOT))
    problem = f"{error.filename}: cannot be read: {error.strerror}"
    return BadInput(problem, code="file-unreadable")


def check_report(
    folder: Path,
    keys: Sequence[Path] | None,
    project: Path | None,
    policy: Policy | None,
    log: VerificationLog,
) -> None:
    """Verify a report by this checkout, with ``keys`` or those trusted here. Raises AssayError."""
    # A project's keys say nothing of reports of Assay's own sources.
    ours = opt.keys_of(project if project_of(folder / "evidence") else None)
    verify_report(
        folder,
        keys or ours,
        repository=checkout.ROOT,
        renderer=Renderer(_render, *git_state(checkout.ROOT)),
        origin_keys=ours,
        policy=policy,
        log=log,
    )


def _render(contents: ReportContents) -> dict[str, str]:
    # What draws and tabulates is loaded once there is something to draw.
    from assay.report.render import render_contents  # noqa: PLC0415

    return render_contents(checkout.ROOT, contents)


def _rebuilding(
    folder: Path, runtime: RuntimeWish | None, only: tuple[str, ...]
) -> Callable[[CheckLog], None]:
    """Return what compiles the builds of ``folder`` as checks. Raises MissingEnvironment now."""
    # Compilers, containers and binaries: nothing else of verifying needs their modules.
    from assay.building import toolchain  # noqa: PLC0415
    from assay.images.stage import compiler_place  # noqa: PLC0415
    from assay.verification import rebuild  # noqa: PLC0415

    place = compiler_place(checkout.ROOT, runtime or checkout.default_run().runtime)

    def compare(log: CheckLog) -> None:
        rebuild.check_only(folder, only)
        tools = toolchain.ensure_toolchain(checkout.ROOT, place)
        found = rebuild.rebuild(folder, checkout.ROOT, tools, only=only)
        rebuild.conclude(log, folder, found)

    return compare


STATE_WIDTH, SHORT = 12, 12
"""Characters of a state with the room behind it, and of a digest that are shown."""
RULE = (
    "Rely on a verdict if you trust that key, or if another signer's verdict agrees: "
    "./assay history CLAIM lists them."
)


def show_check(to: IO[str], check: CheckEntry) -> None:
    """One check that was made, and what it could not prove."""
    if check.says or not check.passed:
        word = "ok" if check.passed else "fail"
        show_line(f"{word:5}{check.id}: {check.says}", to)
    for line in check.unproven:
        show_line(f"unproven: {line}", to)


def show_guarantees(result: VerificationRecord) -> None:
    """Print notes, whose claims they are, and a line for each guarantee."""
    for note in result.notes:
        say(f"note {note}")
    if result.project:
        title = f" ({result.project_title})" if result.project_title else ""
        say(f"its claims are its signer's own: project {result.project}{title}, not Assay's")
    for each in result.guarantees:
        word = each.state.replace("_", " ")
        say(f"{word:{STATE_WIDTH}}{each.id}: {each.says}")


def verified_line(result: VerificationRecord) -> str:
    """Return what verified, whose claims they are where they are a project's, and who signed."""
    elsewhere = any(check.id == "name" for check in result.checks)
    named = f" (run '{result.run}')" if elsewhere else ""
    of = f" of project {result.project[:SHORT]}, its signer's own claims" if result.project else ""
    signers = " and ".join(
        f"{'your own key, ' if each.keyid == own_key()[0] else ''}"
        f"{each.name} ({each.keyid[:SHORT]})"
        for each in result.signers
    )
    return f"PASSED: {result.report}{named}{of}{f', signed by {signers}' if signers else ''}"


def own_key() -> tuple[str | None, Path]:
    """Return the id of the key that signs here, if there is one yet, and its public half's file."""
    path = public_key_path(Path(os.environ.get("ASSAY_SIGNING_KEY") or default_signing_key()))
    try:
        return load_public_key(path).keyid, path
    except AssayError:
        return None, path


def failed_line(result: VerificationRecord, checks: Sequence[CheckEntry]) -> str:
    """Return the last line where nothing verified: what failed first, or what is lacking here."""
    failed = next((check for check in checks if check.state is ProofState.FAILED), None)
    error = (result.error or "nothing was checked").removeprefix(f"{result.report}: ")
    found = f"{failed.id}: {failed.says}" if failed else error
    refused = result.exit_code == ExitCode.CHECK_FAILED and result.code != OtherVersion.code
    word = "FAILED" if refused else "NOT VERIFIED"
    return f"{word}: {result.report}: {found}"

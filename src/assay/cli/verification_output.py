"""The output of ``verify``: each check when it is made, and at the end what is guaranteed."""

from collections.abc import Sequence

from rich.console import Console

from assay.base.check_log import NamedCheck
from assay.base.printable import folded, shortened, shown_line
from assay.base.typed_command import as_typed
from assay.cli.console import is_terminal
from assay.findings.replication import again_line
from assay.records.verification import ProofState, VerificationRecord
from assay.shared.exit_codes import ExitCode
from assay.verification.guarantees import TIMES
from assay.verification.made_again import OtherVersion

COLOURS = {
    ProofState.PROVEN: "green",
    ProofState.UNPROVEN: "yellow",
    ProofState.FAILED: "red",
    ProofState.NOT_CHECKED: "dim",
}
STATE_WIDTH = 12
"""Characters of a state and the room behind it."""
CHECK_WIDTH = 5
"""Characters of what became of a check and the room behind it."""
LONGEST_TITLE = 80
"""Characters of a project's title: it is its author's."""
LONGEST_NAME = 40
"""Characters of a key's name in the last line."""
SHORT = 12
"""Characters of a digest in the last line."""
LONGEST_FOUND = 300
"""Characters that the last line quotes of what a check found: the lines above have all of it."""


def show_check(to: Console, check: NamedCheck) -> None:
    """One check that was made, and what it could not prove."""
    if not check.is_open:
        word, colour = ("ok", "green") if check.passed else ("fail", "red")
        to.print(f"{word:{CHECK_WIDTH - 1}}", end=" ", style=colour, markup=False)
        show_text(to, f"{check.name}: {check.detail}", CHECK_WIDTH)
    for line in check.unproven:
        show_text(to, f"unproven: {line}", CHECK_WIDTH)


def show_guarantees(to: Console, result: VerificationRecord) -> None:
    """Print notes, whose claims they are, and a line for each guarantee."""
    for note in result.notes:
        show_text(to, f"note {note}")
    if result.project:
        show_text(to, claims_line(result))
    for each in result.guarantees:
        word = each.state.replace("_", " ")
        to.print(f"{word:{STATE_WIDTH - 1}}", end=" ", style=COLOURS[each.state], markup=False)
        show_text(to, f"{each.id}: {each.says}", STATE_WIDTH)


def show_passed(to: Console, result: VerificationRecord) -> None:
    """Print that it verified, and then what no check can show: who measured again."""
    show_text(to, verified_line(result))
    again = f" {again_line(result.measured_again)}" if result.measured_again else ""
    show_text(to, as_typed(f"{TIMES}{again} ./assay history CLAIM lists them."))


def verified_line(result: VerificationRecord) -> str:
    """Return the last line: what verified, whose claims they are where they are a project's, and
    who signed it.
    """
    elsewhere = any(check.id == "name" for check in result.checks)
    named = f" (run '{result.run}')" if elsewhere else ""
    of = f" of project {result.project[:SHORT]}, its signer's own claims" if result.project else ""
    signers = " and ".join(
        f"{shortened(each.name, LONGEST_NAME)} ({each.keyid[:SHORT]})" for each in result.signers
    )
    return f"PASSED: {result.report}{named}{of}{f', signed by {signers}' if signers else ''}"


def claims_line(result: VerificationRecord) -> str:
    """Return whose claims those of a project are."""
    title = shortened(result.project_title or "", LONGEST_TITLE)
    named = f"{result.project}{f' ({title})' if title else ''}"
    return f"its claims are its signer's own: project {named}, not Assay's"


def failed_line(result: VerificationRecord, checks: Sequence[NamedCheck]) -> str:
    """Return the last line where nothing verified: the first check that failed and what it found,
    claims by their names; or what this machine lacks.
    """
    failed = next((check for check in checks if check.state is ProofState.FAILED), None)
    error = (result.error or "nothing was checked").removeprefix(f"{result.report}: ")
    found = f"{failed.name}: {failed.detail}" if failed else error
    refused = result.exit_code == ExitCode.CHECK_FAILED and result.code != OtherVersion.code
    word = "FAILED" if refused else "NOT VERIFIED"
    return f"{word}: {result.report}: {shortened(found, LONGEST_FOUND)}"


def show_text(to: Console, text: str, indent: int = 0) -> None:
    """Print a line; what does not fit at a terminal stands ``indent`` further in."""
    width = to.width - indent - 1 if is_terminal(to) else None
    lines = folded(shown_line(text), width, 0)
    to.print(f"\n{' ' * indent}".join(lines), markup=False, soft_wrap=True)

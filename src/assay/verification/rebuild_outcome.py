"""The outcome of compiling once more, held against the record of the first time."""

from enum import StrEnum

from assay.building.line_tables import OPTION
from assay.building.nvcc import Compiled
from assay.records.builds import BuildRecord, ToolchainRecord
from assay.shared.files import sha256_file

NOT_FOUND = "No such file or directory"
"""The compiler's words for a missing file: a refusal that says nothing of the hardware."""


class RebuildStatus(StrEnum):
    """The outcome of compiling once more."""

    IDENTICAL = "identical"
    """The same artifact byte for byte, or the same refusal."""
    CUBINS_IDENTICAL = "cubins_identical"
    """All device code is the same; host code, by another compiler, is not."""
    LINE_TABLES_DIFFER = "line_tables_differ"
    """The same but for line tables in the device code, which name headers of the host compiler
    with their dates."""
    DIFFERS = "differs"
    SOURCE_MISSING = "source_missing"
    TOOLCHAIN_DIFFERS = "toolchain_differs"
    COMMAND_REFUSED = "command_refused"
    NOT_BUILT = "not_built"
    """The compiler refuses here what it compiled then."""


PROVEN = frozenset(
    {RebuildStatus.IDENTICAL, RebuildStatus.CUBINS_IDENTICAL, RebuildStatus.LINE_TABLES_DIFFER}
)


def compare(
    record: BuildRecord, outcome: Compiled, ours: ToolchainRecord
) -> tuple[RebuildStatus, str]:
    """Hold an outcome against its record. Says why bytes may differ, as far as records tell."""
    if outcome.artifact is None:
        return _refused(record, outcome.diagnostics)
    if record.artifact is None:
        return RebuildStatus.DIFFERS, "the compiler accepts here what the evidence says it refuses"
    if reason := _device_reason(record, outcome, ours):
        if _only_line_tables(record, outcome):
            return RebuildStatus.LINE_TABLES_DIFFER, _by_whom(record, ours)
        return RebuildStatus.DIFFERS, reason
    sha256 = sha256_file(outcome.artifact)
    if sha256 == record.artifact.sha256:
        return RebuildStatus.IDENTICAL, f"SHA-256 {sha256}"
    return _other_host_code(record, outcome, ours)


def _other_host_code(
    record: BuildRecord, outcome: Compiled, ours: ToolchainRecord
) -> tuple[RebuildStatus, str]:
    """Another host compiler explains other host code, if cubins vouch for the device code."""
    then, here = record.toolchain.host_compiler, ours.host_compiler
    if not outcome.cubins or record.kind == "probe":
        return RebuildStatus.DIFFERS, "other bytes, though its listed cubins are the same"
    if then == here:
        return RebuildStatus.DIFFERS, (
            f"the device code is the same, and the host code is not, though {here} is what "
            "compiled it then and here: another linker or C library, or another binary"
        )
    return RebuildStatus.CUBINS_IDENTICAL, _by_whom(record, ours)


def _by_whom(record: BuildRecord, ours: ToolchainRecord) -> str:
    then, here = record.toolchain.host_compiler, ours.host_compiler
    if then == here:
        return f"by {here} then and here, whose files have other dates"
    return f"by {then} then, by {here} here"


def _only_line_tables(record: BuildRecord, outcome: Compiled) -> bool:
    """Return whether cubins differ in what headers of the host compiler leave in them, and no more.

    Headers of the same version are enough: an image that is the same everywhere dates its files
    otherwise than the package does.
    """
    return (
        OPTION in record.command
        and record.code_sha256 is not None
        and record.code_sha256 == outcome.code_sha256
        and record.resources == outcome.resources
    )


def _refused(record: BuildRecord, diagnostics: str) -> tuple[RebuildStatus, str]:
    """Return what a refusal of the compiler means: only the same one confirms the evidence."""
    last = (diagnostics.splitlines() or ["without a word"])[-1]
    if record.status == "built":
        return RebuildStatus.NOT_BUILT, f"the compiler refuses it here: {last}"
    missing = [line for line in diagnostics.splitlines() if NOT_FOUND in line]
    if missing:
        return RebuildStatus.NOT_BUILT, f"the recorded sources are not all it takes: {missing[0]}"
    if diagnostics != record.diagnostics:
        return RebuildStatus.DIFFERS, f"the compiler refuses it for another reason: {last}"
    return RebuildStatus.IDENTICAL, "refused again, in the same words"


def _device_reason(record: BuildRecord, outcome: Compiled, ours: ToolchainRecord) -> str | None:
    """Return how device code, or what ptxas says of it, differs."""
    if outcome.cubins == record.cubins:
        if outcome.resources == record.resources:
            return None
        return "ptxas reports other registers or memory than the evidence says"
    then = {cubin.path: cubin for cubin in record.cubins}
    now = {cubin.path: cubin for cubin in outcome.cubins}
    names = sorted(name for name in then.keys() | now.keys() if then.get(name) != now.get(name))
    reason = f"other device code in {', '.join(names)}"
    if OPTION in record.command:
        reason += (
            f" ({_by_whom(record, ours)}: its line tables name headers of the C++ library with "
            "their dates and sizes, so it is the same only with the same package of the host "
            "compiler; that nothing else differs is not shown)"
        )
    return reason

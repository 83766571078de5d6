"""Measurements taken over from another signed report, checked against that report's signature."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from assay.base.errors import AssayError
from assay.base.io import read_bytes
from assay.evidence.stages import came_along, origin_folder, target_paths
from assay.records.builds import FileDigest
from assay.records.manifest import ATTESTATION, MANIFEST, Manifest
from assay.records.plan import TargetPlan
from assay.shared.read_limits import MOST_ENVELOPE
from assay.verification.contradictions import Findings
from assay.verification.manifest import EVIDENCE
from assay.verification.report_archive import report_name
from assay.verification.signed_files import list_signed_by
from assay.verification.trusted_keys import TrustedKey

DEFINITIONS = ("evidence/config/comparisons/", "evidence/config/workloads/",
               "evidence/config/protocols.yaml", "evidence/kernels/")  # fmt: skip
"""Files that say what a comparison measures."""
TOOLS = "evidence/requirements/"
"""Locks of what compiles."""


@dataclass(frozen=True)
class Origin:
    """What the signed report holds that a target's figures were taken from."""

    paths: frozenset[str]
    """Of its evidence."""
    defined_alike: bool
    """Whether it measured by the very definitions that the report has that took them over."""
    tools_alike: bool = False
    """Whether it compiled by the very tools; not known of a report that does not list them."""
    same: frozenset[str] = frozenset()
    """Paths of the evidence at which both hold the same file."""


def check_origin(
    report_dir: Path,
    manifest: Manifest,
    plan: TargetPlan,
    keys: Sequence[TrustedKey],
    findings: Findings,
) -> Origin | None:
    """Add how files of a recorded target differ from the signed report they were taken from.

    Returns what that holds; None where nothing vouches for it.
    """
    target = plan.target
    folder = report_dir / "evidence" / origin_folder(target)
    if not (folder / ATTESTATION).is_file() or not (folder / MANIFEST).is_file():
        says = f"{target}: the manifest and attestation of its origin are missing"
        findings.refuse("origin-missing", says)
        return None
    try:
        origin = _signed_manifest(folder, keys)
    except AssayError as error:
        findings.refuse(f"origin-{error.code}", f"{target}: origin: {error}")
        return None
    named = report_name(PurePosixPath(plan.provision.recorded_in or ""))
    if named != origin.run:
        says = f"{target}: is said to be of report '{named}', and '{origin.run}' vouches for it"
        findings.refuse("origin-run", says)
    signed = {entry.path: entry for entry in origin.files}
    here = {entry.path: entry for entry in manifest.files}
    prefix, skip = f"evidence/{target}/", f"evidence/{origin_folder(target)}/"
    others = [
        path for path, entry in here.items()
        if path.startswith(prefix) and not path.startswith(skip) and signed.get(path) != entry
    ]  # fmt: skip
    came = {f"evidence/{path}": f"evidence/{source}" for path, source in came_along(plan).items()}
    others += [
        path for path, entry in here.items()
        if path in came and not _same_file(entry, signed.get(came[path]))
    ]  # fmt: skip
    for path in others:
        says = f"{path} is not the file that report '{origin.run}' signed"
        findings.refuse("origin-file", says)
    # A record left out would turn an unwelcome figure into a mere not_run.
    for path in (f"evidence/{path}" for path in target_paths(plan)):
        if path in signed and path not in here:
            says = f"{path} was left out, though report '{origin.run}' holds it"
            findings.refuse("origin-left-out", says)
    for path in came:
        if path not in here:
            findings.refuse("origin-left-out", f"{path} was left out")
    paths = {path.removeprefix(EVIDENCE) for path in signed if path.startswith(EVIDENCE)}
    same = {
        path.removeprefix(EVIDENCE) for path, entry in here.items() if signed.get(path) == entry
    }
    tools = _below(here, (TOOLS,))
    return Origin(
        frozenset(paths),
        defined_alike=_below(signed, DEFINITIONS) == _below(here, DEFINITIONS),
        tools_alike=bool(tools) and _below(signed, (TOOLS,)) == tools,
        same=frozenset(same),
    )


def _below(files: Mapping[str, FileDigest], where: tuple[str, ...]) -> dict[str, FileDigest]:
    return {path: entry for path, entry in files.items() if path.startswith(where)}


def _signed_manifest(folder: Path, keys: Sequence[TrustedKey]) -> Manifest:
    """Return the list of files that the origin's signature is about. Raises AssayError."""
    envelope = read_bytes(folder / ATTESTATION, MOST_ENVELOPE)
    data = read_bytes(folder / MANIFEST)
    return list_signed_by(envelope, data, keys, folder / MANIFEST).manifest


def _same_file(one: FileDigest, other: FileDigest | None) -> bool:
    """Return whether two entries, of whatever paths, are of one content."""
    return other is not None and (one.sha256, one.bytes) == (other.sha256, other.bytes)

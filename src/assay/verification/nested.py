"""Earlier reports that lie whole in the evidence, each checked against its own signature.

Every byte is known to be as the outer manifest lists it, so nothing is digested again: a nested
manifest lists the same files with the same digests.
"""

from collections.abc import Sequence
from pathlib import Path

from assay.base.errors import AssayError
from assay.base.io import read_bytes
from assay.evidence.stages import earlier_path
from assay.records.builds import FileDigest
from assay.records.manifest import ATTESTATION, MANIFEST, PROVENANCE, Manifest
from assay.records.plan import Plan
from assay.shared.read_limits import MOST_DOCUMENT, MOST_ENVELOPE
from assay.verification.contradictions import Findings, names
from assay.verification.manifest import EVIDENCE, UNLISTED
from assay.verification.signed_files import list_signed_by
from assay.verification.trusted_keys import TrustedKey

NESTED = f"{EVIDENCE}{earlier_path('')}"


def check_origins(
    report_dir: Path, manifest: Manifest, plan: Plan, keys: Sequence[TrustedKey]
) -> Findings:
    """Return what is wrong with reports that figures come from: none of them is taken on trust."""
    findings = Findings()
    sound = check_nested(report_dir, manifest, keys, findings)
    for target in plan.targets:
        within = target.provision.within
        if target.provision.kind == "recorded" and f"{EVIDENCE}{within}" not in sound:
            says = f"{target.target}: no report lies in the evidence that vouches for its figures"
            findings.refuse("origin-missing", says)
    return findings


def check_nested(
    folder: Path,
    manifest: Manifest,
    keys: Sequence[TrustedKey],
    findings: Findings,
    prefix: str = "",
) -> set[str]:
    """Return the evidence folders of the reports that lie in the one at ``folder``.

    ``manifest``: what that lists. Adds whatever is not as a trusted key signed it. ``prefix``: of
    paths below the outermost report.
    """
    files, found = {each.path: each for each in manifest.files}, set[str]()
    nested = {
        path.removeprefix(NESTED).partition("/")[0] for path in files if path.startswith(NESTED)
    }
    for name in sorted(nested):
        top = f"{NESTED}{name}/"
        held = {path.removeprefix(top): f for path, f in files.items() if path.startswith(top)}
        where = f"{prefix}{top}"
        try:
            signed = list_signed_by(
                read_bytes(folder / top / ATTESTATION, MOST_ENVELOPE),
                read_bytes(folder / top / MANIFEST, MOST_DOCUMENT),
                keys,
                Path(where, MANIFEST),
            )
        except AssayError as error:
            findings.refuse(f"origin-{error.code}", f"{where}: {error}")
            continue
        if signed.manifest.run != name:
            says = f"{where} is the report of run '{signed.manifest.run}'"
            findings.refuse("origin-run", says)
        listed = {each.path: each for each in signed.manifest.files}
        beside = UNLISTED | ({PROVENANCE} if signed.statement.predicate.provenance else set())
        there = {path: _content(each) for path, each in held.items() if path not in beside}
        wanted = {path: _content(each) for path, each in listed.items()}
        if wrong := {p for p in there.keys() | wanted.keys() if there.get(p) != wanted.get(p)}:
            says = f"{where}: not as report '{signed.manifest.run}' was signed: {names(wrong)}"
            findings.refuse("origin-file", says)
        found.add(f"{where}{EVIDENCE}".rstrip("/"))
        found |= check_nested(folder / top, signed.manifest, keys, findings, where)
    return found


def _content(file: FileDigest) -> tuple[str, int]:
    return file.sha256, file.bytes

"""Reports that were verified, and their figures in short: kept, so that nothing is judged twice.

What is kept is named by the report's bytes (the digests of its manifest and of its attestation, or
of its archive), the keys that are trusted and how many must have signed, the judging rules, and a
digest of the code that verifies. Anything else than that has it verified anew. Of a kept directory
every file is there with the size that its manifest says; its bytes are not read again.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

from assay.base.errors import AssayError, BadInput, CheckFailed
from assay.base.io import parse_record, read_bytes, read_record, write_record
from assay.evidence.report_contents import read_contents
from assay.findings.given_report import GivenReport
from assay.findings.report_figures import UNWRITTEN, figures_of_verdicts, report_figures
from assay.judging.rules import RULES
from assay.records.manifest import ATTESTATION, MANIFEST, VERDICTS
from assay.records.report_figures import ReportFigures, VerifiedReport
from assay.records.verdicts import VerdictsFile
from assay.shared.files import sha256_bytes
from assay.shared.read_limits import MOST_DOCUMENT, MOST_ENVELOPE
from assay.verification.report_archive import MOST_PACKED, is_archive, opened_report, report_name
from assay.verification.trusted_keys import TrustedKey
from assay.verification.verify import VerificationLog

KEPT = Path("results") / "cache" / "verified"
"""Below the repository: whoever writes there could change the code that verifies as well."""
Verifier = Callable[[Path, VerificationLog], None]
"""Verifies a report directory; raises AssayError where it does not verify."""


@dataclass(frozen=True)
class ReportReader:
    """Reads reports for commands that take several."""

    verifier: Verifier
    keys: Sequence[TrustedKey]
    threshold: int
    folder: Path | None
    """Where verified ones are kept; None: nowhere."""

    def read(self, path: Path) -> GivenReport:
        """Return a report, verified or with what is wrong. Raises BadInput where there is nothing
        that could be read.
        """
        place = self.place(path)
        kept = None if place is None else _kept(place, path)
        if kept is not None:
            return _given(path, kept, kept=True)
        log = VerificationLog()
        with opened_report(path) as directory:
            log.called = (directory, path) if directory != path else None
            wrong = self._wrong(directory, log)
            figures = _stated(directory) if wrong else _figures(directory, log)
        if wrong is not None:
            return GivenReport(report_name(path), str(path), figures, None, f"unverified: {wrong}")
        assert log.signed is not None
        found = VerifiedReport(
            schema="assay/verified_report/1",
            keyid=log.signed.keyid,
            signer=log.signed.signers[0].name,
            unproven=log.unproven,
            figures=figures,
        )
        if place is not None:
            with suppress(OSError):  # what cannot be kept is verified again
                write_record(found, place)
        return _given(path, found, kept=False)

    def _wrong(self, directory: Path, log: VerificationLog) -> str | None:
        try:
            self.verifier(directory, log)
        except AssayError as error:
            failed = [check for check in log.checks if not check.passed]
            return f"{failed[0].name}: {failed[0].detail}" if failed else str(error)
        return None

    def place(self, path: Path) -> Path | None:
        """Return where a report is kept that verified; None where none is kept, or it is none."""
        if self.folder is None:
            return None
        try:
            digests = (
                [sha256_bytes(read_bytes(path, MOST_PACKED))]
                if is_archive(path)
                else [
                    sha256_bytes(read_bytes(path / MANIFEST, MOST_DOCUMENT)),
                    sha256_bytes(read_bytes(path / ATTESTATION, MOST_ENVELOPE)),
                ]
            )
        except BadInput:
            return None
        trusted = sorted(f"{key.keyid} {key.since} {key.until} {key.revoked}" for key in self.keys)
        named = [digests, trusted, self.threshold, RULES, code_digest()]
        return self.folder / f"{sha256(json.dumps(named).encode()).hexdigest()}.json"


@cache
def code_digest() -> str:
    """Return a digest of this package's code: another version of it verifies anew."""
    package = Path(__file__).resolve().parents[1]
    digest = sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(f"{path.relative_to(package)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _kept(place: Path, path: Path) -> VerifiedReport | None:
    """Return what was kept; None where nothing was, or a directory lacks a file that it had."""
    try:
        found = parse_record(VerifiedReport, place.read_bytes(), place)
        if not is_archive(path):
            _require_sizes(path)
    except (OSError, AssayError):
        return None
    return found


def _require_sizes(directory: Path) -> None:
    """Raise CheckFailed unless a directory holds the files that its manifest lists, by size."""
    listed = json.loads((directory / MANIFEST).read_bytes())["files"]
    sizes = _sizes(directory)
    if any(sizes.get(entry["path"]) != entry["bytes"] for entry in listed):
        raise CheckFailed("a file is not of the size that was signed", code="contents")


def _sizes(directory: Path) -> Mapping[str, int]:
    found: dict[str, int] = {}
    waiting = [""]
    while waiting:
        prefix = waiting.pop()
        with os.scandir(directory / prefix) as entries:
            for entry in entries:
                name = f"{prefix}{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(f"{name}/")
                elif entry.is_file(follow_symlinks=False):
                    found[name] = entry.stat(follow_symlinks=False).st_size
    return found


def _figures(directory: Path, log: VerificationLog) -> ReportFigures:
    """Return what a report says in short, whoever vouches for it. Raises BadInput."""
    contents = read_contents(directory)
    return report_figures(
        contents.catalog,
        contents.evidence,
        contents.verdicts,
        commit=contents.pipeline.commit,
        created=log.signed.statement.predicate.created if log.signed else None,
        manifest_sha256=sha256_bytes(read_bytes(directory / MANIFEST)),
    )


def _stated(directory: Path) -> ReportFigures:
    """Return what a report says that does not verify, as far as it can be read. Raises BadInput."""
    try:
        return _figures(directory, VerificationLog())
    except AssayError:
        verdicts = read_record(VerdictsFile, directory / VERDICTS)
        return figures_of_verdicts(verdicts, UNWRITTEN)


def _given(path: Path, found: VerifiedReport, *, kept: bool) -> GivenReport:
    name, run = report_name(path), found.figures.run
    note = f"verified: signed by key {found.keyid} ({found.signer}), rules {found.figures.rules}"
    shown = name if name == run else f"{name} (run {run})"
    return GivenReport(shown, str(path), found.figures, found.keyid, note, found.unproven, kept)

"""Reports that were verified, and their figures in short: kept, so that nothing is judged twice.

What is kept is named by the report's bytes (the digests of its manifest and of its attestation, or
of its archive), the keys that are trusted and how many must have signed, the judging rules, and a
digest of the code and templates that verify. Anything else than that has it verified anew. Of a
kept directory signature, list and every byte are checked again, and of any kept report the name
that it lies under: left out is only to judge and to render.

Of a report that does not verify only ``verdicts.json`` is read, as far as it is bounded.
"""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

from assay.base.check_log import CheckLog
from assay.base.errors import AssayError, BadInput, CheckFailed
from assay.base.io import parse_record, read_bytes, read_record, write_record
from assay.base.printable import shortened
from assay.evidence.report_contents import read_contents
from assay.findings.given_report import GivenReport
from assay.findings.report_figures import (
    MOST_STATED,
    UNWRITTEN,
    figures_of_verdicts,
    report_figures,
    unread_figures,
)
from assay.judging.rules import RULES
from assay.records.manifest import ATTESTATION, MANIFEST, VERDICTS
from assay.records.report_figures import ReportFigures, VerifiedReport
from assay.records.verdicts import VerdictsFile
from assay.shared.files import sha256_bytes
from assay.shared.read_limits import MOST_DOCUMENT, MOST_ENVELOPE
from assay.verification.made_again import OtherVersion
from assay.verification.manifest import plain_bytes
from assay.verification.report_archive import MOST_PACKED, is_archive, opened_report, report_name
from assay.verification.signed_files import check_place, check_signed_files
from assay.verification.trusted_keys import TrustedKey
from assay.verification.verify import VerificationLog

KEPT = Path("results") / "cache" / "verified"
"""Below the repository."""
MOST_UNVOUCHED = 8_000_000
"""Bytes that are read of the verdicts of a report that does not verify; the largest has 800,000."""
LONGEST_NOTE = 400
"""Characters of why a report does not verify: the line names it, ``./assay verify`` tells all."""
Verifier = Callable[[Path, VerificationLog], None]
"""Verifies a report directory; raises AssayError where it does not verify."""


@dataclass(frozen=True)
class ReportReader:
    """Reads reports for commands that take several."""

    verifier: Verifier
    keys: Sequence[TrustedKey]
    repository: Path
    """The checkout, whose own reports lie under the names of their runs."""
    folder: Path | None
    """Where verified ones are kept; None: nowhere."""

    def read(
        self, path: Path, begun: Callable[[VerificationLog], None] | None = None
    ) -> GivenReport:
        """Return a report, verified or with what is wrong. ``begun`` is called with the log where
        it has to be verified. Raises BadInput where there is neither a directory with verdicts nor
        an archive, MissingEnvironment where this machine cannot unpack it.
        """
        place = self.place(path)
        kept = None if place is None else self._kept(place, path)
        if kept is not None:
            return self._given(path, kept, kept=True, judged=kept.figures.rules == RULES)
        log = VerificationLog()
        if begun is not None:
            begun(log)
        try:
            with opened_report(path) as directory:
                log.called = (directory, path) if directory != path else None
                _require_report(directory)
                wrong = self._wrong(directory, log)
                if wrong is not None:
                    return _unverified(path, _stated(directory), wrong)
                figures = _figures(directory, log)
        except CheckFailed as error:  # an archive that packing did not write
            return _unverified(path, unread_figures(), str(error))
        assert log.signed is not None
        found = VerifiedReport(
            schema="assay/verified_report/1",
            keyid=log.signed.keyid,
            signer=log.signed.signers[0].name,
            unproven=log.unproven,
            figures=figures,
        )
        judged = log.holds
        if place is not None and (judged or figures.rules != RULES):
            keep(found, place)
        return self._given(path, found, kept=False, judged=judged)

    def _given(self, path: Path, found: VerifiedReport, *, kept: bool, judged: bool) -> GivenReport:
        name, run = report_name(path), found.figures.run
        word = "verified" if judged else "intact, not judged again"
        by = f"signed by key {found.keyid} ({found.signer}), rules {found.figures.rules}"
        return GivenReport(
            name=name if name == run else f"{name} (run {run})",
            path=str(path),
            figures=found.figures,
            keyid=found.keyid,
            note=f"{word}: {by}",
            unproven=found.unproven,
            kept=kept,
            signer=found.signer,
            holder=next((k.signer for k in self.keys if k.keyid == found.keyid), found.keyid),
            judged=judged,
        )

    def _wrong(self, directory: Path, log: VerificationLog) -> str | None:
        try:
            self.verifier(directory, log)
        except OtherVersion:
            return None
        except AssayError as error:
            failed = [check for check in log.checks if not check.passed]
            return f"{failed[0].name}: {failed[0].detail}" if failed else str(error)
        except OSError as error:
            return f"cannot be read: {error.strerror}"
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
                    sha256_bytes(plain_bytes(path, MANIFEST, MOST_DOCUMENT)),
                    sha256_bytes(plain_bytes(path, ATTESTATION, MOST_ENVELOPE)),
                ]
            )
        except AssayError:
            return None
        trusted = sorted(f"{key.keyid} {key.since} {key.until} {key.revoked}" for key in self.keys)
        named = [digests, trusted, RULES, code_digest(self.repository)]
        return self.folder / f"{sha256(json.dumps(named).encode()).hexdigest()}.json"

    def _kept(self, place: Path, path: Path) -> VerifiedReport | None:
        """Return what was kept of a report whose files are still those that were signed; None where
        nothing was, or they are others.
        """
        if not place.is_file():
            return None
        log = CheckLog()
        try:
            found = read_record(VerifiedReport, place)
            if not is_archive(path):  # an archive's place is named by all of its bytes
                check_signed_files(log, path, self.keys)
            check_place(log, path, found.figures.run, self.repository)
        except AssayError:
            return None
        return found if log.holds else None


def _require_report(directory: Path) -> None:
    """Raise BadInput for a directory without verdicts, of which there is nothing to say."""
    with suppress(OSError):  # what cannot be looked at does not verify, and says so
        if not (directory / VERDICTS).is_file():
            raise BadInput(f"{directory}: is no report: it holds no {VERDICTS}")


def keep(found: VerifiedReport, place: Path) -> None:
    """Keep what was found of a report that verified, where that can be written."""
    with suppress(OSError):  # what cannot be kept is verified again
        write_record(found, place)


@cache
def code_digest(repository: Path) -> str:
    """Return a digest of this package's code and of the templates of ``repository``: another
    version of them verifies anew.
    """
    package, digest = Path(__file__).resolve().parents[1], sha256()
    files = [*package.rglob("*.py"), *(repository / "reports" / "templates").glob("*.j2")]
    for path in sorted(files):
        digest.update(f"{path.name}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _figures(directory: Path, log: VerificationLog) -> ReportFigures:
    """Return what a report that verified says in short."""
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
    """Return what the verdicts of a report say that does not verify; nothing where they cannot be
    read, or are more than any report has.
    """
    digest = UNWRITTEN
    try:
        with suppress(CheckFailed):
            digest = sha256_bytes(plain_bytes(directory, MANIFEST, MOST_DOCUMENT))
        data = plain_bytes(directory, VERDICTS, MOST_UNVOUCHED)
        verdicts = parse_record(VerdictsFile, data, directory / VERDICTS)
    except AssayError:
        return unread_figures(digest)
    return (
        figures_of_verdicts(verdicts, digest)
        if len(verdicts.verdicts) <= MOST_STATED
        else unread_figures(digest)
    )


def _unverified(path: Path, figures: ReportFigures, wrong: str) -> GivenReport:
    said = " ".join(shortened(wrong, LONGEST_NOTE).split())
    return GivenReport(report_name(path), str(path), figures, None, f"unverified: {said}")

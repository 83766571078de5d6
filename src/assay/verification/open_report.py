"""A report for people who compute: its records as data frames, and who vouches for them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd

from assay import frames
from assay.base.check_log import CheckLog
from assay.base.checkout_root import checkout_root
from assay.base.errors import CheckFailed
from assay.base.io import read_bytes
from assay.evidence.load import ReportContents, read_contents
from assay.judging.causes import with_known_causes
from assay.judging.counts import counted_once, kind_of
from assay.judging.leaderboard import leaderboard_rows
from assay.records.attestation import MANIFEST
from assay.shared.files import sha256_bytes
from assay.shared.read_limits import MOST_DOCUMENT
from assay.verification.report_archive import opened_report
from assay.verification.signed_files import SignedFiles, check_signed_files
from assay.verification.trusted_keys import load_trusted_keys, trusted_keys


@dataclass(frozen=True)
class OpenReport:
    """What a report holds, each file of it as a trusted key signed it."""

    path: Path
    contents: ReportContents
    manifest_sha256: str
    """Names the report: the digest of its list of files."""
    signed: SignedFiles

    @property
    def run(self) -> str:
        """Return the name of the run."""
        return self.contents.verdicts.run

    @property
    def commit(self) -> str | None:
        """Return the commit of this repository that judged it."""
        return self.contents.pipeline.commit

    @property
    def created(self) -> str:
        """Return when it was signed, by the signer's word: UTC, ISO 8601."""
        return self.signed.statement.predicate.created

    @property
    def keyid(self) -> str:
        """Return the id of the trusted key that signed it."""
        return self.signed.signer.keyid

    @cached_property
    def verdicts(self) -> pd.DataFrame:
        """Return one row a verdict (``assay.frames.VERDICTS``)."""
        catalog = self.contents.catalog
        entries = with_known_causes(self.contents.verdicts.verdicts)
        once = {id(each.lead) for each in counted_once(catalog, entries)}
        return frames.verdicts(
            (kind_of(catalog, verdict), id(verdict) in once, verdict) for verdict in entries
        )

    @cached_property
    def leaderboard(self) -> pd.DataFrame:
        """Return one row a solution and its reference (``assay.frames.LEADERBOARD``)."""
        found, entries = self.contents, with_known_causes(self.contents.verdicts.verdicts)
        return frames.leaderboard(leaderboard_rows(found.catalog, found.evidence, entries))

    @cached_property
    def samples(self) -> pd.DataFrame:
        """Return one row a timed launch (``assay.frames.SAMPLES``)."""
        return frames.samples(self.contents.evidence.benchmarks.values())

    @cached_property
    def telemetry(self) -> pd.DataFrame:
        """Return one row a sample of NVML (``assay.frames.TELEMETRY``)."""
        evidence = self.contents.evidence
        return frames.telemetry(evidence.benchmarks.values(), evidence.programs)

    @cached_property
    def builds(self) -> pd.DataFrame:
        """Return one row a build record (``assay.frames.BUILDS``)."""
        evidence = self.contents.evidence
        taken = [(target, record) for target, records in evidence.target_builds.items()
                 for record in records.values()]  # fmt: skip
        own = [("run", record) for record in evidence.builds.values()]
        return frames.builds([*own, *taken])


def open_report(path: Path | str, keys: Sequence[Path | str] | None = None) -> OpenReport:
    """Return the report at ``path``, a directory or its archive.

    Its signature and every byte are checked against ``keys``, files of public keys (None: those
    that the checkout trusts). So what it says is what a trusted key signed, and need not be true:
    ``./assay verify`` judges it again. Raises CheckFailed where a check fails; BadInput where there
    is no report, or a malformed one.
    """
    root = checkout_root()
    named = trusted_keys(root) if keys is None else [Path(key) for key in keys]
    with opened_report(Path(path)) as folder:
        vouched = _vouched(folder, named)
        digest = sha256_bytes(read_bytes(folder / MANIFEST, MOST_DOCUMENT))
        return OpenReport(Path(path), read_contents(folder), digest, vouched)


def _vouched(folder: Path, keys: Sequence[Path]) -> SignedFiles:
    log = CheckLog()
    found = check_signed_files(log, folder, load_trusted_keys(keys))
    if found is None:
        failed = next(check for check in log.checks if not check.passed)
        raise CheckFailed(
            f"{folder}: not as a trusted key signed it: {failed.id}: {failed.says}",
            code=failed.code or CheckFailed.code,
        )
    return found

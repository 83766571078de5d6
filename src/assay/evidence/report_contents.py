"""All that a report's readable texts tell of, read once."""

from dataclasses import dataclass
from pathlib import Path

from assay.base.io import parse_record, read_bytes, read_record
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.evidence.load import load_evidence
from assay.evidence.model import Evidence
from assay.evidence.stages import pipeline_path
from assay.records.attestation import VERDICTS, PipelineRecord
from assay.records.verdicts import VerdictsFile


@dataclass(frozen=True)
class GivenVerdicts:
    """The verdicts that a report states, and what made it."""

    verdicts: VerdictsFile
    verdicts_data: bytes
    """verdicts.json, byte for byte."""
    pipeline: PipelineRecord


@dataclass(frozen=True)
class ReportContents(GivenVerdicts):
    """The same with the evidence that they are about."""

    catalog: Catalog
    evidence: Evidence


def read_given(report_dir: Path) -> GivenVerdicts:
    """Read what a report states. Raises BadInput for missing or malformed records."""
    data = read_bytes(report_dir / VERDICTS)
    verdicts = parse_record(VerdictsFile, data, report_dir / VERDICTS)
    pipeline = read_record(PipelineRecord, report_dir / "evidence" / pipeline_path())
    return GivenVerdicts(verdicts, data, pipeline)


def read_contents(report_dir: Path) -> ReportContents:
    """Read a report's verdicts and evidence. Raises BadInput as ``read_given``."""
    given, folder = read_given(report_dir), report_dir / "evidence"
    return with_evidence(given, load_catalog(folder), load_evidence(folder))


def with_evidence(given: GivenVerdicts, catalog: Catalog, evidence: Evidence) -> ReportContents:
    """Return verdicts together with what they are about."""
    return ReportContents(given.verdicts, given.verdicts_data, given.pipeline, catalog, evidence)

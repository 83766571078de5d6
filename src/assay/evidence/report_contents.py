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
class ReportContents:
    """The verdicts that a report states, what made it, and the evidence that they are about."""

    verdicts: VerdictsFile
    verdicts_data: bytes
    """verdicts.json, byte for byte."""
    pipeline: PipelineRecord
    catalog: Catalog
    evidence: Evidence


def read_contents(
    report_dir: Path, loaded: tuple[Catalog, Evidence] | None = None
) -> ReportContents:
    """Read what a report states, and is about unless that is ``loaded``. Raises BadInput."""
    data, folder = read_bytes(report_dir / VERDICTS), report_dir / "evidence"
    verdicts = parse_record(VerdictsFile, data, report_dir / VERDICTS)
    pipeline = read_record(PipelineRecord, folder / pipeline_path())
    catalog, evidence = loaded or (load_catalog(folder), load_evidence(folder))
    return ReportContents(verdicts, data, pipeline, catalog, evidence)

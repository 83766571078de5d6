"""JSON Schemas of every record, for readers in other languages.

``python -m tools.json_schemas FOLDER`` writes all of them; without a folder, that of a project's
assay.yaml alone, which editors read from workflow/schemas and a test holds against the model.
"""

# ruff: noqa: E402 - what describes the fields must be asked for before any record is loaded

import argparse
import json
from pathlib import Path

from assay.records.base import GpuRecord, Record

for base in (Record, GpuRecord):
    base.model_config["use_attribute_docstrings"] = True

from assay.evidence.stages import TARGET_STAGES
from assay.records.attestation import Manifest, PipelineRecord, Statement
from assay.records.builds import BuildRecord, InspectionsRecord
from assay.records.cluster import ClusterFile
from assay.records.kernels import KernelManifest
from assay.records.originals import FileCompileRecord
from assay.records.plan import Plan, Request, RunConfig
from assay.records.platform import Target
from assay.records.projects import ProjectDocument
from assay.records.report_figures import ReportFigures
from assay.records.rivals import KernelSetRecord, RivalsFile, TuningFile
from assay.records.timings import TimingsRecord
from assay.records.verdicts import VerdictsFile
from assay.records.verification import VerificationRecord
from assay.records.workloads import ComparisonsFile, Judging, ProtocolsFile, WorkloadsFile
from assay.shared.files import write_bytes

DOCUMENTS: dict[str, type[Record]] = {
    **{entry.stage.value: entry.record for entry in TARGET_STAGES if entry.task},
    "build": BuildRecord,
    "cluster": ClusterFile,
    "comparisons": ComparisonsFile,
    "file_compile": FileCompileRecord,
    "inspections": InspectionsRecord,
    "judging": Judging,
    "kernel_set": KernelSetRecord,
    "kernels": KernelManifest,
    "manifest": Manifest,
    "pipeline": PipelineRecord,
    "plan": Plan,
    "project": ProjectDocument,
    "protocols": ProtocolsFile,
    "report_figures": ReportFigures,
    "request": Request,
    "rivals": RivalsFile,
    "run": RunConfig,
    "statement": Statement,
    "target": Target,
    "timings": TimingsRecord,
    "tuning": TuningFile,
    "verdicts": VerdictsFile,
    "verification": VerificationRecord,
    "workloads": WorkloadsFile,
}
"""File name of each schema to the record it describes."""


def schema_text(record: type[Record]) -> str:
    """The record's JSON Schema (draft 2020-12), sorted and indented."""
    return json.dumps(record.model_json_schema(by_alias=True), indent=1, sort_keys=True) + "\n"


def export(folder: Path, *names: str) -> None:
    """Write schemas as ``<folder>/<name>.schema.json``."""
    for name in names:
        write_bytes(folder / f"{name}.schema.json", schema_text(DOCUMENTS[name]).encode())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    given = parser.parse_args().folder
    if given is not None:
        export(given, *DOCUMENTS)
    else:
        export(Path(__file__).resolve().parents[1] / "workflow" / "schemas", "project")

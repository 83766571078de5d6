"""The commands' part of the report: files compiled as published; nothing of them ran."""

from dataclasses import dataclass

from assay.evidence.model import Evidence
from assay.records.file_compiles import FileCompileRecord
from assay.report.links import Link, link


@dataclass(frozen=True)
class FileCompileRow:
    """One file, compiled for one architecture."""

    source: str
    file: str
    arch: str
    command: str
    outcome: str
    facts: tuple[str, ...]
    """What was compiled, and what compiled it."""
    words: tuple[str, ...]
    """The compiler's errors, the first first; empty where it compiles."""
    more: bool
    """Whether there are more than are kept."""
    link: Link | None


def file_compile_rows(evidence: Evidence) -> tuple[FileCompileRow, ...]:
    """Return every file that was compiled as published, in this run or where figures come from."""
    paths = evidence.file_compile_paths
    return tuple(_row(record, paths[key]) for key, record in sorted(evidence.file_compiles.items()))


def _row(record: FileCompileRecord, path: str) -> FileCompileRow:
    return FileCompileRow(
        source=record.source,
        file=record.file,
        arch=record.arch,
        command=" ".join(record.command),
        outcome="compiles" if record.exit_code == 0 else "does not compile",
        facts=(
            f"SHA-256 {record.file_sha256}",
            f"nvcc {record.toolchain.nvcc}, {record.toolchain.host_compiler}",
            f"exit code {record.exit_code}",
            "the command line is ours",
        ),
        words=record.words,
        more=record.cut,
        link=link(f"evidence/{path}"),
    )

"""``./assay export``: write a report as tables, a citation or a badge."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from assay import __version__
from assay.base.errors import BadInput
from assay.base.io import load_yaml
from assay.base.progress import say as progress
from assay.base.writable import require_file_place, require_folder_place
from assay.catalog.project_folder import project_of
from assay.cli import checkout
from assay.cli.console import say
from assay.cli.options import KeyOption, ReportArgument
from assay.cli.project_folder import keys_of, project_folder
from assay.cli.table_files import Format, about, require_writer, table_bytes
from assay.findings.headline import headline_counts
from assay.frames import TABLES
from assay.records.citation import CitationFile
from assay.report.claims import project_stamp
from assay.report.quoted_report import CitedReport, badge, bibtex
from assay.shared.counting import counted
from assay.shared.files import write_bytes
from assay.verification.open_report import OpenReport, open_report
from assay.verification.report_archive import opened_report, report_name
from assay.verification.trusted_keys import load_trusted_keys, trusted_keys

CITATION = "CITATION.cff"


def export(
    report_dir: ReportArgument,
    table_format: Annotated[
        Format,
        typer.Option(
            "--format", help="csv, json or parquet: tables; bibtex: a citation; svg: a badge."
        ),
    ] = Format.CSV,
    table: Annotated[
        list[str] | None,
        typer.Option(help=f"Table to write, of {', '.join(TABLES)}; repeatable; else all."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Where to write: a directory for tables, else RUN_tables, here; a file for a "
            "citation or a badge, else standard output.",
            show_default=False,
        ),
    ] = None,
    key: KeyOption = None,
) -> None:
    """Write a report as tables, a citation or a badge.

    Its signature and every byte are checked; ./assay verify judges it again.
    """
    if table_format.is_text:
        if table:
            raise BadInput(f"--table goes with tables, not with --format {table_format.value}")
        if out is not None:
            require_file_place(out)
            if not out.absolute().parent.is_dir():
                raise BadInput(f"--out {out}: name a file in a folder that is there")
        _write_text(signed_report(report_dir, key), table_format, out)
        return
    names = table or list(TABLES)
    if unknown := [name for name in names if name not in TABLES]:
        raise BadInput(f"there is no table '{unknown[0]}'; known: {', '.join(TABLES)}")
    require_writer(table_format)
    if out is not None:
        _require_tables_place(out)
    _write_tables(signed_report(report_dir, key), table_format, names, out)


def signed_report(path: Path, keys: Sequence[Path] | None) -> OpenReport:
    """Return a report whose files are what a trusted key signed.

    Typed in a project's folder, its keys count for a project's report. Raises AssayError.
    """
    with opened_report(path) as folder:
        project = project_folder(None) if project_of(folder / "evidence") else None
        report = replace(open_report(folder, keys or keys_of(project)), path=path)
    assert report.signed is not None
    signer = report.signed.signers[0]
    checked = "every file is as it was signed; nothing was judged again (./assay verify does)"
    progress(f"{report_name(path)}: signed by key {signer.keyid} ({signer.name}): {checked}")
    return report


def _require_tables_place(folder: Path) -> None:
    require_folder_place(folder, folder / "about.json")


def _write_text(report: OpenReport, wanted: Format, out: Path | None) -> None:
    if wanted is Format.BIBTEX:
        text = report_bibtex(report)
    else:
        contents = report.contents
        text = badge(headline_counts(contents.catalog, contents.verdicts.verdicts))
    if out is None:
        sys.stdout.write(text)
    else:
        write_bytes(out, text.encode())
        say(f"{wanted.value}: {out}")


def report_bibtex(report: OpenReport) -> str:
    """Return the BibTeX entry of a report: by this repository's authors where one of its keys
    signed, else by the signer, as the report or else the verifier names him.
    """
    assert report.signed is not None
    told = load_yaml(CitationFile, checkout.ROOT / CITATION)
    signer, stamp = report.signed.signers[0], project_stamp(report.contents.catalog)
    stated = report.contents.pipeline.signing_key
    named = stated.name if stated and stated.keyid == signer.keyid else None
    authors: tuple[str, ...] = (named or signer.name,)
    if signer.keyid in {key.keyid for key in load_trusted_keys(trusted_keys(checkout.ROOT))}:
        authors = tuple(author.full_name for author in told.authors)
    return bibtex(
        CitedReport(
            run=report.run,
            created=report.signed.statement.predicate.created,
            authors=authors,
            signer=signer.name,
            keyid=signer.keyid,
            manifest_sha256=report.manifest_sha256,
            commit=report.commit,
            products=tuple(sorted(report.verdicts.gpu.dropna().unique().tolist())),
            project=stamp.title if stamp else None,
            version=__version__,
            address=told.url or told.repository_code,
        )
    )


def _write_tables(
    report: OpenReport, wanted: Format, names: Sequence[str], out: Path | None
) -> None:
    folder = out or Path(f"{report.run}_tables")
    _require_tables_place(folder)
    written = []  # said when all is written: a reader who goes after a line keeps none away
    for name in dict.fromkeys(names):
        frame = getattr(report, name)
        path = folder / f"{name}.{wanted.value}"
        write_bytes(path, table_bytes(frame, wanted))
        written.append(f"{path}: {counted(len(frame), 'row')}")
    write_bytes(folder / "about.json", about(report))
    for line in written:
        say(line)
    say(f"{folder / 'about.json'}: columns and their units, and which report this is")

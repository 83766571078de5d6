"""``./assay cite``: how a report is cited."""

import sys
from enum import StrEnum
from typing import Annotated

import typer
from pydantic import TypeAdapter, ValidationError

from assay import __version__
from assay.base.errors import BadInput
from assay.base.io import load_yaml
from assay.base.progress import say
from assay.cli import checkout
from assay.cli.options import KeyOption, ReportArgument
from assay.cli.signed_report import VerifyOption, signed_report
from assay.records.citation import Address, CitationFile
from assay.report.citation import CitedReport, bibtex, citation_line
from assay.report.project_stamp import project_stamp
from assay.verification.open_report import OpenReport
from assay.verification.trusted_keys import TrustedKey, load_trusted_keys, trusted_keys

CITATION = "CITATION.cff"


class CitationForm(StrEnum):
    """The form of a citation."""

    BIBTEX = "bibtex"
    TEXT = "text"


def cite(
    report_dir: ReportArgument,
    form: Annotated[
        CitationForm, typer.Option("--format", help="bibtex, or text: one line.")
    ] = CitationForm.BIBTEX,
    url: Annotated[
        str | None,
        typer.Option(
            help="Where the report can be had; else where CITATION.cff says.", metavar="URL"
        ),
    ] = None,
    key: KeyOption = None,
    verify: VerifyOption = False,
) -> None:
    """Print how a signed report is cited.

    Its signature and every byte are checked; with --verify it is judged again first.
    """
    given = None if url is None else _address(url)
    report = signed_report(report_dir, key, whole=verify)
    told = load_yaml(CitationFile, checkout.ROOT / CITATION)
    cited = _cited(report, told, given or told.url or told.repository_code)
    if cited.address is None:
        say(f"no address is cited: {CITATION} names none; --url says where the report can be had")
    sys.stdout.write({CitationForm.BIBTEX: bibtex, CitationForm.TEXT: citation_line}[form](cited))


def _address(url: str) -> str:
    """Return an address that can be cited. Raises BadInput."""
    try:
        return TypeAdapter[str](Address).validate_python(url)
    except ValidationError:
        raise BadInput(
            f"--url {url!r}: is no address that begins with http:// or https://"
        ) from None


def _cited(report: OpenReport, told: CitationFile, address: str | None) -> CitedReport:
    assert report.signed is not None
    signer, stamp = report.signed.signers[0], project_stamp(report.contents.catalog)
    return CitedReport(
        run=report.run,
        created=report.signed.statement.predicate.created,
        authors=_authors(report, told, signer),
        signer=signer.name,
        keyid=signer.keyid,
        manifest_sha256=report.manifest_sha256,
        commit=report.commit,
        products=tuple(sorted(report.verdicts.gpu.dropna().unique().tolist())),
        project=stamp.title if stamp else None,
        version=__version__,
        address=address,
    )


def _authors(report: OpenReport, told: CitationFile, signer: TrustedKey) -> tuple[str, ...]:
    """Return who stands for a report: this repository's authors for what one of its keys signed,
    else the signer by the name that the report states, or that the verifier has for the key.
    """
    if signer.keyid in {key.keyid for key in load_trusted_keys(trusted_keys(checkout.ROOT))}:
        return tuple(author.full_name for author in told.authors)
    stated = report.contents.pipeline.signing_key
    name = stated.name if stated and stated.keyid == signer.keyid else None
    return (name or signer.name,)

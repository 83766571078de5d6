"""The citation of a signed report, by this checkout's authors or by its signer."""

from assay import __version__
from assay.base.io import load_yaml
from assay.cli import checkout
from assay.records.citation import CitationFile
from assay.report.claims import project_stamp
from assay.report.quoted_report import CitedReport, bibtex
from assay.verification.open_report import OpenReport
from assay.verification.trusted_keys import TrustedKey, load_trusted_keys, trusted_keys

CITATION = "CITATION.cff"


def report_bibtex(report: OpenReport) -> str:
    """Return the BibTeX entry of a report whose signature was checked."""
    assert report.signed is not None
    told = load_yaml(CitationFile, checkout.ROOT / CITATION)
    signer, stamp = report.signed.signers[0], project_stamp(report.contents.catalog)
    return bibtex(
        CitedReport(
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
            address=told.url or told.repository_code,
        )
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

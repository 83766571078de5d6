"""The files of a report directory: their names, and the list of them that a signature covers."""

from typing import Annotated, Final, Literal

from pydantic import Field

from assay.records.base import Identifier, Record
from assay.records.builds import FileDigest

MANIFEST: Final = "manifest.json"
ATTESTATION: Final = "attestation.json"
PROVENANCE: Final = "provenance.json"
SIGNER: Final = "signer.pub"
VERDICTS: Final = "verdicts.json"
PAGE: Final = "report.html"
APPENDIX: Final = "appendix.html"
TEXT: Final = "report.md"
TEXTS: Final = (PAGE, APPENDIX, TEXT)
"""What people read; reports from before have no appendix."""


class Manifest(Record):
    """``manifest.json``: every file of a report but itself, the attestation and the public key."""

    schema_: Literal["assay/manifest/1"] = Field(alias="schema")
    run: Identifier
    files: Annotated[tuple[FileDigest, ...], Field(min_length=1)]
    """Sorted by path; paths are relative, with forward slashes, never through a link."""

"""``CITATION.cff``: whom a report of this repository is cited by, and where the repository lies."""

from typing import Annotated

from pydantic import ConfigDict, Field, model_validator

from assay.records.base import Record

Address = Annotated[
    str, Field(pattern=r"^https?://[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]+$", max_length=500)
]
"""A URL, and nothing that TeX would read otherwise than it stands in one."""


class CitedAuthor(Record):
    """A person, or others under one name."""

    name: str | None = None
    given_names: str | None = Field(None, alias="given-names")
    family_names: str | None = Field(None, alias="family-names")
    orcid: str | None = None

    @model_validator(mode="after")
    def _named(self) -> "CitedAuthor":
        if not self.full_name:
            raise ValueError("an author has no name")
        return self

    @property
    def full_name(self) -> str:
        """Return the name as it is written in a sentence."""
        return self.name or " ".join(filter(None, (self.given_names, self.family_names)))


class CitationFile(Record):
    """What an export takes of the file; the rest is for other readers of it."""

    model_config = ConfigDict(extra="ignore")
    authors: Annotated[tuple[CitedAuthor, ...], Field(min_length=1)]
    repository_code: Address | None = Field(None, alias="repository-code")
    """Where the repository can be had; None where that is nowhere said."""
    url: Address | None = None

"""What a repository says of the public keys that it trusts: ``config/trusted_keys/keys.yaml``."""

from datetime import date
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from assay.records.base import Record

KeyFileName = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*\.pub$", max_length=80)
]
KeyName = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f-\x9f]+$", max_length=80)]
RevocationReason = Annotated[
    str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f-\x9f]+$", max_length=300)
]


class Revocation(Record):
    """Why a key is no longer believed, whatever date a report of it bears."""

    day: date
    reason: RevocationReason


class TrustedKeyEntry(Record):
    """One public key, beside the file that names it."""

    file: KeyFileName
    name: KeyName
    """Of the key, as ``verify`` calls it."""
    holder: KeyName | None = None
    """Who signs with it: keys of one holder count as one signer where figures were measured again.
    """
    from_: date | None = Field(None, alias="from")
    """First day, in UTC, on which a report may say that it was signed."""
    until: date | None = None
    """The last such day."""
    revoked: Revocation | None = None

    @model_validator(mode="after")
    def _in_order(self) -> "TrustedKeyEntry":
        if self.from_ and self.until and self.until < self.from_:
            raise ValueError(f"{self.file}: 'until' lies before 'from'")
        return self


class TrustedKeysFile(Record):
    """``keys.yaml``: every public key of its folder."""

    schema_: Literal["assay/trusted_keys/1"] = Field(alias="schema")
    threshold: Literal[1] = 1
    """Keys that must have signed a report. Earlier versions could ask for more."""
    keys: Annotated[tuple[TrustedKeyEntry, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _each_once(self) -> "TrustedKeysFile":
        for values in ([key.file for key in self.keys], [key.name for key in self.keys]):
            if len(set(values)) < len(values):
                raise ValueError("a file or a name is given twice")
        if all(key.revoked is not None for key in self.keys):
            raise ValueError("every key is revoked")
        return self

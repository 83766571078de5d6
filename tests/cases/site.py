"""A copy of a base that a case changes, and how it is verified."""

import base64
import gzip
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.shared.files import write_bytes, write_json
from assay.verification.policy import Policy
from tests.cases.attack import AttackCase
from tests.cases.bases import RUN

Change = Callable[[Any], Any]
"""Takes a document and changes it in place; what it returns is left alone."""


@dataclass
class Site:
    """What a change gets: the report to be changed, and all that somebody verifies it with."""

    base: Path
    """Shared by cases: to be read only."""
    scratch: Path
    """The case's own folder."""
    report: Path
    """The copy, in the scratch folder."""
    given: Path
    """What verify is asked about."""
    keys: list[Path]
    payload: bytes = b""
    """The statement that is to be sealed, where the case says so."""
    repository: Path | None = None
    policy: Policy | None = None
    texts: bool = False
    as_other_version: bool = False
    evidence: Path = field(init=False)

    def __post_init__(self) -> None:
        self.evidence = self.report / "evidence"

    def edit(self, path: str, change: Change) -> None:
        """Change a JSON document of the report, compressed or not, in the records' own spelling."""
        document = self.read(path)
        change(document)
        write_json(document, self.report / path)

    def read(self, path: str) -> Any:
        """Return a JSON document of the report."""
        data = (self.report / path).read_bytes()
        return json.loads(gzip.decompress(data) if path.endswith(".gz") else data)

    def edit_envelope(self, change: Change) -> None:
        """Change the envelope, and spell it as Assay does."""
        self.edit("attestation.json", change)

    def statement(self) -> Any:
        """Return the statement that is signed."""
        return self.statement_of("attestation.json")

    def statement_of(self, path: str) -> Any:
        """Return the statement in an envelope of the report."""
        return json.loads(base64.b64decode(self.read(path)["payload"]))

    def put(self, path: str, data: bytes) -> None:
        """Write a file of the report."""
        write_bytes(self.report / path, data)


def make_site(case: AttackCase, base: Path, scratch: Path) -> Site:
    """Copy the base's report into ``scratch``, and set up its verifier."""
    report = Path(shutil.copytree(base / "repo" / "reports" / RUN, scratch / RUN))
    asked = case.verifier
    root = base / "repo"
    policy = {
        "none": None,
        "folder": Policy(root),
        "accepted": Policy(root, accepted=True),
    }[asked.policy]
    return Site(
        base, scratch, report, report, [base / "key.pub"],
        policy=policy, texts=asked.texts,
        as_other_version=asked.as_other_version,
    )  # fmt: skip

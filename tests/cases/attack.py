"""What a case of ``tests/cases/verify`` says: its ``case.yaml``, read as Assay reads configuration.

How to add one stands in CONTRIBUTING.md, "Add an attack".
"""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from assay.base.io import load_yaml
from assay.records.base import Identifier, Record

FOLDER = Path(__file__).parent / "verify"

Base = Literal["report", "archive", "taken_over", "pair", "settled", "checkout"]
"""What a case starts from; ``tests/cases/bases.py`` makes each."""
Resign = Literal["none", "listed", "manifest", "payload", "trusted", "judged", "enemy"]
"""What happens after the change; ``tests/cases/signers.py`` does it."""
Argument = str | int | float | bool | list[str] | list[int] | None


class Verifier(Record):
    """How it is verified, beside what ``./assay verify --key`` does."""

    texts: bool = False
    """Whether the readable texts are rendered again, by the version that made them."""
    as_other_version: bool = False
    """Whether another version renders them."""
    policy: Literal["none", "folder", "accepted"] = "none"
    """Whose rules it is held to: nobody's, or those of the base's repository; other ones may be
    accepted."""


class Expected(Record):
    """What must come of it."""

    exit: Annotated[int, Field(ge=0, le=3)]
    code: str | None = None
    """Of the refusal, for programs: of the first check that fails."""
    unproven: Annotated[int, Field(ge=0)] = 0
    """Things more than of the base that the result says nothing could prove."""

    @model_validator(mode="after")
    def _a_refusal_has_a_code(self) -> "Expected":
        if (self.exit == 0) != (self.code is None):
            raise ValueError("a refusal has a code, and nothing else has one")
        return self


class AttackCase(Record):
    """One way to bend a report, or to leave it sound, and what verify makes of it."""

    says: Annotated[str, StringConstraints(pattern=r"^[A-Z0-9][^\n]*\.$", max_length=160)]
    """What it is, in one sentence."""
    base: Base
    change: Identifier
    """A function of ``tests/cases/mutations_*.py``."""
    arguments: dict[str, Argument] = Field({}, alias="with")
    """What it is called with, beside the site."""
    resign: Resign = "none"
    verifier: Verifier = Verifier()
    expect: Expected


def load_cases() -> dict[str, AttackCase]:
    """Return every case by the name of its folder. Raises BadInput for one that is misspelt."""
    paths = sorted(FOLDER.glob("*/case.yaml"))
    return {path.parent.name: load_yaml(AttackCase, path) for path in paths}

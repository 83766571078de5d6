"""What checks of the evidence find: contradictions, and what older records leave unproven. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from assay.base.check_log import listed
from assay.base.errors import CheckFailed


@dataclass(frozen=True)
class Contradiction:
    """Two things of the evidence that cannot both be so."""

    code: str
    """For programs, in kebab-case."""
    says: str


@dataclass
class Findings:
    """What a check of evidence comes to."""

    contradictions: list[Contradiction] = field(default_factory=list)
    unproven: list[str] = field(default_factory=list)
    """What nothing recorded could prove, each once."""

    def refuse(self, code: str, says: str) -> None:
        """Take up a contradiction, once."""
        found = Contradiction(code, says)
        if found not in self.contradictions:
            self.contradictions.append(found)

    def leave(self, says: str) -> None:
        """Take up what is not proven."""
        if says not in self.unproven:
            self.unproven.append(says)

    def raise_if_any(self) -> None:
        """Raise CheckFailed that lists the contradictions; its code is that of the first."""
        if self.contradictions:
            found = self.contradictions
            raise CheckFailed(listed([each.says for each in found]), code=found[0].code)


def names(of: Iterable[str]) -> str:
    """Return a list for a sentence, in order, cut where it is long."""
    return listed(sorted(of)).replace(";", ",")

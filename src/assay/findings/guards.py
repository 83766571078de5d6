"""The guards of the figures, counted: cheats, the sanitizer, binaries, stopwatches. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.findings.binary_matches import BinaryMatch, Sameness
from assay.findings.stopwatch_agreement import Agreement


@dataclass(frozen=True)
class Share:
    """How many of how many."""

    good: int
    of: int

    @property
    def whole(self) -> bool:
        """Return whether it is all of them."""
        return self.good == self.of


@dataclass(frozen=True)
class Guards:
    """The guards of a run; None where nothing was tried."""

    cheats: Share | None
    """Kernels that cheat, and were caught."""
    sanitizer: Share | None
    """Runs of kernels under a tool of compute-sanitizer that had nothing to object to."""
    binaries: Share | None
    """Measured binaries whose machine code is that of the file compiled here, of those that were
    compiled again."""
    stopwatches: Share | None
    """Arms whose judged time another stopwatch confirms, in time or in cycles."""


def guards(
    catalog: Catalog,
    evidence: Evidence,
    matches: Sequence[BinaryMatch],
    agreements: Sequence[Agreement],
) -> Guards:
    """Return what guards a run's figures."""
    cheats = [each for record in evidence.cheats.values() for each in record.cheats]
    watched = [run.status for record in evidence.sanitizers.values() for run in record.runs]
    found = [match.sameness for match in matches if match.sameness is not Sameness.NOT_COMPILED]
    limit = catalog.judging.stopwatch_agreement
    held = [one.from_judged for one in agreements if one.from_judged.compared]
    return Guards(
        cheats=_share([bool(each.caught_by) for each in cheats if each.meant is not None]),
        sanitizer=_share([each == "clean" for each in watched if each != "unsupported"]),
        binaries=_share([sameness is not Sameness.OTHER for sameness in found]),
        stopwatches=_share([not one.in_time(limit) or one.by_clock(limit) for one in held]),
    )


def _share(found: Sequence[bool]) -> Share | None:
    return Share(sum(found), len(found)) if found else None

"""The report's part on what guards the figures: kernels that cheat, and alarms."""

from collections.abc import Iterator
from dataclasses import dataclass

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.evidence.stages import cheats_path
from assay.records.cheats import CheatOutcome
from assay.report import formatting as fmt
from assay.report.links import Link, link
from assay.report.sanitizer import sanitizer_alarms
from assay.shared.counting import agreeing, counted

CHECKS = {
    "timed_shape": "the first launch against the oracle",
    "poisoned": "the poisoned output",
    "inputs_unchanged": "the inputs' copy",
    "repeat": "new contents in the same buffers",
    "log_sum_exp": "the log-sum-exps against the oracle's",
    "low_precision_rule": "the error against a low-precision reference's",
    "timed_run": "the timed launches against the oracle",
}
"""A check's name in a reader's words."""


@dataclass(frozen=True)
class CheatRow:
    """One cheat."""

    name: str
    what: str
    meant: str
    caught_by: str
    standing: str
    as_meant: bool


@dataclass(frozen=True)
class CheatsSection:
    """The cheats on one target."""

    target: str
    summary: str
    rows: tuple[CheatRow, ...]
    link: Link


def alarms(catalog: Catalog, evidence: Evidence) -> Iterator[str]:
    """Yield what must stand at the top: a net with a hole, a kernel that a sanitizer objects to."""
    yield from _cheat_alarms(evidence)
    yield from sanitizer_alarms(catalog, evidence)


def _cheat_alarms(evidence: Evidence) -> Iterator[str]:
    for target, record in evidence.cheats.items():
        if record.status == "failed":
            yield f"On {target} kernels that cheat could not be tried: {record.detail}."
        free = [c for c in record.cheats if c.meant is not None and not c.caught_by]
        if holes := [fmt.words(c.name) for c in free if not _failed(c)]:
            yield f"On {target} the checks let kernels that cheat through: {', '.join(holes)}."
        if untried := [fmt.words(c.name) for c in record.cheats if _failed(c)]:
            yield f"On {target} it is not known what the checks make of: {', '.join(untried)}."
        if any(c.meant is None and c.caught_by for c in record.cheats):
            yield (
                f"On {target} the checks object to an honest kernel as well, so that what else "
                "they catch proves nothing."
            )


def _failed(cheat: CheatOutcome) -> bool:
    """Return whether its process came to no result; in earlier evidence every one came to one."""
    return cheat.ended is False


def cheats_sections(evidence: Evidence) -> tuple[CheatsSection, ...]:
    """Return the cheats of every target that has a record of them."""
    sections = []
    for target, record in evidence.cheats.items():
        cheats = [cheat for cheat in record.cheats if cheat.meant is not None]
        caught = sum(bool(cheat.caught_by) for cheat in cheats)
        meant = sum(cheat.as_meant for cheat in cheats)
        honest = "".join(
            f"; the honest one beside them {'passes' if c.as_meant else 'is caught as well'}"
            for c in record.cheats
            if c.meant is None
        )
        sections.append(
            CheatsSection(
                target=target,
                summary=f"None was tried to its end: {record.detail}."
                if record.status == "failed"
                else (
                    f"Of {counted(len(cheats), 'kernel')} "
                    f"that {agreeing(len(cheats), 'cheats', 'cheat')}, "
                    f"{caught} {agreeing(caught, 'is', 'are')} caught on this GPU, "
                    f"{meant} of them by the check that is meant for them{honest}."
                ),
                rows=tuple(_cheat_row(cheat) for cheat in record.cheats),
                link=link(f"evidence/{cheats_path(target)}"),
            )
        )
    return tuple(sections)


def _cheat_row(cheat: CheatOutcome) -> CheatRow:
    if cheat.meant is None and not _failed(cheat):
        standing = "passes" if cheat.as_meant else "is caught, though honest"
    elif cheat.as_meant:
        standing = "caught as meant"
    elif cheat.caught_by:
        standing = "caught, not as meant"
    else:
        standing = "not known" if _failed(cheat) else "not caught"
    return CheatRow(
        name=fmt.words(cheat.name),
        what=cheat.what,
        meant=CHECKS.get(cheat.meant, cheat.meant) if cheat.meant else "nothing",
        caught_by=", ".join(CHECKS.get(name, name) for name in cheat.caught_by) or "nothing",
        standing=f"{standing}: {cheat.timed_run}" if _failed(cheat) else standing,
        as_meant=cheat.as_meant,
    )

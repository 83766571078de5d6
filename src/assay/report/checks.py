"""The report's part on what guards the figures: other stopwatches, kernels that cheat, alarms."""

from collections.abc import Iterator
from dataclasses import dataclass

from assay import formatting as fmt
from assay.agreement import Agreement, agreements
from assay.config import Catalog
from assay.evidence import Evidence, cheats_path, stopwatch_path
from assay.records.measurements import CheatOutcome
from assay.report.claims import Link, link
from assay.report.sanitizer import sanitizer_alarms

CHECKS = {
    "timed_shape": "the first launch against the oracle",
    "poisoned": "the poisoned output",
    "inputs_unchanged": "the inputs' copy",
    "repeat": "new contents in the same buffers",
    "timed_run": "the timed launches against the oracle",
}
"""A check's name in a reader's words."""


@dataclass(frozen=True)
class AgreementRow:
    """One arm by three stopwatches."""

    arm: str
    comparison: str
    target: str
    judged: str
    events: str
    nvbench: str
    nvbench_off: str
    nvbench_cycles: str
    nsight: str
    nsight_off: str
    nsight_cycles: str
    clocks: str
    standing: str
    agrees: bool | None
    """None where there was nothing to compare."""
    link: Link


@dataclass(frozen=True)
class AgreementSection:
    """The table of stopwatches."""

    note: tuple[str, ...]
    rows: tuple[AgreementRow, ...]


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


def alarms(evidence: Evidence) -> Iterator[str]:
    """What must stand at the top: a net with a hole, a kernel that a sanitizer objects to."""
    yield from _cheat_alarms(evidence)
    yield from sanitizer_alarms(evidence)


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
    """Whether its process came to no result."""
    return cheat.timed_run.startswith("failed: ")


def agreement_section(catalog: Catalog, evidence: Evidence) -> AgreementSection | None:
    """The table of stopwatches; None where no other stopwatch was asked."""
    found = list(agreements(evidence))
    if not found:
        return None
    limit = catalog.judging.stopwatch_agreement
    beyond = sum(one.beyond(limit) for one in found)
    clocks = sum(one.by_clock(limit) for one in found)
    held = sum(one.nvbench_off is not None or one.nsight_off is not None for one in found)
    return AgreementSection(
        note=(
            f"The same binaries by three stopwatches: this project's CUDA events, NVBench's cold "
            f"time, Nsight Compute's duration. Of {held} arms with more than one, {beyond} "
            f"disagree by more than {fmt.percent(limit)}, {clocks} of which agree in SM cycles: "
            "the clock was another. No time is averaged, and only the judged column decides "
            "anything. Deviations are from our events in NVBench's own process, or from the "
            "judged time where NVBench has none.",
            "NVBench waits for the GPU between launches, so that a card under a power cap may run "
            "at a higher clock than in the judged turns, which follow each other. Nsight Compute "
            "replays one launch by itself, flushes caches in its own way, leaves the clocks alone "
            "as we do, and counts the longest kernel of a launch only: a library that launches "
            "several differs by the others. The clocks stand beside the times.",
        ),
        rows=tuple(_agreement_row(one, limit) for one in found),
    )


def _agreement_row(one: Agreement, limit: float) -> AgreementRow:
    compared = one.nvbench_off is not None or one.nsight_off is not None
    standing = f"differ by more than {fmt.percent(limit)}" if one.beyond(limit) else "agree"
    if one.by_clock(limit):
        standing += ", agree in cycles"
    if one.nvbench_ms is None:
        missing = f"NVBench: {fmt.words(one.nvbench_status)}"
        # What follows an error's first line is advice to whoever debugs; the record has it.
        missing += f" ({one.detail.splitlines()[0]})" if one.detail else ""
        standing = f"{standing}; {missing}" if compared else missing
    known = (one.reference_clock_mhz, one.nvbench_clock_mhz, one.nsight_clock_mhz)
    clocks = " / ".join(fmt.NOTHING if mhz is None else f"{mhz:.0f}" for mhz in known)
    return AgreementRow(
        arm=one.arm,
        comparison=one.comparison,
        target=one.target,
        judged=fmt.quantity(one.judged_ms, "ms"),
        events=fmt.quantity(one.events_ms, "ms"),
        nvbench=fmt.quantity(one.nvbench_ms, "ms"),
        nvbench_off=_deviation(one.nvbench_off),
        nvbench_cycles=_in_cycles(one.nvbench_cycles_off),
        nsight=fmt.quantity(one.nsight_ms, "ms"),
        nsight_off=_deviation(one.nsight_off),
        nsight_cycles=_in_cycles(one.nsight_cycles_off),
        clocks=clocks if any(mhz is not None for mhz in known) else fmt.NOTHING,
        standing=standing,
        agrees=not one.beyond(limit) if compared else None,
        link=link(f"evidence/{stopwatch_path(one.target, one.comparison)}"),
    )


def _in_cycles(off: float | None) -> str:
    return "" if off is None else f"{_deviation(off)} in cycles"


def _deviation(off: float | None) -> str:
    return fmt.NOTHING if off is None else f"{100 * off:+.1f}\N{NO-BREAK SPACE}%"


def cheats_sections(evidence: Evidence) -> tuple[CheatsSection, ...]:
    """The cheats of every target that has a record of them."""
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
                    f"Of {len(cheats)} kernels that cheat, {caught} are caught on this GPU, "
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
        standing=f"{standing}; {cheat.timed_run}" if _failed(cheat) else standing,
        as_meant=cheat.as_meant,
    )

"""The report's account of compute-sanitizer: what it found, and of which binaries."""

from collections.abc import Iterator, Set
from dataclasses import dataclass

from assay.base.check_log import listed
from assay.catalog.model import Catalog
from assay.evidence.model import Evidence, binaries_of
from assay.evidence.stages import sanitizer_path
from assay.records.sanitizer import Sanitized, SanitizerRecord
from assay.report import formatting as fmt
from assay.report.links import Link, link
from assay.shared.counting import agreeing, counted


@dataclass(frozen=True)
class SanitizerRow:
    """One variant; ``cells`` stand under the tools."""

    variant: str
    cells: tuple[tuple[str, bool], ...]
    """(what a tool found, whether that is good)."""
    shapes: str
    words: tuple[str, ...]
    """First messages and what did not go as it should."""


@dataclass(frozen=True)
class SanitizerSection:
    """compute-sanitizer on one target."""

    target: str
    summary: str
    controls: str
    tools: tuple[str, ...]
    rows: tuple[SanitizerRow, ...]
    link: Link


@dataclass(frozen=True)
class _Watched:
    """Disagreements between a record and this run's binaries; each a list of variants."""

    not_compiled: tuple[str, ...]
    """Their binary was timed on the target, but this run compiled another, or none."""
    foreign: tuple[str, ...]
    """Their binary is none that this run compiled or shows figures of."""
    untold: tuple[str, ...]
    """Compiled for the target and to be watched, but not in the record."""


def sanitizer_alarms(catalog: Catalog, evidence: Evidence) -> Iterator[str]:
    """Yield what compute-sanitizer objects to, and what its silence says nothing of."""
    for target, record in evidence.sanitizers.items():
        if record.status == "failed":
            yield f"On {target} compute-sanitizer came to no result: {record.detail}."
        for control in record.controls:
            if not control.caught:
                yield (
                    f"On {target} {control.tool} missed a kernel that does wrong on purpose: that "
                    f"it is silent of others proves nothing ({control.detail})."
                )
        if found := [f"{r.variant} ({_words(r)})" for r in record.runs if not _good(r)]:
            yield f"On {target} compute-sanitizer objects to {', '.join(found)}."
        watched, planned = _watched(catalog, evidence, record), _planned(evidence, target)
        if foreign := [variant for variant in watched.foreign if variant in planned]:
            yield (
                f"On {target} compute-sanitizer watched binaries that this run neither compiled "
                f"nor timed, so that it says nothing of this run's: {listed(foreign)}."
            )
        if watched.untold:
            yield f"On {target} compute-sanitizer was not shown: {listed(watched.untold)}."


def _watched(catalog: Catalog, evidence: Evidence, record: SanitizerRecord) -> _Watched:
    arch = catalog.targets[record.target].arch
    ran: dict[str, set[str | None]] = {}
    for run in record.runs:
        ran.setdefault(run.variant, set()).add(run.binary_sha256)
    timed = _timed(evidence, record.target)
    other = [v for v, digests in ran.items() if not digests <= binaries_of(evidence, v, arch)]
    planned = _planned(evidence, record.target) if record.status == "collected" else ()
    return _Watched(
        not_compiled=tuple(v for v in other if ran[v] <= timed),
        foreign=tuple(v for v in other if not ran[v] <= timed),
        untold=tuple(v for v in planned if v not in ran and binaries_of(evidence, v, arch)),
    )


def _timed(evidence: Evidence, target: str) -> Set[str | None]:
    """SHA-256 of every library that was timed on a target."""
    return {
        facts.binary_sha256
        for (on, _), record in evidence.benchmarks.items()
        if on == target
        for process in record.processes
        for facts in process.arms
        if facts.binary_sha256 is not None
    }


def _planned(evidence: Evidence, target: str) -> tuple[str, ...]:
    return next((p.sanitized for p in evidence.plan.targets if p.target == target), ())


def _good(run: Sanitized) -> bool:
    return run.status in ("clean", "unsupported")


def _words(run: Sanitized) -> str:
    """Return what one tool says of one variant."""
    return f"{run.tool}: {_finding(run)}"


def _finding(run: Sanitized) -> str:
    counts = [
        counted(count, noun)
        for count, noun in ((run.errors, "error"), (run.warnings, "warning"))
        if count
    ]
    return ", ".join(counts) or run.status


def sanitizer_sections(catalog: Catalog, evidence: Evidence) -> tuple[SanitizerSection, ...]:
    """compute-sanitizer's findings of every target that has a record of them."""
    return tuple(
        _section(target, record, _watched(catalog, evidence, record))
        for target, record in evidence.sanitizers.items()
    )


def _section(target: str, record: SanitizerRecord, watched: _Watched) -> SanitizerSection:
    by_variant: dict[str, dict[str, Sanitized]] = {}
    for run in record.runs:
        by_variant.setdefault(run.variant, {})[run.tool] = run
    tools = tuple(dict.fromkeys(run.tool for run in record.runs))
    clean = sum(all(run.status == "clean" for run in runs.values()) for runs in by_variant.values())
    if record.status == "collected":
        summary = (
            f"compute-sanitizer {record.version}: {clean} of "
            f"{counted(len(by_variant), 'compiled kernel')} {agreeing(clean, 'is', 'are')} clean "
            f"under every tool, each in a process of its own at small shapes, in "
            f"{fmt.duration(record.seconds)}."
        )
        if watched.foreign:
            summary += f" Of {len(watched.foreign)} it watched another binary than this run's."
    else:
        summary = f"Not run: {record.detail}."
    missed = [control.tool for control in record.controls if not control.caught]
    controls = ""
    if record.controls:
        controls = "Each tool was first shown a kernel that does wrong on purpose, and "
        controls += f"{', '.join(missed)} missed it." if missed else "caught it."
    return SanitizerSection(
        target=target,
        summary=summary,
        controls=controls,
        tools=tools,
        rows=(
            *(_row(name, tools, runs, watched) for name, runs in by_variant.items()),
            *(_untold(name, tools) for name in watched.untold),
        ),
        link=link(f"evidence/{sanitizer_path(target)}"),
    )


def _row(
    variant: str, tools: tuple[str, ...], runs: dict[str, Sanitized], watched: _Watched
) -> SanitizerRow:
    words: dict[str, None] = {}
    for run in runs.values():
        for text in (*run.messages, *([run.detail] if run.detail else [])):
            words[f"{run.tool}: {text}" if not _good(run) else text] = None
    foreign = variant in watched.foreign
    if foreign:
        words["another binary than this run's"] = None
    if variant in watched.not_compiled:
        words["the binary that was timed; this run compiled another, or none"] = None
    return SanitizerRow(
        variant=variant,
        cells=tuple(
            (_finding(runs[tool]), _good(runs[tool]) and not foreign)
            if tool in runs
            else (fmt.NOTHING, False)
            for tool in tools
        ),
        shapes=", ".join(dict.fromkeys(shape for run in runs.values() for shape in run.shapes)),
        words=tuple(words),
    )


def _untold(variant: str, tools: tuple[str, ...]) -> SanitizerRow:
    """Return a kernel that was to be watched and of which the record says nothing."""
    return SanitizerRow(variant, tuple(("not tried", False) for _ in tools), "", ())

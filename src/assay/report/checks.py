"""The report's part on what guards the figures: kernels that cheat, compute-sanitizer, alarms."""

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from assay.base.check_log import listed
from assay.catalog.model import Catalog
from assay.evidence.model import Evidence, binaries_of
from assay.evidence.stages import cheats_path, sanitizer_path
from assay.records.cheats import CheatOutcome, CheatsRecord
from assay.records.sanitizer import Sanitized, SanitizerRecord
from assay.report import formatting as fmt
from assay.report.formatting import Row, link
from assay.shared.counting import counted

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


def alarms(catalog: Catalog, evidence: Evidence) -> Iterator[str]:
    """Yield what must stand at the top: a net with a hole, a kernel that a sanitizer objects to."""
    for target, cheats in evidence.cheats.items():
        yield from (f"On {target} {words}." for words in _cheat_alarms(cheats))
    for target, record in evidence.sanitizers.items():
        yield from (
            f"On {target} {words}." for words in _sanitizer_alarms(catalog, evidence, record)
        )


def _cheat_alarms(record: CheatsRecord) -> Iterator[str]:
    if record.status == "failed":
        yield f"kernels that cheat could not be tried: {record.detail}"
    free = [c for c in record.cheats if c.meant is not None and not c.caught_by]
    if holes := [fmt.words(c.name) for c in free if not _failed(c)]:
        yield f"the checks let kernels that cheat through: {', '.join(holes)}"
    if untried := [fmt.words(c.name) for c in record.cheats if _failed(c)]:
        yield f"it is not known what the checks make of: {', '.join(untried)}"
    if any(c.meant is None and c.caught_by for c in record.cheats):
        yield (
            "the checks object to an honest kernel as well, so that what else they catch proves "
            "nothing"
        )


def _failed(cheat: CheatOutcome) -> bool:
    """Return whether its process came to no result; in earlier evidence every one came to one."""
    return cheat.ended is False


def cheats_sections(evidence: Evidence) -> Iterator[Row]:
    """Yield the cheats of every target that has a record of them."""
    for target, record in evidence.cheats.items():
        cheats = [cheat for cheat in record.cheats if cheat.meant is not None]
        yield {
            "record": record,
            "target": target,
            "tried": len(cheats),
            "caught": sum(bool(cheat.caught_by) for cheat in cheats),
            "meant": sum(cheat.as_meant for cheat in cheats),
            "honest": [cheat for cheat in record.cheats if cheat.meant is None],
            "rows": [_cheat_row(cheat) for cheat in record.cheats],
            "link": link(f"evidence/{cheats_path(target)}"),
        }


def _cheat_row(cheat: CheatOutcome) -> Row:
    if _failed(cheat):
        standing = "not known"
    elif cheat.meant is None:
        standing = "passes" if cheat.as_meant else "is caught, though honest"
    elif cheat.as_meant:
        standing = "caught as meant"
    else:
        standing = "caught, not as meant" if cheat.caught_by else "not caught"
    return {
        "name": fmt.words(cheat.name),
        "what": cheat.what,
        "meant": CHECKS.get(cheat.meant, cheat.meant) if cheat.meant else "nothing",
        "caught_by": ", ".join(CHECKS.get(name, name) for name in cheat.caught_by) or "nothing",
        "standing": f"{standing}: {cheat.timed_run}" if _failed(cheat) else standing,
        "as_meant": cheat.as_meant,
    }


@dataclass(frozen=True)
class _Watched:
    """Disagreements between a record and this run's binaries; each a list of variants."""

    not_compiled: tuple[str, ...]
    """Their binary was timed on the target, but this run compiled another, or none."""
    foreign: tuple[str, ...]
    """Their binary is none that this run compiled or shows figures of."""
    untold: tuple[str, ...]
    """Compiled for the target and to be watched, but not in the record."""


def _watched(catalog: Catalog, evidence: Evidence, record: SanitizerRecord) -> _Watched:
    arch = catalog.targets[record.target].arch
    ran: dict[str, set[str | None]] = {}
    for run in record.runs:
        ran.setdefault(run.variant, set()).add(run.binary_sha256)
    timed: Set[str | None] = {
        facts.binary_sha256
        for (target, _), benchmark in evidence.benchmarks.items()
        if target == record.target
        for process in benchmark.processes
        for facts in process.arms
        if facts.binary_sha256 is not None
    }
    other = [v for v, digests in ran.items() if not digests <= binaries_of(evidence, v, arch)]
    planned = _planned(evidence, record.target) if record.status == "collected" else ()
    return _Watched(
        not_compiled=tuple(v for v in other if ran[v] <= timed),
        foreign=tuple(v for v in other if not ran[v] <= timed),
        untold=tuple(v for v in planned if v not in ran and binaries_of(evidence, v, arch)),
    )


def _planned(evidence: Evidence, target: str) -> tuple[str, ...]:
    return next((p.sanitized for p in evidence.plan.targets if p.target == target), ())


def _sanitizer_alarms(
    catalog: Catalog, evidence: Evidence, record: SanitizerRecord
) -> Iterator[str]:
    """Yield what compute-sanitizer objects to, and what its silence says nothing of."""
    if record.status == "failed":
        yield f"compute-sanitizer came to no result: {record.detail}"
    for control in record.controls:
        if not control.caught:
            yield (
                f"{control.tool} missed a kernel that does wrong on purpose: that it is silent of "
                f"others proves nothing ({control.detail})"
            )
    if bad := [f"{r.variant} ({r.tool}: {_finding(r)})" for r in record.runs if not _good(r)]:
        yield f"compute-sanitizer objects to {', '.join(bad)}"
    watched, planned = _watched(catalog, evidence, record), _planned(evidence, record.target)
    if foreign := [variant for variant in watched.foreign if variant in planned]:
        yield (
            "compute-sanitizer watched binaries that this run neither compiled nor timed, so that "
            f"it says nothing of this run's: {listed(foreign)}"
        )
    if watched.untold:
        yield f"compute-sanitizer was not shown: {listed(watched.untold)}"


def _good(run: Sanitized) -> bool:
    return run.status in ("clean", "unsupported")


def _finding(run: Sanitized) -> str:
    numbers = ((run.errors, "error"), (run.warnings, "warning"))
    return ", ".join(counted(number, noun) for number, noun in numbers if number) or run.status


def sanitizer_sections(catalog: Catalog, evidence: Evidence) -> Iterator[Row]:
    """Yield compute-sanitizer's findings of every target that has a record of them."""
    for target, record in evidence.sanitizers.items():
        watched = _watched(catalog, evidence, record)
        by_variant: dict[str, dict[str, Sanitized]] = {}
        for run in record.runs:
            by_variant.setdefault(run.variant, {})[run.tool] = run
        tools = list(dict.fromkeys(run.tool for run in record.runs))
        untold = [
            {
                "variant": name,
                "cells": [("not tried", False)] * len(tools),
                "shapes": "",
                "words": [],
            }
            for name in watched.untold
        ]
        yield {
            "target": target,
            "record": record,
            "clean": sum(
                all(r.status == "clean" for r in of.values()) for of in by_variant.values()
            ),
            "variants": len(by_variant),
            "foreign": len(watched.foreign),
            "missed": [control.tool for control in record.controls if not control.caught],
            "tools": tools,
            "rows": [*(_row(n, tools, runs, watched) for n, runs in by_variant.items()), *untold],
            "link": link(f"evidence/{sanitizer_path(target)}"),
        }


def _row(variant: str, tools: Sequence[str], runs: dict[str, Sanitized], watched: _Watched) -> Row:
    words: dict[str, None] = {}
    for run in runs.values():
        for text in (*run.messages, *([run.detail] if run.detail else [])):
            words[text if _good(run) else f"{run.tool}: {text}"] = None
    foreign = variant in watched.foreign
    if foreign:
        words["another binary than this run's"] = None
    if variant in watched.not_compiled:
        words["the binary that was timed; this run compiled another, or none"] = None
    return {
        "variant": variant,
        "cells": [
            (_finding(runs[tool]), _good(runs[tool]) and not foreign)
            if tool in runs
            else (fmt.NOTHING, False)
            for tool in tools
        ],
        "shapes": ", ".join(dict.fromkeys(shape for run in runs.values() for shape in run.shapes)),
        "words": list(words),
    }

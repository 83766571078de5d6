"""The report's part on what guards the figures: kernels that cheat, compute-sanitizer, alarms."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from assay.base.check_log import listed
from assay.catalog.model import Catalog
from assay.evidence.model import Evidence, binaries_of
from assay.evidence.stages import cheats_path, sanitizer_path
from assay.findings.binary_matches import BinaryMatch, Sameness
from assay.judging.gates import timed_binaries
from assay.records.side_evidence import CheatOutcome, CheatsRecord, Sanitized, SanitizerRecord
from assay.report import formatting as fmt
from assay.report.stopwatches import Agreement
from assay.shared.counting import counted

CHECKS = {
    "timed_shape": "the first launch against the oracle",
    "poisoned": "the poisoned output",
    "inputs_unchanged": "the inputs' copy",
    "repeat": "new contents in the same buffers",
    "log_sum_exp": "the log-sum-exps against the oracle's",
    "low_precision_rule": "the error against a low-precision reference's",
    "plain_tensor": "the output's type",
    "harness_unchanged": "the harness's own functions",
    "own_check": "the problem's own check",
    "timed_run": "the timed launches against the oracle",
}


def alarms(catalog: Catalog, evidence: Evidence) -> Iterator[str]:
    """Yield what must stand at the top: a net with a hole, a kernel that a sanitizer objects to."""
    for target, cheats in evidence.cheats.items():
        yield from (f"On {target} {words}." for words in _cheat_alarms(cheats))
    for target, record in evidence.sanitizers.items():
        said = _tool_alarms(catalog, evidence, record)
        yield from (f"On {target} {words}." for words in said)


def _cheat_alarms(record: CheatsRecord) -> Iterator[str]:
    if record.status == "failed":
        yield f"kernels that cheat could not be tried: {record.detail}"
    free = [c for c in record.cheats if c.meant is not None and not c.caught_by]
    if holes := [fmt.words(c.name) for c in free if not _failed(c)]:
        yield f"the checks let kernels that cheat through: {', '.join(holes)}"
    if untried := [fmt.words(c.name) for c in record.cheats if _failed(c)]:
        yield f"kernels that cheat ended before the checks were done: {', '.join(untried)}"
    if any(c.meant is None and c.caught_by for c in record.cheats):
        nothing = "so that what else they catch proves nothing"
        yield f"the checks object to an honest kernel as well, {nothing}"


def _failed(cheat: CheatOutcome) -> bool:
    return cheat.ended is False  # in earlier evidence every process came to a result


def cheats_sections(evidence: Evidence) -> Iterator[fmt.Row]:
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
            "link": fmt.link(evidence.place(cheats_path(target))),
        }


def _cheat_row(cheat: CheatOutcome) -> fmt.Row:
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


def _foreign(catalog: Catalog, evidence: Evidence, record: SanitizerRecord) -> set[str]:
    """Return the variants whose watched binary this run neither compiled nor timed."""
    arch = catalog.targets[record.target].arch
    timed = {sha256 for on, _, sha256 in timed_binaries(evidence) if on == record.target}
    return {
        run.variant
        for run in record.runs
        if run.binary_sha256 not in timed
        and run.binary_sha256 not in binaries_of(evidence, run.variant, arch)
    }


def _tool_alarms(catalog: Catalog, evidence: Evidence, record: SanitizerRecord) -> Iterator[str]:
    """Yield what compute-sanitizer objects to, and what its silence says nothing of."""
    for control in record.controls:  # no result at all is no alarm: a guard is missing then
        if not control.caught:
            yield (
                f"{control.tool} missed a kernel that does wrong on purpose: that it is silent of "
                f"others proves nothing ({control.detail})"
            )
    if bad := [f"{r.variant} ({r.tool}: {_finding(r)})" for r in record.runs if not _good(r)]:
        yield f"compute-sanitizer objects to {', '.join(bad)}"
    planned = next((p.sanitized for p in evidence.plan.targets if p.target == record.target), ())
    if foreign := sorted(_foreign(catalog, evidence, record) & set(planned)):
        yield (
            "compute-sanitizer watched binaries that this run neither compiled nor timed, so that "
            f"it says nothing of this run's: {listed(foreign)}"
        )


def _good(run: Sanitized) -> bool:
    return run.status in ("clean", "unsupported")


def _finding(run: Sanitized) -> str:
    numbers = ((run.errors, "error"), (run.warnings, "warning"))
    return ", ".join(counted(number, noun) for number, noun in numbers if number) or run.status


def sanitizer_sections(catalog: Catalog, evidence: Evidence) -> Iterator[fmt.Row]:
    """Yield compute-sanitizer's findings of every target that has a record of them."""
    for target, record in evidence.sanitizers.items():
        foreign = _foreign(catalog, evidence, record)
        by_variant: dict[str, dict[str, Sanitized]] = {}
        for run in record.runs:
            by_variant.setdefault(run.variant, {})[run.tool] = run
        clean = [all(r.status == "clean" for r in of.values()) for of in by_variant.values()]
        tools = list(dict.fromkeys(run.tool for run in record.runs))
        yield {
            "target": target,
            "record": record,
            "clean": sum(clean),
            "variants": len(by_variant),
            "foreign": len(foreign),
            "missed": [control.tool for control in record.controls if not control.caught],
            "tools": tools,
            "rows": [_row(n, tools, runs, n in foreign) for n, runs in by_variant.items()],
            "link": fmt.link(evidence.place(sanitizer_path(target))),
        }


def _row(variant: str, tools: Sequence[str], runs: dict[str, Sanitized], foreign: bool) -> fmt.Row:
    words = [
        text if _good(run) else f"{run.tool}: {text}"
        for run in runs.values()
        for text in (*run.messages, run.detail)
        if text
    ]
    words += ["another binary than this run's"] if foreign else []
    cells = [
        (_finding(run), _good(run) and not foreign) if run else (fmt.NOTHING, False)
        for run in map(runs.get, tools)
    ]
    return {
        "variant": variant,
        "cells": cells,
        "shapes": ", ".join(dict.fromkeys(shape for run in runs.values() for shape in run.shapes)),
        "words": list(dict.fromkeys(words)),
    }


@dataclass(frozen=True)
class GuardWords:
    """One guard in a few words."""

    words: str
    held: bool
    """Whether it held throughout; where it did not, the words tell the exceptions."""


def guards(
    catalog: Catalog,
    evidence: Evidence,
    matches: Sequence[BinaryMatch],
    agreed: Sequence[Agreement],
) -> Iterator[GuardWords]:
    """Yield each guard of a run's figures: of what was tried how much held."""
    cheats = evidence.cheats.items()
    watched = evidence.sanitizers.items()
    limit = catalog.judging.stopwatch_agreement
    yield _share(
        [(on, bool(c.caught_by)) for on, of in cheats for c in of.cheats if c.meant is not None],
        "cheating kernels of Assay's own {}caught",
    ) or GuardWords("no cheating kernel of Assay's own was tried", held=False)
    ran = [(on, r) for on, of in watched for r in of.runs if r.status != "unsupported"]
    clean = _share([(on, r.status == "clean") for on, r in ran], "sanitizer runs {}clean")
    failed = [
        GuardWords(f"compute-sanitizer came to no result on {on} ({of.detail})", held=False)
        for on, of in watched
        if of.status == "failed"
    ]
    yield from [clean] if clean else []
    yield from failed
    if not (clean or failed):
        yield GuardWords("compute-sanitizer was not run", held=False)
    if (binaries := binaries_guard(matches)) is not None:
        yield binaries
    timed = [(one.target, not one.disagrees(limit)) for one in agreed if one.off]
    if stopwatches := _share(timed, "timed kernels {}confirmed by a second stopwatch"):
        yield stopwatches


def binaries_guard(matches: Sequence[BinaryMatch]) -> GuardWords | None:
    """Return how many measured binaries, of those compiled again, have the same machine code; those
    whose source was changed since are told apart.
    """
    compiled = [match for match in matches if match.sameness is not Sameness.NOT_COMPILED]
    same = [match for match in compiled if match.sameness is not Sameness.CHANGED]
    guard = _share(
        [(match.target, match.sameness is not Sameness.OTHER) for match in same],
        "measured binaries with {} machine code when compiled again",
        ("the same", "other"),
    )
    if guard is None:
        return None
    changed = len(compiled) - len(same)
    more = f"; {changed} more are of sources that changed since" if changed else ""
    each = ", counted on each GPU" if len({match.target for match in compiled}) > 1 else ""
    return replace(guard, words=f"{guard.words}{more}{each}")


def _share(
    found: Sequence[tuple[str, bool]], words: str, outcomes: tuple[str, str] = ("", "not ")
) -> GuardWords | None:
    """Return the words of a guard, by what held on which target; None where nothing was tried.

    ``outcomes``: what ``{}`` in the words is where all held, and where not. A guard names its
    targets; one that did not hold, those where it did not.
    """
    bad = [on for on, good in found if not good]
    on = ", ".join(dict.fromkeys(bad or (on for on, _ in found)))
    number = f"{len(bad) or len(found)} of {len(found)}"
    said = f"{number} {words.format(outcomes[bool(bad)])} ({on})"
    return GuardWords(said, held=not bad) if found else None

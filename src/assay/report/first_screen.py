"""The page's first screen: what was measured where, what came out, why not, and what guards it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.findings.guards import Guards, Share
from assay.findings.headline import (
    ELSEWHERE,
    FIGURES,
    KINDS,
    OF_WHAT,
    Outcome,
    PublishedFigures,
    Split,
    causes,
    headed,
    headline_of,
    only_own,
)
from assay.records.attestation import PipelineRecord
from assay.records.plan import TargetPlan
from assay.records.verdicts import Status
from assay.report import formatting as fmt
from assay.report.claims import ClaimLine, project_stamp
from assay.report.counts import status_words, told
from assay.report.facets import choice_of
from assay.report.figures.strip import figure_strip
from assay.report.figures.svg import mark_of
from assay.report.formatting import Row
from assay.shared.counting import agreeing, counted

BINARIES = (
    "binaries keep their machine code when compiled again",
    "binaries differ when compiled again",
)


@dataclass(frozen=True)
class CauseChip:
    """One cause, how many published figures it is that of, and the choice that shows them."""

    count: int
    short: str
    words: str
    show: str


@dataclass(frozen=True)
class GuardWords:
    """One guard in a few words."""

    words: str
    held: bool
    """Whether it held throughout; where it did not, the words tell the exceptions."""


def first_screen(
    catalog: Catalog,
    evidence: Evidence,
    counted_things: Sequence[Outcome],
    pipeline: PipelineRecord,
    guarded: Guards,
    lines: Mapping[str, ClaimLine],
) -> Row:
    """Return the first screen of one run's report."""
    plans = evidence.plan.targets
    figures = headline_of(counted_things)
    split, total = _headed(catalog, figures)
    kind = "own" if only_own(catalog, figures) else FIGURES
    members = [each for each in counted_things if each.kind == kind]
    idle = [each for each in members if each.status is Status.NOT_RUN]
    found = tuple(guard_words(guarded))
    return {
        "project": project_stamp(catalog),
        "commit": _commit_words(pipeline),
        "lead": _lead(plans),
        "signer": pipeline.signing_key,
        "machines": [
            _machine(catalog, evidence, plan)
            for plan in sorted(plans, key=lambda plan: plan.provision.kind == "none")
        ],
        "total": total,
        "chips": [
            (split.statuses[each], words, mark_of(each), choice_of(kind=kind, status=each))
            for each, words in status_words(split.statuses, split.away, named="").items()
        ],
        "headline": headline_words(catalog, figures),
        "elsewhere": _elsewhere(figures.apart[ELSEWHERE].total),
        "brackets": split.elsewhere
        and f"In brackets: on the GPU named; hollow: on another ({split.elsewhere}).",
        "causes": cause_chips([each for each in members if each not in idle], kind),
        "not_run": cause_chips(idle, kind),
        "apart": [
            f"{counted(of.total, *KINDS[each])}: {told(of.statuses, of.away)}"
            for each, of in figures.apart.items()
            if each != kind and of.total
        ],
        "guards": [each for each in found if each.held],
        "exceptions": [each for each in found if not each.held],
        "strip": figure_strip(catalog, evidence.plan.sources, counted_things, lines),
    }


def _commit_words(pipeline: PipelineRecord) -> str:
    """Return the commit that made a report, in words."""
    if pipeline.commit is None:
        return "a commit that is not known"
    states = {True: "", False: " with uncommitted changes", None: " (tree state not known)"}
    return f"commit {pipeline.commit[:12]}{states[pipeline.clean_tree]}"


def headline_words(catalog: Catalog, figures: PublishedFigures) -> str:
    """Return the counts of published speed figures in one sentence; of a project that quotes no
    document those of its own.
    """
    split, total = _headed(catalog, figures)
    if not split.total:
        return "No published speed figure is among the claims."
    return f"{total}: {told(split.statuses, split.away)}."


def _headed(catalog: Catalog, figures: PublishedFigures) -> tuple[Split, str]:
    """Return what the headline counts by status, and how many of what they are."""
    split = headed(catalog, figures)
    return split, counted(split.total, *OF_WHAT[only_own(catalog, figures)])


def _lead(plans: Sequence[TargetPlan]) -> str:
    if any(plan.provision.kind == "device" for plan in plans):
        return "Measured in this run."
    taken = {p.provision.recorded_in for p in plans if p.provision.kind == "recorded"}
    if not taken:
        return "No figure was measured on this machine, and none was taken from an earlier report."
    reports = "a signed report was" if len(taken) == 1 else f"{len(taken)} signed reports were"
    return f"Measured earlier: {reports} judged again."


def _machine(catalog: Catalog, evidence: Evidence, plan: TargetPlan) -> tuple[str, str, str]:
    """Return a GPU, its driver, power limit and day or why nothing was measured, and from where."""
    provision, platform = plan.provision, evidence.platforms.get(plan.target)
    if provision.kind == "none" or platform is None:
        detail = provision.detail if provision.kind == "none" else "no platform record"
        return catalog.targets[plan.target].product, f"not measured: {detail}", ""
    gpu = platform.device.gpu
    limit = "" if gpu.power_limit_w is None else f", {fmt.short(gpu.power_limit_w)} W"
    where = "measured in this run"
    if provision.kind == "recorded":
        name = (provision.recorded_in or "").rsplit("/", 1)[-1].removesuffix(".tar.xz")
        where = f"taken from report {name}"
    facts = f"driver {platform.device.driver}{limit}, {fmt.moment(platform.recorded_at)}"
    return gpu.product, facts, f"{where}, {platform.uuids}"


def _elsewhere(number: int) -> str | None:
    """Return how many were measured on another GPU than the source names; None for none."""
    if not number:
        return None
    return (
        f"{number} more {agreeing(number, 'was', 'were')} measured on another GPU than the source "
        f"names, and {agreeing(number, 'counts', 'count')} apart."
    )


def cause_chips(of: Sequence[Outcome], kind: str = FIGURES) -> list[CauseChip]:
    """Return the causes of what did not plainly hold, or was not run, the most frequent first."""
    return [
        CauseChip(count, why.short, why.words, choice_of(kind=kind, why=why))
        for why, count in causes(of).items()
    ]


def binaries_words(share: Share) -> GuardWords:
    """Return in a few words how many binaries are the same when they are compiled again."""
    return _of(share, *BINARIES)


def guard_words(found: Guards) -> Iterator[GuardWords]:
    """Yield each guard in a few words, and whether it held throughout."""
    timed = "timed kernels {} with a second stopwatch"
    for share, held, broken in (
        (found.cheats, "cheating kernels caught", "cheating kernels not caught"),
        (found.sanitizer, "sanitizer runs clean", "sanitizer runs not clean"),
        (found.binaries, *BINARIES),
        (found.stopwatches, timed.format("agree"), timed.format("disagree")),
    ):
        if share is not None:
            yield _of(share, held, broken)
    if found.cheats is None:
        yield GuardWords("no cheating kernel was tried", held=False)
    if found.sanitizer is None:
        yield GuardWords("compute-sanitizer was not run", held=False)


def _of(share: Share, held: str, broken: str) -> GuardWords:
    if share.whole:
        return GuardWords(f"{share.good} of {share.of} {held}", held=True)
    return GuardWords(f"{share.of - share.good} of {share.of} {broken}", held=False)

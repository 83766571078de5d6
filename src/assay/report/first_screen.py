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
from assay.records.attestation import PipelineRecord, SigningKey
from assay.records.plan import TargetPlan
from assay.records.verdicts import Status
from assay.report import formatting as fmt
from assay.report.claims import ClaimLine
from assay.report.counts import status_words, told
from assay.report.facets import choice_of
from assay.report.figure_strip import figure_strip
from assay.report.marks import Mark, mark_of
from assay.report.not_run import idle_causes
from assay.report.project_stamp import ProjectStamp, project_stamp
from assay.report.strip import Strip
from assay.shared.counting import agreeing, counted


@dataclass(frozen=True)
class MachineLine:
    """One GPU and where its figures come from."""

    target: str
    product: str
    facts: str
    """Driver, power limit, day; or why nothing was measured."""
    where: str


@dataclass(frozen=True)
class CountChip:
    """One status of the headline."""

    count: int
    words: str
    """The status, and in brackets how many were measured on the GPU named, where not all were."""
    mark: Mark
    show: str
    """The choice by which the table of claims shows it."""


@dataclass(frozen=True)
class CauseChip:
    """One cause, and how many published figures it is that of."""

    count: int
    short: str
    words: str
    show: str
    """The choice by which the table of claims shows it."""


@dataclass(frozen=True)
class GuardWords:
    """One guard in a few words."""

    words: str
    held: bool
    """Whether it held throughout; where it did not, the words tell the exceptions."""


@dataclass(frozen=True)
class FirstScreen:
    """What a reader sees without scrolling."""

    run: str
    project: ProjectStamp | None
    """None where Assay's own sources are judged."""
    commit: str
    commit_long: str
    measured_here: bool
    lead: str
    signer: SigningKey | None
    """The key that the run signs with; None where the evidence does not say."""
    machines: tuple[MachineLine, ...]
    total: str
    chips: tuple[CountChip, ...]
    headline: str
    """The same in one sentence."""
    elsewhere: str | None
    """How many were measured on another GPU than the source names."""
    brackets: str | None
    """The same beside the chips: what stands in their brackets, and what does not."""
    causes: tuple[CauseChip, ...]
    """Of what was measured."""
    not_run: tuple[CauseChip, ...]
    """Of what was not."""
    apart: tuple[str, ...]
    guards: tuple[GuardWords, ...]
    exceptions: tuple[GuardWords, ...]
    """Guards that did not hold throughout."""
    strip: Strip | None


def first_screen(
    catalog: Catalog,
    evidence: Evidence,
    counted_things: Sequence[Outcome],
    pipeline: PipelineRecord,
    guarded: Guards,
    lines: Mapping[str, ClaimLine],
) -> FirstScreen:
    """Return the first screen of one run's report."""
    plans = evidence.plan.targets
    figures = headline_of(counted_things)
    split, total = _headed(catalog, figures)
    kind = "own" if only_own(catalog, figures) else FIGURES
    members = [each for each in counted_things if each.kind == kind]
    idle = [each for each in members if each.status is Status.NOT_RUN]
    here = any(plan.provision.kind == "device" for plan in plans)
    found = tuple(guard_words(guarded))
    return FirstScreen(
        run=evidence.plan.run,
        project=project_stamp(catalog),
        commit=pipeline.commit[:12] if pipeline.commit else "not known",
        commit_long=commit_words(pipeline),
        measured_here=here,
        lead=_lead(plans, here=here),
        signer=pipeline.signing_key,
        machines=tuple(
            _machine(catalog, evidence, plan)
            for plan in sorted(plans, key=lambda plan: plan.provision.kind == "none")
        ),
        total=total,
        chips=tuple(
            CountChip(
                split.statuses[status],
                words,
                mark_of(status),
                choice_of(kind=kind, status=status),
            )
            for status, words in status_words(split.statuses, split.away, named="").items()
        ),
        headline=headline_words(catalog, figures),
        elsewhere=_elsewhere(figures),
        brackets=_brackets(split),
        causes=tuple(
            CauseChip(count, why.short, why.words, choice_of(kind=kind, why=why))
            for why, count in causes(e for e in members if e not in idle).items()
        ),
        not_run=tuple(
            CauseChip(each.count, each.short, each.words, choice_of(kind=kind, why=each.why))
            for each in idle_causes(catalog, evidence, idle)
        ),
        apart=tuple(apart_words(catalog, figures)),
        guards=tuple(each for each in found if each.held),
        exceptions=tuple(each for each in found if not each.held),
        strip=figure_strip(catalog, evidence.plan.sources, counted_things, lines),
    )


def commit_words(pipeline: PipelineRecord) -> str:
    """Return the commit that made a report, in words."""
    if pipeline.commit is None:
        return "a commit that is not known"
    clean = pipeline.clean_tree
    state = {True: "", False: " with uncommitted changes", None: " (tree state not known)"}[clean]
    return f"commit {pipeline.commit[:12]}{state}"


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


def _lead(plans: Sequence[TargetPlan], *, here: bool) -> str:
    if here:
        return "Measured in this run."
    taken = {p.provision.recorded_in for p in plans if p.provision.kind == "recorded"}
    if not taken:
        return "No figure was measured on this machine, and none was taken from an earlier report."
    reports = "a signed report was" if len(taken) == 1 else f"{len(taken)} signed reports were"
    return f"Measured earlier: {reports} judged again."


def _machine(catalog: Catalog, evidence: Evidence, plan: TargetPlan) -> MachineLine:
    provision, platform = plan.provision, evidence.platforms.get(plan.target)
    if provision.kind == "none" or platform is None:
        detail = provision.detail if provision.kind == "none" else "no platform record"
        product = catalog.targets[plan.target].product
        return MachineLine(plan.target, product, f"not measured: {detail}", "")
    gpu = platform.device.gpu
    limit = "" if gpu.power_limit_w is None else f", {fmt.short(gpu.power_limit_w)} W"
    where = "measured in this run"
    if provision.kind == "recorded":
        name = (provision.recorded_in or "").rsplit("/", 1)[-1].removesuffix(".tar.xz")
        where = f"taken from report {name}"
    return MachineLine(
        plan.target,
        gpu.product,
        f"driver {platform.device.driver}{limit}, {fmt.moment(platform.recorded_at)}",
        f"{where}, {platform.uuids}",
    )


def _elsewhere(figures: PublishedFigures) -> str | None:
    number = figures.apart[ELSEWHERE].total
    if not number:
        return None
    return (
        f"{number} more {agreeing(number, 'was', 'were')} measured on another GPU than the source "
        f"names, and {agreeing(number, 'counts', 'count')} apart."
    )


def _brackets(split: Split) -> str | None:
    number = split.elsewhere
    if not number:
        return None
    return f"In brackets: on the GPU named; hollow: on another ({number})."


def apart_words(catalog: Catalog, figures: PublishedFigures) -> Iterator[str]:
    """Yield what the headline leaves out, a line a kind."""
    first = {"own"} if only_own(catalog, figures) else set[str]()
    for kind, split in figures.apart.items():
        if kind not in first and split.total:
            number = counted(split.total, *KINDS[kind])
            yield f"{number}: {told(split.statuses, split.away)}"


BINARIES = (
    "binaries keep their machine code when compiled again",
    "binaries differ when compiled again",
)


def binaries_words(share: Share) -> GuardWords:
    """Return in a few words how many binaries are the same when they are compiled again."""
    return _of(share, *BINARIES)


def guard_words(found: Guards) -> Iterator[GuardWords]:
    """Yield each guard in a few words, and whether it held throughout."""
    for share, held, broken in (
        (
            found.cheats,
            "cheating kernels caught",
            "cheating kernels not caught",
        ),
        (
            found.sanitizer,
            "sanitizer runs clean",
            "sanitizer runs not clean",
        ),
        (found.binaries, *BINARIES),
        (
            found.stopwatches,
            "timed kernels agree with a second stopwatch",
            "timed kernels disagree with a second stopwatch",
        ),
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

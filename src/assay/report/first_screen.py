"""The page's first screen: what was measured where, what came out, why not, and what guards it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.findings.guards import Guards, Share
from assay.findings.headline import PublishedFigures, published_figures
from assay.judging.counts import KINDS, Tally, counted_once, outcome
from assay.records.attestation import PipelineRecord, SigningKey
from assay.records.plan import TargetPlan
from assay.records.verdicts import Status, Verdict
from assay.report import formatting as fmt
from assay.report.claims import ClaimLine
from assay.report.counts import told
from assay.report.marks import Mark, mark_of, verdict_mark
from assay.report.project_stamp import ProjectStamp, project_stamp
from assay.report.ratios import ratio_of
from assay.report.strip import Dot, Lane, Strip, strip
from assay.shared.counting import agreeing, counted

NAMES = {
    "ratios": "ratios of two such figures",
    "own": "this project's own claims",
    "probes": "compile probes and other statements",
    "arithmetic": "relations between printed figures",
}
"""What the headline leaves out and the line below it counts."""


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
    word: str
    mark: Mark


@dataclass(frozen=True)
class CauseChip:
    """One cause, and how many published figures it is that of."""

    count: int
    words: str


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
    causes: tuple[CauseChip, ...]
    apart: tuple[str, ...]
    guards: tuple[tuple[str, bool], ...]
    """(what guards the figures, whether it held throughout)."""
    strip: Strip | None


def first_screen(
    catalog: Catalog,
    evidence: Evidence,
    verdicts: Sequence[Verdict],
    pipeline: PipelineRecord,
    guarded: Guards,
    lines: dict[str, ClaimLine],
) -> FirstScreen:
    """Return the first screen of one run's report."""
    plans = evidence.plan.targets
    figures = published_figures(catalog, verdicts)
    here = any(plan.provision.kind == "device" for plan in plans)
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
        total=_headed(catalog, figures)[1],
        chips=tuple(
            CountChip(count, status.word, mark_of(status))
            for status, count in _headed(catalog, figures)[0].items()
        ),
        headline=headline_words(catalog, figures),
        elsewhere=_elsewhere(figures),
        causes=tuple(CauseChip(count, cause.short) for cause, count in figures.causes.items()),
        apart=tuple(apart_words(catalog, figures)),
        guards=tuple(guard_words(guarded)),
        strip=_strip(catalog, evidence, verdicts, lines),
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
    tally, total = _headed(catalog, figures)
    if not tally:
        return "No published speed figure is among the claims."
    return f"{total}: {told(tally)}."


def _only_own(catalog: Catalog, figures: PublishedFigures) -> bool:
    """Return whether a project has figures of its own and quotes no document's."""
    return catalog.project is not None and not figures.total and bool(figures.apart.own)


def _headed(catalog: Catalog, figures: PublishedFigures) -> tuple[Tally, str]:
    """Return what the headline counts by status, and how many of what they are."""
    if _only_own(catalog, figures):
        own = figures.apart.own
        figure, many = "figure that this project states", "figures that this project states"
        return own, counted(sum(own.values()), figure, many)
    return figures.statuses, counted(figures.total, "published speed figure")


def _lead(plans: Sequence[TargetPlan], *, here: bool) -> str:
    if here:
        return "Measured in this run."
    taken = {p.provision.recorded_in for p in plans if p.provision.kind == "recorded"}
    if not taken:
        return "No figure was measured on this machine, and none was taken from an earlier report."
    reports = "an earlier, signed report" if len(taken) == 1 else f"{len(taken)} signed reports"
    return f"No figure was measured on this machine: records of {reports} were judged again."


def _machine(catalog: Catalog, evidence: Evidence, plan: TargetPlan) -> MachineLine:
    provision, platform = plan.provision, evidence.platforms.get(plan.target)
    if provision.kind == "none" or platform is None:
        detail = provision.detail if provision.kind == "none" else "no platform record"
        product = catalog.targets[plan.target].product
        return MachineLine(plan.target, product, f"not measured: {detail}", "")
    gpu = platform.device.gpu
    limit = "" if gpu.power_limit_w is None else f", {fmt.number(gpu.power_limit_w)} W"
    where = "measured in this run"
    if provision.kind == "recorded":
        where = f"taken from {provision.recorded_in}"
    return MachineLine(
        plan.target,
        gpu.product,
        f"driver {platform.device.driver}{limit}, {fmt.moment(platform.recorded_at)}",
        f"{where}, {gpu.uuid}",
    )


def _elsewhere(figures: PublishedFigures) -> str | None:
    number = figures.elsewhere
    if not number:
        return None
    return (
        f"{number} of them {agreeing(number, 'was', 'were')} measured on another GPU than the "
        f"source names, and {agreeing(number, 'counts', 'count')} by what it would be there."
    )


def apart_words(catalog: Catalog, figures: PublishedFigures) -> Iterator[str]:
    """Yield what the headline leaves out, a line a kind."""
    assert NAMES.keys() <= KINDS.keys()
    headed = {"own"} if _only_own(catalog, figures) else set[str]()
    for kind, tally in figures.apart.by_kind().items():
        if kind in NAMES and kind not in headed and tally:
            yield f"{sum(tally.values())} {NAMES[kind]}: {told(tally)}"


def guard_words(found: Guards) -> Iterator[tuple[str, bool]]:
    """Yield each guard in a few words, and whether it held throughout."""
    for share, words, must in (
        (found.cheats, "kernels that cheat were caught", True),
        (found.sanitizer, "compute-sanitizer runs were clean", True),
        (found.binaries, "binaries compiled again are the same, byte for byte", False),
        (found.stopwatches, "timed kernels agree with a second stopwatch", False),
    ):
        if share is not None:
            yield _of(share, words), share.whole or not must
    if found.cheats is None:
        yield "no kernel that cheats was tried", False
    if found.sanitizer is None:
        yield "compute-sanitizer was not run", False


def _of(share: Share, words: str) -> str:
    return f"{share.good} of {share.of} {words}"


def _strip(
    catalog: Catalog, evidence: Evidence, verdicts: Sequence[Verdict], lines: dict[str, ClaimLine]
) -> Strip | None:
    """Every figure that counts, a lane a source; figures of one measurement are one dot."""
    dots: dict[str, list[Dot]] = {source: [] for source in evidence.plan.sources}
    seen: dict[Status, bool] = {}
    for each in counted_once(catalog, verdicts):
        ratio, line = ratio_of(each.worst), lines[each.worst.claim]
        if each.kind in ("probes", "arithmetic") or ratio is None:
            continue
        seen[outcome(each.worst)] = True
        verdict = each.worst
        figure = f"{fmt.quantity(verdict.measured, verdict.unit)} for {line.claimed}"
        dots[verdict.source].append(
            Dot(f"#{verdict.claim}", line.title, figure, ratio, verdict_mark(verdict))
        )
    lanes = [Lane(_lane_label(catalog, source), tuple(found)) for source, found in dots.items()]
    margins = catalog.judging.absolute_margin, catalog.judging.ratio_margin
    legend = [(mark_of(status), status.word) for status in Status if status in seen]
    return strip(lanes, margins, legend)


def _lane_label(catalog: Catalog, source: str) -> str:
    return (
        f"source {source}"
        if catalog.sources[source].source.file
        else "its own claims"
        if catalog.project
        else "our own claims"
    )

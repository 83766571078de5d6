"""The page's first screen: what came out, of what, and why not; where it was measured, and how
that is guarded.
"""

from collections.abc import Iterator, Mapping, Sequence

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.evidence.stages import nested_name
from assay.findings.headline import (
    ELSEWHERE,
    FIGURES,
    KINDS,
    OF_WHAT,
    Counts,
    causes,
    counts_of,
    headed,
)
from assay.judging.counts import Outcome
from assay.records.attestation import PipelineRecord
from assay.records.evaluations import NotRun
from assay.records.plan import TargetPlan
from assay.records.verdicts import INFERRED, Status, Why
from assay.report import formatting as fmt
from assay.report.checks import GuardWords
from assay.report.claims import ClaimLine, project_stamp
from assay.report.counts import NAMED, OTHER, choice_of, told
from assay.report.figures.strip import figure_strip
from assay.report.figures.svg import Mark, mark_of
from assay.shared.counting import agreeing, counted

TREES = {True: "", False: " with uncommitted changes", None: " (tree state not known)"}
"""What is said of a commit, by whether its tree was clean."""
NOTHING_COUNTS = "No published speed figure is among the claims."
NONE_THERE = "No figure was measured on a GPU that its source names."
AWAY = "on another GPU, counted apart", mark_of(Status.ELSEWHERE)


def first_screen(
    catalog: Catalog,
    evidence: Evidence,
    counted_things: Sequence[Outcome],
    pipeline: PipelineRecord,
    guarded: Sequence[GuardWords],
    lines: Mapping[str, ClaimLine],
) -> fmt.Row:
    """Return the first screen of one run's report."""
    plans = evidence.plan.targets
    measured_first = sorted(plans, key=lambda plan: plan.provision.kind == "none")
    splits = counts_of(counted_things)
    kind = headed(splits)
    split = splits[kind]
    members = [each for each in counted_things if each.kind == kind]
    idle = [each for each in members if each.status is Status.NOT_RUN]
    inferred = sum(each.why in INFERRED and not each.away for each in members)
    return {
        "project": project_stamp(catalog),
        "commit": f"commit {pipeline.commit[:12]}{TREES[pipeline.clean_tree]}"
        if pipeline.commit
        else "a commit that is not known",
        "lead": _lead(plans),
        "signer": pipeline.signing_key,
        "machines": [_machine(catalog, evidence, plan) for plan in measured_first],
        "own": kind == "own",
        "conclusion": conclusion(splits, inferred),
        "chips": list(_chips(splits)),
        "headline": headline_words(splits) if split.total else "",
        "causes": cause_chips([each for each in members if each not in idle], kind),
        "not_run": cause_chips(idle, kind),
        "apart": [
            (counted(of.total, *KINDS[each]), told(of, each), choice_of(each))
            for each, of in splits.items()
            if each != kind and of.total
        ],
        "guards": [each for each in guarded if each.held],
        "exceptions": [each for each in guarded if not each.held],
        "strip": figure_strip(catalog, evidence.plan.sources, counted_things, lines),
    }


def _chips(splits: Counts) -> Iterator[tuple[int, str, Mark, str]]:
    """Yield what the headline counts, by status: how many, words, mark and the choice that shows
    them; last what was measured on another GPU alone.
    """
    kind = headed(splits)
    split = splits[kind]
    for status, number in split.judged.items():
        on = NAMED if status in split.away else None
        yield number, status.word, mark_of(status), choice_of(kind, status=status, on=on)
    if split.elsewhere:
        yield (split.elsewhere, *AWAY, choice_of(kind, on=OTHER))
    elif kind == FIGURES and splits[ELSEWHERE].total:
        yield (splits[ELSEWHERE].total, *AWAY, choice_of(ELSEWHERE))


def conclusion(splits: Counts, inferred: int = 0) -> str:
    """Return in one sentence how many of what the headline counts hold; of those that do not, how
    many are ``inferred`` to be misstated. What was measured on another GPU alone is none of them.
    """
    kind = headed(splits)
    numbers = splits[kind].judged.items()
    total = sum(number for _, number in numbers)
    if not total:
        return NONE_THERE if splits[kind].elsewhere or splits[ELSEWHERE].total else NOTHING_COUNTS
    fail = sum(number for status, number in numbers if status.facts.strict)
    hold = sum(n for status, n in numbers if status.facts.decided and not status.facts.strict)
    of = counted(total, *OF_WHAT[kind])
    parts = [f"{hold or 'None'} of {of} {agreeing(hold or 1, 'holds', 'hold')}"]
    if fail and inferred == fail:
        parts.append(f"{fail} {agreeing(fail, 'seems', 'seem')} not to")
    elif fail:
        seems = f" ({inferred} of them, it seems)" if inferred else ""
        parts.append(f"{fail} {agreeing(fail, 'does', 'do')} not{seems}")
    idle = total - hold - fail
    parts += [f"{idle} {agreeing(idle, 'stays', 'stay')} open"] if idle else []
    return f"{', '.join(parts)}."


def headline_words(splits: Counts) -> str:
    """Return the counts of published speed figures, or else of own claims, in one sentence."""
    kind = headed(splits)
    split = splits[kind]
    if not split.total:
        return conclusion(splits)
    return f"{counted(split.total, *OF_WHAT[kind])}: {told(split)}."


def _lead(plans: Sequence[TargetPlan]) -> str:
    if any(plan.provision.kind == "device" for plan in plans):
        return "Measured in this run."
    taken = {p.provision.recorded_in for p in plans if p.provision.kind == "recorded"}
    if not taken:
        return "No figure was measured on this machine, and none was taken from an earlier report."
    reports = "a signed report was" if len(taken) == 1 else f"{len(taken)} signed reports were"
    return f"Measured earlier: {reports} judged again."


def _machine(catalog: Catalog, evidence: Evidence, plan: TargetPlan) -> tuple[str, str, str]:
    """Return a GPU; its driver, power limit and day, or why nothing was measured; by which run."""
    provision, platform = plan.provision, evidence.platforms.get(plan.target)
    product = catalog.targets[plan.target].product
    if provision.kind == "none" or platform is None:
        detail = provision.detail if provision.kind == "none" else "no platform record"
        if provision.reason is NotRun.NO_DEVICE:
            detail = "none was at hand"
        return product, f"not measured: {detail}", ""
    gpu = platform.device.gpu
    limit = "" if gpu.power_limit_w is None else f", {fmt.short(gpu.power_limit_w)} W"
    where = ""
    if provision.within is not None:
        run = nested_name(provision.within)
        where = f"by run {run}, whose signed report lies in evidence/earlier"
    facts = f"driver {platform.device.driver}{limit}, {fmt.moment(platform.recorded_at)}"
    return gpu.product if plan.timed else product, facts, where


def cause_chips(of: Sequence[Outcome], kind: str = FIGURES) -> list[tuple[int, Why, str]]:
    """Return causes, the most frequent first, each with its number and the choice that shows it."""
    return [(count, why, choice_of(kind, why=why)) for why, count in causes(of).items()]

"""The page's first screen: what came out, of what, and why not; where it was measured, and how
that is guarded.
"""

from collections.abc import Mapping, Sequence

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.findings.headline import FIGURES, KINDS, OF_WHAT, Counts, causes, counts_of, headed
from assay.judging.counts import Outcome
from assay.records.attestation import PipelineRecord
from assay.records.plan import TargetPlan
from assay.records.report_figures import OutcomeCounts
from assay.records.verdicts import INFERRED, Status, Why
from assay.report import formatting as fmt
from assay.report.checks import GuardWords
from assay.report.claims import ClaimLine, project_stamp
from assay.report.counts import choice_of, status_words, told
from assay.report.figures.strip import figure_strip
from assay.report.figures.svg import mark_of
from assay.shared.counting import agreeing, counted

TREES = {True: "", False: " with uncommitted changes", None: " (tree state not known)"}
"""What is said of a commit, by whether its tree was clean."""
NOTHING_COUNTS = "No published speed figure is among the claims."


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
    return {
        "project": project_stamp(catalog),
        "commit": f"commit {pipeline.commit[:12]}{TREES[pipeline.clean_tree]}"
        if pipeline.commit
        else "a commit that is not known",
        "lead": _lead(plans),
        "signer": pipeline.signing_key,
        "machines": [_machine(catalog, evidence, plan) for plan in measured_first],
        "own": kind == "own",
        "conclusion": conclusion(kind, split, sum(each.why in INFERRED for each in members)),
        "chips": [
            (split.statuses[each], words, mark_of(each), choice_of(kind, status=each))
            for each, words in status_words(split.statuses, split.away, named="").items()
        ],
        "headline": headline_words(splits) if split.total else "",
        "brackets": split.elsewhere
        and f"In brackets: on the GPU named; hollow: on another ({split.elsewhere}).",
        "causes": cause_chips([each for each in members if each not in idle], kind),
        "not_run": cause_chips(idle, kind),
        "apart": [
            (counted(of.total, *KINDS[each]), told(of.statuses, of.away), choice_of(each))
            for each, of in splits.items()
            if each != kind and of.total
        ],
        "guards": [each for each in guarded if each.held],
        "exceptions": [each for each in guarded if not each.held],
        "strip": figure_strip(catalog, evidence.plan.sources, counted_things, lines),
    }


def conclusion(kind: str, split: OutcomeCounts, inferred: int = 0) -> str:
    """Return in one sentence how many of what the headline counts hold; of those that do not, how
    many are ``inferred`` to be misstated.
    """
    if not split.total:
        return NOTHING_COUNTS
    numbers = split.statuses.items()
    fail = sum(number for status, number in numbers if status.facts.strict)
    hold = sum(n for status, n in numbers if status.facts.decided and not status.facts.strict)
    of = counted(split.total, *OF_WHAT[kind])
    parts = [f"{hold or 'None'} of {of} {agreeing(hold or 1, 'holds', 'hold')}"]
    seems = f" ({'' if inferred == fail else f'{inferred} '}by inference)" if inferred else ""
    parts += [f"{fail} {agreeing(fail, 'does', 'do')} not{seems}"] if fail else []
    idle = split.total - hold - fail
    parts += [f"{idle} {agreeing(idle, 'stays', 'stay')} open"] if idle else []
    return f"{', '.join(parts)}."


def headline_words(splits: Counts) -> str:
    """Return the counts of published speed figures, or else of own claims, in one sentence."""
    kind = headed(splits)
    split = splits[kind]
    if not split.total:
        return NOTHING_COUNTS
    return f"{counted(split.total, *OF_WHAT[kind])}: {told(split.statuses, split.away)}."


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
        return product, f"not measured: {detail}", ""
    gpu = platform.device.gpu
    limit = "" if gpu.power_limit_w is None else f", {fmt.short(gpu.power_limit_w)} W"
    where = "measured in this run"
    if provision.kind == "recorded":
        name = (provision.recorded_in or "").rsplit("/", 1)[-1].removesuffix(".tar.xz")
        where = f"taken from report {name}"
    facts = f"driver {platform.device.driver}{limit}, {fmt.moment(platform.recorded_at)}"
    return gpu.product if plan.timed else product, facts, where


def cause_chips(of: Sequence[Outcome], kind: str = FIGURES) -> list[tuple[int, Why, str]]:
    """Return causes, the most frequent first, each with its number and the choice that shows it."""
    return [(count, why, choice_of(kind, why=why)) for why, count in causes(of).items()]

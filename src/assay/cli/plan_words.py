"""The words in which ``reproduce`` says first what it is about to do, and how long that takes."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

from assay.catalog.model import Catalog
from assay.measuring.host_machine import NO_DRIVER
from assay.pipeline.plan import unanswered
from assay.pipeline.preview import (
    ON_GPU,
    Estimate,
    Step,
    build_step,
    measured_here,
    target_of,
)
from assay.records.evaluations import NotRun
from assay.records.plan import Answer, Plan, Provision, TargetPlan
from assay.records.timings import Stage
from assay.report import formatting as fmt
from assay.shared.counting import agreeing, counted

NAMED = 4
"""Ids of a group that are named where nobody asks for all."""
WAYS = {
    "measure": "would be measured",
    "recorded": "would be taken over from a report",
    "compute": "would be computed without a GPU",
}
FIGURES = (Stage.BENCHMARK, Stage.PROGRAM)
"""Stages that measure what claims are held against."""


def plan_lines(plan: Plan, seconds: float, *, begun: bool) -> Iterator[str]:
    """Yield what a run is about to do, the most telling first.

    ``seconds``: about how long all of it takes; ``begun``: whether a part may be done already.
    """
    provisions, builds = [target.provision for target in plan.targets], len(plan.builds)
    time = f"{'at most about' if begun else 'about'} {roughly(seconds)}"
    if all(provision.kind != "device" for provision in provisions):
        does = ["nothing will be measured"]
        recorded: dict[str, list[str]] = defaultdict(list)
        for each in provisions:
            if each.recorded_in is not None:
                recorded[each.recorded_in].append(each.target)
        does += [
            f"the figures of {report} on {', '.join(targets)} are judged again"
            for report, targets in recorded.items()
        ]
        if builds:
            compared = "compared with those of the report" if recorded else "compiled"
            does.append(f"{counted(builds, 'build')} {agreeing(builds, 'is', 'are')} {compared}")
        yield f"{_lack(provisions)}: {', '.join(does)}; {time}"
    else:
        for target in plan.targets:
            yield from _target(target)
        yield f"{counted(builds, 'build')}; {time}"
    for job in plan.compilations:
        yield (
            f"source {job.source}'s {job.compilation} is compiled for {job.arch} as published, "
            "from a copy of the checkout; nothing of it runs"
        )
    if left := len(plan.not_compiled):
        be, them = agreeing(left, "is", "are"), agreeing(left, "it", "them")
        yield f"{counted(left, 'more build')} {be} not compiled here; --rebuild compiles {them}"
    for name in unanswered(provisions, plan.answers):
        yield (
            f"{name}: no claim is for it and it is not measured, so this run says nothing of it; "
            "--rebuild compiles for it"
        )


def roughly(seconds: float) -> str:
    """Return a time that is only estimated: to five seconds, or to a minute."""
    if seconds < 55:
        return f"{max(5, 5 * round(seconds / 5))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60:02d} min"


def _lack(provisions: Sequence[Provision]) -> str:
    """Return what keeps targets from being measured here, with their names where it is not all."""
    lacking: dict[str, list[str]] = defaultdict(list)
    for each in provisions:
        if (why := each.detail if each.kind == "none" else each.absence) is not None:
            lacking[why].append(each.target)
    told = [
        why if len(names) == len(provisions) else f"{', '.join(names)}: {why}"
        for why, names in lacking.items()
    ]
    if told == [NO_DRIVER]:
        return f"No GPU ({NO_DRIVER})"
    return "; ".join(told) or "recorded figures were asked for"


def _target(target: TargetPlan) -> Iterator[str]:
    provision = target.provision
    if provision.kind == "none":
        reason = fmt.words(provision.reason or NotRun.NO_DEVICE)
        yield f"{target.target}: not measured ({reason}): {provision.detail}"
        return
    counts = {
        "comparison": len(target.comparisons),
        "program run": len(target.programs),
        "profile": len(target.profiles),
    }
    of_all = ", ".join(counted(number, noun) for noun, number in counts.items() if number)
    lacking = f" ({provision.absence})" if provision.absence else ""
    yield f"{target.target}: {provision.detail}{lacking}{'; ' if of_all else ''}{of_all}"
    for own in target.originals if provision.kind == "device" else ():
        yield (
            f"source {own.source}'s own program runs on {target.target}: a stranger's code, "
            f"as you, in a copy of the checkout: {own.run.line}"
        )


def preview_lines(
    catalog: Catalog, plan: Plan, steps: frozenset[Step], *, every: bool
) -> Iterator[str]:
    """Yield claims, builds and steps, a line a group; with ``every`` one a claim and a build.

    ``steps``: what is still to be done of the plan.
    """
    if not steps:
        yield f"nothing is left to do: run '{plan.run}' is finished"
        return
    measuring = {target_of(step) for step in steps if step[0] in FIGURES}
    claims: dict[str, list[str]] = defaultdict(list)
    for answer in sorted(plan.answers, key=lambda each: [*WAYS, each.way].index(each.way)):
        claims[_way(catalog, answer, measuring)].append(answer.claim)
    yield from _groups(claims, "claim", every=every)
    builds: dict[str, list[str]] = defaultdict(list)
    for job in plan.builds:
        if build_step(job) in steps:
            builds[f"compiled for {job.arch}"].append(job.id)
    yield from _groups(builds, "build", every=every)
    if not builds:
        yield "compiled: nothing, for every build is there"
    for target in sorted(measured_here(plan)):
        of_target = {step[0] for step in steps if target_of(step) == target}
        if stages := [each.value for each in Stage if each in ON_GPU and each in of_target]:
            yield f"steps on {target}: {', '.join(stages)}"


def time_line(estimate: Estimate, cores: int) -> str:
    """Return about how long steps take."""
    told = f"time: about {fmt.duration(estimate.seconds)} with {counted(cores, 'core')}"
    if estimate.gpu_seconds:
        told += f", {fmt.duration(estimate.gpu_seconds)} of it on a GPU"
    return told


def _way(catalog: Catalog, answer: Answer, measuring: Collection[str | None]) -> str:
    """Return what would become of a claim, and where."""
    place = f" on {answer.target}" if answer.target else ""
    if answer.way == "measure" and answer.target not in measuring:
        return f"is measured already{place}"
    claim = catalog.claims.get(answer.claim)
    own = claim.hardware.targets if claim else ()
    away = ", elsewhere than they are for" if own and place and answer.target not in own else ""
    words = WAYS.get(answer.way) or f"would not be run ({fmt.words(str(answer.reason))})"
    return f"{words}{place}{away}"


def _groups(groups: Mapping[str, Sequence[str]], noun: str, *, every: bool) -> Iterator[str]:
    """Yield a line a group: how many there are, and the ids of the first, or of all."""
    for head, ids in groups.items():
        rest = 0 if every else len(ids) - NAMED
        more = f" and {rest} more (--verbose names all)" if rest > 0 else ""
        yield f"{head}: {counted(len(ids), noun)}: {', '.join(ids if every else ids[:NAMED])}{more}"

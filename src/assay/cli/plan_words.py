"""The words in which ``reproduce`` says first what it is about to do."""

import math
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from assay.base.printable import first_named
from assay.catalog.model import Catalog
from assay.measuring.host_machine import NO_DRIVER
from assay.pipeline.dag import known_costs
from assay.pipeline.plan import unanswered
from assay.records.evaluations import NotRun, Unanswerable
from assay.records.plan import Answer, Plan, TargetPlan
from assay.report import formatting as fmt
from assay.shared.counting import agreeing, counted

WAYS = {
    "measure": "would be measured",
    "recorded": "would be taken over from a report",
    "compute": "would be computed without a GPU",
}


def guessed_build_seconds(root: Path, plan: Plan) -> float:
    """Return about how much processor time a plan's compilers take, where nothing is cached."""
    costs = known_costs(root)
    keys = ((job.id, job.arch) for job in plan.builds)
    return sum(costs[key].cpu_seconds for key in keys if key in costs)


def plan_lines(plan: Plan, seconds: float, prebuilt: str | None = None) -> Iterator[str]:
    """Yield what a run does. ``seconds``: of compilers; ``prebuilt``: a folder with builds."""
    provisions, builds = [target.provision for target in plan.targets], len(plan.builds)
    about = f" (about {fmt.duration(math.ceil(seconds))} of processor time from scratch)"
    time = f", but for those in {prebuilt}" if prebuilt else about if seconds else ""
    if all(provision.kind != "device" for provision in provisions):
        lacks = dict.fromkeys(p.detail if p.kind == "none" else p.absence for p in provisions)
        why = "; ".join(filter(None, lacks))
        why = f"No GPU ({NO_DRIVER})" if why == NO_DRIVER else why
        does = [f"{why}{': ' if why else ''}nothing will be measured"]
        for report in dict.fromkeys(each.recorded_in for each in provisions if each.recorded_in):
            targets = " and ".join(each.target for each in provisions if each.recorded_in == report)
            does.append(f"the figures of {report} on {targets} are judged again")
        if builds:
            compared = "compared with those of the report" if len(does) > 1 else "compiled"
            be = agreeing(builds, "is", "are")
            does.append(f"{counted(builds, 'build')} {be} {compared}{time}")
        yield "; ".join(does)
    else:
        for target in plan.targets:
            yield from _target(target)
        yield f"{counted(builds, 'build')}{time}"
    for job in plan.compilations:
        yield (
            f"source {job.source}'s {job.compilation} is compiled for {job.arch} as published, "
            "from a copy of the checkout; nothing of it runs"
        )
    if (left := len(plan.not_compiled)) and not plan.judges_only:
        be, them = agreeing(left, "is", "are"), agreeing(left, "it", "them")
        yield f"{counted(left, 'more build')} {be} not compiled here; --rebuild compiles {them}"
    for name in unanswered(provisions, plan.answers):
        yield f"{name}: no claim is for it and it is not measured: this run says nothing of it"


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
    lacking = f" ({provision.absence})" if provision.absence else ""
    of_all = ", ".join(counted(number, noun) for noun, number in counts.items() if number)
    yield "; ".join(filter(None, (f"{target.target}: {provision.detail}{lacking}", of_all)))
    for own in target.originals if provision.kind == "device" else ():
        yield (
            f"source {own.source}'s own program runs on {target.target}: a stranger's code, "
            f"as you, in a copy of the checkout: {own.run.line}"
        )


def claim_lines(catalog: Catalog, plan: Plan, *, every: bool) -> Iterator[str]:
    """Yield what becomes of the claims, a line a group; ``every``: with the names of all."""
    groups: dict[str, list[str]] = defaultdict(list)
    for answer in sorted(plan.answers, key=lambda each: [*WAYS, each.way].index(each.way)):
        groups[_way(catalog, answer)].append(answer.claim)
    for head, ids in groups.items():
        named = ", ".join(ids) if every else first_named(ids, "more (--verbose names all)")
        yield f"{head}: {counted(len(ids), 'claim')}: {named}"


def _way(catalog: Catalog, answer: Answer) -> str:
    place = f" on {answer.target}" if answer.target else ""
    claim = catalog.claims.get(answer.claim)
    own = claim.hardware.targets if claim else ()
    away = ", not the GPU of the claims" if own and place and answer.target not in own else ""
    words, reason = WAYS.get(answer.way), answer.reason
    if claim is not None and isinstance(claim.evaluation, Unanswerable):
        words, reason = None, claim.evaluation.reason  # whatever else a report has of it
    words = words or f"would not be run ({fmt.words(str(reason))})"
    return f"{words}{place}{away}"

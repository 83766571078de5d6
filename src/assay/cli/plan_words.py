"""The words in which ``reproduce`` says first what it is about to do, and how long that takes."""

from collections import Counter
from collections.abc import Iterator, Sequence

from assay.measuring.host_driver import NO_DRIVER
from assay.pipeline.plan import unanswered
from assay.records.evaluations import NotRun
from assay.records.plan import Plan, Provision, TargetPlan
from assay.report import formatting as fmt
from assay.shared.counting import agreeing, counted


def plan_lines(plan: Plan, seconds: float, *, begun: bool) -> Iterator[str]:
    """Yield what a run is about to do, the most telling first.

    ``seconds``: about how long all of it takes; ``begun``: whether a part may be done already.
    """
    time = f"{'at most about' if begun else 'about'} {roughly(seconds)}"
    if all(target.provision.kind != "device" for target in plan.targets):
        yield _without_gpu(plan, time)
    else:
        for target in plan.targets:
            yield from _target(target)
        yield f"{_builds(plan)}; {time}"
    for job in plan.compilations:
        yield (
            f"source {job.source}'s {job.compilation} is compiled for {job.arch} as published, "
            "from a copy of the checkout; nothing of it runs"
        )
    if left := len(plan.not_compiled):
        be, them = agreeing(left, "is", "are"), agreeing(left, "it", "them")
        yield f"{counted(left, 'more build')} {be} not compiled here; --rebuild compiles {them}"
    for name in unanswered([target.provision for target in plan.targets], plan.answers):
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


def _without_gpu(plan: Plan, time: str) -> str:
    why = "; ".join(absences([target.provision for target in plan.targets]))
    lacks = f"No GPU ({why})" if why == NO_DRIVER else why or "recorded figures were asked for"
    does = ["nothing will be measured"]
    recorded: dict[str, list[str]] = {}
    for each in plan.targets:
        if each.provision.recorded_in is not None:
            recorded.setdefault(each.provision.recorded_in, []).append(each.target)
    does += [
        f"the figures of {report} on {_listed(targets)} are judged again"
        for report, targets in recorded.items()
    ]
    if plan.builds:
        compared = "compared with those of the report" if recorded else "compiled"
        does.append(f"{_builds(plan)} {agreeing(len(plan.builds), 'is', 'are')} {compared}")
    return f"{lacks}: {', '.join(does)}; {time}"


def _target(target: TargetPlan) -> Iterator[str]:
    provision = target.provision
    if provision.kind == "none":
        yield f"{target.target}: {provided(provision)}: {provision.detail}"
        return
    counts = Counter(
        {
            "comparison": len(target.comparisons),
            "program run": len(target.programs),
            "profile": len(target.profiles),
        }
    )
    of_all = ", ".join(counted(number, noun) for noun, number in counts.items() if number)
    lacking = f" ({provision.absence})" if provision.absence else ""
    yield f"{target.target}: {provided(provision)}{lacking}{'; ' if of_all else ''}{of_all}"
    for own in target.originals if provision.kind == "device" else ():
        yield (
            f"source {own.source}'s own program runs on {target.target}: a stranger's code, "
            f"as you, in a copy of the checkout: {own.run.line}"
        )


def _builds(plan: Plan) -> str:
    return counted(len(plan.builds), "build")


def _listed(names: Sequence[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def absences(provisions: Sequence[Provision]) -> list[str]:
    """Return a line on each thing that keeps targets from being measured here, with their names.

    The names are left out where it keeps every target of the run.
    """
    lacking: dict[str, list[str]] = {}
    for provision in provisions:
        why = provision.detail if provision.kind == "none" else provision.absence
        if why is not None:
            lacking.setdefault(why, []).append(provision.target)
    return [
        why if len(names) == len(provisions) else f"{', '.join(names)}: {why}"
        for why, names in lacking.items()
    ]


def provided(provision: Provision) -> str:
    """Return where a target's figures come from, without what keeps it from being measured here."""
    if provision.kind != "none":
        return provision.detail
    return f"not measured ({fmt.words(provision.reason or NotRun.NO_DEVICE)})"

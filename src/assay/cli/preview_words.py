"""The words in which ``reproduce --dry-run`` says what a run would do."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from assay.catalog.model import Catalog
from assay.pipeline.preview import (
    ON_GPU,
    Estimate,
    Step,
    build_step,
    measured_here,
    target_of,
)
from assay.records.plan import Answer, Plan
from assay.records.timings import Stage
from assay.report import formatting as fmt
from assay.shared.counting import counted

NAMED = 4
"""Ids of a group that are named where nobody asks for all."""
WAYS = {
    "measure": "would be measured",
    "recorded": "would be taken over from a report",
    "compute": "would be computed without a GPU",
}
FIGURES = (Stage.BENCHMARK, Stage.PROGRAM)
"""Stages that measure what claims are held against."""


def preview_lines(
    catalog: Catalog, plan: Plan, steps: frozenset[Step], *, every: bool
) -> Iterator[str]:
    """Yield claims, builds and steps, a line a group; with ``every`` one a claim and a build.

    ``steps``: what is still to be done of the plan.
    """
    if not steps:
        yield f"nothing is left to do: run '{plan.run}' is finished"
        return
    yield from _claims(catalog, plan, steps, every=every)
    yield from _builds(plan, steps, every=every)
    yield from _gpu_steps(plan, steps)


def time_line(estimate: Estimate, cores: int) -> str:
    """Return about how long steps take."""
    told = f"time: about {fmt.duration(estimate.seconds)} with {counted(cores, 'core')}"
    if estimate.gpu_seconds:
        told += f", {fmt.duration(estimate.gpu_seconds)} of it on a GPU"
    return told


def _claims(catalog: Catalog, plan: Plan, steps: frozenset[Step], *, every: bool) -> Iterator[str]:
    groups: dict[tuple[str, str, bool], list[Answer]] = defaultdict(list)
    measuring = {target_of(step) for step in steps if step[0] in FIGURES}
    for answer in plan.answers:
        elsewhere = _is_elsewhere(catalog, answer)
        groups[_way(answer, measuring), answer.target or "", elsewhere].append(answer)
    order = [*WAYS.values()]
    for (words, target, elsewhere), answers in sorted(
        groups.items(),
        key=lambda group: (order.index(group[0][0]) if group[0][0] in order else 9, group[0]),
    ):
        audits = sum(answer.claim not in catalog.claims for answer in answers)
        count = counted(len(answers) - audits, "claim")
        count += f" and {counted(audits, 'audit')}" if audits else ""
        place = f" on {target}" if target else ""
        head = f"{words}{place}{', elsewhere than they are for' if elsewhere else ''}: {count}"
        if every:
            yield head
            yield from (f"  {answer.claim} {target}".rstrip() for answer in answers)
        else:
            yield f"{head}: {_named([answer.claim for answer in answers])}"


def _is_elsewhere(catalog: Catalog, answer: Answer) -> bool:
    """Return whether a claim is answered on other hardware than it is for."""
    claim = catalog.claims.get(answer.claim)
    own = claim.hardware.targets if claim else ()
    return bool(own) and answer.target is not None and answer.target not in own


def _way(answer: Answer, measuring: set[str]) -> str:
    """Return what would become of a claim, in words."""
    if answer.way == "measure" and answer.target not in measuring:
        return "is measured already"
    return WAYS.get(answer.way) or f"would not be run ({fmt.words(str(answer.reason))})"


def _builds(plan: Plan, steps: frozenset[Step], *, every: bool) -> Iterator[str]:
    pending = [job for job in plan.builds if build_step(job) in steps]
    if not pending:
        yield "compiled: nothing, for every build is there"
        return
    if every:
        yield f"compiled: {counted(len(pending), 'build')}"
        yield from (f"  {job.id} {job.arch}" for job in pending)
        return
    kinds: dict[tuple[str, str], list[str]] = defaultdict(list)
    for job in pending:
        kinds[job.kind, job.arch].append(job.id)
    for (kind, arch), ids in sorted(kinds.items()):
        yield f"compiled for {arch}: {counted(len(ids), kind)}: {_named(ids)}"


def _gpu_steps(plan: Plan, steps: frozenset[Step]) -> Iterator[str]:
    """Yield what would hold a GPU, target by target."""
    for target in sorted(measured_here(plan)):
        stages = [
            stage.value
            for stage in Stage
            if stage in ON_GPU and any((s[0], target_of(s)) == (stage, target) for s in steps)
        ]
        if stages:
            yield f"steps on {target}: {', '.join(stages)}"


def _named(ids: Sequence[str]) -> str:
    """Return the first ids, and how many more there are."""
    rest = len(ids) - NAMED
    told = ", ".join(ids[:NAMED])
    return f"{told} and {rest} more (--verbose names all)" if rest > 0 else told

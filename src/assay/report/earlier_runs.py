"""Figures that earlier runs have where a report has none: by what they were answered, in words.

A report takes a figure over only where what answers its claim is still the same. Where it is not,
the earlier figure is no answer, and a reader who knows it must be told why it does not stand there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.findings.answered_by import answered_by
from assay.findings.claim_history import HistoryLine
from assay.findings.report_figures import question_of
from assay.records.report_figures import OtherFigure, OtherRun
from assay.records.verdicts import Status
from assay.report import formatting as fmt
from assay.report.claim_details import VerdictDetail
from assay.report.claims import ClaimLine
from assay.shared.counting import agreeing, counted

Earlier = tuple[OtherRun, OtherFigure]
"""A figure and the run that measured it."""
OTHERWISE = "by another kernel, or on another problem"


def with_earlier_runs(
    catalog: Catalog, evidence: Evidence, lines: Mapping[str, ClaimLine]
) -> dict[str, ClaimLine]:
    """Return lines whose verdicts without a figure tell what earlier runs have: on the same GPU,
    and for a claim without any figure also on GPUs that it has no verdict on.
    """
    found: dict[str, dict[str, list[Earlier]]] = {}
    for run in evidence.other_runs.runs if evidence.other_runs else ():
        for figure in run.figures:
            by_target = found.setdefault(figure.claim, {})
            by_target.setdefault(run.machine.target, []).append((run, figure))
    return {
        claim: _with_earlier(catalog, line, found[claim]) if claim in found else line
        for claim, line in lines.items()
    }


def _with_earlier(
    catalog: Catalog, line: ClaimLine, found: Mapping[str, Sequence[Earlier]]
) -> ClaimLine:
    """``found``: earlier figures of the claim by target, the newest first."""
    idle = [d.text.target for d in line.details if d.text.status is Status.NOT_RUN]
    known = {detail.text.target for detail in line.details}
    away = [target for target in found if target not in known]
    told = {target: [target] for target in idle if target in found}
    if len(idle) == len(line.details) and away:
        told[idle[0]] = [*told.get(idle[0], []), *away]

    def with_told(detail: VerdictDetail) -> VerdictDetail:
        own = detail.text.target
        said = [_sentences(catalog, line, found[on], here=on == own) for on in told.get(own, ())]
        return replace(detail, told=" ".join([*said, detail.told]).rstrip()) if said else detail

    return replace(
        line,
        earlier=tuple(target for targets in told.values() for target in targets),
        details=tuple(map(with_told, line.details)),
    )


def _sentences(catalog: Catalog, line: ClaimLine, earlier: Sequence[Earlier], *, here: bool) -> str:
    """Return what the newest of the earlier runs on one GPU measured by what, and how many more
    there are; ``here``: whether that is the GPU of the verdict beside which it stands.
    """
    (run, figure), *more = earlier
    measured = fmt.figure(figure.measured, figure.unit, line.claimed_value)
    interval = fmt.interval_of(figure.measured, figure.unit, figure.ci90, line.claimed_value)
    said = (
        f"An earlier run on {'this GPU' if here else run.machine.product} measured {measured}"
        f"{f' {interval}' if interval else ''} "
        f"({run.report}, {run.machine.recorded_at[:10]}), {_told_by(catalog, figure)}"
    )
    if more:
        number = counted(len(more), "more earlier run")
        said += f" {number} {agreeing(len(more), 'is', 'are')} listed by ./assay history {line.id}."
    return said


def _told_by(catalog: Catalog, figure: OtherFigure) -> str:
    """Return by what an earlier figure was measured, and what answers its claim by now."""
    if figure.question == question_of(catalog, figure.claim):
        return "of the same question; its record was not taken over."
    now = answered_by(catalog, figure.claim)
    what = f": {figure.answered_by}" if figure.answered_by not in (None, "", now) else ""
    then = f" By now {now} answers the claim, and has no figure on that GPU." if now else ""
    return f"{OTHERWISE}{what}.{then}"


def earlier_words(line: HistoryLine, report: str) -> str:
    """Return, for a line of a history that has no figure, what the run before it measured by what;
    empty where there was none. ``report``: the name of that run's.
    """
    if line.earlier is None:
        return ""
    before, now = line.earlier.asked, line.last.asked
    had = line.earlier.figure
    figure = fmt.figure(had.measured, had.unit, had.claimed)
    if not before or not now or before == now:
        return f"{report} has {figure}, which was not taken over"
    return f"{report} has {figure} {OTHERWISE}: {before}; by now {now} answers the claim"

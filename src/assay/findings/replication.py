"""Who measured figures again: other signers, other cards, and whether their verdicts agree. Pure.

A signature proves who says what. That times are true only measuring again shows, best by others.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain

from assay.findings.claim_history import HistoryLine
from assay.findings.report_comparison import GivenReport
from assay.records.report_figures import ReportFigure, ReportMachine
from assay.records.verdicts import Verdict, VerdictsFile
from assay.records.verification import MeasuredAgain, Replication
from assay.shared.counting import counted


@dataclass(frozen=True)
class FigureRun:
    """A figure as one run measured it."""

    figure: tuple[object, ...]
    """Claim, target, and what is claimed: another number is another figure."""
    verdict: tuple[object, ...]
    run: tuple[str, str]
    """Card, and when it was recorded: a report that was copied, and one that took the figure over
    from another, have the same."""
    signer: str
    """Who signed it when it was measured: whoever judges it again measures nothing."""
    rules: int
    """Version of the rules that judged."""


def measured_by(signer: str, file: VerdictsFile) -> list[FigureRun]:
    """Return what a report's verdicts rest on."""
    return [
        FigureRun(_figure(each), _verdict(each), (on.uuid, on.recorded_at), signer, file.rules)
        for each in file.verdicts
        if (on := each.measured_on) is not None and each.measured is not None
    ]


def in_report(
    signer: str, rules: int, figure: ReportFigure, machine: ReportMachine | None
) -> list[FigureRun]:
    """Return what a figure of a report rests on; nothing where nobody measured it."""
    if machine is None or figure.measured is None:
        return []
    return [FigureRun(_figure(figure), _verdict(figure), machine.measurement, signer, rules)]


def measured_again(own: Iterable[FigureRun], others: Iterable[FigureRun]) -> MeasuredAgain:
    """Return how often ``own`` figures are measured again among ``others``."""
    known = {each.figure: each for each in own}
    signers = {each.signer for each in known.values()}
    runs = {each.run for each in known.values()}
    again = {
        (each.figure, each.run): each
        for each in others
        if each.figure in known and each.run not in runs
    }.values()
    cards = {card for card, _ in runs}
    return MeasuredAgain(
        by_others=_replication(known, cards, [m for m in again if m.signer not in signers]),
        by_signer=_replication(known, cards, [m for m in again if m.signer in signers]),
    )


def _replication(
    known: Mapping[tuple[object, ...], FigureRun], cards: Set[str], found: Sequence[FigureRun]
) -> Replication:
    judged = [each for each in found if each.rules == known[each.figure].rules]
    return Replication(
        signers=len({each.signer for each in found}),
        cards=len({each.run[0] for each in found} - cards),
        measurements=len(found),
        verdicts=len(judged),
        agree=sum(each.verdict == known[each.figure].verdict for each in judged),
    )


def again_between(reports: Sequence[GivenReport]) -> MeasuredAgain:
    """Return the same of the first of several reports against the others."""
    own, *others = [
        [
            run
            for figure in of.figures.figures
            for run in in_report(of.measurer, of.figures.rules, figure, of.figures.machine(figure))
        ]
        for of in reports
    ]
    return measured_again(own, chain(*others))


def again_line(again: MeasuredAgain) -> str:
    """Return one sentence on who measured figures again."""
    others, same = again.by_others, again.by_signer
    by = "nobody else yet"
    if others.measurements:
        by = f"{counted(others.signers, 'other signer')} {_says(others)}"
    also = f"; by those who measured these {_says(same)}" if same.measurements else ""
    return f"Measured again by {by}{also}."


def _says(found: Replication) -> str:
    cards = f"on {counted(found.cards, 'other card')}"
    if not found.verdicts:
        return f"{cards}, judged by other rules"
    return f"{cards}, {found.agree} of {counted(found.verdicts, 'verdict')} by the same rules agree"


def again_in_history(lines: Iterable[HistoryLine], signers: Sequence[str]) -> MeasuredAgain:
    """Return the same of one claim's history: its newest measurements against all before.

    ``signers``: of each report by its place.
    """
    newest: dict[str, list[FigureRun]] = {}
    rest: list[FigureRun] = []
    for line in lines:
        first, entry = min(line.entries, key=lambda each: each.signed), line.last
        found = in_report(signers[first.place], entry.rules, entry.figure, entry.machine)
        if found:
            rest += newest.get(entry.target, [])
            newest[entry.target] = found
    return measured_again(chain(*newest.values()), rest)


def _figure(of: Verdict | ReportFigure) -> tuple[object, ...]:
    return of.claim, of.target, of.claimed, of.unit


def _verdict(of: Verdict | ReportFigure) -> tuple[object, ...]:
    return of.status, of.as_if
